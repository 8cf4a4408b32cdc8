// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rootless runs the cluster tests, compiled to bin/cluster.test, as an ordinary user who is made for them and removed afterwards.
// The user has a home of its own with copies of the binaries, and nothing else of this checkout: no Go, no sources.
//
// Called by: make test-cluster-rootless, as root.
// Next: test/cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/binary"
)

const name = "kserve-e2e"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pattern := flag.String("run", ".", "which tests, as of `go test -run`")
	flag.Parse()
	if err := run(ctx, *pattern); err != nil {
		fmt.Fprintln(os.Stderr, "rootless:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pattern string) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("only root can make a user; run `make test-cluster` as the user that you are")
	}
	cluster, err := binary.Find(ctx, binary.Here(os.Getenv("KSERVE_CLUSTER_BINARY")))
	if err != nil {
		return err
	}
	if err := remove(); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "useradd", "--create-home", "--shell", "/bin/sh", name).CombinedOutput(); err != nil {
		return fmt.Errorf("make a user: %w: %s", err, out)
	}
	defer func() { err = errors.Join(err, remove()) }()
	who, err := lookUp()
	if err != nil {
		return err
	}
	copies := map[string]string{cluster: "bin/" + binary.Name, "deploy/samples": "deploy/samples", "bin/images": "bin/images"}
	for _, file := range []string{"bin/kserve", "bin/store", "bin/cluster.test"} {
		copies[file] = file
	}
	place := filepath.Join(who.home, "kserve-go")
	for from, to := range copies {
		if err := copyAll(from, filepath.Join(place, to)); err != nil {
			return err
		}
	}
	work := filepath.Join(place, "test/cluster") // where `go test` would run it
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	if err := own(place, who); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(place, "bin/cluster.test"), "-test.v=test2json", "-test.count=1", "-test.timeout=30m", "-test.parallel=3", "-test.run="+pattern)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir = work
	cmd.Env = []string{"HOME=" + who.home, "USER=" + name, "PATH=/usr/local/bin:/usr/bin:/bin", "KSERVE_TEST_CLUSTER=1"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.gid}, Pdeathsig: syscall.SIGTERM}
	return cmd.Run()
}

type account struct {
	uid, gid uint32
	home     string
}

func lookUp() (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return account{uint32(uid), uint32(gid), u.HomeDir}, err
}

// remove takes the user away, with what an interrupted run left of it.
func remove() error {
	who, err := lookUp()
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		return nil
	}
	if err != nil {
		return err
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		fi, err := os.Stat(dir)
		if err != nil {
			continue // it has ended
		}
		if s, ok := fi.Sys().(*syscall.Stat_t); ok && s.Uid == who.uid {
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
	if out, err := exec.Command("userdel", "--remove", "--force", name).CombinedOutput(); err != nil && !strings.Contains(string(out), "mail spool") {
		return fmt.Errorf("remove the user: %w: %s", err, out)
	}
	return nil
}

func copyAll(from, to string) error {
	fi, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("%w (make test-cluster-rootless builds it)", err)
	}
	if fi.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, fi.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

func own(dir string, who account) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(who.uid), int(who.gid))
	})
}
