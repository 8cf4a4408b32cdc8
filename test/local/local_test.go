// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package local_test runs `kserve local` as a person does: up, up again, with a changed image, after a kill, down; and looks at what
// each says and what it leaves.
//
// Called by: make test-cluster.
// Next: pkg/cli/cluster.
package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/require"
)

const (
	// enabled is the variable that lets the tests start a cluster: they need what `make test-cluster` builds.
	enabled = "KSERVE_TEST_CLUSTER"
	root    = "../.."
	name    = "first-look"
	limit   = 6 * time.Minute
	row     = `{"instances": [[6.8, 2.8, 4.8, 1.4]]}`
)

// person types commands, with a home and a state folder of this run.
type person struct {
	*testing.T
	state, home, images string
}

func (p *person) command(ctx context.Context, args ...string) *exec.Cmd {
	bin, err := filepath.Abs(filepath.Join(root, "bin", "kserve"))
	require.NoError(p, err)
	cache, err := os.UserCacheDir()
	require.NoError(p, err)
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_STATE_HOME="+p.state, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME="+cache, "KUBECONFIG=", "KUBECACHEDIR=")
	return cmd
}

// types runs a command that must succeed.
func (p *person) types(args ...string) (stdout, stderr string) {
	p.Helper()
	stdout, stderr, code := p.tries(args...)
	require.Zero(p, code, "kserve %s\n%s%s", strings.Join(args, " "), stdout, stderr)
	return stdout, stderr
}

func (p *person) tries(args ...string) (stdout, stderr string, code int) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	defer cancel()
	cmd := p.command(ctx, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	require.NotNil(p, cmd.ProcessState, "%v", err)
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func (p *person) up(args ...string) (stdout, stderr string) {
	p.Helper()
	return p.types(append([]string{"local", "up", "--name=" + name, "--images=" + p.images, "--wait=5m"}, args...)...)
}

func (p *person) kubectl(args ...string) string {
	p.Helper()
	out, _ := p.types(append([]string{"local", "kubectl", "--name=" + name}, args...)...)
	return out
}

// status is what `kserve local status -o json` tells, as far as the tests look.
type status struct {
	PID                 int
	Gateway, Kubeconfig string
	Installed           bool
	Controller, Webhook struct{ Pods, Ready int }
	Pods                []struct{ Namespace, Name string }
	Services            []struct{ Name, Ready, URL string }
}

func (p *person) status() status {
	p.Helper()
	out, _ := p.types("local", "status", "--name="+name, "-o", "json")
	var s status
	require.NoError(p, json.Unmarshal([]byte(out), &s), out)
	return s
}

func (s status) podNames(namespace string) []string {
	var found []string
	for _, pod := range s.Pods {
		if pod.Namespace == namespace {
			found = append(found, pod.Name)
		}
	}
	return found
}

func (p *person) asksIris() {
	p.Helper()
	for _, protocol := range []string{"v1", "v2"} {
		out, _ := p.types("predict", "sklearn-iris", "-n", "default", "--cluster="+name, "-p", protocol, "-d", row)
		require.Contains(p, strings.Join(strings.Fields(out), ""), map[string]string{"v1": `"predictions":[1]`, "v2": `"data":[1]`}[protocol])
	}
}

func TestAFirstLook(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("needs a cluster: make test-cluster")
	}
	dir, err := os.MkdirTemp("", "kl") //nolint:usetesting // short: sockets lie in it
	require.NoError(t, err)
	p := &person{T: t, state: filepath.Join(dir, "s"), home: filepath.Join(dir, "h"), images: filepath.Join(dir, "i")}
	require.NoError(t, os.Mkdir(p.home, 0o755))
	require.NoError(t, os.CopyFS(p.images, os.DirFS(filepath.Join(root, "bin", "images"))))
	t.Cleanup(func() {
		// Its own context: that of the test has ended.
		_ = p.command(context.Background(), "local", "down", "--name="+name).Run()
		_ = os.RemoveAll(dir)
	})
	for _, step := range []struct {
		name string
		run  func(*person)
	}{
		{"before the first start every command says what to do", nothingRuns},
		{"Ctrl-C while it starts leaves nothing", interrupted},
		{"bare, it is Kubernetes alone", bare},
		{"up again installs KServe, and a sample answers", installed},
		{"once more changes nothing", unchanged},
		{"a changed image restarts its own pods", changedImage},
		{"killed, it comes up again with what it had", killed},
		{"down and discarded, nothing is left", discarded},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(&person{t, p.state, p.home, p.images}) }) {
			return // each step stands on the one before
		}
	}
}

func nothingRuns(p *person) {
	for _, args := range [][]string{{"status"}, {"kubeconfig"}, {"logs"}} {
		_, stderr, code := p.tries(append([]string{"local"}, append(args, "--name="+name)...)...)
		require.Equal(p, 5, code)
		require.Contains(p, stderr, "kserve local up --name="+name)
	}
	_, stderr, code := p.tries("predict", "sklearn-iris", "-n", "default", "-d", row)
	require.Equal(p, 5, code)
	require.Contains(p, stderr, "kserve local up")
}

func interrupted(p *person) {
	ctx, cancel := context.WithTimeout(p.Context(), limit)
	defer cancel()
	cmd := p.command(ctx, "local", "up", "--bare", "--name="+name)
	stderr, err := cmd.StderrPipe()
	require.NoError(p, err)
	require.NoError(p, cmd.Start())
	line := make([]byte, 256)
	_, err = stderr.Read(line) // the first step is done
	require.NoError(p, err)
	require.NoError(p, cmd.Process.Signal(os.Interrupt))
	require.Error(p, cmd.Wait())
	_, said, code := p.tries("local", "status", "--name="+name)
	require.Equal(p, 5, code)
	require.Contains(p, said, "kserve local up", "it does not run, nor is it ending")
}

