// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// part is what is known of one component.
type part struct {
	fact // its <Component>Ready condition
	// pods are all living pods, newest those of the latest template.
	pods   []*corev1.Pod
	newest []*corev1.Pod
	// nodes says that pods are copies over several nodes: newest may be those of the workers.
	nodes bool
	// worst is the worst finding among the newest pods.
	worst finding
	// refused says why no pod of the latest template can be made.
	refused *finding
	// behind is what keeps the latest template from serving; also while an older one serves.
	behind *finding
	// progress counts the pods of a component that is on its way; empty for all others.
	progress string
	// replaces says that another workload answers until this one can: what is published stays as it is.
	replaces bool
}

// on says how far a component on its way has come. The model's state is known by then.
func (p *part) on(state *servingv1beta1.ModelRevisionStates) {
	if p.progress == "" {
		return
	}
	p.message = p.progress + ": being started"
	if state != nil && state.TargetModelState == servingv1beta1.Loading {
		p.message = p.progress + ": the model is being fetched and loaded"
	}
}

// component judges one component in whatever mode; entry is its part of status.components.
func (o *observer) component(c *plan.Component, entry *servingv1beta1.ComponentStatus) *part {
	if o.in.Plan.Mode != serving.Standard {
		return o.knative(c, entry)
	}
	head := o.deployment(c, c.Name, names.App(c.Name))
	if c.Workers == nil || c.Workers.Replicas == 0 {
		o.replacement(c, head)
		return head
	}
	return both(head, o.deployment(c, c.Workers.Name, names.App(c.Name+"-worker")))
}

// both joins head and workers: the component answers only when both do.
func both(head, workers *part) *part {
	joined := *head // whose pods are the copies of the model
	joined.nodes = true
	switch {
	case head.status == corev1.ConditionTrue && workers.status != corev1.ConditionTrue:
		joined.fact = workers.fact
		joined.message = "worker nodes: " + workers.message
		if workers.progress != "" {
			joined.progress = "worker nodes: " + workers.progress
		}
	case head.status == corev1.ConditionTrue:
		joined.message = "predictor-container: " + head.message + ", worker-container: " + workers.message
		if head.reason != workers.reason {
			joined.reason = "predictor-container: " + head.reason + ", worker-container: " + workers.reason
		}
	}
	if workers.worst.rank > head.worst.rank {
		joined.worst, joined.newest = workers.worst, workers.newest
	}
	if joined.refused == nil {
		joined.refused = workers.refused
	}
	if joined.behind == nil {
		joined.behind = workers.behind
	}
	return &joined
}

// deployment judges a Deployment by its own status and by its pods.
func (o *observer) deployment(c *plan.Component, name, app string) *part {
	p := &part{}
	d := o.in.Children.Deployment(name)
	if d == nil || !d.DeletionTimestamp.IsZero() {
		p.fact = fact{status: corev1.ConditionFalse, reason: ReasonNotCreated, message: "Deployment " + name + " does not exist yet"}
		return p
	}
	p.pods = ofDeployment(o.podsOf(serving.LabelApp, app), name)
	p.newest = newestOf(p.pods, d)
	p.worst = o.worst(c, p.newest)
	p.refused = refused(d)
	p.behind = behind(d, p)

	available, progressing := conditionOf(d, appsv1.DeploymentAvailable), conditionOf(d, appsv1.DeploymentProgressing)
	enough := available.Status == corev1.ConditionTrue
	serves := d.Status.AvailableReplicas > 0 && (enough || o.answersWithFewer(c))
	switch {
	case wanted(d) == 0 && d.Status.AvailableReplicas == 0:
		p.fact = fact{
			status: corev1.ConditionFalse, reason: ReasonScaledToZero,
			message: "Deployment " + name + " is scaled to 0 pods; requests fail until it is scaled up",
		}
	case serves && !caughtUp(d) && !o.wasTrue(c):
		p.fact = fact{
			status: corev1.ConditionUnknown, reason: ReasonProgressing,
			message: "the status of Deployment " + name + " is older than its last change; it is looked at again when the Deployment controller has seen it",
		}
	case serves && !enough:
		p.fact = o.fewer(c, p)
	case serves && progressing.Status == corev1.ConditionTrue && progressing.Reason == "NewReplicaSetAvailable":
		p.fact = fact{status: corev1.ConditionTrue, reason: progressing.Reason, message: progressing.Message}
	case serves:
		p.fact = fact{status: corev1.ConditionTrue, reason: available.Reason, message: available.Message}
	default:
		p.fact = o.unavailable(c, d, p)
	}
	if p.status != corev1.ConditionTrue || !enough || ready(p.newest) == 0 {
		o.lookAgain(p.worst.after)
	}
	return p
}

// unavailable says why a Deployment does not serve.
func (o *observer) unavailable(c *plan.Component, d *appsv1.Deployment, p *part) fact {
	f := o.fault(c, p)
	if f.reason == "" {
		f.reason = ReasonPodsStarting
		p.progress = fmt.Sprintf("%d of %d pods are ready", d.Status.ReadyReplicas, wanted(d))
	}
	f.status = corev1.ConditionFalse
	return f
}

