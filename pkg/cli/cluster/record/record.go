// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record reads what a local cluster wrote about itself: where its folder is, whether it runs, and how it is reached. The cluster
// binary writes these files; nothing here asks it.
//
// Called by: cli/cluster, and cli/predict, which finds the gateway by it.
// Next: local/place is the writer's side.
package record

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

// DefaultName is the name of the cluster that a person gets who names none.
const DefaultName = "default"

// ErrNotRunning says that no cluster of that name runs.
var ErrNotRunning = errors.New("no such cluster runs")

// ErrInUse says that a process holds the cluster's folder.
var ErrInUse = errors.New("a process holds the cluster's folder")

const (
	// lookAgain and looks bound how long a process that has just taken the lock may take to write its number there.
	lookAgain = 10 * time.Millisecond
	looks     = 500
)

var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Record is what a running cluster says about itself.
type Record struct {
	Name       string `json:"name"`
	Kubeconfig string `json:"kubeconfig"`
	// Server is the API server's URL.
	Server string `json:"apiServer"`
	// Gateway is the URL that leads to the hosts of Ingresses.
	Gateway string `json:"gateway,omitempty"`
	// State is the cluster's folder.
	State string `json:"state"`
	PID   int    `json:"pid"`
	Node  bool   `json:"node"`
	// NotEnforced names what this machine or this user does not let the node do.
	NotEnforced []string `json:"notEnforced,omitempty"`
	// MemoryLimits says what holds them.
	MemoryLimits string  `json:"memoryLimits,omitempty"`
	StartSeconds float64 `json:"startSeconds"`
}

// Place is where one cluster keeps its files.
type Place struct {
	Name string
	// Root holds the folders of all clusters.
	Root string
}

// At is the place of a name below root; without a root, in the person's own state folder.
func At(root, name string) (*Place, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("cluster name %q: want 1 to 40 of a-z, 0-9 and '-', starting and ending with a letter or digit", name)
	}
	if root == "" {
		root = os.Getenv("XDG_STATE_HOME")
		if root == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, fmt.Errorf("find the home folder: %w (set XDG_STATE_HOME or --state)", err)
			}
			root = filepath.Join(home, ".local", "state")
		}
		root = filepath.Join(root, "kserve", "clusters")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the state folder: %w", err)
	}
	return &Place{Name: name, Root: root}, nil
}

// Dir is the cluster's folder.
func (p *Place) Dir() string { return filepath.Join(p.Root, p.Name) }

// Output is the file with what the cluster binary printed. It lies beside the folder, which a fresh start empties.
func (p *Place) Output() string { return p.Dir() + ".log" }

// Log is the file with what the parts of Kubernetes have to say.
func (p *Place) Log() string { return filepath.Join(p.Dir(), "cluster.log") }

// Running returns the record of the cluster, or ErrNotRunning. One that is still starting, or ending, has no record.
func (p *Place) Running() (*Record, error) {
	pid, err := p.Owner()
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, fmt.Errorf("%w: %q (%s); start it with: kserve local up%s", ErrNotRunning, p.Name, p.Dir(), p.Flags())
	}
	raw, err := readFile(filepath.Join(p.Dir(), "ready.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the cluster's record: %w", err)
	}
	r := &Record{}
	if err == nil {
		if err := json.Unmarshal(raw, r); err != nil {
			return nil, fmt.Errorf("read the cluster's record: %w", err)
		}
	}
	if r.PID != pid { // none yet, or that of a predecessor which was killed
		return nil, fmt.Errorf("%w: cluster %q is starting or ending (process %d); its log is %s", ErrNotRunning, p.Name, pid, p.Output())
	}
	return r, nil
}

// maxRecord is more than a record has, in bytes.
const maxRecord = 1 << 20

// readFile reads a small file. Something else of that name, which may never answer or never end, is refused.
func readFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(raw) > maxRecord {
		err = fmt.Errorf("%s is longer than any record: remove it", path)
	}
	return raw, err
}

// Open opens a file that the cluster wrote. Something else of that name, for which opening may wait, is refused.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file, as a cluster writes it: remove it", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Flags are what a person adds to name this cluster, empty for the default one.
func (p *Place) Flags() string {
	text := ""
	if p.Name != DefaultName {
		text += " --name=" + p.Name
	}
	if def, err := At("", p.Name); err != nil || def.Root != p.Root {
		text += " --state=" + quote(p.Root)
	}
	return text
}

// plain are texts that a shell takes as they are.
var plain = regexp.MustCompile(`^[\pL\pN/._=:,@%+-]+$`)

// quote writes a text so that a shell reads it back.
func quote(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Unusable says what to do about a state folder that cannot be read or written.
func (p *Place) Unusable(err error) error {
	what := ""
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		what = ": a file is where a folder should be"
	case errors.Is(err, fs.ErrExist):
		what = ": a link that leads nowhere is where a folder should be"
	case errors.Is(err, syscall.ENOSPC):
		what = ": its file system is full"
	}
	return fmt.Errorf("the state folder %s cannot be used: %w%s (choose another with --state)", p.Root, err, what)
}

// Owner is the process that holds the name, or 0: a lock that ends with its process, however that ends.
func (p *Place) Owner() (int, error) {
	for n := 1; ; n++ {
		pid, err := p.look()
		if !errors.Is(err, io.EOF) || n == looks {
			return pid, err
		}
		time.Sleep(lookAgain) // nobody tells when a file is written
	}
}

// look is one look at the lock; io.EOF is one that was just taken.
func (p *Place) look() (int, error) {
	f, err := Open(p.Dir() + ".lock")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, p.Unusable(err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, fmt.Errorf("try the cluster's lock: %w", err)
	}
	var pid int
	if _, err := fmt.Fscan(f, &pid); err != nil {
		return 0, fmt.Errorf("read the cluster's lock %s: %w", f.Name(), err)
	}
	if pid < 1 { // to the kernel such a number means many processes
		return 0, fmt.Errorf("read the cluster's lock %s: %d is no process", f.Name(), pid)
	}
	return pid, nil
}

// Killed says whether a cluster that was killed, and its child with it, left a control group, which only its program removes.
func (p *Place) Killed() bool {
	_, err := os.Stat(filepath.Join(p.Dir(), "limits"))
	return err == nil
}

// WaitFree blocks until no process holds the name.
func (p *Place) WaitFree(ctx context.Context) error {
	f, err := Open(p.Dir() + ".lock")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the cluster's lock: %w", err)
	}
	free := make(chan error, 1)
	go func() {
		free <- syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
		f.Close()
	}()
	select {
	case err := <-free:
		if err != nil {
			return fmt.Errorf("wait for the cluster's lock: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for cluster %q to end: %w", p.Name, ctx.Err())
	}
}

// Remove throws away all that a cluster that does not run left.
func (p *Place) Remove() error {
	lock := p.Dir() + ".lock"
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not even the folder of all clusters
	}
	if err != nil {
		return p.Unusable(err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("throw the state of cluster %q away: %w: it was started meanwhile", p.Name, ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("take the cluster's lock: %w", err)
	}
	entries, err := os.ReadDir(p.Root)
	if err != nil {
		return p.Unusable(err)
	}
	paths := []string{p.Dir(), p.Output()}
	for _, e := range entries { // no pattern: the folder's name may hold what one takes for more than itself
		if strings.HasPrefix(e.Name(), p.Name+".log.") {
			paths = append(paths, filepath.Join(p.Root, e.Name()))
		}
	}
	for _, path := range append(paths, lock) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("throw the cluster's state away: %w", err)
		}
	}
	return nil
}
