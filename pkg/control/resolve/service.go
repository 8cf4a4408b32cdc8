// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve decides what a service becomes: mode, runtime, pod, storage and URLs, each with its reason. It is a pure function of a Snapshot and the Settings.
//
// Called by: pkg/cli; the controller, once it reconciles.
// Next: pkg/control/render.
package resolve

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// resolver carries one decision. It copies what it changes; the Snapshot stays as it was read.
type resolver struct {
	snap *plan.Snapshot
	st   *settings.Settings
	svc  *servingv1beta1.InferenceService
	plan *plan.Plan
	// runtimes are the candidates, once they have been asked for.
	runtimes []candidate
	// workload is the component that decisions are about now.
	workload string
	// entry is the place of the canary that decisions are about now, own what is said there; nil outside of canaries.
	entry string
	own   map[string]any
	// follows says that the canary has the runtime that was chosen for the stable predictor.
	follows bool
}

// Service decides what an InferenceService becomes. The service has its defaults applied and is valid; what slipped past admission is Blocked, not a panic.
// The error is a *plan.Blocked or a *plan.Waiting, nothing else.
func Service(snap *plan.Snapshot, st *settings.Settings) (*plan.Plan, error) {
	svc := snap.Service
	r := &resolver{snap: snap, st: st, svc: svc, plan: &plan.Plan{
		Owner: plan.Owner{
			APIVersion: servingv1beta1.SchemeGroupVersion.String(), Kind: servingv1beta1.InferenceServiceKind,
			Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID), Generation: svc.Generation,
			Labels: maps.Clone(svc.Labels), Annotations: maps.Clone(svc.Annotations),
		},
		Around: &snap.Surroundings,
	}}
	for _, step := range []func() error{r.mode, r.components, r.checkScale, r.checkNames, r.route, r.split} {
		if err := step(); err != nil {
			return nil, r.blocked(err)
		}
		if r.plan.Stopped {
			r.whileStopped()
			return r.plan, nil
		}
		if r.plan.Mode == serving.ModelMesh && svc.Spec.Transformer == nil {
			return r.plan, nil
		}
	}
	return r.plan, nil
}

// whileStopped decides what a stopped service would be, as far as that can be told: its status names its runtime. What stands in the way
// does not matter while nothing is wanted.
func (r *resolver) whileStopped() {
	if err := r.components(); err != nil {
		r.plan.Components = nil
	}
}

// blocked gives an error of a step the form that callers decide by, with the decisions taken so far.
func (r *resolver) blocked(err error) error {
	var waiting *plan.Waiting
	if errors.As(err, &waiting) {
		return waiting
	}
	var b *plan.Blocked
	if !errors.As(err, &b) {
		b = &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Message: err.Error()}
	}
	b.Decisions = r.plan.Decisions
	return b
}

// decide records a choice. What was rejected is sorted, so that the order of reading does not show.
func (r *resolver) decide(d plan.Decision) {
	if r.snap.Brief {
		return
	}
	if d.Role != "" {
		d.Workload = r.workload
		d.Why = r.place(d.Why)
	}
	slices.SortFunc(d.Rejected, func(a, b plan.Rejection) int { return strings.Compare(a.Name, b.Name) })
	r.plan.Decisions = append(r.plan.Decisions, d)
}

// Frozen says that a service is ready and asked to be left as it is.
func Frozen(svc *servingv1beta1.InferenceService) bool {
	if svc.Annotations[serving.AnnotationDisableAutoUpdate] != "true" {
		return false
	}
	ready := svc.Status.Condition(serving.ConditionReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// mode follows status, annotation, setting: what a service once became is not changed by an edit.
func (r *resolver) mode() error {
	r.plan.Frozen = Frozen(r.svc)
	r.plan.Stopped = r.svc.IsStopped()
	d := plan.Decision{Subject: plan.SubjectMode}
	text, annotated := r.svc.Annotations[serving.AnnotationDeploymentMode]
	wanted, known := serving.ParseDeploymentMode(text)
	stored, wasStored := serving.ParseDeploymentMode(string(r.svc.Status.DeploymentMode))
	switch {
	case wasStored:
		r.plan.Mode, d.Why = stored, "the service already runs in this mode (status.deploymentMode); a mode is fixed once a service exists"
	case annotated && !known:
		return &plan.Blocked{
			Reason:  servingv1beta1.ReasonReconcileFailed,
			Message: fmt.Sprintf("annotation %s has the unknown value %q: use Standard, Knative or ModelMesh, or remove it", serving.AnnotationDeploymentMode, text),
		}
	case annotated:
		r.plan.Mode, d.Why = wanted, "annotation "+serving.AnnotationDeploymentMode
	default:
		r.plan.Mode, d.Why = r.st.Deploy.DefaultMode, "the operator's default (deploy.defaultDeploymentMode)"
	}
	d.Chosen = string(r.plan.Mode)
	for _, m := range []serving.DeploymentMode{serving.Standard, serving.Knative} {
		if m != r.plan.Mode && !wasStored {
			d.Rejected = append(d.Rejected, plan.Rejection{Name: string(m), Why: "not asked for: set annotation " + serving.AnnotationDeploymentMode + ": " + string(m)})
		}
	}
	r.decide(d)
	return nil
}

func (r *resolver) components() error {
	if r.plan.Mode != serving.ModelMesh {
		stable, err := r.predictor(r.svc.Spec.Predictor.DeepCopy())
		if err != nil {
			return inRole(err, serving.Predictor)
		}
		r.plan.Components = append(r.canaries(stable), *stable.component)
		if len(stable.labels) > 0 { // those that the server wants are on everything that is made of the service, as clusters have it
			r.plan.Owner.Labels = stable.labels
		}
	}
	if t := r.svc.Spec.Transformer; t != nil {
		c, err := r.transformer(t)
		if err != nil {
			return inRole(err, serving.Transformer)
		}
		r.plan.Components = append(r.plan.Components, *c)
	}
	if e := r.svc.Spec.Explainer; e != nil {
		c, err := r.explainer(e)
		if err != nil {
			return inRole(err, serving.Explainer)
		}
		r.plan.Components = append(r.plan.Components, *c)
	}
	return nil
}

// inRole names the component that an error is about.
func inRole(err error, role serving.ComponentRole) error {
	var waiting *plan.Waiting
	if errors.As(err, &waiting) {
		return waiting
	}
	var b *plan.Blocked
	if !errors.As(err, &b) {
		b = &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Message: err.Error()}
	}
	if b.Role == "" {
		b.Role = role
	}
	return b
}

func invalidPredictor(format string, args ...any) error {
	return &plan.Blocked{Reason: string(servingv1beta1.InvalidPredictorSpec), Message: fmt.Sprintf(format, args...)}
}

// Container names that have a meaning.
const (
	ServingContainer     = handoff.MainContainer
	TransformerContainer = handoff.TransformerContainer
	WorkerContainer      = handoff.WorkerContainer
)

func findContainer(cs []corev1.Container, name string) *corev1.Container {
	for i := range cs {
		if cs[i].Name == name {
			return &cs[i]
		}
	}
	return nil
}

// mainContainer is the container of a pod of the user's own that serves: the one that says so by its name, else the first.
func mainContainer(cs []corev1.Container) *corev1.Container {
	if c := findContainer(cs, ServingContainer); c != nil {
		return c
	}
	return &cs[0]
}

// setEnv sets a variable, replacing one of the same name.
func setEnv(c *corev1.Container, name, value string) {
	for i := range c.Env {
		if c.Env[i].Name == name {
			c.Env[i] = corev1.EnvVar{Name: name, Value: value}
			return
		}
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
