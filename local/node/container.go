// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/local/image"
	"github.com/kserve-go/kserve-go/local/limit"
	"github.com/kserve-go/kserve-go/local/podlog"
	"github.com/kserve-go/kserve-go/local/runtime"
	"github.com/kserve-go/kserve-go/local/sandbox"
	"github.com/kserve-go/kserve-go/local/usage"
)

const (
	maxBackoff     = 5 * time.Minute
	maxPullBackoff = 4 * time.Second
	forgetBackoff  = 10 * time.Minute
	maxMessage     = 4096
	// With FallbackToLogsOnError the message is the end of the log, so much of it.
	fallbackLines, fallbackBytes = 80, 2048
)

// container is one container of a worker; it belongs to the worker's goroutine.
type container struct {
	w    *worker
	spec corev1.Container
	init bool

	status   corev1.ContainerStatus
	run      *running
	starting bool
	stopping bool
	ready    bool
	started  bool
	backoff  time.Duration
	retryAt  time.Time
	// reasons of an end that a process cannot tell
	oom     bool
	endedBy string
}

// running is a container whose program runs, or ran last; others may read it.
type running struct {
	proc  *runtime.Container
	watch *usage.Watch
	group *limit.Container // nil without a limit, or where the kernel holds none
	env   []string
	dir   string
	user  *sandbox.User
	log   string
	prev  string
	since time.Time
	id    string
	input *os.File       // the program reads what is written here; nil without input
	image string         // names the content
	stop  syscall.Signal // what asks it to end
}

func newContainer(w *worker, spec corev1.Container, init bool) *container {
	c := &container{w: w, spec: spec, init: init}
	c.status = corev1.ContainerStatus{Name: spec.Name, Image: spec.Image, State: waiting("ContainerCreating", "")}
	if init || len(w.pod.Spec.InitContainers) > 0 {
		c.status.State = waiting("PodInitializing", "")
	}
	// After a restart of the cluster the counts go on, and what ran has ended.
	for _, s := range append(append([]corev1.ContainerStatus{}, w.pod.Status.InitContainerStatuses...), w.pod.Status.ContainerStatuses...) {
		if s.Name == spec.Name {
			c.inherit(s)
		}
	}
	return c
}

func (c *container) inherit(s corev1.ContainerStatus) {
	c.status.RestartCount, c.status.LastTerminationState = s.RestartCount, s.LastTerminationState
	switch {
	case s.State.Terminated != nil && c.runsAgain():
		c.status.LastTerminationState = s.State
		c.status.RestartCount++
	case s.State.Terminated != nil:
		c.status = s
	case s.State.Running != nil:
		term := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "the cluster stopped while the container ran",
			StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.Now(), ContainerID: s.ContainerID,
		}}
		c.status.LastTerminationState = term
		if c.restarts(137) {
			c.status.RestartCount++
		} else {
			c.status.State = term
		}
	}
}

// runsAgain says whether an init container that is done has to run once more: what it made in the pod's folders is gone, and a container
// that needs it is still to start. As with a node that was switched off, init containers run again with a new sandbox.
func (c *container) runsAgain() bool {
	p := c.w.pod
	if !c.init || c.sidecar() || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return false
	}
	if p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return true
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil || s.State.Terminated != nil {
			return false // nothing of this pod starts any more
		}
	}
	return true
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func (c *container) sidecar() bool {
	return c.init && c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func (c *container) busy() bool { return c.starting || (c.run != nil && c.run.proc != nil) }

func (c *container) succeeded() bool {
	t := c.status.State.Terminated
	return t != nil && t.ExitCode == 0 && !c.restarts(0)
}

func (c *container) failedForGood() bool {
	t := c.status.State.Terminated
	return t != nil && t.ExitCode != 0 && !c.restarts(t.ExitCode)
}

// restarts is the restart policy.
func (c *container) restarts(code int32) bool {
	if c.sidecar() {
		return true
	}
	policy := c.w.pod.Spec.RestartPolicy
	if c.init && policy == corev1.RestartPolicyAlways {
		policy = corev1.RestartPolicyOnFailure
	}
	return policy == corev1.RestartPolicyAlways || policy == "" || (policy == corev1.RestartPolicyOnFailure && code != 0)
}

// startWhenDue starts the container unless it runs, has ended for good, or backs off.
func (c *container) startWhenDue() {
	if c.busy() || c.succeeded() || c.failedForGood() || time.Now().Before(c.retryAt) {
		return
	}
	c.starting, c.stopping, c.oom, c.endedBy = true, false, false, ""
	job := c.job()
	go func() {
		r, err := job.start()
		c.w.post(func() { c.launched(r, err) })
	}()
}

func (c *container) launched(r *running, err error) {
	c.starting = false
	c.run = r
	if err != nil {
		c.run = nil
		c.notStarted(err)
		return
	}
	c.status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.since)}}
	c.status.ContainerID, c.status.ImageID = "process://"+r.id, r.image
	c.started = c.spec.StartupProbe == nil
	c.ready = c.started && c.spec.ReadinessProbe == nil
	c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeNormal, "Started", "Container started: "+c.spec.Name)
	go func() {
		<-r.proc.Done()
		c.w.post(func() { c.exited(r) })
	}()
	if !c.w.deadline.IsZero() {
		c.stop("pod is deleted", time.Until(c.w.deadline))
		return
	}
	c.afterStart(r)
}

