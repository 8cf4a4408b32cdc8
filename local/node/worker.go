// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/network"
	"github.com/kserve-go/kserve-go/local/runtime"
	"github.com/kserve-go/kserve-go/local/volume"
)

const (
	retrySetup = time.Second
	// mailbox is how many events may wait; a sender waits beyond it.
	mailbox = 64
	// goneGrace is what processes get whose pod was deleted by force.
	goneGrace = 2 * time.Second
	apiWait   = 30 * time.Second
)

// worker is one pod. Every field below events belongs to the goroutine of run: others post functions, which run there one after the
// other, and after each of them step decides what is to be done next.
type worker struct {
	node            *Node
	uid             types.UID
	namespace, name string
	dir             string
	ctx             context.Context //nolint:containedctx // the pod's life: what it started ends with it
	cancel          context.CancelFunc
	events          chan func()
	ended           chan struct{}
	ending          atomic.Bool
	view            atomic.Pointer[view]
	publish         *publisher
	address         atomic.Pointer[string]

	pod     *corev1.Pod
	started metav1.Time

	sandbox    *network.Pod
	shared     *runtime.Shared
	volumeSet  *volume.Set
	volumes    map[string]volume.Volume
	settingUp  bool
	setupError string
	closed     bool // the sandbox was let go

	containers  []*container
	initialized bool
	phase       corev1.PodPhase
	// concluding is the phase to be, while the sidecars are ended.
	concluding corev1.PodPhase
	// shownConditions are those of the last status, for the times of their changes.
	shownConditions []corev1.PodCondition
	reason          string
	message         string

	deadline time.Time // when a pod that ends is killed; zero while it lives
	killer   *time.Timer
	deleted  bool // the API has no such pod any more
	halting  bool // the cluster stops: the pod is to start again with the next one
}

// view is what the kubelet's server may read at any time.
type view struct {
	pod        *corev1.Pod
	address    string
	sandbox    *network.Pod
	containers map[string]*running
}

func newWorker(n *Node, p *corev1.Pod) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{
		node: n, uid: p.UID, namespace: p.Namespace, name: p.Name, pod: p, ctx: ctx, cancel: cancel,
		dir:    filepath.Join(n.Dir, string(p.UID)),
		events: make(chan func(), mailbox), ended: make(chan struct{}), started: metav1.Now(), phase: corev1.PodPending,
	}
	if p.Status.StartTime != nil {
		w.started = *p.Status.StartTime
	}
	w.publish = newPublisher(n.Client, p)
	w.volumeSet = volume.NewSet(n.objects, filepath.Join(w.dir, "volumes"), w.field)
	for i := range p.Spec.InitContainers {
		w.containers = append(w.containers, newContainer(w, p.Spec.InitContainers[i], true))
	}
	for i := range p.Spec.Containers {
		w.containers = append(w.containers, newContainer(w, p.Spec.Containers[i], false))
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		w.phase, w.reason, w.message, w.closed = p.Status.Phase, p.Status.Reason, p.Status.Message, true
	}
	w.setView()
	return w
}

// post hands f to the pod's goroutine.
func (w *worker) post(f func()) {
	select {
	case w.events <- f:
	case <-w.ended:
	}
}

// after posts f later, unless the pod has ended.
func (w *worker) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { w.post(f) })
}

func (w *worker) isEnding() bool { return w.ending.Load() }

func (w *worker) run() {
	defer w.node.forget(w)
	defer close(w.ended)
	defer w.cancel()
	go w.publish.run(w.ctx)
	if s := w.pod.Spec.ActiveDeadlineSeconds; s != nil {
		late := w.after(time.Until(w.started.Add(time.Duration(*s)*time.Second)), w.overdue)
		defer late.Stop()
	}
	for f := range w.events {
		f()
		if w.step() {
			return
		}
	}
}

func (w *worker) updated(p *corev1.Pod) {
	w.pod = p
	if p.DeletionTimestamp != nil {
		grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
		if p.DeletionGracePeriodSeconds != nil {
			grace = *p.DeletionGracePeriodSeconds
		}
		w.end(time.Duration(grace) * time.Second)
	}
}

func (w *worker) removed() {
	w.deleted = true
	w.end(goneGrace)
}

