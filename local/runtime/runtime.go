// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package runtime starts, joins and ends the processes of containers.
//
// Each container is process 1 of a PID namespace of its own (or one of its pod's, when the pod shares it): killing that one process
// makes the kernel kill everything the container ever started, and a container's /proc shows nothing else.
//
// Called by: node.
// Next: sandbox, in the child.
package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	gort "runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kserve-go/kserve-go/local/network"
	"github.com/kserve-go/kserve-go/local/sandbox"
)

// StartError says that a container's program could not be started.
type StartError struct{ Message string }

func (e *StartError) Error() string { return e.Message }

// Container is a running container.
type Container struct {
	cmd  *exec.Cmd
	done chan struct{}
	exit Exit
	pod  *network.Pod
	// group says that killing the first process does not end the others.
	group bool
	// what a command in it gets as well
	admit func(pid int) error
	bound sandbox.Spec
}

// Exit is how a container ended.
type Exit struct {
	Code   int
	Signal int
	At     time.Time
}

// Options say what to start.
type Options struct {
	Spec sandbox.Spec
	Pod  *network.Pod
	// SharedPID is the PID namespace to start in; nil makes one.
	SharedPID      *os.File
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Admit is called with the process before its program runs, for limits that must hold from the first instruction.
	Admit func(pid int) error
}

// Start returns when the program runs, or with a StartError.
func Start(o Options) (*Container, error) {
	o.Spec.Join = []string{"net", "uts", "ipc"}
	cmd := exec.Command(sandbox.Self) //nolint:noctx // a container ends by Kill
	cmd.Args = []string{sandbox.Container}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS}
	if o.SharedPID == nil {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID
	} else {
		// What the container started lives on in the pod's namespace and may hold its output open.
		cmd.WaitDelay = time.Second
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	if err := launch(cmd, o); err != nil {
		return nil, err
	}
	c := &Container{cmd: cmd, done: make(chan struct{}), pod: o.Pod, group: o.SharedPID != nil, admit: o.Admit}
	c.bound.Capabilities, c.bound.NoNewPrivileges = o.Spec.Capabilities, o.Spec.NoNewPrivileges
	go c.wait()
	return c, nil
}

// launch starts cmd with the pod's namespaces, hands the description over and waits until its program runs.
func launch(cmd *exec.Cmd, o Options, more ...*os.File) error {
	b, err := json.Marshal(o.Spec)
	if err != nil {
		return fmt.Errorf("encode container description: %w", err)
	}
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer specWrite.Close()
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		specRead.Close()
		return fmt.Errorf("make pipe: %w", err)
	}
	defer statusRead.Close()
	cmd.ExtraFiles = append([]*os.File{specRead, statusWrite, o.Pod.Net, o.Pod.UTS, o.Pod.IPC}, more...)
	err = startIn(cmd, o.SharedPID)
	specRead.Close()
	statusWrite.Close()
	if err != nil {
		return fmt.Errorf("start container process: %w", err)
	}
	if o.Admit != nil {
		err = o.Admit(cmd.Process.Pid)
	}
	if err == nil {
		_, err = specWrite.Write(b)
	}
	specWrite.Close()
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		return fmt.Errorf("hand over container description: %w", err)
	}
	text, err := io.ReadAll(statusRead)
	if err != nil || len(text) > 0 {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, or ended by itself
		return &StartError{Message: string(text)}
	}
	return nil
}

// startIn starts cmd as a process of that PID namespace: the namespace of children belongs to the thread, so a thread is spent on it.
func startIn(cmd *exec.Cmd, ns *os.File) error {
	if ns == nil {
		return cmd.Start()
	}
	done := make(chan error, 1)
	go func() {
		gort.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWPID); err != nil {
			done <- fmt.Errorf("enter PID namespace: %w", err)
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}

func (c *Container) wait() {
	err := c.cmd.Wait()
	if c.group {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // there may be none
	}
	c.exit = Exit{Code: c.cmd.ProcessState.ExitCode(), At: time.Now()}
	if ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		c.exit.Signal = int(ws.Signal())
		c.exit.Code = 128 + c.exit.Signal
	} else if err != nil && c.exit.Code == 0 && !errors.Is(err, exec.ErrWaitDelay) {
		c.exit.Code = 1 // its output could not be written
	}
	close(c.done)
}