// notStarted turns an error into the reason that a kubelet gives for it.
func (c *container) notStarted(err error) {
	var start *runtime.StartError
	var pull *pullError
	switch {
	case errors.Is(err, image.ErrNotMapped) && c.spec.ImagePullPolicy == corev1.PullNever:
		c.backOff("ErrImageNeverPull", fmt.Sprintf("Container image %q is not present with pull policy of Never", c.spec.Image))
	case errors.As(err, &pull):
		c.notPulled(err)
	case errors.As(err, &start):
		now := metav1.Now()
		c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeWarning, "Failed", "Error: "+start.Message)
		c.terminated(&corev1.ContainerStateTerminated{ExitCode: sandbox.ExitNotStarted, Reason: "StartError", Message: start.Message, StartedAt: now, FinishedAt: now})
	default:
		c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
		c.backOff("CreateContainerConfigError", err.Error())
	}
}

// notPulled shows both states that a kubelet goes through.
func (c *container) notPulled(err error) {
	reason := "ErrImagePull"
	if _, perr := name.ParseReference(c.spec.Image, name.WeakValidation); perr != nil {
		reason, err = "InvalidImageName", perr
	}
	c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %v", c.spec.Image, err))
	if !c.w.node.KubeletTimes {
		c.backoff = min(c.backoff, maxPullBackoff/2) // it costs nothing to look again, and an image may be loaded any moment
	}
	c.backOff(reason, err.Error())
	if reason == "InvalidImageName" {
		return
	}
	c.w.after(min(time.Second, c.backoff/2), func() {
		if s := c.status.State.Waiting; s != nil && s.Reason == reason {
			c.status.State = waiting("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %v", c.spec.Image, err))
			c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeNormal, "BackOff", fmt.Sprintf("Back-off pulling image %q", c.spec.Image))
		}
	})
}

func (c *container) backOff(reason, message string) {
	c.growBackoff()
	c.retryAt = time.Now().Add(c.backoff)
	c.status.State = waiting(reason, message)
	c.w.after(c.backoff, func() {})
}

func (c *container) growBackoff() {
	base := time.Second
	if c.w.node.KubeletTimes {
		base = 10 * time.Second
	}
	c.backoff = max(base, min(c.backoff*2, maxBackoff))
}

func (c *container) exited(r *running) {
	exit := r.proc.Exit()
	ran := exit.At.Sub(r.since)
	c.w.node.Usage.Remove(r.watch)
	r.proc = nil
	if r.group != nil {
		c.oom = c.oom || r.group.Exceeded()
	}
	go r.release() // the kernel may take a moment
	if ran > forgetBackoff {
		c.backoff = 0
	}
	t := &corev1.ContainerStateTerminated{
		ExitCode: int32(exit.Code), Reason: "Error", StartedAt: metav1.NewTime(r.since), FinishedAt: metav1.NewTime(exit.At), ContainerID: "process://" + r.id,
	}
	switch {
	case c.oom:
		t.Reason, t.ExitCode = "OOMKilled", 137
	case exit.Code == 0:
		t.Reason = "Completed"
	}
	t.Message = c.terminationMessage(r, exit.Code)
	c.terminated(t)
}

// terminated records an end and decides when the container starts again: at once the first time, then after growing times.
func (c *container) terminated(t *corev1.ContainerStateTerminated) {
	c.ready, c.started, c.stopping = false, false, false
	state := corev1.ContainerState{Terminated: t}
	c.status.State = state
	if !c.w.deadline.IsZero() || c.w.concluding != "" || !c.restarts(t.ExitCode) {
		return
	}
	c.status.LastTerminationState = state
	c.status.RestartCount++
	if c.backoff == 0 {
		c.growBackoff()
		c.backoff /= 2
		c.retryAt = time.Now()
		return
	}
	c.growBackoff()
	c.retryAt = time.Now().Add(c.backoff)
	message := fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", c.backoff, c.spec.Name, c.w.name)
	c.status.State = waiting("CrashLoopBackOff", message)
	c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container "+c.spec.Name)
	c.w.after(c.backoff, func() {})
}

func (c *container) terminationMessage(r *running, code int) string {
	f, err := os.Open(c.messageFile())
	if err == nil {
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, maxMessage))
		if err == nil && len(b) > 0 {
			return string(b)
		}
	}
	if code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return strings.TrimSpace(podlog.Tail(r.log, fallbackLines, fallbackBytes))
	}
	if c.endedBy != "" {
		return c.endedBy
	}
	return ""
}

// stop runs the hook, asks the program to end, and kills it when grace is over.
func (c *container) stop(why string, grace time.Duration) {
	if c.stopping || c.run == nil || c.run.proc == nil {
		return
	}
	c.stopping = true
	c.ready = false
	proc, ask := c.run.proc, c.run.stop
	hook := c.preStop(grace)
	c.w.node.Recorder.Event(c.w.pod, corev1.EventTypeNormal, "Killing", "Stopping container "+c.spec.Name+": "+why)
	go func() {
		end := time.NewTimer(max(grace, 0))
		defer end.Stop()
		if hook != nil {
			hook()
		}
		proc.Signal(ask)
		select {
		case <-proc.Done():
		case <-end.C:
			proc.Signal(syscall.SIGKILL)
		}
	}()
}

func (c *container) kill() {
	if c.run != nil && c.run.proc != nil {
		c.run.proc.Signal(syscall.SIGKILL)
	}
}
