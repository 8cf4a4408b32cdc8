// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kserve-go/kserve-go/local/limit"
	"github.com/kserve-go/kserve-go/local/place"
	"github.com/kserve-go/kserve-go/local/sandbox"
)

const groupPrefix = "kserve-"

// openLimits makes the cluster's control group and notes where it is, for a successor in case this process and its child are killed.
func openLimits(o *Options) (func(), error) {
	p := o.Cluster.Place
	sum := sha256.Sum256([]byte(p.Dir))
	g := limit.Open(groupPrefix+p.Name+"-"+hex.EncodeToString(sum[:4]), probe)
	o.Cluster.Limits = g
	if g.Dir == "" {
		return func() {}, nil
	}
	if err := place.WriteFile(groupFile(p), []byte(g.Dir), 0o600); err != nil {
		return nil, errors.Join(err, limit.Remove(g.Dir))
	}
	return func() {
		if err := Sweep(p); err != nil {
			fmt.Fprintf(o.Err, "%v\n", err)
		}
	}, nil
}

func groupFile(p *place.Place) string { return p.Path("limits") }

// Sweep removes the control group of a cluster that has ended.
func Sweep(p *place.Place) error {
	b, err := os.ReadFile(groupFile(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read name of control group: %w", err)
	}
	if dir := string(b); strings.HasPrefix(filepath.Base(dir), groupPrefix+p.Name) {
		if err := limit.Remove(dir); err != nil {
			return err
		}
	}
	if err := os.Remove(groupFile(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove name of control group: %w", err)
	}
	return nil
}

// probe is a process that waits, to try a group with.
func probe() (int, func(), error) {
	cmd := exec.Command(sandbox.Self) //nolint:noctx // stop ends it
	cmd.Args = []string{sandbox.Pause}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start probe: %w", err)
	}
	return cmd.Process.Pid, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}, nil
}