// Done is closed when the container and all it started have ended.
func (c *Container) Done() <-chan struct{} { return c.done }

// Exit is how it ended; read it after Done.
func (c *Container) Exit() Exit { return c.exit }

// PID is the container's first process, as the cluster sees it.
func (c *Container) PID() int { return c.cmd.Process.Pid }

// Signal goes to the container's first process; SIGKILL ends the others too.
func (c *Container) Signal(s syscall.Signal) {
	if c.group && s == syscall.SIGKILL {
		_ = syscall.Kill(-c.cmd.Process.Pid, s) // as below
	}
	_ = c.cmd.Process.Signal(s) // an ended process needs none
}

// Exec are the options of a command in a running container.
type Exec struct {
	Args           []string
	Env            []string
	Dir            string
	User           *sandbox.User
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal, when set, becomes the command's controlling terminal.
	Terminal *os.File
}

// ExitError is the exit code of a command that ran.
type ExitError struct{ Code int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("command terminated with exit code %d", e.Code)
}

// Run runs a command in the container and returns its ExitError, a StartError, or ctx's error after the command was killed.
func (c *Container) Run(ctx context.Context, e Exec) error {
	select {
	case <-c.done:
		return errors.New("container is not running")
	default:
	}
	pidNS, err := os.Open(fmt.Sprintf("/proc/%d/ns/pid", c.PID()))
	if err != nil {
		return fmt.Errorf("open PID namespace: %w", err)
	}
	defer pidNS.Close()
	mntNS, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", c.PID()))
	if err != nil {
		return fmt.Errorf("open mount namespace: %w", err)
	}
	defer mntNS.Close()
	cmd := exec.Command(sandbox.Self) //nolint:noctx // ctx kills it below, after it started
	cmd.Args = []string{sandbox.Join}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	if e.Terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Terminal, e.Terminal, e.Terminal
		cmd.SysProcAttr.Setctty = true
	}
	if e.Stdin != nil && e.Terminal == nil {
		// Wait would wait for the client to close its side; the command's end is what counts.
		cmd.WaitDelay = time.Second
	}
	spec := c.bound
	spec.Join = []string{"net", "uts", "ipc", "mnt"}
	spec.Args, spec.Env, spec.Dir, spec.User = e.Args, e.Env, e.Dir, e.User
	o := Options{Spec: spec, Pod: c.pod, SharedPID: pidNS, Admit: c.admit}
	if err := launch(cmd, o, mntNS); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // it may just have ended
	defer stop()
	err = cmd.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("run command: %w", ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code := exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			code = 128 + int(ws.Signal())
		}
		return &ExitError{Code: code}
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("run command: %w", err)
	}
	return nil
}

// Shared is a PID namespace for all containers of a pod.
type Shared struct {
	// File is the open namespace.
	File *os.File
	cmd  *exec.Cmd
}

// NewShared starts the first process of a namespace.
func NewShared() (*Shared, error) {
	cmd := exec.Command(sandbox.Self) //nolint:noctx // it ends by Close
	cmd.Args = []string{sandbox.Pause}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start pod process: %w", err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/pid", cmd.Process.Pid))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open PID namespace: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return &Shared{File: f, cmd: cmd}, nil
}

// Close ends every process of the namespace.
func (s *Shared) Close() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // killed
	s.File.Close()
}

// IsMissing says whether a StartError means that the program does not exist in the image.
func IsMissing(err error) bool {
	var s *StartError
	return errors.As(err, &s) && (strings.Contains(s.Message, "not found") || strings.Contains(s.Message, "no such file"))
}
