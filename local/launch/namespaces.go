// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/local/cluster"
	"github.com/kserve-go/kserve-go/local/gate"
	"github.com/kserve-go/kserve-go/local/place"
	"github.com/kserve-go/kserve-go/local/sandbox"
)

// stopTimeout bounds an orderly end: the pods' grace periods run inside it. After it the kernel ends what is left.
const stopTimeout = 75 * time.Second

// message is one line of the report pipe.
type message struct {
	Progress string        `json:"progress,omitempty"`
	Ready    *place.Record `json:"ready,omitempty"`
	Error    string        `json:"error,omitempty"`
}

// runInside runs the cluster in a child with its own network, mounts, processes and, for an ordinary user, users.
func runInside(ctx context.Context, o Options, l net.Listener, progress func(string), ready func(place.Record) error) error {
	o.Cluster.Rootless = os.Geteuid() != 0
	var mapping *users
	if o.Cluster.Rootless {
		mapping = findUsers()
	}
	gateway, err := listen(ctx, o.Cluster.Place, "gateway-port", 0)
	if err != nil {
		return err
	}
	defer gateway.Close()
	closeLimits, err := openLimits(&o)
	if err != nil {
		return err
	}
	defer closeLimits()
	child, pipes, err := startInit(o, mapping)
	if err != nil && mapping != nil {
		progress("only one user: " + err.Error())
		child, pipes, err = startInit(o, nil)
	}
	if err != nil {
		return err
	}
	defer pipes.lifeline.Close()
	stopped := make(chan struct{})
	stopSignals := context.AfterFunc(ctx, func() { end(child, stopped) })
	defer stopSignals()

	forwardCtx, stopForward := context.WithCancel(context.WithoutCancel(ctx))
	defer stopForward()
	forward := func(l net.Listener, address string) {
		if err := gate.Forward(forwardCtx, l, o.Cluster.Place.Path("gate.sock"), address); err != nil {
			fmt.Fprintf(o.Err, "forward to %s: %v\n", address, err)
			_ = child.Process.Signal(syscall.SIGTERM) // without it nobody can reach the cluster
		}
	}
	// The reader ends with the child: the pipe has no other writer.
	rerr := readReports(pipes.report, progress, func(r place.Record) error {
		r.Gateway = "http://" + gateway.Addr().String()
		go forward(l, cluster.APIAddress())
		go forward(gateway, cluster.GatewayAddress())
		return ready(r)
	})
	if rerr != nil {
		_ = child.Process.Signal(syscall.SIGTERM) // it may have ended already
	}
	werr := child.Wait()
	close(stopped)
	if rerr != nil {
		return rerr
	}
	if werr != nil && ctx.Err() == nil {
		return explainEnd(o.Cluster.Place, werr)
	}
	return nil
}

func end(child *exec.Cmd, stopped <-chan struct{}) {
	_ = child.Process.Signal(syscall.SIGTERM) // an ended child needs no signal
	select {
	case <-stopped:
	case <-time.After(stopTimeout):
		_ = child.Process.Kill()
	}
}

type pipes struct {
	lifeline io.Closer
	report   io.Reader
}

// startInit starts process 1 of the namespaces and hands it the options. An ordinary user without more users is mapped alone.
func startInit(o Options, mapping *users) (*exec.Cmd, *pipes, error) {
	o.Cluster.OneUser = o.Cluster.Rootless && mapping == nil
	b, err := json.Marshal(o.Cluster)
	if err != nil {
		return nil, nil, fmt.Errorf("encode options: %w", err)
	}
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return nil, nil, fmt.Errorf("make pipe: %w", err)
		}
	}
	lifeRead, lifeWrite, optRead, optWrite, repRead, repWrite := files[0], files[1], files[2], files[3], files[4], files[5]
	cmd := exec.Command(sandbox.Self) //nolint:noctx // it is ended in order, by end
	cmd.Args = []string{sandbox.Init, o.Cluster.Limits.Dir}
	cmd.Stderr = o.Err
	cmd.ExtraFiles = []*os.File{lifeRead, optRead, repWrite}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true, // Ctrl-C reaches this process only, which ends the cluster in order
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	if o.Cluster.OneUser {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	if mapping != nil {
		err = mapping.start(cmd)
	} else {
		err = cmd.Start()
	}
	for _, f := range []*os.File{lifeRead, optRead, repWrite} {
		f.Close()
	}
	if err != nil {
		lifeWrite.Close()
		optWrite.Close()
		repRead.Close()
		return nil, nil, explain(err, o.Cluster.Rootless)
	}
	if _, err := optWrite.Write(b); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("hand over options: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	optWrite.Close()
	return cmd, &pipes{lifeline: lifeWrite, report: repRead}, nil
}

// explain says what forbids namespaces and what to change.
func explain(err error, rootless bool) error {
	advice := "the kernel or a container around this process forbids namespaces; --no-node runs the control plane without them"
	read := func(name string) string {
		b, rerr := os.ReadFile("/proc/sys/" + name)
		if rerr != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	switch {
	case rootless && read("kernel/apparmor_restrict_unprivileged_userns") == "1":
		advice = "AppArmor forbids them to ordinary users: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run as root, or use --no-node"
	case rootless && read("kernel/unprivileged_userns_clone") == "0":
		advice = "they are off for ordinary users: sysctl kernel.unprivileged_userns_clone=1, or run as root, or use --no-node"
	case rootless && read("user/max_user_namespaces") == "0":
		advice = "their number is limited to 0: sysctl user.max_user_namespaces=10000, or run as root, or use --no-node"
	}
	return fmt.Errorf("start in fresh namespaces: %w: %s", err, advice)
}

func readReports(r io.Reader, progress func(string), ready func(place.Record) error) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("read report %q: %w", bytes.TrimSpace(lines.Bytes()), err)
		}
		switch {
		case m.Error != "":
			return errors.New(m.Error)
		case m.Ready != nil:
			if err := ready(*m.Ready); err != nil {
				return err
			}
		default:
			progress(m.Progress)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read reports: %w", err)
	}
	return nil
}

// Inside is the main of the process inside: it reads its options, runs the cluster, and reports on the pipe.
func Inside(ctx context.Context) error {
	syscall.CloseOnExec(sandbox.FDOptions)
	syscall.CloseOnExec(sandbox.FDReport)
	options := os.NewFile(sandbox.FDOptions, "options")
	report := json.NewEncoder(os.NewFile(sandbox.FDReport, "report"))
	var o cluster.Options
	if err := json.NewDecoder(options).Decode(&o); err != nil {
		return fmt.Errorf("read options: %w", err)
	}
	options.Close()
	if err := catchCrash(o.Place); err != nil {
		_ = report.Encode(message{Error: err.Error()}) // as below
		return err
	}
	err := cluster.Run(ctx, o, cluster.Hooks{
		Progress: func(step string) { _ = report.Encode(message{Progress: step}) }, // a broken pipe means the parent is gone, and so are we
		Ready:    func(r place.Record) error { return report.Encode(message{Ready: &r}) },
	})
	if err != nil {
		_ = report.Encode(message{Error: err.Error()}) // as above
	}
	return err
}
