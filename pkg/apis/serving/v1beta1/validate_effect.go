// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// refuse adds faults of new services, each once. What is stored already goes on: it is told about them.
func (v *validator) refuse(faults ...*field.Error) {
	for _, fault := range faults {
		if v.rules.Stored {
			v.warnOnce(field.NewPath(fault.Field), fault.ErrorBody())
		} else {
			v.once(fault)
		}
	}
}

// annotations checks what the service's own annotations and labels say.
func (v *validator) annotations() {
	meta := field.NewPath("metadata")
	faults, odd := serving.ValidateAnnotations(meta.Child("annotations"), v.service.Annotations, serving.OnService)
	v.refuse(faults...)
	v.warnings = append(v.warnings, odd...)
	v.warnings = append(v.warnings, serving.ValidateLabels(meta.Child("labels"), v.service.Labels)...)
	labels := v.service.Labels
	for _, pair := range []struct {
		mode        serving.DeploymentMode
		read, other string
	}{
		{serving.Standard, serving.LabelVisibility, serving.LabelKnativeVisibility},
		{serving.Knative, serving.LabelKnativeVisibility, serving.LabelVisibility},
	} {
		if v.mode == pair.mode && labels[pair.other] == serving.VisibilityClusterLocal && labels[pair.read] != serving.VisibilityClusterLocal {
			v.warn(meta.Child("labels").Key(pair.other), "keeps nothing inside the cluster in %s mode; set the label %s: %s", v.mode, pair.read, serving.VisibilityClusterLocal)
		}
	}
}

// componentAnnotations checks what the annotations of a component say.
func (v *validator) componentAnnotations(at *field.Path, e *ComponentExtensionSpec) {
	faults, odd := serving.ValidateAnnotations(at.Child("annotations"), e.Annotations, serving.OnComponent)
	v.refuse(faults...)
	v.warnings = append(v.warnings, odd...)
}

// canaryAnnotations checks what the annotations of a canary predictor say. Those that choose how it is scaled choose nothing.
func (v *validator) canaryAnnotations(at *field.Path, e *ComponentExtensionSpec) {
	v.componentAnnotations(at, e)
	if class, known := v.autoscalerClass(at, e); !known || class != serving.AutoscalerHPA {
		return
	}
	for _, key := range []string{serving.AnnotationMetric, serving.AnnotationMetrics, serving.AnnotationTargetUtilization} {
		text, ok := e.Annotations[key]
		if !ok {
			continue
		}
		where := at.Child("annotations").Key(key)
		switch metrics := []ScaleMetric{MetricCPU, MetricMemory}; {
		case key == serving.AnnotationTargetUtilization && !isPercentage(text):
			v.refuse(field.Invalid(where, text, "must be a whole number between 1 and 100; remove it, as a canary predictor has a fixed number of replicas"))
		case key != serving.AnnotationTargetUtilization && !slices.Contains(metrics, ScaleMetric(text)):
			v.refuse(field.NotSupported(where, text, metrics))
		default:
			v.warn(where, "has no effect: a canary predictor has a fixed number of replicas; remove it and set minReplicas")
		}
	}
}

// withoutEffect warns about what a component says and nobody reads.
func (v *validator) withoutEffect(at *field.Path, e *ComponentExtensionSpec) {
	v.componentAnnotations(at, e)
	switch v.mode {
	case serving.Standard:
		v.standardEffect(at, e)
	case serving.Knative:
		v.knativeEffect(at, e)
	case serving.ModelMesh:
	}
}

// knob is a field that is set, and its name.
type knob struct {
	name string
	set  bool
}

func (e *ComponentExtensionSpec) scaleKnobs() []knob {
	return []knob{
		{"maxReplicas", e.MaxReplicas > 0 && (e.MinReplicas == nil && e.MaxReplicas != 1 || e.MinReplicas != nil && *e.MinReplicas != e.MaxReplicas)},
		{"scaleTarget", e.ScaleTarget != nil},
		{"scaleMetric", e.ScaleMetric != nil},
		{"scaleMetricType", e.ScaleMetricType != nil},
		{"autoScaling", e.AutoScaling != nil},
	}
}

func (v *validator) idle(at *field.Path, knobs []knob, why string, args ...any) {
	for _, k := range knobs {
		if k.set {
			v.warn(at.Child(k.name), "has no effect: "+why, args...)
		}
	}
}

