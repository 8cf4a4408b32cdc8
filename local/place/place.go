// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package place is where one cluster lives on disk: its folder, the files in it, and the lock that makes its name unique.
//
// Called by: launch (the process a person starts) and cluster (the process inside the namespaces).
// Next: pki, which fills the folder, and controlplane, which serves from it.
package place

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// ErrRunning says that a process holds the cluster's name.
var ErrRunning = errors.New("a cluster of this name is running")

// maxSocketPath is what the kernel allows for the path of a unix socket, minus the longest socket name in the folder.
const maxSocketPath = 107 - len("/etcd-peer.sock")

const (
	// lockTries and lockPoll bound how long those who only look may keep an owner from its lock, looks how long an owner its number from
	// them: on a busy machine a process may have to wait before it writes that.
	lockTries = 20
	looks     = 500
	lockPoll  = 10 * time.Millisecond
)

const recordFile = "ready.json"

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Place is the folder of one cluster.
type Place struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`

	// Remover removes a folder; nil is os.RemoveAll.
	Remover func(path string) error `json:"-"`

	lock *os.File
}

// Record is what a running cluster says about itself; it is the ready line and the file that `status` reads.
type Record struct {
	Name       string `json:"name"`
	Kubeconfig string `json:"kubeconfig"`
	// Server is the API server's URL.
	Server string `json:"apiServer"`
	// Gateway is the URL of 127.0.0.1 that leads to the hosts of Ingresses; empty without a node.
	Gateway string `json:"gateway,omitempty"`
	// State is the cluster's folder.
	State string `json:"state"`
	PID   int    `json:"pid"`
	Node  bool   `json:"node"`
	// NotEnforced names what this machine or this user does not let the node do.
	NotEnforced []string `json:"notEnforced,omitempty"`
	// MemoryLimits says what holds them: cgroup2, cgroup1 or watcher; empty without a node.
	MemoryLimits string `json:"memoryLimits,omitempty"`
	// AuditLog is the file the API server writes a line to for each answer, if it was asked to.
	AuditLog string `json:"auditLog,omitempty"`
	// StartSeconds is the time from the start of the process to ready.
	StartSeconds float64 `json:"startSeconds"`
}

// Root is the folder that holds the folders of all clusters of this user.
func Root() (string, error) {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "kserve", "clusters"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home folder: %w (set XDG_STATE_HOME or --state)", err)
	}
	return filepath.Join(home, ".local", "state", "kserve", "clusters"), nil
}

// At returns the place of a name below root; it touches nothing.
func At(root, name string) (*Place, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("cluster name %q: want 1 to 40 of a-z, 0-9 and '-', starting and ending with a letter or digit", name)
	}
	dir, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		return nil, fmt.Errorf("resolve state folder: %w", err)
	}
	if len(dir) > maxSocketPath {
		return nil, fmt.Errorf("state folder %s is %d bytes long: sockets in it need at most %d (choose a shorter --state)", dir, len(dir), maxSocketPath)
	}
	return &Place{Name: name, Dir: dir}, nil
}

// Path is a file of the cluster.
func (p *Place) Path(elem ...string) string {
	return filepath.Join(append([]string{p.Dir}, elem...)...)
}

// Lock makes the folder and takes the name. It fails with ErrRunning when a live process has it; a dead one cannot hold it.
func (p *Place) Lock() error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	f, err := p.take()
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return fmt.Errorf("write lock: %w", err)
	}
	if _, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0); err != nil {
		f.Close()
		return fmt.Errorf("write lock: %w", err)
	}
	p.lock = f
	return nil
}

// The lock lies beside the folder, so that throwing the folder away does not throw the lock away.
// take locks the file that has the name now: an owner that throws its state away removes the file while others wait for it, and whoever
// looks for the owner holds it for an instant.
func (p *Place) take() (*os.File, error) {
	for n := 1; ; n++ {
		f, err := os.OpenFile(p.lockPath(), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && p.isLock(f) {
			return f, nil
		}
		f.Close()
		switch {
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, fmt.Errorf("lock %s: %w", p.lockPath(), err)
		case n == lockTries:
			return nil, fmt.Errorf("cluster %q in %s: %w", p.Name, p.Dir, ErrRunning)
		}
		time.Sleep(lockPoll)
	}
}

// isLock says whether f is still the file of the lock's name.
func (p *Place) isLock(f *os.File) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(p.lockPath())
	return err == nil && os.SameFile(is, named)
}

func (p *Place) lockPath() string { return p.Dir + ".lock" }

// Unlock gives the name back.
func (p *Place) Unlock() {
	if p.lock != nil {
		p.lock.Close()
		p.lock = nil
	}
}

// Owner is the process that holds the name, or 0.
func (p *Place) Owner() (int, error) {
	for n := 1; ; n++ {
		pid, err := p.look()
		if !errors.Is(err, io.EOF) || n == looks {
			return pid, err
		}
		time.Sleep(lockPoll)
	}
}

// look is one look at the lock; io.EOF is one that was just taken.
func (p *Place) look() (int, error) {
	f, err := os.OpenFile(p.lockPath(), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe of that name is not waited for
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open lock: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, fmt.Errorf("try lock: %w", err)
	}
	var pid int
	if _, err := fmt.Fscan(f, &pid); err != nil {
		return 0, fmt.Errorf("read lock %s: %w", p.lockPath(), err)
	}
	return pid, nil
}

// WaitFree blocks until no process holds the name.
func (p *Place) WaitFree(ctx context.Context) error {
	f, err := os.Open(p.lockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open lock: %w", err)
	}
	free := make(chan error, 1)
	go func() {
		free <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		f.Close()
	}()
	select {
	case err := <-free:
		if err != nil {
			return fmt.Errorf("wait for lock: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for cluster %q to end: %w", p.Name, ctx.Err())
	}
}

// Clear removes what a predecessor left that must not be seen by its successor: sockets, the record and pod folders. With all set
// the stored objects, certificates and volumes go too.
func (p *Place) Clear(all bool) error {
	// The folder's name may hold what a pattern takes for more than itself.
	entries, err := os.ReadDir(p.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read state folder: %w", err)
	}
	if all {
		for _, e := range entries {
			if err := p.removeAll(p.Path(e.Name())); err != nil {
				return fmt.Errorf("throw state away: %w", err)
			}
		}
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); strings.Contains(name, ".sock") || name == recordFile || name == "pods" {
			if err := p.removeAll(p.Path(name)); err != nil {
				return fmt.Errorf("remove stale file: %w", err)
			}
		}
	}
	return nil
}

func (p *Place) removeAll(path string) error {
	if p.Remover != nil {
		return p.Remover(path)
	}
	return os.RemoveAll(path)
}

// Remove throws the folder and its lock file away.
func (p *Place) Remove() error {
	if err := p.removeAll(p.Dir); err != nil {
		return fmt.Errorf("remove state folder: %w", err)
	}
	if err := os.Remove(p.lockPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove lock: %w", err)
	}
	return nil
}

// WriteRecord stores r for Record to read.
func (p *Place) WriteRecord(r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	return WriteFile(p.recordPath(), b, 0o600)
}

// Forget removes the record: from then on nobody takes the cluster for one that can be used.
func (p *Place) Forget() error {
	if err := os.Remove(p.recordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record: %w", err)
	}
	return nil
}

func (p *Place) recordPath() string { return p.Path(recordFile) }

// Record reads what a running cluster stored.
func (p *Place) Record() (Record, error) {
	var r Record
	b, err := os.ReadFile(p.recordPath())
	if err != nil {
		return r, fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read record %s: %w", p.recordPath(), err)
	}
	return r, nil
}

// WriteFile replaces a file in one step: readers see the old content or the new.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	tmp := fmt.Sprintf("%s.%d.tmp", path, time.Now().UnixNano())
	if err := os.WriteFile(tmp, content, mode); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", filepath.Base(path), err), os.Remove(tmp))
	}
	return nil
}
