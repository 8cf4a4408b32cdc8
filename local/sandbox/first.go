// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kserve-go/kserve-go/local/limit"
)

// ClusterCommand is the first argument by which Init starts the cluster itself.
const ClusterCommand = "inside"

// endWait bounds how long process 1 waits for the others to be gone; its own end makes the kernel see to the rest.
const endWait = 10 * time.Second

// runInit is process 1 of the cluster's namespaces: it starts the cluster, collects every orphan, and ends when the cluster or the
// parent outside has ended. It kills what is left and removes the cluster's control group; if it is killed itself, the kernel ends
// every process of the namespace: nothing outlives the cluster.
func runInit() int {
	pid, err := startCluster()
	if err != nil {
		fmt.Fprintf(os.Stderr, "start in namespaces: %v\n", err)
		return 1
	}
	go func() {
		// The pipe ends when the parent is gone, however it went.
		_, _ = io.Copy(io.Discard, os.NewFile(FDLifeline, "lifeline"))
		time.AfterFunc(endWait, func() { os.Exit(1) }) //nolint:forbidigo // this is the main of that process
		_ = syscall.Kill(pid, syscall.SIGKILL)         // its end is seen below
	}()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			if n, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(pid, n) // it may just have ended; then this process ends too
			}
		}
	}()
	code := -1
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // nobody is left
			if len(os.Args) > 1 {
				_ = limit.Remove(os.Args[1]) // the parent, if there is one, tries again and reports
			}
			return max(code, 0)
		case got == pid:
			if code = ws.ExitStatus(); ws.Signaled() {
				code = 128 + int(ws.Signal())
			}
			time.AfterFunc(endWait, func() { os.Exit(code) }) //nolint:forbidigo // this is the main of that process
			_ = syscall.Kill(-1, syscall.SIGKILL)             // there may be none
		}
	}
}

func startCluster() (int, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("make mounts private: %w", err)
	}
	self, err := os.Readlink(Self)
	if err != nil {
		return 0, fmt.Errorf("find own binary: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return 0, fmt.Errorf("mount /proc of the cluster: %w (a container that masks parts of /proc forbids it)", err)
	}
	for fd := FDLifeline; fd <= FDReport; fd++ {
		syscall.CloseOnExec(fd)
	}
	// The cluster sees its two pipes under the numbers they have here.
	pid, err := syscall.ForkExec(self, []string{self, ClusterCommand}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2, ^uintptr(0), FDOptions, FDReport},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", self, err)
	}
	for _, fd := range []int{FDOptions, FDReport} {
		if err := syscall.Close(fd); err != nil {
			return 0, fmt.Errorf("close pipe: %w", err)
		}
	}
	return pid, nil
}

// runPause is process 1 of a pod whose containers share a PID namespace: it collects orphans until it is killed.
func runPause() int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM)
	for s := range signals {
		if s == syscall.SIGTERM {
			return 0
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err != nil || pid <= 0 {
				break
			}
		}
	}
	return 0
}
