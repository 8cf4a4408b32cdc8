// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/local/podlog"
	"github.com/kserve-go/kserve-go/local/runtime"
	"github.com/kserve-go/kserve-go/local/usage"
)

// Pods are the pods of the node.
func (n *Node) Pods() []*corev1.Pod {
	var out []*corev1.Pod
	n.each(func(w *worker) {
		p := w.view.Load().pod.DeepCopy()
		out = append(out, p)
	})
	return out
}

// Used is what one running container used.
type Used struct {
	Pod       *corev1.Pod
	Container string
	Since     time.Time
	usage.Sample
}

// Uses are those of all running containers, by pod.
func (n *Node) Uses() []Used {
	var out []Used
	n.each(func(w *worker) {
		v := w.view.Load()
		for name, r := range v.containers {
			if r != nil && r.proc != nil {
				out = append(out, Used{Pod: v.pod, Container: name, Since: r.since, Sample: r.watch.Last()})
			}
		}
	})
	slices.SortFunc(out, func(a, b Used) int {
		return cmpStrings(a.Pod.Namespace, b.Pod.Namespace, a.Pod.Name, b.Pod.Name, a.Container, b.Container)
	})
	return out
}

func cmpStrings(pairs ...string) int {
	for i := 0; i+1 < len(pairs); i += 2 {
		switch {
		case pairs[i] < pairs[i+1]:
			return -1
		case pairs[i] > pairs[i+1]:
			return 1
		}
	}
	return 0
}

func (n *Node) container(ns, pod, name string) (*worker, *view, *running, error) { //nolint:revive // four: the way down, and the error
	w := n.find(ns, pod)
	if w == nil {
		return nil, nil, nil, fmt.Errorf("pod %s/%s: %w", ns, pod, ErrNotFound)
	}
	v := w.view.Load()
	r, ok := v.containers[name]
	if !ok {
		return nil, nil, nil, fmt.Errorf("container %q of pod %s/%s: %w", name, ns, pod, ErrNotFound)
	}
	if r == nil {
		return nil, nil, nil, fmt.Errorf("container %q in pod %q is waiting to start", name, pod)
	}
	return w, v, r, nil
}

// Logs writes what a container printed.
func (n *Node) Logs(ctx context.Context, ns, pod string, o *corev1.PodLogOptions, out io.Writer) error {
	_, _, r, err := n.container(ns, pod, o.Container)
	if err != nil {
		return err
	}
	path, ended := r.log, func() bool { return true }
	if o.Previous {
		if path = r.prev; path == "" {
			// Not ErrNotFound: of a 404 clients show only that something was not found.
			return fmt.Errorf("previous terminated container %q in pod %q not found", o.Container, pod)
		}
	} else if r.proc != nil {
		proc := r.proc
		ended = func() bool {
			select {
			case <-proc.Done():
				return true
			default:
				return false
			}
		}
	}
	return podlog.Copy(ctx, path, o, ended, out)
}

// Exec are a command's arguments and streams.
type Exec struct {
	Command        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       *os.File
}

// Exec runs a command in a container.
func (n *Node) Exec(ctx context.Context, ns, pod, name string, e Exec) error {
	_, _, r, err := n.container(ns, pod, name)
	if err != nil {
		return err
	}
	if r.proc == nil {
		return fmt.Errorf("container %q in pod %q is not running", name, pod)
	}
	env := r.env
	if e.Terminal != nil {
		env = append(slices.Clone(env), "TERM=xterm")
	}
	return r.proc.Run(ctx, runtime.Exec{
		Args: e.Command, Env: env, Dir: r.dir, User: r.user, Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Terminal: e.Terminal,
	})
}

// Attach follows what a container prints from now on and hands it input, if it has any and in is not nil.
func (n *Node) Attach(ctx context.Context, ns, pod, name string, in io.Reader, out io.Writer) error { //nolint:revive // the streams of a container
	w, v, r, err := n.container(ns, pod, name)
	if err != nil {
		return err
	}
	if r.proc == nil {
		return fmt.Errorf("container %q in pod %q is not running", name, pod)
	}
	log, err := podlog.End(r.log)
	if err != nil {
		return err
	}
	defer log.Close()
	if in != nil {
		if r.input == nil {
			return fmt.Errorf("container %q of pod %s/%s has no input: its spec does not say stdin", name, w.namespace, w.name)
		}
		go func() {
			_, err := io.Copy(r.input, in)
			if err == nil && stdinOnce(v.pod, name) {
				r.input.Close()
			}
		}()
	}
	ended := func() bool {
		select {
		case <-r.proc.Done():
			return true
		default:
			return false
		}
	}
	if out == nil {
		select {
		case <-r.proc.Done():
		case <-ctx.Done():
		}
		return nil
	}
	return log.Follow(ctx, ended, out)
}

func stdinOnce(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == name {
			return c.StdinOnce
		}
	}
	return false
}

// Dial connects to a port of the pod's own loopback.
func (n *Node) Dial(ctx context.Context, ns, pod string, port int32) (net.Conn, error) {
	w := n.find(ns, pod)
	if w == nil {
		return nil, fmt.Errorf("pod %s/%s: %w", ns, pod, ErrNotFound)
	}
	v := w.view.Load()
	if v.sandbox == nil {
		return nil, errors.New("the pod has no network")
	}
	return v.sandbox.Dial(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
}
