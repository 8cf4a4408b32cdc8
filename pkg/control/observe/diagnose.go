// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// patience is how long a container may run, or a pod wait for its first container, before it is called a fault. Nothing is stopped by it.
const patience = time.Minute

// rank orders findings: the higher, the more it explains.
type rank int

const (
	rankReady     rank = iota // the pod serves
	rankStarting              // it is on its way
	rankLoading               // its model is being fetched
	rankSlow                  // it runs and does not get ready
	rankPlace                 // it has no node, or has lost it
	rankContainer             // a container cannot start, or ends
)

// finding is the state of one pod in words.
type finding struct {
	rank   rank
	reason string
	// failure is the reason of modelStatus.lastFailureInfo; empty where nothing has failed that concerns the model.
	failure servingv1beta1.FailureReason
	// message is the cause, whether it is tried again, and what to do. detail is the cause as it was found.
	message  string
	detail   string
	exitCode int32
	// container and pod that it was found in.
	container string
	pod       string
	weak      bool
	// applying says that it was met while objects were made; beside, that it is no workload that could not be made.
	applying, beside bool
	// after is when the mere passing of time makes it another finding.
	after time.Duration
}

// fails says that somebody should look, not only wait.
func (f *finding) fails() bool { return f.rank >= rankSlow }

// diagnosis is one look at one pod.
type diagnosis struct {
	o   *observer
	c   *plan.Component
	pod *corev1.Pod
}

// diagnose finds the deepest known cause why a pod does not serve.
func (o *observer) diagnose(c *plan.Component, pod *corev1.Pod) finding {
	d := &diagnosis{o: o, c: c, pod: pod}
	f := d.find()
	f.pod = pod.Name
	return f
}

func (d *diagnosis) find() finding {
	s := &d.pod.Status
	if isReady(d.pod) {
		return finding{rank: rankReady}
	}
	if s.Phase == corev1.PodFailed {
		return d.failed()
	}
	if f, ok := d.place(); ok {
		return f
	}
	if podCondition(d.pod, corev1.PodInitialized).Status != corev1.ConditionTrue {
		if f, ok := d.initializing(); ok {
			return f
		}
	}
	worst := finding{rank: rankStarting}
	for _, cs := range mainFirst(s.ContainerStatuses) {
		f := d.container(cs, false)
		if f.rank > worst.rank || f.rank == worst.rank && f.after > 0 && worst.after == 0 {
			worst = f
		}
	}
	if worst.rank > rankStarting {
		return worst
	}
	// Sidecars that are init containers restart on their own beside the others.
	for i := range s.InitContainerStatuses {
		cs := &s.InitContainerStatuses[i]
		if w := cs.State.Waiting; w != nil && w.Reason == ReasonCrashLoop && podCondition(d.pod, corev1.PodInitialized).Status == corev1.ConditionTrue {
			return d.container(cs, true)
		}
	}
	if f, ok := d.unreported(); ok {
		return f
	}
	return d.stuck(worst)
}

// mainFirst puts the container that serves before the others.
func mainFirst(all []corev1.ContainerStatus) []*corev1.ContainerStatus {
	list := make([]*corev1.ContainerStatus, 0, len(all))
	for i := range all {
		list = append(list, &all[i])
	}
	weight := func(name string) int {
		return slices.Index([]string{"", handoff.WorkerContainer, handoff.TransformerContainer, handoff.MainContainer}, name)
	}
	slices.SortStableFunc(list, func(a, b *corev1.ContainerStatus) int { return weight(b.Name) - weight(a.Name) })
	return list
}

// failed is a pod that has ended and will not start again.
func (d *diagnosis) failed() finding {
	s := &d.pod.Status
	f := finding{rank: rankPlace, reason: s.Reason, detail: s.Message, failure: servingv1beta1.RuntimeUnhealthy}
	what := sentence(bounded(s.Message, maxDetail))
	switch s.Reason {
	case ReasonEvicted:
		f.message = "the node put the pod out. " + what + " A new pod takes its place; request as much memory and ephemeral storage as the model needs"
	case ReasonNodeLost:
		f.message = "the pod's node was lost. " + what + " A new pod takes its place"
	case "":
		f.reason = "PodFailed"
		f.message = "the pod has ended. " + what + " A new pod takes its place"
		for _, cs := range mainFirst(s.ContainerStatuses) {
			if t := cs.State.Terminated; t != nil && t.ExitCode != 0 {
				return d.ended(cs, t, false)
			}
		}
	default:
		f.message = "the pod failed. " + what + " A new pod takes its place"
	}
	f.message = oneLine(f.message)
	return f
}

// place is a pod without a node, or with one that is gone.
func (d *diagnosis) place() (finding, bool) {
	if d.pod.Status.Reason == ReasonNodeLost {
		return finding{
			rank: rankPlace, reason: ReasonNodeLost,
			message: "the pod's node" + d.node() + " does not report; the pod is replaced once Kubernetes gives the node up (after 5 minutes by default)",
		}, true
	}
	c := podCondition(d.pod, corev1.PodScheduled)
	if c.Status != corev1.ConditionFalse {
		return finding{}, false
	}
	// What the scheduler adds about preemption repeats what it said about the nodes.
	why, _, _ := strings.Cut(c.Message, " preemption:")
	why = strings.TrimSpace(why)
	switch c.Reason {
	case ReasonSchedulingGated:
		return finding{
			rank: rankPlace, reason: ReasonSchedulingGated, detail: c.Message,
			message: "the pod is held back by a scheduling gate: " + sentence(bounded(why, maxDetail)) + " It is scheduled when whoever set the gate removes it",
		}, true
	case ReasonUnschedulable, "":
		if why == "" {
			why = "the scheduler gives no reason"
		}
		return finding{
			rank: rankPlace, reason: ReasonUnschedulable, detail: c.Message,
			message: "no node takes the pod: " + sentence(bounded(why, maxDetail)) + " It is scheduled as soon as one does; " + placeAdvice(why),
		}, true
	}
	return finding{
		rank: rankPlace, reason: c.Reason, detail: c.Message,
		message: "the pod is not scheduled: " + sentence(bounded(why, maxDetail)) + " The scheduler tries again",
	}, true
}

