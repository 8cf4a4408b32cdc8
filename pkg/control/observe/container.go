// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// How the kubelet goes on after a failure.
const (
	restarted = "Kubernetes starts it again, with pauses that grow to 5 minutes"
	repulled  = "The pull is tried again, with pauses that grow to 5 minutes"
	recreated = "Kubernetes tries again every few seconds"
)

// container judges one container that is not ready, or one init container whose turn it is. The same fault gives the same words in every
// state of its back-off cycle: ended, waiting, running again.
func (d *diagnosis) container(cs *corev1.ContainerStatus, initial bool) finding {
	last := cs.LastTerminationState.Terminated
	switch s := &cs.State; {
	case s.Terminated != nil:
		return d.ended(cs, s.Terminated, initial)
	case s.Waiting != nil:
		return d.waiting(cs, s.Waiting, initial)
	case s.Running != nil && initial:
		if last != nil && last.ExitCode != 0 && !d.sidecar(cs.Name) {
			return d.ended(cs, last, true)
		}
		if cs.Name == handoff.InitializerContainer || strings.HasPrefix(cs.Name, handoff.ModelcarInitContainer) {
			return finding{rank: rankLoading, container: cs.Name}
		}
		return finding{rank: rankStarting, container: cs.Name}
	case s.Running != nil && !cs.Ready:
		return d.unready(cs, s.Running, last)
	}
	return finding{rank: rankStarting, container: cs.Name}
}

// unready is a container that runs and does not pass its probes: after a crash, after it was ready, or for long.
func (d *diagnosis) unready(cs *corev1.ContainerStatus, running *corev1.ContainerStateRunning, last *corev1.ContainerStateTerminated) finding {
	unready := podCondition(d.pod, corev1.ContainersReady)
	wasReady := unready.Status == corev1.ConditionFalse && unready.LastTransitionTime.After(running.StartedAt.Time)
	if last != nil && !wasReady {
		return d.ended(cs, last, false)
	}
	f := finding{rank: rankSlow, reason: ReasonNotReady, container: cs.Name}
	probe := d.probe(cs)
	if wasReady {
		f.message = "container " + cs.Name + " was ready and no longer passes " + probe + ". It gets requests again as soon as it passes; see " + logsOf(d.pod, cs.Name, false)
		return f
	}
	if left := d.o.patienceSince(running.StartedAt.Time); left > 0 {
		return finding{rank: rankStarting, container: cs.Name, after: left}
	}
	f.message = "container " + cs.Name + " has run for over a minute and has not passed " + probe + " yet. It may still be loading the model; see " + logsOf(d.pod, cs.Name, false)
	return f
}

// probe names the probe that a running container has to pass next.
func (d *diagnosis) probe(cs *corev1.ContainerStatus) string {
	which, probe := "its readiness probe", (*corev1.Probe)(nil)
	spec := d.spec(cs.Name)
	if spec != nil {
		probe = spec.ReadinessProbe
	}
	if cs.Started != nil && !*cs.Started {
		which = "its startup probe"
		if spec != nil {
			probe = spec.StartupProbe
		}
	}
	if probe == nil {
		return which
	}
	switch p := probe.ProbeHandler; {
	case p.HTTPGet != nil:
		return which + " (GET " + p.HTTPGet.Path + " on port " + p.HTTPGet.Port.String() + ")"
	case p.TCPSocket != nil:
		return which + " (TCP port " + p.TCPSocket.Port.String() + ")"
	case p.GRPC != nil:
		return fmt.Sprintf("%s (gRPC port %d)", which, p.GRPC.Port)
	case p.Exec != nil:
		return which + " (a command)"
	}
	return which
}