func (w *worker) halt(grace time.Duration) {
	w.halting = true
	w.end(grace)
}

// end begins to end the pod, or shortens the time of one that ends already.
func (w *worker) end(grace time.Duration) {
	at := time.Now().Add(grace)
	first := w.deadline.IsZero()
	if !first && !at.Before(w.deadline) {
		return
	}
	w.deadline = at
	w.ending.Store(true)
	if w.killer != nil {
		w.killer.Stop()
	}
	w.killer = w.after(grace, func() {
		for _, c := range w.containers {
			c.kill()
		}
	})
	for _, c := range w.containers {
		if first && !c.sidecar() {
			c.stop("pod is deleted", grace)
		}
	}
}

// step looks at what is and does what comes next; it reports when the worker has nothing left to do.
func (w *worker) step() (done bool) {
	defer w.setView()
	switch {
	case !w.deadline.IsZero():
		done = w.stepEnding()
	case w.closed:
	case w.concluding != "":
		w.conclude(w.concluding)
	case w.sandbox == nil || w.volumes == nil:
		w.setUp()
	default:
		w.stepContainers()
	}
	if !w.deleted && !w.halting {
		s := w.status()
		w.shownConditions = s.Conditions
		w.publish.set(s)
	}
	if done {
		w.finish()
	}
	return done
}

func (w *worker) stepContainers() {
	for _, c := range w.containers {
		if !c.init {
			break
		}
		switch {
		case c.sidecar():
			c.startWhenDue()
			if !c.started && !w.initialized {
				return
			}
		case c.succeeded():
		case c.failedForGood():
			w.conclude(corev1.PodFailed)
			return
		default:
			c.startWhenDue()
			return
		}
	}
	w.initialized = true
	over, failed := true, false
	for _, c := range w.containers {
		if c.init {
			continue
		}
		c.startWhenDue()
		if !c.succeeded() && !c.failedForGood() {
			over = false
		}
		failed = failed || c.failedForGood()
	}
	switch {
	case over && failed:
		w.conclude(corev1.PodFailed)
	case over:
		w.conclude(corev1.PodSucceeded)
	}
}

// overdue ends a pod whose active deadline has passed; it fails whatever its containers do.
func (w *worker) overdue() {
	if w.closed || w.concluding != "" || !w.deadline.IsZero() {
		return
	}
	w.reason, w.message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
	w.node.Recorder.Event(w.pod, corev1.EventTypeNormal, w.reason, w.message)
	w.concluding = corev1.PodFailed
	for _, c := range w.containers {
		if !c.sidecar() {
			c.stop(w.message, w.grace())
		}
	}
}

// conclude makes the phase final once the sidecars have ended too, and lets network and limits go.
func (w *worker) conclude(phase corev1.PodPhase) {
	w.concluding = phase
	if w.settingUp {
		return // what is being set up is let go when it is there
	}
	for i := len(w.containers) - 1; i >= 0; i-- {
		if c := w.containers[i]; c.busy() {
			c.stop("pod is complete", w.grace())
			return
		}
	}
	w.phase = phase
	w.close()
}

func (w *worker) grace() time.Duration {
	if s := w.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// stepEnding waits for the main containers, then ends the sidecars, the last first.
func (w *worker) stepEnding() bool {
	if w.settingUp {
		return false
	}
	busy := false
	for _, c := range w.containers {
		busy = busy || (c.busy() && !c.sidecar())
	}
	for i := len(w.containers) - 1; i >= 0 && !busy; i-- {
		if c := w.containers[i]; c.busy() {
			c.stop("pod is deleted", time.Until(w.deadline))
			busy = true
		}
	}
	if busy {
		return false
	}
	if w.phase != corev1.PodSucceeded && w.phase != corev1.PodFailed {
		w.phase = corev1.PodSucceeded
		for _, c := range w.containers {
			if !c.init && !c.succeeded() {
				w.phase = corev1.PodFailed
			}
		}
	}
	w.close()
	return true
}

func (w *worker) close() {
	w.closed = true
	if w.shared != nil {
		w.shared.Close()
		w.shared = nil
	}
	if w.sandbox != nil {
		w.sandbox.Close()
		w.sandbox = nil
	}
}

// finish removes the pod's folder and then the pod from the API: at once, not after the rest of its grace period.
func (w *worker) finish() {
	if w.killer != nil {
		w.killer.Stop()
	}
	if err := w.volumeSet.Close(); err != nil {
		klog.ErrorS(err, "let volumes go", "pod", klog.KObj(w.pod))
	}
	if err := os.RemoveAll(w.dir); err != nil {
		klog.ErrorS(err, "remove pod folder", "pod", klog.KObj(w.pod))
	}
	if w.deleted || w.halting {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), apiWait)
	defer cancel()
	w.publish.flush(ctx)
	now := int64(0)
	err := w.node.Client.CoreV1().Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "delete ended pod", "pod", klog.KObj(w.pod))
	}
}

