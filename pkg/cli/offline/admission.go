// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// defaulted is a copy of a service with what admission would fill in.
func (w *World) defaulted(service *servingv1beta1.InferenceService) *servingv1beta1.InferenceService {
	filled := service.DeepCopy()
	filled.SetDefaults(w.Settings.ServiceDefaults())
	return filled
}

// Faults are those that admission would refuse an object of the files for.
func (w *World) Faults() []manifest.Fault {
	var faults []manifest.Fault
	take := func(o *manifest.Object, list field.ErrorList) {
		for _, e := range list {
			faults = append(faults, o.Fault(e.Field, e.ErrorBody()))
		}
	}
	for _, o := range w.objects {
		take(o, labelled(o.Value))
		switch v := o.Value.(type) {
		case *servingv1alpha1.ServingRuntime:
			list, _ := v.Validate(w.runtimeRules(o))
			take(o, list)
		case *servingv1alpha1.ClusterServingRuntime:
			list, _ := v.Validate(w.runtimeRules(o))
			take(o, list)
		case *servingv1alpha1.ClusterStorageContainer:
			take(o, v.Validate())
		case *servingv1alpha1.TrainedModel:
			take(o, v.Validate())
		case *servingv1alpha1.InferenceGraph:
			list, _ := v.Validate()
			take(o, list)
		}
	}
	for _, s := range w.Services {
		list, _ := s.Defaulted.Validate(w.serviceRules(s))
		take(s.Object, list)
	}
	return faults
}

// labelled is what an API server refuses of any kind's metadata, before it asks a webhook.
func labelled(value any) field.ErrorList {
	object, ok := value.(metav1.Object)
	if !ok {
		return nil
	}
	at := field.NewPath("metadata")
	return append(metav1validation.ValidateLabels(object.GetLabels(), at.Child("labels")), apivalidation.ValidateAnnotations(object.GetAnnotations(), at.Child("annotations"))...)
}

// Warning is something odd about an object that is accepted.
type Warning struct {
	Object *manifest.Object
	serving.Warning
}

// Warnings are what admission would tell about objects that it accepts.
func (w *World) Warnings() []Warning {
	var all []Warning
	take := func(o *manifest.Object, list []serving.Warning) {
		for _, one := range list {
			all = append(all, Warning{o, one})
		}
	}
	for _, s := range w.Services {
		_, list := s.Defaulted.Validate(w.serviceRules(s))
		take(s.Object, list)
	}
	for _, g := range w.Graphs {
		_, list := g.Value.Validate()
		take(g.Object, list)
	}
	for _, o := range w.objects {
		switch v := o.Value.(type) {
		case *corev1.ConfigMap:
			if o.Name != settings.ConfigMapName {
				continue
			}
			for _, f := range w.Settings.Odd {
				take(o, []serving.Warning{{Field: "data." + f.Key, Detail: f.Path + ": " + f.Problem}})
			}
		case *servingv1alpha1.ServingRuntime:
			_, list := v.Validate(w.runtimeRules(o))
			take(o, list)
		case *servingv1alpha1.ClusterServingRuntime:
			_, list := v.Validate(w.runtimeRules(o))
			take(o, list)
		}
	}
	return all
}

// Unserved are warnings about services whose model no runtime serves, as far as the runtimes at hand tell, which are named in words.
func (w *World) Unserved(runtimes string) []Warning {
	var all []Warning
	for _, s := range w.Services {
		var b *plan.Blocked
		if _, err := w.Plan(s); !errors.As(err, &b) {
			continue
		}
		var field string
		switch servingv1beta1.FailureReason(b.Reason) {
		case servingv1beta1.NoSupportingRuntime:
			field = "spec.predictor.model.modelFormat"
		case servingv1beta1.RuntimeNotRecognized:
			field = "spec.predictor.model.runtime"
		default:
			continue
		}
		all = append(all, Warning{s.Object, serving.Warning{Field: field, Detail: b.Message + " (" + runtimes + ")"}})
	}
	return all
}

func (w *World) serviceRules(s Service) servingv1beta1.Rules {
	return w.Settings.ServiceRules(w.containers, resolve.Hosts(s.Defaulted, w.Settings))
}

func settingsFaults(o *manifest.Object, err error) []manifest.Fault {
	var all *settings.FaultsError
	if !errors.As(err, &all) {
		return []manifest.Fault{o.Fault("data", err.Error())}
	}
	var faults []manifest.Fault
	for _, f := range all.Faults {
		fault := o.Fault("data."+f.Key, f.Problem)
		if f.Path != "$" {
			fault.Message = f.Path + ": " + f.Problem
		}
		faults = append(faults, fault)
	}
	return faults
}

func (w *World) runtimeRules(o *manifest.Object) servingv1alpha1.RuntimeRules {
	rules := servingv1alpha1.RuntimeRules{Others: map[string]servingv1alpha1.ServingRuntimeSpec{}, GPUResources: w.Settings.MultiNode.GPUResources}
	if o.Namespace == "" {
		for i := range w.cluster {
			rules.Others[w.cluster[i].Name] = w.cluster[i].Spec
		}
		return rules
	}
	for i := range w.runtimes[o.Namespace] {
		r := &w.runtimes[o.Namespace][i]
		rules.Others[r.Name] = r.Spec
	}
	return rules
}
