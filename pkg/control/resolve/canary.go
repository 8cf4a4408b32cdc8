// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// canaries decides on the canary predictors. One that cannot be made is no reason not to make the others, or the stable one.
func (r *resolver) canaries(stable *resolved) []plan.Component {
	if len(r.svc.Spec.Canary) == 0 || r.plan.Mode != serving.Standard {
		return nil
	}
	shadow, _ := r.svc.CanaryShadow() // what is wrong with it is among the faults
	all := make([]plan.Component, 0, len(r.svc.Spec.Canary)+1)
	stableMin := minReplicas(r.svc.Spec.Predictor.MinReplicas)
	for i := range r.svc.Spec.Canary {
		entry := &r.svc.Spec.Canary[i]
		name := entry.Predictor.Name
		canary := plan.Canary{Name: name, Index: i, Percent: entry.TrafficPercent, Shadow: shadow[name], Ready: r.snap.ReadyCanaries[name]}
		r.entry = fmt.Sprintf("spec.canary[%d].predictor", i)
		component, err := r.canary(stable, entry, replicas(stableMin, &canary, entry.Predictor.MinReplicas))
		if fault := r.snap.CanaryFaults[i]; fault != nil {
			canary.Ready, err = false, fault // what is invalid gets no requests; what cannot be made now may serve as before
		}
		if err != nil {
			u := plan.Unplanned{Canary: canary, Workload: names.Predictor(r.svc.Name, name), Why: asBlocked(err)}
			if r.snap.CanaryFaults[i] == nil {
				u.Why.Message = stablePath.ReplaceAllString(u.Why.Message, r.entry) // whatever it is, it can be said there
			}
			if name == "" || name == r.svc.Spec.Predictor.Name {
				u.Workload, u.Ready = "", false // it has no name of its own, and nothing that goes by it
			}
			r.plan.Unplanned = append(r.plan.Unplanned, u)
			continue
		}
		component.Canary = &canary
		all = append(all, *component)
	}
	return all
}

// replicas are the canary's own, or its share of the stable predictor's. A canary that gets copies of requests needs the pods for them, too.
func replicas(stable int32, c *plan.Canary, own *int32) int32 {
	if own != nil {
		return *own
	}
	return int32((int64(stable)*int64(max(c.Percent, c.Shadow)) + 99) / 100)
}

// canary decides on one canary predictor.
func (r *resolver) canary(stable *resolved, entry *servingv1beta1.CanarySpec, pods int32) (*plan.Component, error) {
	spec := overlay(&r.svc.Spec.Predictor, &entry.Predictor)
	if spec.WorkerSpec != nil {
		return nil, unsupported("the stable predictor spans several nodes (workerSpec), and a canary predictor cannot: serve the new model as a service of its own")
	}
	if !r.snap.Brief {
		var err error
		if r.own, err = plan.Tree(&entry.Predictor); err != nil {
			return nil, err
		}
	}
	defer func() { r.own, r.follows = nil, false }()
	if m, chosen := spec.Model, stable.component.Runtime; m != nil && m.Runtime == nil && chosen != nil && sameFormat(&r.svc.Spec.Predictor, &entry.Predictor) {
		m.Runtime, r.follows = &chosen.Name, true
	}
	spec.MinReplicas, spec.MaxReplicas = &pods, 0
	spec.ScaleTarget, spec.ScaleMetric, spec.ScaleMetricType, spec.AutoScaling = nil, nil, nil, nil
	made, err := r.predictor(spec)
	if err != nil {
		return nil, err
	}
	c := made.component
	if c.Scale.Class == serving.AutoscalerKEDA {
		// A ScaledObject needs something to measure; a fixed number of pods is kept by a HorizontalPodAutoscaler without any.
		c.Scale.Class = serving.AutoscalerHPA
	}
	return c, r.checkName(c)
}

// stablePath are the places that the decisions on a predictor speak of.
var stablePath = regexp.MustCompile(`\bspec\.predictor\b`)

// place names the field of the canary's entry where a sentence speaks of one that the entry has. All others are the stable predictor's.
func (r *resolver) place(sentence string) string {
	if r.own == nil {
		return sentence
	}
	return stableField.ReplaceAllStringFunc(sentence, func(path string) string {
		at, below := any(r.own), strings.TrimPrefix(path, "spec.predictor.")
		for key := range strings.SplitSeq(below, ".") {
			fields, _ := at.(map[string]any)
			if at = fields[key]; at == nil || at == "" {
				return path
			}
		}
		return r.entry + "." + below
	})
}