// placeAdvice picks what to do from what the scheduler counts.
func placeAdvice(why string) string {
	switch {
	case strings.Contains(why, "persistentvolumeclaim") && strings.Contains(why, "not found"):
		return "create the PersistentVolumeClaim, or correct its name"
	case strings.Contains(why, "unbound immediate PersistentVolumeClaims"):
		return "see why the PersistentVolumeClaim has no volume (kubectl describe pvc)"
	case strings.Contains(why, "Insufficient"):
		return "ask for less in resources.requests, or add nodes"
	case strings.Contains(why, "untolerated taint"):
		return "add tolerations for the taints, or nodes without them"
	case strings.Contains(why, "node affinity"), strings.Contains(why, "node selector"):
		return "correct nodeSelector or affinity, or label a node so"
	}
	return "change what the pod asks for, or add nodes"
}

func (d *diagnosis) node() string {
	if d.pod.Spec.NodeName == "" {
		return ""
	}
	return " " + d.pod.Spec.NodeName
}

// initializing looks at the init container whose turn it is.
func (d *diagnosis) initializing() (finding, bool) {
	for i := range d.pod.Status.InitContainerStatuses {
		cs := &d.pod.Status.InitContainerStatuses[i]
		if t := cs.State.Terminated; t != nil && t.ExitCode == 0 {
			continue
		}
		if cs.State.Running != nil && cs.Started != nil && *cs.Started && d.sidecar(cs.Name) {
			continue
		}
		f := d.container(cs, true)
		if f.rank == rankStarting {
			f = d.stuck(f)
		}
		return f, true
	}
	return finding{}, false
}

// sidecar says that an init container stays beside the others.
func (d *diagnosis) sidecar(name string) bool {
	for i := range d.pod.Spec.InitContainers {
		if c := &d.pod.Spec.InitContainers[i]; c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// unreported is a pod whose containers were ready when its node last reported.
func (d *diagnosis) unreported() (finding, bool) {
	s := &d.pod.Status
	c := podCondition(d.pod, corev1.PodReady)
	if len(s.ContainerStatuses) == 0 || s.Phase != corev1.PodRunning || c.Status == "" {
		return finding{}, false
	}
	for i := range s.ContainerStatuses {
		if !s.ContainerStatuses[i].Ready {
			return finding{}, false
		}
	}
	if c.Reason == "ReadinessGatesNotReady" {
		why := c.Message
		if why == "" {
			why = "a readiness gate of the pod is not True"
		}
		return finding{
			rank: rankSlow, reason: c.Reason, detail: c.Message,
			message: "the containers are ready, the pod is held back: " + sentence(bounded(why, maxDetail)) + " It serves when whoever set the gate answers",
		}, true
	}
	return finding{
		rank: rankPlace, reason: ReasonNodeLost,
		message: "the pod's node" + d.node() + " does not report; the pod serves again when the node comes back, and is replaced once Kubernetes gives the node up (after 5 minutes by default)",
	}, true
}

// stuck is a pod that has had a node for long and no container yet: its volumes or its network are missing, which only its events tell.
func (d *diagnosis) stuck(f finding) finding {
	c := podCondition(d.pod, corev1.PodScheduled)
	if c.Status != corev1.ConditionTrue || podCondition(d.pod, corev1.PodReadyToStartContainers).Status == corev1.ConditionTrue || d.anyStarted() {
		return f
	}
	if left := d.o.patienceSince(c.LastTransitionTime.Time); left > 0 {
		f.after = left
		return f
	}
	message := "the node has had the pod for over a minute and could start no container: its volumes or its network are missing"
	if v := d.volumes(); v != "" {
		message += " (it mounts " + v + ")"
	}
	return finding{
		rank: rankSlow, reason: ReasonPodStuck,
		message: message + ". The node tries again; kubectl describe pod shows what it lacks",
	}
}

func (d *diagnosis) anyStarted() bool {
	started := func(all []corev1.ContainerStatus) bool {
		return slices.ContainsFunc(all, func(cs corev1.ContainerStatus) bool {
			return cs.State.Running != nil || cs.State.Terminated != nil || cs.LastTerminationState.Terminated != nil
		})
	}
	return started(d.pod.Status.InitContainerStatuses) || started(d.pod.Status.ContainerStatuses)
}

// volumes names what the pod mounts and cannot start without.
func (d *diagnosis) volumes() string {
	volumes := d.pod.Spec.Volumes
	if len(volumes) == 0 && d.c != nil {
		volumes = d.c.Pod.Volumes
	}
	var named []string
	for i := range volumes {
		v := &volumes[i].VolumeSource
		switch {
		case v.Secret != nil && (v.Secret.Optional == nil || !*v.Secret.Optional):
			named = append(named, "Secret "+v.Secret.SecretName)
		case v.ConfigMap != nil && (v.ConfigMap.Optional == nil || !*v.ConfigMap.Optional):
			named = append(named, "ConfigMap "+v.ConfigMap.Name)
		case v.PersistentVolumeClaim != nil:
			named = append(named, "PersistentVolumeClaim "+v.PersistentVolumeClaim.ClaimName)
		}
	}
	slices.Sort(named)
	return bounded(strings.Join(named, ", "), maxDetail)
}
