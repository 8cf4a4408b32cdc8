// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// root is the repository, or the folder into which `make test-cluster-rootless` copied what the tests need of it.
const root = "../.."

// clusterName tells the cluster of a run, and what it leaves, from those of others; one that is kept has one name.
var clusterName = func() string {
	if os.Getenv(keep) != "" {
		return "e2e"
	}
	return fmt.Sprintf("e2e-%d", os.Getpid())
}()

// upLimit is how long a cluster may take to start on a busy machine.
const upLimit = 10 * time.Minute

// keep is the variable that names a short folder whose cluster stays up from one run to the next, for who writes tests. What kserve and
// the images have become is installed each time.
const keep = "KSERVE_TEST_CLUSTER_KEEP"

// world is the cluster of a run.
type world struct {
	// run is a folder of this run: the clusters' state, a home and a temporary folder of their own.
	run  string
	keep bool

	record record
	client dynamic.Interface
	core   kubernetes.Interface
	kinds  discovery.DiscoveryInterface
	isUp   bool
	// restart and restarted are when the API server was ended, and when its successor was ready.
	restart, restarted time.Time
}

// record is what `kserve local status` says.
type record struct {
	Kubeconfig  string   `json:"kubeconfig"`
	Server      string   `json:"server"`
	PID         int      `json:"pid"`
	Gateway     string   `json:"gateway"`
	NotEnforced []string `json:"notEnforced"`
}

func program(name string) string {
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	if err != nil {
		panic(err)
	}
	return path
}

// up starts the cluster, and ends it if the tests do not come to their last one.
func up(t *testing.T) *world {
	t.Helper()
	w := &world{run: os.Getenv(keep), keep: os.Getenv(keep) != ""}
	if !w.keep {
		var err error
		w.run, err = os.MkdirTemp("", "kc") //nolint:usetesting // short: sockets lie in it
		require.NoError(t, err)
	}
	for _, dir := range []string{w.state(), w.home(), w.tmp()} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	t.Cleanup(w.endOnce())
	ctx, cancel := context.WithTimeout(t.Context(), upLimit)
	defer cancel()
	w.isUp = true
	args := []string{"up", "--wait=" + upLimit.String()}
	if out, err := w.local(ctx, "status", "-o", "json"); err != nil || !w.keep {
		args = append(args, "--cluster-flag=--audit-log="+w.auditLog())
	} else {
		tell("the cluster of an earlier run is used: %s", strings.Join(strings.Fields(out)[:5], " "))
	}
	if binary := os.Getenv("KSERVE_CLUSTER_BINARY"); binary != "" {
		args = append(args, "--cluster-binary="+binary)
	}
	out, err := w.local(ctx, args...)
	require.NoError(t, err, "%s", out)
	out, err = w.local(ctx, "status", "-o", "json")
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal([]byte(out), &w.record), "%s", out)
	for _, what := range w.record.NotEnforced {
		tell("not enforced here: %s", what)
	}
	w.connect(t)
	w.startStore(t)
	return w
}

// endOnce returns what takes the cluster down, at an interruption too: it is no child of this process and would live on.
func (w *world) endOnce() func() {
	end := sync.OnceFunc(func() {
		if w.keep {
			return
		}
		if w.isUp {
			_, _ = w.local(context.Background(), "down")
		}
		_ = os.RemoveAll(w.run)
	})
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		end()
		os.Exit(1)
	}()
	return end
}

func (w *world) state() string    { return filepath.Join(w.run, "s") }
func (w *world) home() string     { return filepath.Join(w.run, "home") }
func (w *world) tmp() string      { return filepath.Join(w.run, "tmp") }
func (w *world) auditLog() string { return filepath.Join(w.run, "audit.log") }

// command is a program of the project that finds a home and a temporary folder of this run, so that what it leaves there is seen. What
// kubectl remembers of a server is its own business, as is what Go notes when it is asked for its version; built cluster binaries are
// kept where they are.
func (w *world) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program(name), args...)
	cache, err := os.UserCacheDir()
	if err != nil {
		panic(err) // HOME is set wherever tests run
	}
	config, err := os.UserConfigDir()
	if err != nil {
		panic(err) // the same
	}
	cmd.Env = append(os.Environ(), "HOME="+w.home(), "TMPDIR="+w.tmp(), "XDG_STATE_HOME=", "XDG_CACHE_HOME="+cache, "XDG_CONFIG_HOME="+config,
		"KUBECONFIG=", "KUBECACHEDIR="+filepath.Join(w.run, "kubectl"))
	return cmd
}

// local runs `kserve local …` on this run's cluster and passes its progress on.
func (w *world) local(ctx context.Context, args ...string) (string, error) {
	cmd := w.command(ctx, "kserve", append([]string{"local", args[0], "--name=" + clusterName, "--state=" + w.state()}, args[1:]...)...)
	var out, both bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, &both)
	cmd.Stderr = io.MultiWriter(&both, &lines{say: func(line string) { tell("local %s: %s", args[0], line) }})
	if err := cmd.Run(); err != nil {
		return both.String(), fmt.Errorf("kserve local %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}

// restartAPI ends the API server, alone, and starts another after so long. It is a command of the cluster's own program.
func (w *world) restartAPI(ctx context.Context, away time.Duration) (string, error) {
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/%d/exe", w.record.PID), "restart-apiserver", "--name="+clusterName, "--state="+w.state(), "--for="+away.String())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// lines calls say for each whole line written to it.
type lines struct {
	say  func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.say(strings.TrimSpace(string(line)))
		l.rest = rest
	}
}

func (w *world) connect(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.record.Kubeconfig)
	require.NoError(t, err)
	config.QPS, config.Burst = 200, 400
	w.client, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
	w.core, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	w.kinds, err = discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
}

// kubectl runs the cluster's own kubectl, with what a person would type.
func (w *world) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := w.command(ctx, "kserve", append([]string{"local", "kubectl", "--name=" + clusterName, "--state=" + w.state()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String() + errOut.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), nil
}

// enter connects to host:port inside the cluster: the gate is a socket to which a client says where it wants to go.
func (w *world) enter(ctx context.Context, target string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", filepath.Join(filepath.Dir(w.record.Kubeconfig), "gate.sock"))
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, target+"\n"); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// door opens a port of this machine that leads to host:port inside the cluster, for programs that know nothing of the gate.
func (w *world) door(t *testing.T, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				inner, err := w.enter(context.Background(), target)
				if err != nil {
					c.Close()
					return
				}
				join(c, inner)
			}()
		}
	}()
	return l.Addr().String()
}

func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			if half, ok := pair[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
	a.Close()
	b.Close()
}
