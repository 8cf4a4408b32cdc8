// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"github.com/kserve-go/kserve-go/local/runtime"
)

// eager is how often a container that is not up yet is looked at between the times of its probe.
const eager = 200 * time.Millisecond

type probeKind string

const (
	startup   probeKind = "Startup"
	readiness probeKind = "Readiness"
	liveness  probeKind = "Liveness"
)

// afterStart runs the hook and the probes of a run.
func (c *container) afterStart(r *running) {
	ctx, cancel := context.WithCancel(c.w.ctx)
	proc := r.proc
	go func() {
		<-proc.Done()
		cancel()
	}()
	t := c.target(r)
	if l := c.spec.Lifecycle; l != nil && l.PostStart != nil {
		go func() {
			if err := t.hook(ctx, l.PostStart); err != nil && ctx.Err() == nil {
				c.w.post(func() {
					c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed: "+err.Error())
					c.stop("PostStart hook failed", c.w.grace())
				})
			}
		}()
	}
	up := make(chan struct{})
	if c.spec.StartupProbe == nil {
		close(up)
	} else {
		go t.loop(ctx, c.spec.StartupProbe, true, func(ok bool, message string) {
			c.w.post(func() { c.probed(r, startup, ok, message, up) })
		})
	}
	for kind, p := range map[probeKind]*corev1.Probe{readiness: c.spec.ReadinessProbe, liveness: c.spec.LivenessProbe} {
		if p == nil {
			continue
		}
		go func() {
			select {
			case <-up:
			case <-ctx.Done():
				return
			}
			t.loop(ctx, p, kind == readiness, func(ok bool, message string) {
				c.w.post(func() { c.probed(r, kind, ok, message, nil) })
			})
		}()
	}
}

// probed takes a result that crossed its threshold.
func (c *container) probed(r *running, kind probeKind, ok bool, message string, up chan struct{}) {
	if c.run != r || r.proc == nil || c.stopping {
		return
	}
	if !ok {
		c.w.node.Recorder.Eventf(c.w.pod, corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %s", kind, message)
	}
	switch {
	case kind == readiness:
		c.ready = ok
	case kind == startup && ok:
		if !c.started {
			c.started = true
			c.ready = c.spec.ReadinessProbe == nil
			close(up)
		}
	case !ok:
		grace := c.w.grace()
		if p := map[probeKind]*corev1.Probe{startup: c.spec.StartupProbe, liveness: c.spec.LivenessProbe}[kind]; p.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*p.TerminationGracePeriodSeconds) * time.Second
		}
		c.endedBy = fmt.Sprintf("%s probe failed: %s", kind, message)
		c.stop(fmt.Sprintf("failed %s probe, will be restarted", kind), grace)
	}
}

// target is what probes and hooks of one run aim at.
type target struct {
	spec    *corev1.Container
	proc    *runtime.Container
	run     *running
	address string
	eager   bool
}

func (c *container) target(r *running) *target {
	t := &target{spec: &c.spec, proc: r.proc, run: r, eager: !c.w.node.KubeletTimes}
	if a := c.w.address.Load(); a != nil {
		t.address = *a
	}
	return t
}

// loop probes at a kubelet's times and reports when a threshold is crossed. A container that was never seen well is, unless a
// kubelet's times are asked for, looked at more often; those looks count only when they succeed.
func (t *target) loop(ctx context.Context, p *corev1.Probe, hurry bool, report func(ok bool, message string)) {
	period := time.Duration(max(p.PeriodSeconds, 1)) * time.Second
	due := time.Now().Add(time.Duration(p.InitialDelaySeconds) * time.Second)
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	good, bad, wasGood := int32(0), int32(0), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		counts := !time.Now().Before(due)
		err := t.probe(ctx, p)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			good, bad = good+1, 0
			if good == max(p.SuccessThreshold, 1) {
				wasGood = true
				report(true, "")
			}
		case counts:
			good, bad = 0, bad+1
			if bad == max(p.FailureThreshold, 1) {
				report(false, err.Error())
			}
		}
		for counts && !due.After(time.Now()) {
			due = due.Add(period)
		}
		wait := time.Until(due)
		if t.eager && hurry && !wasGood {
			wait = min(wait, eager)
		}
		timer.Reset(max(wait, 0))
	}
}