func bare(p *person) {
	out, progress := p.types("local", "up", "--bare", "--name="+name)
	for _, step := range []string{"etcd", "API server", "node"} {
		require.Contains(p, progress, "s "+step)
	}
	s := p.status()
	require.False(p, s.Installed)
	require.Contains(p, out, s.Kubeconfig)
	require.Contains(p, out, s.Gateway)
	path, _ := p.types("local", "kubeconfig", "--name="+name)
	require.Equal(p, s.Kubeconfig+"\n", path)
	require.Contains(p, p.kubectl("get", "nodes"), "Ready")
	_, stderr, code := p.tries("local", "up", "--bare", "--fresh", "--name="+name)
	require.Equal(p, 2, code)
	require.Contains(p, stderr, "stop it first")
}

func installed(p *person) {
	before := p.status()
	_, progress := p.up()
	require.Contains(p, progress, "runs already")
	require.Contains(p, progress, "admission answers")
	s := p.status()
	require.Equal(p, before.PID, s.PID, "it is the same cluster")
	require.True(p, s.Installed)
	require.Equal(p, 1, s.Controller.Ready)
	require.Equal(p, 1, s.Webhook.Ready)

	p.kubectl("apply", "-f", "deploy/samples/sklearn-iris.yaml")
	p.kubectl("wait", "--for=condition=Ready", "isvc/sklearn-iris", "--timeout=180s")
	p.asksIris()
	s = p.status()
	require.Len(p, s.Services, 1)
	require.Equal(p, "True", s.Services[0].Ready)
	for what, want := range map[string]string{"controller": "settings read", "webhook": "certificate", "cluster": "ready {"} {
		out, _ := p.types("local", "logs", what, "--name="+name)
		require.Contains(p, out, want, what)
	}
	logs, _ := p.types("local", "logs", s.podNames("default")[0], "-c", "storage-initializer", "--name="+name)
	require.NotEmpty(p, logs)
}

func unchanged(p *person) {
	before := p.kubectl("get", "pods,deployments,crd,clusterservingruntimes,configmaps", "-A", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.metadata.generation}{'\\n'}{end}")
	p.up()
	require.Equal(p, before, p.kubectl("get", "pods,deployments,crd,clusterservingruntimes,configmaps", "-A", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.metadata.generation}{'\\n'}{end}"))
}

func changedImage(p *person) {
	before := p.status()
	relabel(p.T, filepath.Join(p.images, "controller"))
	p.up()
	after := p.status()
	var old, kept string
	for _, pod := range before.podNames("kserve") {
		if strings.Contains(pod, "controller") {
			old = pod
		} else {
			kept = pod
		}
	}
	for begun := time.Now(); slices.Contains(after.podNames("kserve"), old) && time.Since(begun) < limit; after = p.status() {
		time.Sleep(100 * time.Millisecond) // its successor is ready; it is ending
	}
	require.NotContains(p, after.podNames("kserve"), old)
	require.Contains(p, after.podNames("kserve"), kept)
	require.Equal(p, 1, after.Controller.Ready)
	p.asksIris()
}

// relabel gives an image other content under its name.
func relabel(t *testing.T, dir string) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	m, err := index.IndexManifest()
	require.NoError(t, err)
	image, err := index.Image(m.Manifests[0].Digest)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	labels := config.DeepCopy().Config
	labels.Labels = map[string]string{"changed": "yes"}
	changed, err := mutate.Config(image, labels)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "index.json")))
	path, err := layout.Write(dir, empty.Index)
	require.NoError(t, err)
	require.NoError(t, path.AppendImage(changed, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: config.Architecture})))
}

func killed(p *person) {
	require.NoError(p, syscall.Kill(p.status().PID, syscall.SIGKILL))
	require.Eventually(p, func() bool { _, _, code := p.tries("local", "status", "--name="+name); return code == 5 }, limit, 100*time.Millisecond)
	p.up()
	p.kubectl("wait", "--for=condition=Ready", "isvc/sklearn-iris", "--timeout=180s")
	// For a moment the status is that of before.
	require.Eventually(p, func() bool {
		_, _, code := p.tries("predict", "sklearn-iris", "-n", "default", "--cluster="+name, "-d", row)
		return code == 0
	}, limit, 100*time.Millisecond)
	p.asksIris()
}

// hasEnded says whether a process runs no more; one that nobody has asked how it ended is still listed.
func hasEnded(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

func discarded(p *person) {
	pid := p.status().PID
	_, said := p.types("local", "down", "--name="+name)
	require.Contains(p, said, "its state is kept in "+filepath.Join(p.state, "kserve", "clusters", name))
	require.Eventually(p, func() bool { return hasEnded(pid) }, limit, 10*time.Millisecond)
	_, said = p.types("local", "down", "--discard", "--name="+name)
	require.Contains(p, said, "nothing of it is left")
	for _, dir := range []string{p.state, p.home} {
		require.NoError(p, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			require.NoError(p, err)
			if path == filepath.Join(p.home, ".config", "go") {
				return filepath.SkipDir // the go command, which is asked for its version in a checkout, counts its own runs
			}
			require.True(p, d.IsDir(), "%s is left", path)
			return nil
		}))
	}
}