// spec is the container as the pod has it, else as it was planned.
func (d *diagnosis) spec(name string) *corev1.Container {
	lists := [][]corev1.Container{d.pod.Spec.Containers, d.pod.Spec.InitContainers}
	if d.c != nil {
		lists = append(lists, d.c.Pod.Containers, d.c.Pod.InitContainers)
	}
	for _, list := range lists {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// waiting is a container that has not started, or not again.
func (d *diagnosis) waiting(cs *corev1.ContainerStatus, w *corev1.ContainerStateWaiting, initial bool) finding {
	f := finding{rank: rankContainer, reason: w.Reason, failure: servingv1beta1.RuntimeUnhealthy, detail: w.Message, container: cs.Name}
	last := cs.LastTerminationState.Terminated
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		if last != nil && last.ExitCode != 0 {
			return d.ended(cs, last, initial)
		}
		return finding{rank: rankStarting, container: cs.Name}
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed":
		f.reason = ReasonImagePull
		if w.Reason == "SignatureValidationFailed" {
			f.reason = w.Reason
		}
		why := pullError(w.Message)
		f.weak = why == ""
		f.message = fmt.Sprintf("image %q of container %s cannot be pulled", cs.Image, cs.Name)
		f.detail = f.message
		if why != "" {
			f.detail += ": " + why
			f.message += ": " + bounded(why, maxDetail)
		}
		f.detail = f.reason + ": " + f.detail // a model's failure has no such reason of its own
		f.message = sentence(f.message) + " " + repulled + "; " + pullAdvice(why)
	case "InvalidImageName":
		f.message = fmt.Sprintf("container %s has no valid image name: %q. Correct the name", cs.Name, cs.Image)
	case "ErrImageNeverPull":
		f.message = fmt.Sprintf("image %q of container %s is not on the node and imagePullPolicy is Never. Load it there, or choose another policy", cs.Image, cs.Name)
	case "CreateContainerConfigError":
		f.message = "container " + cs.Name + " cannot be created: " + sentence(bounded(w.Message, maxDetail)) + " " + recreated + "; " + configAdvice(w.Message)
	default:
		// CrashLoopBackOff, RunContainerError and the like: how it last ended says more than that it waits.
		if last != nil {
			return d.ended(cs, last, initial)
		}
		f.message = "container " + cs.Name + " does not start (" + w.Reason + ")"
		if w.Message != "" {
			f.message += ": " + bounded(w.Message, maxDetail)
		}
		f.message = sentence(f.message) + " " + recreated
	}
	f.message = bounded(f.message, maxMessage)
	return f
}

// pullPrefix is what kubelet and runtime put before what the registry said, in layers.
var pullPrefix = regexp.MustCompile(`^(?:Back-off pulling image "[^"]*"(?:: )?|ErrImagePull: |ImagePullBackOff: |rpc error: code = \w+ desc = |` +
	`[Ff]ailed to pull (?:and unpack )?image "[^"]*": |failed to resolve reference "[^"]*": |Error response from daemon: )+`)

// pullError is what the registry said, or nothing.
func pullError(message string) string {
	return pullPrefix.ReplaceAllString(bounded(message, maxFailure), "")
}

func pullAdvice(why string) string {
	switch low := strings.ToLower(why); {
	case strings.Contains(low, "unauthorized"), strings.Contains(low, "denied"), strings.Contains(low, "forbidden"), strings.Contains(low, "authentication"):
		return "check the image's name, and imagePullSecrets of the pod or its service account"
	case strings.Contains(low, "not found"), strings.Contains(low, "manifest unknown"), strings.Contains(low, "no match for platform"):
		return "correct the image's name or tag, or push the image"
	case strings.Contains(low, "no such host"), strings.Contains(low, "timeout"), strings.Contains(low, "connection refused"), strings.Contains(low, "x509"):
		return "see whether the node can reach and trust the registry"
	}
	return "check the image's name, imagePullSecrets, and whether the node can reach the registry"
}

func configAdvice(why string) string {
	low := strings.ToLower(why)
	switch {
	case strings.Contains(low, "secret") && strings.Contains(low, "not found"):
		return "create the Secret, or correct the reference to it"
	case strings.Contains(low, "configmap") && strings.Contains(low, "not found"):
		return "create the ConfigMap, or correct the reference to it"
	case strings.Contains(low, "couldn't find key"):
		return "add the key, or correct the reference to it"
	case strings.Contains(low, "runasnonroot"):
		return "set securityContext.runAsUser, or use an image that does not run as root"
	}
	return "correct what the message names"
}

// ended is a container that has ended, now or before its present try.
func (d *diagnosis) ended(cs *corev1.ContainerStatus, t *corev1.ContainerStateTerminated, initial bool) finding {
	f := finding{
		rank: rankContainer, reason: ReasonCrashLoop, failure: servingv1beta1.ModelLoadFailed, detail: t.Message,
		exitCode: t.ExitCode, container: cs.Name,
	}
	main := cs.Name == handoff.MainContainer || cs.Name == handoff.WorkerContainer || cs.Name == handoff.InitializerContainer
	if !main {
		f.failure = servingv1beta1.RuntimeUnhealthy
	}
	if initial {
		f.reason = ReasonInitFailed
		if cs.Name == handoff.InitializerContainer {
			f.reason = ReasonModelLoadFailed
		}
	}
	switch report, ok := fetchReport(cs.Name, t.Message); {
	case t.Reason == ReasonOutOfMemory:
		f.reason = ReasonOutOfMemory
		f.message = d.outOfMemory(cs)
		f.detail = f.message
	case ok:
		f.detail = report.Message
		f.message = d.notFetched(report, t.ExitCode)
	default:
		f.message = "container " + cs.Name + " " + exit(t)
		if said := tail(t.Message, 3); said != "" {
			f.message += ": " + said
		}
		f.message = sentence(f.message) + " " + restarted + "; see " + logsOf(d.pod, cs.Name, true)
	}
	if f.detail == "" {
		f.detail = "container " + cs.Name + " " + exit(t)
	}
	f.message = bounded(f.message, maxMessage)
	return f
}

// exit says how a container ended.
func exit(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason == "ContainerStatusUnknown":
		return "was lost with its node"
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		return fmt.Sprintf("could not be started (exit code %d)", t.ExitCode)
	case t.ExitCode == 0:
		return "ended (exit code 0), where a server has to go on"
	case t.ExitCode == 137:
		return "was killed (exit code 137), as happens when a liveness or startup probe fails or the node lacks memory"
	case t.ExitCode == 139:
		return "crashed with a segmentation fault (exit code 139)"
	case t.ExitCode == 143:
		return "was asked to end (exit code 143), as happens when a liveness or startup probe fails"
	case t.ExitCode == 126 || t.ExitCode == 127:
		return fmt.Sprintf("could not run its command (exit code %d)", t.ExitCode)
	}
	return fmt.Sprintf("ended with exit code %d", t.ExitCode)
}

