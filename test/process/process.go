// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process builds kserve and runs it as a process of its own for tests that look at it from outside.
//
// Called by: test/demo, test/clients.
// Next: cmd/kserve.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Options say what to run.
type Options struct {
	// Binary is kserve; empty builds it.
	Binary string
	// Root is the repository.
	Root string
	// Args follow `kserve run`.
	Args []string
	// Stderr gets what the process writes there.
	Stderr io.Writer
	// Timeout bounds the time until everything is served: 60 s.
	Timeout time.Duration
}

// Server is a running `kserve run`.
type Server struct {
	// URL is the base of V1 and V2, GRPC the host:port of gRPC.
	URL, GRPC string
	// Ready and Failed count the services and graphs.
	Ready, Failed int

	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// event is one line of `kserve run -o json`.
type event struct {
	Event, URL, GRPC string
	Ready, Failed    int
	Name, Detail     string
	Phase            string
}

// Start runs `kserve run` on free ports and returns when everything it was given is served or has failed.
// The process ends with ctx, and with this one.
func Start(ctx context.Context, o Options) (*Server, error) {
	cmd := exec.CommandContext(ctx, o.Binary, append([]string{"run", "--port", "0", "--grpc-port", "0", "-o", "json"}, o.Args...)...)
	cmd.Dir = o.Root
	cmd.Stderr = o.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	dieWithParent(cmd)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	events := make(chan event, 16)
	go func() {
		// The kernel ties the child to the thread that starts it, so that thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				select {
				case events <- e:
				default: // nobody listens any more
				}
			}
		}
		close(events)
		s.err = cmd.Wait()
		close(s.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if err := s.wait(ctx, events, o.Timeout); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) wait(ctx context.Context, events <-chan event, timeout time.Duration) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var faults []string
	for {
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				return fmt.Errorf("kserve ended before it served: %s", strings.Join(faults, "; "))
			case e.Event == "listening":
				s.URL, s.GRPC = e.URL, e.GRPC
			case e.Event == "status" && (e.Phase == "Failed" || e.Phase == "Refused"):
				faults = append(faults, e.Name+": "+e.Detail)
			case e.Event == "serving":
				s.Ready, s.Failed = e.Ready, e.Failed
				return nil
			}
		case <-timer.C:
			return fmt.Errorf("kserve does not serve after %s", timeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stop asks the process to drain and waits for its end; it is killed when it takes longer than ten seconds.
func (s *Server) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
		return errors.New("kserve did not end within 10 s of SIGTERM and was killed")
	}
	return s.err
}

// Build builds a command of the repository into dir and returns the binary.
func Build(ctx context.Context, root, name, dir string) (string, error) {
	binary := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/"+name)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

// Root finds the repository from the working directory upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.work in this folder or above it: run this inside the repository")
		}
		dir = up
	}
}