// setUp makes sandbox and volumes in the background; what fails is shown and tried again.
func (w *worker) setUp() {
	if w.settingUp {
		return
	}
	w.settingUp = true
	pod, sandbox, shared := w.pod, w.sandbox, w.shared
	go func() {
		var s setup
		s.sandbox, s.shared = sandbox, shared
		s.err = w.prepare(pod, &s)
		w.post(func() { w.setUpDone(s) })
	}()
}

type setup struct {
	sandbox *network.Pod
	shared  *runtime.Shared
	volumes map[string]volume.Volume
	reason  string
	err     error
}

func (w *worker) prepare(pod *corev1.Pod, s *setup) (err error) {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		s.reason = "FailedCreatePodSandBox"
		return err
	}
	if s.sandbox == nil {
		s.reason = "FailedCreatePodSandBox"
		if pod.Spec.HostNetwork {
			s.sandbox, err = w.node.Network.HostPod()
		} else {
			s.sandbox, err = w.node.Network.NewPod(hostname(pod))
		}
		if err != nil {
			return err
		}
	}
	address := s.sandbox.Address.String()
	w.address.Store(&address)
	if share := pod.Spec.ShareProcessNamespace; share != nil && *share && s.shared == nil {
		s.reason = "FailedCreatePodSandBox"
		if s.shared, err = runtime.NewShared(); err != nil {
			return err
		}
	}
	s.reason = "FailedMount"
	if s.volumes, err = w.volumeSet.Prepare(w.ctx, pod); err != nil {
		return err
	}
	return w.writeEtc(pod, address)
}

func (w *worker) setUpDone(s setup) {
	w.settingUp = false
	w.sandbox, w.shared = s.sandbox, s.shared
	if s.err == nil {
		w.volumes, w.setupError = s.volumes, ""
		if w.volumes == nil {
			w.volumes = map[string]volume.Volume{}
		}
		return
	}
	if w.setupError != s.err.Error() {
		w.node.Recorder.Event(w.pod, corev1.EventTypeWarning, s.reason, s.err.Error())
	}
	w.setupError = s.err.Error()
	w.after(retrySetup, func() {})
}

// refreshVolumes rewrites mounted objects that changed; before the pod is set up it just tries that again.
func (w *worker) refreshVolumes() {
	if w.volumes == nil || w.closed || w.settingUp || !w.deadline.IsZero() {
		return
	}
	w.settingUp = true
	pod := w.pod
	go func() {
		_, err := w.volumeSet.Prepare(w.ctx, pod)
		w.post(func() {
			w.settingUp = false
			if err != nil && w.setupError != err.Error() {
				w.node.Recorder.Event(w.pod, corev1.EventTypeWarning, "FailedMount", err.Error())
				w.setupError = err.Error()
			}
		})
	}()
}

// uses says whether the pod mounts the object.
func (w *worker) uses(o any) bool {
	v := w.view.Load()
	for i := range v.pod.Spec.Volumes {
		s := &v.pod.Spec.Volumes[i]
		switch o.(type) {
		case *corev1.ConfigMap:
			if s.ConfigMap != nil || s.Projected != nil {
				return true
			}
		case *corev1.Secret:
			if s.Secret != nil || s.Projected != nil {
				return true
			}
		case *corev1.PersistentVolumeClaim:
			if s.PersistentVolumeClaim != nil || s.Ephemeral != nil {
				return true
			}
		}
	}
	return false
}