func (v *validator) standardEffect(at *field.Path, e *ComponentExtensionSpec) {
	for _, key := range []string{
		serving.AnnotationKnativeAutoscalerClass, serving.AnnotationKnativeMinScale, serving.AnnotationKnativeMaxScale, serving.AnnotationKnativeTarget,
		serving.AnnotationKnativeMetric, serving.AnnotationKnativeInitialScale, serving.AnnotationKnativeRolloutDuration, serving.AnnotationEnableTagRouting,
	} {
		if _, where, ok := v.lookup(at, e, key); ok {
			v.warnOnce(where, "has no effect in Standard mode; remove it, or set the annotation "+serving.AnnotationDeploymentMode+": Knative")
		}
	}
	if e.TimeoutSeconds != nil && v.rules.NoTimeout != "" {
		v.warn(at.Child("timeout"), "has no effect: %s", v.rules.NoTimeout)
	}
	class, _, _ := v.lookup(at, e, serving.AnnotationAutoscalerClass)
	inMetrics := e.AutoScaling != nil && len(e.AutoScaling.Metrics) > 0
	switch serving.AutoscalerClass(class) {
	case serving.AutoscalerNone, serving.AutoscalerExternal:
		v.idle(at, e.scaleKnobs(), "the autoscaler class is %s, so that nothing here scales; remove it, or the annotation %s", class, serving.AnnotationAutoscalerClass)
	case serving.AutoscalerKEDA:
		v.idle(at, []knob{{"scaleTarget", e.ScaleTarget != nil && inMetrics}, {"scaleMetricType", e.ScaleMetricType != nil}},
			"the keda autoscaler takes its targets from autoScaling.metrics; move it there")
	default:
		if inMetrics {
			v.idle(at, []knob{{"scaleTarget", e.ScaleTarget != nil}, {"scaleMetric", e.ScaleMetric != nil}}, "autoScaling.metrics wins; keep one of the two")
		} else {
			v.idle(at, []knob{{"scaleMetricType", e.ScaleMetricType != nil && e.ScaleTarget == nil}}, "there is no scaleTarget to read by it; set one, or remove it")
		}
	}
}

func (v *validator) knativeEffect(at *field.Path, e *ComponentExtensionSpec) {
	for _, key := range []string{serving.AnnotationAutoscalerClass, serving.AnnotationMetric, serving.AnnotationMetrics, serving.AnnotationTargetUtilization} {
		if text, where, ok := v.lookup(at, e, key); ok && (key != serving.AnnotationAutoscalerClass || slices.Contains(serving.AutoscalerClasses(), serving.AutoscalerClass(text))) {
			v.warnOnce(where, "has no effect in Knative mode; use the annotations autoscaling.knative.dev/… or scaleMetric and scaleTarget of the component")
		}
	}
	class, _, _ := v.lookup(at, e, serving.AnnotationKnativeAutoscalerClass)
	v.idle(at, []knob{
		{"autoScaling", e.AutoScaling != nil},
		{"scaleMetricType", e.ScaleMetricType != nil},
		{"deploymentStrategy", e.DeploymentStrategy != nil && class == serving.KnativeHPAClass},
	}, "Knative scales and replaces pods in its own way; remove it, or set the annotation %s: Standard", serving.AnnotationDeploymentMode)
}

// warnOnce adds a warning of the service's metadata, which several components would give.
func (v *validator) warnOnce(at *field.Path, detail string) {
	warning := serving.Warning{Field: at.String(), Detail: detail}
	if !slices.Contains(v.warnings, warning) {
		v.warnings = append(v.warnings, warning)
	}
}

// toZero refuses a least number of 0 where nothing would ever bring a pod back.
func (v *validator) toZero(at *field.Path, e *ComponentExtensionSpec) {
	if e.MinReplicas == nil || *e.MinReplicas != 0 {
		return
	}
	if e.AutoScaling != nil && slices.ContainsFunc(e.AutoScaling.Metrics, func(m MetricsSpec) bool { return m.Type != ResourceMetricSource }) {
		return
	}
	v.refuse(field.Invalid(at.Child("minReplicas"), 0, fmt.Sprintf(
		"cpu and memory are measured of pods that run, so that nothing would start one again; set at least 1, or add a metric of type %s", ExternalMetricSource)))
}
