// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe says what has become of a service: conditions, URLs, the state of the model, and the deepest known cause when it
// cannot answer.
//
// Called by: control/reconcile/inferenceservice, after it has applied the objects of a plan.
// Next: control/reconcile/inferenceservice, which writes the status once and sends the events.
package observe

import (
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Input is everything that a status is made from. Nothing in it is changed.
type Input struct {
	// Service as it was read, with the status that was last written.
	Service *servingv1beta1.InferenceService
	// Plan is nil where nothing could be decided: Failure says why.
	Plan *plan.Plan
	// Failure is a *plan.Blocked, a *plan.Waiting, or what applying the plan ended with: then Plan may be there too.
	// An error that has the method About() (kind, name string) names the object that it is about.
	Failure error
	// Verdicts about canary predictors, by name, as they are to be remembered.
	Verdicts map[string]*servingv1beta1.CanaryAnalysisStatus
	// CanaryFailures are what kept canary predictors from being made, by workload.
	CanaryFailures map[string]error
	// Children are the live objects of the service, those that were just applied among them.
	Children plan.Children
	// Pods of the service, in any order.
	Pods []corev1.Pod
	// Settings of the operator; nil where there are none yet.
	Settings *settings.Settings
	// SettingsFault is what is wrong with the operator's ConfigMap as it is now, while Settings are the last good ones.
	SettingsFault error
	// Clash is a host of the service that another claims, too; nil where there is none.
	Clash *plan.Clash
	// Release of the cluster's Kubernetes, as in v1.34.1; empty while nobody knows it.
	Release string
	// Now is the time of transitions.
	Now metav1.Time
}

// Result is what is to be written and told.
type Result struct {
	// Status is the whole new status. It equals the old one, deeply, when nothing has changed.
	Status servingv1beta1.InferenceServiceStatus
	// Events tell of changes, never of states.
	Events []Event
	// RequeueAfter is set where the mere passing of time changes the status.
	RequeueAfter time.Duration
}

// Event is what `kubectl describe` shows.
type Event struct {
	Type    string
	Reason  string
	Message string
}

// observer carries one observation.
type observer struct {
	in  *Input
	svc *servingv1beta1.InferenceService
	old *servingv1beta1.InferenceServiceStatus
	// status grows from a copy of old.
	status     servingv1beta1.InferenceServiceStatus
	conditions conditions
	parts      map[serving.ComponentRole]*part
	requeue    time.Duration
	// follows says that a Gateway has still to follow a change of a route.
	follows bool
	// tell are the canaries whose causes events tell.
	tell []string
}

// Service observes one InferenceService.
func Service(in Input) Result {
	if in.Service == nil {
		return Result{}
	}
	if in.Plan != nil && apierrors.IsConflict(in.Failure) {
		in.Failure = nil // somebody else was quicker; the next pass sees what they did
	}
	o := &observer{in: &in, svc: in.Service, old: &in.Service.Status, parts: map[serving.ComponentRole]*part{}}
	if !o.svc.DeletionTimestamp.IsZero() || in.Plan == nil && in.Failure == nil {
		return Result{Status: *o.old.DeepCopy()}
	}
	o.status = *o.old.DeepCopy()
	o.conditions = conditions{old: o.old.Conditions, now: metav1.NewTime(in.Now.Truncate(time.Second))}
	switch {
	case in.Plan == nil:
		o.undecided()
	case in.Plan.Stopped:
		o.stopped()
	case in.Plan.Mode == serving.ModelMesh:
		o.modelMesh()
	default:
		o.running()
		if in.Plan.Frozen && !o.frozenFails() {
			return Result{Status: *o.old.DeepCopy()}
		}
	}
	if o.status.DeploymentMode == "" {
		o.status.DeploymentMode = o.mode()
	}
	if in.Plan == nil || !in.Plan.Frozen {
		o.status.ObservedGeneration = o.svc.Generation
	}
	o.imageVolumes()
	o.status.Conditions = o.conditions.done()
	return Result{Status: o.status, Events: o.events(), RequeueAfter: o.requeue}
}

// running observes a service whose plan has been applied, or has met an error while it was applied.
func (o *observer) running() {
	p := o.in.Plan
	o.status.DeploymentMode = p.Mode
	o.conditions.put(servingv1beta1.Stopped, fact{status: corev1.ConditionFalse})
	components := map[serving.ComponentRole]servingv1beta1.ComponentStatus{}
	for i := range p.Components {
		c := &p.Components[i]
		if c.Canary != nil {
			continue
		}
		entry := o.old.Components[c.Role]
		part := o.component(c, &entry)
		o.parts[c.Role] = part
		if part.status == corev1.ConditionTrue && !part.replaces && p.Mode == serving.Standard && c.URL != "" {
			entry.URL, entry.RestURL, entry.GRPCURL = c.URL, c.RestURL, c.GRPCURL
		}
		components[c.Role] = entry
	}
	o.status.Components = components
	o.runtime(p.Component(serving.Predictor))
	o.canaries(p)
	o.applyFailure()
	if predictor := o.parts[serving.Predictor]; predictor != nil {
		o.status.ModelStatus = o.modelStatus(predictor, &o.old.ModelStatus)
		predictor.on(o.status.ModelStatus.ModelRevisionStates)
	}
	for _, role := range roles() {
		if part := o.parts[role]; part != nil {
			if role != serving.Predictor {
				part.on(nil)
			}
			o.conditions.put(readyCondition(role), part.fact)
		}
	}
	if p.Mode == serving.Knative {
		o.summary(servingv1beta1.RoutesReady, routeCondition)
		o.summary(servingv1beta1.LatestDeploymentReady, configurationCondition)
	}
	o.latest()
	o.route()
	o.autoscalers()
	o.clash()
}

// runtime tells which runtime serves the model.
func (o *observer) runtime(c *plan.Component) {
	o.status.ServingRuntimeName, o.status.ClusterServingRuntimeName = "", ""
	if c == nil || c.Runtime == nil {
		return
	}
	if c.Runtime.Cluster {
		o.status.ClusterServingRuntimeName = c.Runtime.Name
	} else {
		o.status.ServingRuntimeName = c.Runtime.Name
	}
}

// What messages say of a service that is ready and has something wrong with it, before they say what.
const (
	servesAsBefore = "serves as before, its latest change does not"
	servesInPart   = "serves, but not all that belongs to it could be made"
)

// latest tells, in Standard mode, that what serves is not what was last asked for. It is there only as long as that is so, because something failed.
func (o *observer) latest() {
	if o.in.Plan.Mode != serving.Standard {
		return
	}
	for _, role := range roles() {
		if part := o.parts[role]; part != nil && part.status == corev1.ConditionTrue && part.behind != nil {
			message := " still " + servesAsBefore
			if part.behind.beside {
				message = " " + servesInPart
			}
			o.conditions.put(servingv1beta1.LatestDeploymentReady, fact{
				status: corev1.ConditionFalse, reason: part.behind.reason, weak: part.behind.weak, tell: !part.behind.applying,
				message: "the " + string(role) + message + why + part.behind.message,
			})
			return
		}
	}
}

// stopped is the status of a service that shall own nothing. What it was is forgotten.
func (o *observer) stopped() {
	p := o.in.Plan
	o.status = servingv1beta1.InferenceServiceStatus{
		DeploymentMode: p.Mode, ServingRuntimeName: o.old.ServingRuntimeName, ClusterServingRuntimeName: o.old.ClusterServingRuntimeName,
	}
	o.status.Annotations = maps.Clone(o.old.Annotations)
	o.status.CanaryStatuses = o.stoppedCanaries()
	if c := p.Component(serving.Predictor); c != nil {
		o.runtime(c)
	}
	no := fact{status: corev1.ConditionFalse, reason: servingv1beta1.ReasonStopped, message: "annotation " + serving.AnnotationStop + " is true; remove it to start the service"}
	o.conditions.put(servingv1beta1.Stopped, fact{status: corev1.ConditionTrue})
	o.conditions.put(servingv1beta1.PredictorReady, no)
	o.conditions.put(servingv1beta1.IngressReady, no)
	if o.svc.Spec.Transformer != nil {
		o.conditions.put(servingv1beta1.TransformerReady, no)
	}
	if o.svc.Spec.Explainer != nil {
		o.conditions.put(servingv1beta1.ExplainerReady, no)
	}
	if len(o.svc.Spec.Canary) > 0 {
		o.conditions.put(servingv1beta1.CanaryPredictorReady, no)
	}
}

// modelMesh leaves the predictor to ModelMesh, which writes the same status, and adds what it does not make: the transformer.
func (o *observer) modelMesh() {
	p := o.in.Plan
	o.status.DeploymentMode = p.Mode
	for _, c := range o.old.Conditions {
		o.conditions.keep(c)
	}
	for _, kind := range []serving.ConditionType{servingv1beta1.PredictorReady, servingv1beta1.IngressReady} {
		if o.old.Condition(kind) == nil {
			o.conditions.put(kind, fact{status: corev1.ConditionUnknown})
		}
	}
	if c := p.Component(serving.Transformer); c != nil {
		if o.status.Components == nil {
			o.status.Components = map[serving.ComponentRole]servingv1beta1.ComponentStatus{}
		}
		entry := o.status.Components[c.Role]
		part := o.component(c, &entry)
		o.status.Components[c.Role] = entry
		part.on(nil)
		o.conditions.put(servingv1beta1.TransformerReady, part.fact)
	}
}

// frozenFails says that a service that asked to be left alone has stopped serving. Edits that wait do not count.
func (o *observer) frozenFails() bool {
	for i := range o.in.Plan.Components {
		c := &o.in.Plan.Components[i]
		if c.Canary == nil && !o.exists(c) {
			return false
		}
	}
	for _, part := range o.parts {
		if part.status != corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func (o *observer) exists(c *plan.Component) bool {
	if o.in.Plan.Mode == serving.Standard {
		return o.in.Children.Deployment(c.Name) != nil
	}
	return o.in.Children.OptionalObject(knativeGroup, "Service", c.Name) != nil
}

// mode is the deployment mode where no plan says it.
func (o *observer) mode() serving.DeploymentMode {
	if text := o.svc.Annotations[serving.AnnotationDeploymentMode]; text != "" {
		mode, _ := serving.ParseDeploymentMode(text)
		return mode
	}
	if o.in.Settings == nil {
		return ""
	}
	return o.in.Settings.Deploy.DefaultMode
}

// lookAgain asks for another observation, the soonest wins.
func (o *observer) lookAgain(after time.Duration) {
	if after > 0 && (o.requeue == 0 || after < o.requeue) {
		o.requeue = after
	}
}

// patienceSince is what is left of patience with what began at a time. That time is of another clock than ours: what begins in the future
// begins now.
func (o *observer) patienceSince(began time.Time) time.Duration {
	return patience - max(0, o.in.Now.Sub(began))
}

// podsOf are the living pods of a workload, sorted by name.
func (o *observer) podsOf(label, value string) []*corev1.Pod {
	var found []*corev1.Pod
	for i := range o.in.Pods {
		if p := &o.in.Pods[i]; p.Labels[label] == value && p.DeletionTimestamp.IsZero() {
			found = append(found, p)
		}
	}
	return sorted(found)
}

// about is an error that names the object it is about.
type about interface {
	error
	About() (kind, name string)
}

func objectOf(err error) (kind, name string) {
	var a about
	if errors.As(err, &a) {
		return a.About()
	}
	return "", ""
}
