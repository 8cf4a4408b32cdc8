// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

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
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/binary"
)

// BinaryVariable names the cluster binary to use instead of the one that `make local-cluster` built.
const BinaryVariable = "KSERVE_CLUSTER_BINARY"

const stopTimeout = 20 * time.Second

// auditPolicy records what our processes ask for, and what anybody changes.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:` + System + `"]}
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

// server is the process with the API server. It ends when its standard input does, which is when this process ends.
type server struct {
	cmd    *exec.Cmd
	in     io.Closer
	done   chan struct{} // closed when the process has ended, with err
	err    error
	errOut *lockedBuffer
}

func (c *Cluster) startServer(ctx context.Context) error {
	path, err := binary.Find(ctx, binary.Here(os.Getenv(BinaryVariable)))
	if err != nil {
		return fmt.Errorf("find the cluster binary (`make local-cluster` builds it): %w", err)
	}
	policy := filepath.Join(c.Dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	c.audit = &auditLog{path: filepath.Join(c.Dir, "audit.log")}
	args := []string{
		"up", "--no-node", "--stdin-lifeline", "--discard", "--name", "api", "--state", filepath.Join(c.Dir, "state"),
		"--api-flag=--audit-policy-file=" + policy, "--api-flag=--audit-log-path=" + c.audit.path, "--api-flag=--audit-log-maxsize=4000",
	}
	if !c.options.Controllers {
		args = append(args, "--no-controllers")
	}
	if !c.options.ServiceAccountAdmission {
		args = append(args, "--api-flag=--disable-admission-plugins=ServiceAccount")
	}
	c.server = &server{cmd: exec.CommandContext(context.WithoutCancel(ctx), path, args...), done: make(chan struct{}), errOut: &lockedBuffer{}} //nolint:gosec // the binary that a person built
	c.server.cmd.Env = append(os.Environ(), "GOGC=200")                                                                                         // tests want it fast more than small
	c.server.cmd.Stderr = io.MultiWriter(c.server.errOut, c.options.Log)
	line, err := c.server.start(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w\n%s", path, err, c.server.errOut)
	}
	record := struct{ Kubeconfig string }{}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "ready ")), &record); err != nil {
		return fmt.Errorf("read the ready line %q: %w", line, err)
	}
	c.Kubeconfig = record.Kubeconfig
	if c.Admin, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	unlimited(c.Admin)
	return nil
}

// unlimited turns the client's own rate limit off: the server is ours alone.
func unlimited(c *rest.Config) { c.QPS, c.Burst = -1, -1 }

func (s *server) start(ctx context.Context) (string, error) {
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	s.in = in
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return "", err
	}
	lines := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		line, err := r.ReadString('\n')
		if err == nil {
			lines <- line
		}
		_, _ = io.Copy(io.Discard, r)
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	select {
	case line := <-lines:
		return line, nil
	case <-s.done:
		return "", errors.Join(errors.New("it ended before it was ready"), s.err)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (s *server) stop() error {
	if s.cmd == nil || s.in == nil {
		return nil
	}
	_ = s.in.Close()
	select {
	case <-s.done:
		return nil
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.done
		return fmt.Errorf("the API server did not end within %s and was killed", stopTimeout)
	}
}