func (t *target) probe(ctx context.Context, p *corev1.Probe) error {
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	switch {
	case p.HTTPGet != nil:
		return t.httpGet(p.HTTPGet, timeout)
	case p.TCPSocket != nil:
		host := t.address
		if p.TCPSocket.Host != "" {
			host = p.TCPSocket.Host
		}
		port, err := t.port(p.TCPSocket.Port)
		if err != nil {
			return err
		}
		return outcome(tcpprobe.New().Probe(host, port, timeout))
	case p.GRPC != nil:
		service := ""
		if p.GRPC.Service != nil {
			service = *p.GRPC.Service
		}
		return outcome(grpcprobe.New().Probe(t.address, service, int(p.GRPC.Port), timeout, grpcprobe.ProbeOptions{}))
	case p.Exec != nil:
		return t.exec(ctx, p.Exec.Command, timeout)
	}
	return errors.New("unknown kind of probe: this node knows httpGet, tcpSocket, grpc and exec")
}

func outcome(result probe.Result, message string, err error) error {
	switch {
	case err != nil:
		return err
	case result == probe.Success || result == probe.Warning:
		return nil
	}
	return errors.New(message)
}

func (t *target) httpGet(h *corev1.HTTPGetAction, timeout time.Duration) error {
	req, err := httpprobe.NewRequestForHTTPGetAction(h, t.spec, t.address, "probe")
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	return outcome(httpprobe.New(false).Probe(req, timeout))
}

func (t *target) exec(ctx context.Context, command []string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out limited
	err := t.proc.Run(ctx, runtime.Exec{Args: command, Env: t.run.env, Dir: t.run.dir, User: t.run.user, Stdout: &out, Stderr: &out})
	if err != nil {
		return fmt.Errorf("%w: %s", err, out.b.String())
	}
	return nil
}

// limited keeps the start of what is written.
type limited struct{ b bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	const most = 1 << 10
	l.b.Write(p[:min(len(p), max(most-l.b.Len(), 0))])
	return len(p), nil
}

func (t *target) port(p intstr.IntOrString) (int, error) {
	if p.Type == intstr.Int {
		return p.IntValue(), nil
	}
	for _, c := range t.spec.Ports {
		if c.Name == p.StrVal {
			return int(c.ContainerPort), nil
		}
	}
	n, err := strconv.Atoi(p.StrVal)
	if err != nil {
		return 0, fmt.Errorf("the container has no port %q", p.StrVal)
	}
	return n, nil
}

// preStop returns the hook to run before a container is asked to end, or nil.
func (c *container) preStop(grace time.Duration) func() {
	l := c.spec.Lifecycle
	if l == nil || l.PreStop == nil || grace <= 0 {
		return nil
	}
	t := c.target(c.run)
	pod, recorder := c.w.pod, c.w.node.Recorder
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		go func() {
			select {
			case <-t.proc.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
		if err := t.hook(ctx, l.PreStop); err != nil && ctx.Err() == nil {
			recorder.Event(pod, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: "+err.Error())
		}
	}
}

func (t *target) hook(ctx context.Context, h *corev1.LifecycleHandler) error {
	const most = time.Hour
	switch {
	case h.Exec != nil:
		return t.exec(ctx, h.Exec.Command, most)
	case h.HTTPGet != nil:
		done := make(chan error, 1)
		go func() { done <- t.httpGet(h.HTTPGet, most) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	case h.Sleep != nil:
		timer := time.NewTimer(time.Duration(h.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("unknown kind of hook: this node knows exec, httpGet and sleep")
}