func (d *diagnosis) outOfMemory(cs *corev1.ContainerStatus) string {
	limit := ""
	if cs.Resources != nil {
		if q, ok := cs.Resources.Limits[corev1.ResourceMemory]; ok {
			limit = q.String()
		}
	}
	if spec := d.spec(cs.Name); limit == "" && spec != nil {
		if q, ok := spec.Resources.Limits[corev1.ResourceMemory]; ok {
			limit = q.String()
		}
	}
	message := "container " + cs.Name + " was killed (OOMKilled) because it used more memory than "
	if limit == "" {
		message += "there is"
	} else {
		message += "its limit of " + limit
	}
	message += ". " + restarted + "; "
	if cs.Name == handoff.InitializerContainer {
		return message + "raise the memory limit of the storage initializer (storageInitializer.memoryLimit of the operator's ConfigMap, or its ClusterStorageContainer)"
	}
	return message + "raise resources.limits.memory of the container"
}

// fetchReport is the report that the storage initializer leaves. Other programs that fetch leave their last lines.
func fetchReport(container, message string) (handoff.FetchReport, bool) {
	var r handoff.FetchReport
	message = strings.TrimSpace(message)
	if container != handoff.InitializerContainer || !strings.HasPrefix(message, "{") || json.Unmarshal([]byte(message), &r) != nil {
		return r, false
	}
	return r, r.Outcome == handoff.FetchFailed && r.Message != ""
}

// notFetched says why the model could not be fetched.
func (d *diagnosis) notFetched(r handoff.FetchReport, code int32) string {
	what := "the model cannot be fetched"
	if r.Source != "" {
		what += " from " + bounded(r.Source, maxDetail/2)
	}
	what += fmt.Sprintf(" (exit code %d", code)
	if r.Kind != "" && r.Kind != "other" {
		what += ", " + bounded(r.Kind, 40)
	}
	what += "): " + bounded(r.Message, maxDetail)
	message := sentence(what) + " " + restarted
	if advice := fetchAdvice(r); advice != "" {
		message += "; " + advice
	}
	return message
}

// fetchAdvice is what to do about each kind of failure that the initializer tells.
func fetchAdvice(r handoff.FetchReport) string {
	switch r.Kind {
	case "not found":
		if strings.HasPrefix(r.Source, "file://") {
			return "a file:// path is looked for inside the pod, not on the machine where the service was written: use a claim (pvc://), an object store, or http(s)"
		}
		return "correct the storage URI, or put the model there"
	case "denied":
		return "give the credentials of the pod's service account the right to read it"
	case "unauthenticated":
		return "add credentials to the pod's service account or the storage configuration"
	case "unavailable":
		return "nothing has to be changed if the store comes back"
	case "changed":
		return "the files changed while they were fetched; the next try takes the new ones"
	case "invalid":
		return "correct the storage URI or the files"
	case "refused":
		return "the operator's rules for storage do not allow this source"
	}
	return ""
}