// fault is what keeps pods from serving: a pod's trouble before a refusal of pods, and that before what the Deployment says; nothing while
// they are on their way.
func (o *observer) fault(c *plan.Component, p *part) fact {
	worst := p.worst
	if !worst.fails() {
		// Pods of an older template count where the newest have nothing to tell: they may be what has stopped serving.
		if older := o.worst(c, p.pods); older.fails() {
			worst = older
		}
	}
	switch {
	case worst.fails():
		return fact{reason: worst.reason, message: worst.message, weak: worst.weak, tell: true}
	case p.refused != nil:
		return fact{reason: p.refused.reason, message: p.refused.message, tell: true}
	case p.behind != nil:
		return fact{reason: p.behind.reason, message: p.behind.message, tell: true}
	}
	return fact{}
}

// answersWithFewer says that a component which has been reached before goes on being ready with fewer pods than it shall have: those that
// there are answer. At first all are waited for. A model over several nodes needs every one of them.
func (o *observer) answersWithFewer(c *plan.Component) bool {
	return c.Workers == nil && (o.wasTrue(c) || o.old.Components[c.Role].URL != "")
}

const fewerPods = "it serves with fewer pods than it shall have"

// fewer is a component that serves with fewer pods than it shall have: more are on their way, or something is wrong with them.
func (o *observer) fewer(c *plan.Component, p *part) fact {
	if p.behind != nil {
		return fact{status: corev1.ConditionTrue, reason: ReasonPodsStarting, message: fewerPods} // LatestDeploymentReady says why
	}
	f := o.fault(c, p)
	f.status = corev1.ConditionTrue
	if f.reason == "" {
		f.reason, f.message = ReasonPodsStarting, fewerPods+"; more are on their way"
		return f
	}
	f.message = fewerPods + why + f.message
	return f
}

// again is how Deployments go on when pods are refused.
const again = "Kubernetes tries again, with growing pauses"

// refused is what keeps the pods of the latest template from being made at all.
func refused(d *appsv1.Deployment) *finding {
	c := conditionOf(d, appsv1.DeploymentReplicaFailure)
	if c.Status != corev1.ConditionTrue {
		return nil
	}
	c.Message = withoutPodNames(c.Message, d.Name)
	f := finding{rank: rankContainer, reason: c.Reason, failure: servingv1beta1.RuntimeUnhealthy, detail: c.Message}
	if f.reason == "" {
		f.reason = ReasonFailedCreate
	}
	advice := again + "; correct what the message names"
	switch m := c.Message; {
	case strings.Contains(m, "exceeded quota"):
		advice = again + "; raise the quota of the namespace, free some of it, or ask for less in resources"
	case strings.Contains(m, "failed calling webhook"), strings.Contains(m, "failed to call webhook"):
		advice = "An admission webhook does not answer: see whether its pods run (KServe's own are kserve-webhook-server in the operator's namespace). " + again
	case strings.Contains(m, "denied the request"):
		advice = "An admission webhook refuses the pod: correct what its message names. " + again
	case strings.Contains(m, "violates PodSecurity"):
		advice = "The namespace's pod security level refuses the pod: set the securityContext that the message names. " + again
	case strings.Contains(m, "serviceaccount"), strings.Contains(m, "service account"):
		advice = again + "; create the service account, or correct serviceAccountName"
	}
	f.message = "pods cannot be created: " + sentence(bounded(c.Message, maxDetail)) + " " + advice
	return &f
}

// withoutPodNames leaves out of what is said of a Deployment's pods the end of their names, which is another with each attempt.
func withoutPodNames(said, deployment string) string {
	before, name, found := strings.Cut(said, `"`+deployment+"-")
	if !found {
		return said
	}
	_, after, found := strings.Cut(name, `"`)
	if !found {
		return said
	}
	return before + `"` + deployment + `-…"` + withoutPodNames(after, deployment)
}

// behind is why the latest template does not serve although it is time that it did. Nil while it comes along, or serves.
func behind(d *appsv1.Deployment, p *part) *finding {
	if !caughtUp(d) || wanted(d) == 0 {
		return nil
	}
	if ready(p.newest) > 0 {
		return nil
	}
	late := conditionOf(d, appsv1.DeploymentProgressing)
	overdue := late.Status == corev1.ConditionFalse && late.Reason != "DeploymentPaused"
	if p.worst.fails() {
		f := p.worst
		if overdue && f.failure == "" {
			f.failure = servingv1beta1.RuntimeUnhealthy
		}
		return &f
	}
	if p.refused != nil && (d.Status.UpdatedReplicas == 0 || len(p.newest) == 0) {
		return p.refused
	}
	if overdue {
		f := finding{rank: rankSlow, reason: late.Reason, failure: servingv1beta1.RuntimeUnhealthy, detail: late.Message}
		if f.reason == "" {
			f.reason = ReasonDeadlineExceeded
		}
		f.message = sentence(bounded(late.Message, maxDetail)) + " Kubernetes goes on trying; see the pods' logs and events (kubectl describe pod -n " + d.Namespace + " -l " + serving.LabelApp + "=" + names.App(d.Name) + ")"
		return &f
	}
	return nil
}

func conditionOf(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return d.Status.Conditions[i]
		}
	}
	return appsv1.DeploymentCondition{}
}

// wanted is how many pods the Deployment shall have.
func wanted(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

func caughtUp(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration >= d.Generation }

func (o *observer) wasTrue(c *plan.Component) bool {
	if c.Canary != nil {
		return true
	}
	old := o.old.Condition(readyCondition(c.Role))
	return old != nil && old.Status == corev1.ConditionTrue
}