var stableField = regexp.MustCompile(`\bspec\.predictor(\.\w+)+`)

func asBlocked(err error) *plan.Blocked {
	var b *plan.Blocked
	var waiting *plan.Waiting
	switch {
	case errors.As(err, &b):
		b.Role = serving.Predictor
		return b
	case errors.As(err, &waiting):
		return &plan.Blocked{Reason: waiting.Reason, Role: serving.Predictor, Message: waiting.Message}
	}
	return &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Role: serving.Predictor, Message: err.Error()}
}

// split gives the canary predictors that are ready their share of the requests, and makes room for them in the stable one.
func (r *resolver) split() error {
	stable := r.plan.Component(serving.Predictor)
	if len(r.svc.Spec.Canary) == 0 || r.plan.Mode != serving.Standard || stable == nil {
		return nil
	}
	if r.plan.Route.NoSplit = r.st.NoSplit(); r.plan.Route.Internal && r.plan.Route.NoSplit == "" {
		r.plan.Route.NoSplit = "the service is reached from inside the cluster only, so that it has no HTTPRoute"
	}
	for _, c := range r.plan.Tracks() {
		if c.Ready && r.plan.Route.NoSplit == "" {
			c.Weight, c.Copies = min(c.Percent, r.allowed(c.Name)), min(c.Shadow, r.allowed(c.Name))
		}
	}
	// Where somebody else splits the requests, all of a canary's pods are taken to have their share.
	var busy int64
	for _, c := range r.plan.Canaries() {
		if !c.Canary.Ready || c.Canary.Shadow > 0 {
			continue
		}
		pods, percent, allowed := int64(minReplicas(c.Scale.Min)), int64(c.Canary.Percent), int64(r.allowed(c.Canary.Name))
		if allowed < percent {
			pods = pods * allowed / percent
		}
		busy += pods
	}
	if least := r.svc.Spec.Predictor.MinReplicas; least != nil && busy > 0 {
		stable.Scale.Min = new(int32(max(int64(*least)-busy, 1)))
	}
	return nil
}

// allowed is the most that measurements let a canary have, in percent.
func (r *resolver) allowed(name string) int32 {
	if most, bounded := r.snap.CanaryShares[name]; bounded {
		return most
	}
	return 100
}

func sameFormat(stable, canary *servingv1beta1.PredictorSpec) bool {
	return canary.Model == nil || canary.Model.ModelFormat.Name == "" || stable.Model == nil || canary.Model.ModelFormat.Name == stable.Model.ModelFormat.Name
}

// overlay is the stable predictor with everything that the canary says over it: objects are merged, lists replaced. What excludes each other
// is not mixed: a source of the model, a model and a container in its place. The result shares memory with neither.
func overlay(stable, canary *servingv1beta1.PredictorSpec) *servingv1beta1.PredictorSpec {
	merged := *stable
	if merged.Model != nil {
		merged.Model = new(*stable.Model)
	}
	switch {
	case canary.IsCustom():
		merged.Model, merged.StorageURIs = nil, nil
	case canary.Model != nil && merged.IsCustom():
		merged.Containers = nil
	}
	if m := canary.Model; m != nil && (text(m.StorageURI) != "" || m.Storage != nil) || len(canary.StorageURIs) > 0 {
		merged.StorageURIs = nil
		if merged.Model != nil && (len(canary.StorageURIs) > 0 || m.Storage == nil) {
			merged.Model.Storage = nil
		}
		if merged.Model != nil {
			merged.Model.StorageURI = nil
		}
	}
	if m := merged.Model; m != nil && !sameFormat(&merged, canary) {
		// The runtime of the stable predictor does not know the canary's format, and its version is the version of another image.
		m.Runtime, m.RuntimeVersion = nil, nil
		m.ModelFormat.Version = nil
	}
	mergeFields(reflect.ValueOf(&merged).Elem(), reflect.ValueOf(canary).Elem())
	own := merged.DeepCopy()
	if canary.Model != nil && own.Model != nil {
		plan.KeepChosenOf((*corev1.Container)(&own.Model.Container), (*corev1.Container)(&canary.Model.Container))
	}
	if canary.DeploymentStrategy != nil {
		own.DeploymentStrategy = canary.DeploymentStrategy.DeepCopy() // the bounds of a rolling update are none of Recreate
	}
	return own
}
