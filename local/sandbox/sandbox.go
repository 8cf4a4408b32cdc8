// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sandbox is what this binary does when it is started again as something small: the first process of a cluster's PID
// namespace, the first process of a pod, the starter of a container, the joiner of a running one.
//
// It imports little and acts while packages are initialised: Go initialises packages in the order of their import paths, so these
// processes live or become another program before anything of Kubernetes is set up, and stay small and quick to start.
//
// Called by: launch (Init) and runtime (Pause, Container, Join), by starting this binary with a special first argument.
// Next: the program of the container.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// First arguments that select what the process is.
const (
	Init      = "kserve-cluster-init"
	Pause     = "kserve-pod"
	Container = "kserve-container"
	Join      = "kserve-exec"
	// Mapped waits for the users of its namespace and is then what follows.
	Mapped = "kserve-mapped"
	Remove = "kserve-remove"
)

// Self is the path to start this binary again by.
const Self = "/proc/self/exe"

// File descriptors that a parent passes.
const (
	// FDSpec is a pipe with the JSON of a Spec.
	FDSpec = 3
	// FDStatus is a pipe: text on it says what went wrong, its end without text says that the program runs.
	FDStatus = 4
	// FDNamespaces is the first of the namespaces to join, in the order of Spec.Join.
	FDNamespaces = 5

	// FDLifeline is a pipe whose end tells Init that its parent is gone.
	FDLifeline = 3
	// FDOptions and FDReport belong to the cluster process that Init starts.
	FDOptions = 4
	FDReport  = 5
)

// ExitNotStarted is the exit code of a process that never became its program.
const ExitNotStarted = 128

// Spec is all that a container's starter needs to know.
type Spec struct {
	// Join are the kinds of the namespaces at FDNamespaces: net, uts, ipc, mnt.
	Join []string `json:"join,omitempty"`
	// Root builds a new root; nil when the container is joined.
	Root *Root `json:"root,omitempty"`

	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	User *User    `json:"user,omitempty"`

	NoNewPrivileges bool `json:"noNewPrivileges,omitempty"`
	// Capabilities are all that the program can have; nil takes none away.
	Capabilities *uint64 `json:"capabilities,omitempty"`
	Terminal     bool    `json:"terminal,omitempty"`
}

// Root is the file system a container sees.
type Root struct {
	// Scratch is an empty folder to build it at; what is mounted there is seen by this container only.
	Scratch string `json:"scratch"`
	// Image is a folder with the files of the image; empty means those of the machine: HostDirs, and a small /etc.
	Image    string   `json:"image,omitempty"`
	HostDirs []string `json:"hostDirs,omitempty"`
	HostEtc  []string `json:"hostEtc,omitempty"`
	Mounts   []Mount  `json:"mounts,omitempty"`
	ReadOnly bool     `json:"readOnly,omitempty"`
	// Rootless says that only one user is mapped, which overlays must know.
	Rootless bool `json:"rootless,omitempty"`

	// unfolded are folders of the new root that stand for read-only ones.
	unfolded []string
}

// Mount puts a file or folder of the machine into the container; an empty Source is a fresh tmpfs.
type Mount struct {
	Source   string `json:"source,omitempty"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	Options  string `json:"options,omitempty"`
}

// User is whom the program runs as.
type User struct {
	UID    int   `json:"uid"`
	GID    int   `json:"gid"`
	Groups []int `json:"groups,omitempty"`
}

func init() { //nolint:gochecknoinits // see the package comment: the point is to act before other packages initialise
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case Init:
		os.Exit(runInit()) //nolint:forbidigo // this is the main of that process
	case Mapped:
		os.Exit(runMapped()) //nolint:forbidigo // this is the main of that process
	case Remove:
		os.Exit(runRemove()) //nolint:forbidigo // this is the main of that process
	case Pause:
		os.Exit(runPause()) //nolint:forbidigo // this is the main of that process
	case Container, Join:
		os.Exit(runProgram()) //nolint:forbidigo // this is the main of that process
	}
}

// runProgram returns only when the program could not be started.
func runProgram() int {
	runtime.LockOSThread() // namespaces belong to the thread, and the thread that calls exec becomes the process
	syscall.CloseOnExec(FDStatus)
	status := os.NewFile(FDStatus, "status")
	err := start()
	// Nobody is left to tell when the pipe is broken too.
	_, _ = fmt.Fprint(status, err)
	return ExitNotStarted
}

func start() error {
	spec := os.NewFile(FDSpec, "spec")
	b, err := io.ReadAll(spec)
	if err != nil {
		return fmt.Errorf("read container description: %w", err)
	}
	spec.Close()
	if len(b) == 0 {
		return errors.New("the parent gave up before the container was described")
	}
	var s Spec
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read container description: %w", err)
	}
	if err := joinNamespaces(s.Join); err != nil {
		return err
	}
	if s.Root != nil {
		if err := s.Root.build(); err != nil {
			return err
		}
	}
	return exec(&s)
}

func joinNamespaces(kinds []string) error {
	flags := map[string]int{"net": unix.CLONE_NEWNET, "uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "mnt": unix.CLONE_NEWNS}
	for i, kind := range kinds {
		if kind == "mnt" {
			// A thread that shares its root with others may not change its mount namespace.
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("leave shared root: %w", err)
			}
		}
		fd := FDNamespaces + i
		if err := unix.Setns(fd, flags[kind]); err != nil {
			return fmt.Errorf("join %s namespace: %w", kind, err)
		}
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("join %s namespace: %w", kind, err)
		}
	}
	return nil
}
