// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kserve-go/kserve-go/local/place"
)

// asProgram makes this test binary be the cluster binary: the tests run real processes without building it twice.
const asProgram = "KSERVE_CLUSTER_TEST_AS_PROGRAM"

const (
	startWait = 3 * time.Minute
	wait      = 2 * time.Minute
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	code := m.Run()
	if sharedCluster != nil {
		sharedCluster.in.Close()
		_ = sharedCluster.cmd.Wait()
		_ = os.RemoveAll(sharedCluster.state)
	}
	os.Exit(code)
}

var sharedCluster *cluster

// cluster is a running cluster and the pipe that keeps it alive.
type cluster struct {
	place.Record
	cmd    *exec.Cmd
	in     io.Closer
	state  string
	errOut *bytes.Buffer
	client *kubernetes.Clientset
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command(self(), args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// start returns when the cluster is ready. The caller stops it; if the tests die, the pipe does.
func start(t *testing.T, state, name string, args ...string) *cluster {
	t.Helper()
	c, err := tryStart(state, name, args...)
	require.NoError(t, err, "standard error: %s", c.errOut)
	c.connect(t)
	return c
}

func (c *cluster) connect(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	require.NoError(t, err)
	config.QPS, config.Burst = 200, 400
	c.client, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
}

func tryStart(state, name string, args ...string) (*cluster, error) {
	return startProgram(program(upArgs(state, name, args...)...), state)
}

func upArgs(state, name string, args ...string) []string {
	return append([]string{"up", "--stdin-lifeline", "--state", state, "--name", name}, args...)
}

func startProgram(cmd *exec.Cmd, state string) (*cluster, error) {
	c := &cluster{state: state, errOut: &bytes.Buffer{}, cmd: cmd}
	c.cmd.Stderr = c.errOut
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return c, err
	}
	c.in = in
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	if err := c.cmd.Start(); err != nil {
		return c, err
	}
	late := time.AfterFunc(startWait, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = c.cmd.Wait()
		return c, err
	}
	return c, json.Unmarshal([]byte(strings.TrimPrefix(line, "ready ")), &c.Record)
}

// oneUser says that pods run as root whatever they ask for.
func (c *cluster) oneUser() bool {
	return strings.Contains(strings.Join(c.NotEnforced, "; "), "runAsUser")
}

func (c *cluster) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, c.in.Close())
	require.NoError(t, c.cmd.Wait(), "standard error: %s", c.errOut)
}

// shared is one cluster with a node for all tests of pods; each test has a namespace of its own.
func shared(t *testing.T) (*cluster, string) {
	t.Helper()
	if sharedCluster == nil {
		state, err := os.MkdirTemp("", "kc")
		require.NoError(t, err)
		images := filepath.Join(state, "test-images.json")
		require.NoError(t, os.WriteFile(images, []byte(`{"sh": {"entrypoint": ["/bin/sh", "-c"]}, "sleep": {"entrypoint": ["sleep"], "cmd": ["100000"]}}`), 0o600))
		sharedCluster = start(t, state, "shared", "--images", images, "--discard")
	}
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(t.Name()), "-")
	name = strings.Trim(name[:min(len(name), 60)], "-")
	ctx := t.Context()
	_, err := sharedCluster.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		now := int64(0)
		_ = sharedCluster.client.CoreV1().Pods(name).DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
		if t.Failed() {
			t.Log(sharedCluster.kubectl(name, "", "get", "pods,events", "-o", "wide"))
		}
	})
	sharedCluster.waitAccount(t, name)
	return sharedCluster, name
}

// waitAccount waits for the service account, without which pods are refused.
func (c *cluster) waitAccount(t *testing.T, ns string) {
	t.Helper()
	until(t, "the default service account", func() bool {
		_, err := c.client.CoreV1().ServiceAccounts(ns).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
}

// until asks again and again; it is for what cannot be watched.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(wait)
	for !ok() {
		require.True(t, time.Now().Before(deadline), "timed out waiting for %s", what)
		time.Sleep(50 * time.Millisecond)
	}
}

// kubectl returns both outputs; it fails no test.
func (c *cluster) kubectl(ns, stdin string, args ...string) string {
	out, err := c.kubectlErr(ns, stdin, args...)
	if err != nil {
		out += err.Error()
	}
	return out
}

func (c *cluster) kubectlErr(ns, stdin string, args ...string) (string, error) {
	cmd := program(append([]string{"kubectl", "--name=" + c.Name, "--state=" + c.state, "-n", ns}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *cluster) apply(t *testing.T, ns, yaml string) {
	t.Helper()
	out, err := c.kubectlErr(ns, yaml, "apply", "-f", "-")
	require.NoError(t, err, out)
}

// waitPod watches a pod until ok says so.
func (c *cluster) waitPod(t *testing.T, ns, name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	for {
		w, err := c.client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		require.NoError(t, err)
		for e := range w.ResultChan() {
			if p, is := e.Object.(*corev1.Pod); is && e.Type != watch.Deleted && ok(p) {
				w.Stop()
				return p
			}
		}
		require.NoError(t, ctx.Err(), "pod %s: %s", name, c.kubectl(ns, "", "get", "pod", name, "-o", "yaml"))
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// leftovers lists processes, mounts, control groups and interfaces that mention the cluster.
func leftovers(t *testing.T, state string, before []net.Interface) []string {
	t.Helper()
	var out []string
	procs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, p := range procs {
		env, err := os.ReadFile(p + "/environ")
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(p + "/cmdline")
		if stat, _ := os.ReadFile(p + "/stat"); bytes.Contains(stat, []byte(") Z ")) {
			continue
		}
		if bytes.Contains(env, []byte(state)) || bytes.Contains(line, []byte(state)) {
			out = append(out, "process "+filepath.Base(p)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, state) {
			out = append(out, "mount "+line)
		}
	}
	out = append(out, groups(filepath.Base(state))...)
	now, err := net.Interfaces()
	require.NoError(t, err)
	if len(now) != len(before) {
		out = append(out, "interfaces changed")
	}
	return out
}

// groups lists the control groups of a cluster.
func groups(name string) []string {
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error { // what cannot be read holds none of ours
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "kserve-"+name+"-") {
			out = append(out, "control group "+path)
		}
		return nil
	})
	return out
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, s))
}

// processesWith lists processes whose arguments contain text.
func processesWith(text string) []string {
	var out []string
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, f := range all {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(text)) {
			out = append(out, f)
		}
	}
	return out
}
