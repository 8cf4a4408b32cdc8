// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// scaling checks how a component is scaled, by the rules of the autoscaler that it gets.
func (v *validator) scaling(at *field.Path, e *ComponentExtensionSpec) {
	class, known := v.autoscalerClass(at, e)
	v.withoutEffect(at, e)
	v.metricSources(at, e)
	if v.mode != serving.Standard {
		v.knativeScaling(at, e)
		return
	}
	if !known {
		return
	}
	switch class {
	case serving.AutoscalerHPA:
		v.hpa(at, e, true)
	case serving.AutoscalerKEDA:
		v.keda(at, e)
	case serving.AutoscalerExternal, serving.AutoscalerNone:
	}
}

// lookup finds an annotation of a component, or else of the service.
func (v *validator) lookup(at *field.Path, e *ComponentExtensionSpec, key string) (string, *field.Path, bool) {
	if value, ok := e.Annotations[key]; ok {
		return value, at.Child("annotations").Key(key), true
	}
	value, ok := v.service.Annotations[key]
	return value, annotation(key), ok
}

func (v *validator) autoscalerClass(at *field.Path, e *ComponentExtensionSpec) (serving.AutoscalerClass, bool) {
	text, where, ok := v.lookup(at, e, serving.AnnotationAutoscalerClass)
	if !ok {
		return serving.AutoscalerHPA, true
	}
	class := serving.AutoscalerClass(text)
	if !slices.Contains(serving.AutoscalerClasses(), class) {
		v.once(field.NotSupported(where, text, serving.AutoscalerClasses()))
		return class, false
	}
	return class, true
}

// once adds a fault of the service's metadata, which several components would report.
func (v *validator) once(fault *field.Error) {
	if v.told == nil {
		v.told = map[string]bool{}
	}
	for _, known := range v.faults[v.read:] { // each is written once: there may be thousands
		v.told[known.Error()] = true
	}
	v.read = len(v.faults)
	if !v.told[fault.Error()] {
		v.add(fault)
	}
}

// metricSources checks that each metric has the field that its type names.
func (v *validator) metricSources(at *field.Path, e *ComponentExtensionSpec) {
	if e.AutoScaling == nil {
		return
	}
	for i, m := range e.AutoScaling.Metrics {
		where := at.Child("autoScaling", "metrics").Index(i)
		types := []MetricSourceType{ResourceMetricSource, ExternalMetricSource, PodMetricSource}
		switch {
		case !slices.Contains(types, m.Type):
			v.add(field.NotSupported(where.Child("type"), m.Type, types))
		case m.Type == ResourceMetricSource && m.Resource == nil:
			v.add(field.Required(where.Child("resource"), "the type is Resource; set resource, or change the type"))
		case m.Type == ExternalMetricSource && m.External == nil:
			v.add(field.Required(where.Child("external"), "the type is External; set external, or change the type"))
		case m.Type == PodMetricSource && m.PodMetric == nil:
			v.add(field.Required(where.Child("podmetric"), "the type is PodMetric; set podmetric, or change the type"))
		}
	}
}

// hpa checks a component for a HorizontalPodAutoscaler: one of our own, or one that Knative makes.
func (v *validator) hpa(at *field.Path, e *ComponentExtensionSpec, own bool) {
	metric, where := MetricCPU, at.Child("scaleMetric")
	if e.ScaleMetric != nil {
		metric = *e.ScaleMetric
	} else if own {
		metric, where = v.annotatedMetric(at, e)
	}
	metrics := []ScaleMetric{MetricCPU, MetricMemory}
	if !slices.Contains(metrics, metric) {
		v.refuse(field.NotSupported(where, metric, metrics))
	}
	if target := e.ScaleTarget; target != nil {
		v.percentage(at, e, metric, *target)
	}
	v.resourcesOnly(at, e, own)
	if !own {
		return
	}
	if !v.annotatedTarget(at, e) && metric == MetricMemory && e.ScaleTarget == nil && (e.AutoScaling == nil || len(e.AutoScaling.Metrics) == 0) {
		v.refuse(field.Required(at.Child("scaleTarget"), "memory has no target of its own; set a percentage of what the pods request, such as 75"))
	}
	if e.MinReplicas != nil && *e.MinReplicas == 0 {
		v.add(field.Invalid(at.Child("minReplicas"), 0, fmt.Sprintf(
			"the hpa autoscaler cannot scale to zero; set at least 1, or the annotation %s: keda", serving.AnnotationAutoscalerClass)))
	}
}

// resourcesOnly checks the metrics of a HorizontalPodAutoscaler. Knative makes its own without them, so that only their kind counts there.
func (v *validator) resourcesOnly(at *field.Path, e *ComponentExtensionSpec, own bool) {
	if e.AutoScaling == nil {
		return
	}
	fix := "remove it, as Knative knows none of them"
	if own {
		fix = fmt.Sprintf("set the annotation %s: keda for the others", serving.AnnotationAutoscalerClass)
	}
	for i, m := range e.AutoScaling.Metrics {
		where := at.Child("autoScaling", "metrics").Index(i)
		switch {
		case m.Type != ResourceMetricSource:
			v.add(field.Invalid(where.Child("type"), m.Type, "the hpa autoscaler takes Resource only; "+fix))
		case own && m.Resource != nil:
			v.hpaResource(where.Child("resource", "target"), m.Resource)
		}
	}
}

// hpaResource checks a target that a HorizontalPodAutoscaler takes for a resource: a percentage, or a quantity per pod.
func (v *validator) hpaResource(at *field.Path, r *ResourceMetric) {
	target := r.Target
	switch target.Type {
	case AverageValueTarget:
		v.positive(at.Child("averageValue"), target.AverageValue, "the target's type is AverageValue; set a quantity per pod, such as 500Mi")
	case UtilizationTarget, "":
		switch n := target.AverageUtilization; {
		case n != nil && *n < 1:
			v.add(field.Invalid(at.Child("averageUtilization"), *n, "must be at least 1; it is a percentage of what the pods request"))
		case n == nil && r.Name == ResourceMemory:
			v.add(field.Required(at.Child("averageUtilization"), "memory has no target of its own; set a percentage of what the pods request, such as 75"))
		case n == nil && !target.unset():
			v.add(field.Required(at.Child("averageUtilization"), "the target has a quantity and no percentage; set one, or the type "+string(AverageValueTarget)+" for a quantity per pod"))
		}
	default:
		v.add(field.NotSupported(at.Child("type"), target.Type, []MetricTargetType{UtilizationTarget, AverageValueTarget}))
	}
}

// unset reports whether a target says nothing but that it is a percentage.
func (t *MetricTarget) unset() bool {
	return t.AverageUtilization == nil && t.AverageValue == nil && t.Value == nil && (t.Type == "" || t.Type == UtilizationTarget)
}

func (v *validator) positive(at *field.Path, value *MetricQuantity, missing string) {
	if value == nil {
		v.add(field.Required(at, missing))
		return
	}
	if q, err := value.Quantity(); err != nil || q.Sign() <= 0 {
		v.add(field.Invalid(at, *value, "must be a quantity greater than 0; write for instance 500Mi or 500m"))
	}
}

// percentage checks a target that is read as a utilization.
func (v *validator) percentage(at *field.Path, e *ComponentExtensionSpec, metric ScaleMetric, target int32) {
	if kind := e.ScaleMetricType; kind != nil && *kind != UtilizationTarget {
		v.refuse(field.Invalid(at.Child("scaleMetricType"), *kind, fmt.Sprintf(
			"scaleTarget is a percentage; use autoScaling.metrics with resource.target.type %s for a quantity, or remove scaleMetricType", *kind)))
		return
	}
	if target < 1 || target > 100 {
		v.refuse(field.Invalid(at.Child("scaleTarget"), target, fmt.Sprintf(
			"must be between 1 and 100: the target of %s is a percentage of what the pods request; use autoScaling.metrics for a quantity", metric)))
	}
}

// annotatedMetric reads the metric from the older annotations.
func (v *validator) annotatedMetric(at *field.Path, e *ComponentExtensionSpec) (ScaleMetric, *field.Path) {
	for _, key := range []string{serving.AnnotationMetric, serving.AnnotationMetrics} {
		if text, where, ok := v.lookup(at, e, key); ok {
			v.warnOnce(where, "is an older way to choose the metric; set scaleMetric of the component")
			return ScaleMetric(text), where
		}
	}
	return MetricCPU, at.Child("scaleMetric")
}

// annotatedTarget checks the target of the older annotation, if there is one.
func (v *validator) annotatedTarget(at *field.Path, e *ComponentExtensionSpec) bool {
	text, where, ok := v.lookup(at, e, serving.AnnotationTargetUtilization)
	if !ok {
		return false
	}
	if e.ScaleTarget != nil || e.AutoScaling != nil && len(e.AutoScaling.Metrics) > 0 {
		v.warnOnce(where, "has no effect beside scaleTarget or autoScaling.metrics; remove it")
		return true
	}
	v.warnOnce(where, "is an older way to choose the target; set scaleTarget of the component")
	if !isPercentage(text) {
		v.refuse(field.Invalid(where, text, "must be a whole number between 1 and 100; better set scaleTarget of the component"))
	}
	return true
}

func isPercentage(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 100
}

// knativeScaling checks a component for Knative's own autoscaler, or for the HorizontalPodAutoscaler that Knative makes.
func (v *validator) knativeScaling(at *field.Path, e *ComponentExtensionSpec) {
	class, _, _ := v.lookup(at, e, serving.AnnotationKnativeAutoscalerClass)
	hpa := class == serving.KnativeHPAClass
	if text, where, ok := v.lookup(at, e, serving.AnnotationKnativeTarget); ok {
		if target, err := strconv.ParseFloat(text, 64); err != nil || target <= 0 {
			v.once(field.Invalid(where, text, "must be a number greater than 0; better set scaleTarget of the component"))
		}
	}
	if hpa {
		v.hpa(at, e, false)
		return
	}
	if e.DeploymentStrategy != nil {
		v.add(field.Forbidden(at.Child("deploymentStrategy"), fmt.Sprintf(
			"Knative replaces pods in its own way; remove it, or set the annotation %s: Standard", serving.AnnotationDeploymentMode)))
	}
	metric, metrics := MetricConcurrency, []ScaleMetric{MetricConcurrency, MetricRPS}
	if e.ScaleMetric != nil {
		metric = *e.ScaleMetric
	}
	if !slices.Contains(metrics, metric) {
		v.add(field.NotSupported(at.Child("scaleMetric"), metric, metrics))
	}
	if target := e.ScaleTarget; target != nil && *target < 1 && metric == MetricRPS {
		v.add(field.Invalid(at.Child("scaleTarget"), *target, "must be at least 1; it is the number of requests per second and pod"))
	}
}

// keda checks a component for a KEDA ScaledObject.
func (v *validator) keda(at *field.Path, e *ComponentExtensionSpec) {
	if e.ScaleMetric != nil {
		v.add(field.Invalid(at.Child("scaleMetric"), *e.ScaleMetric, "the keda autoscaler takes its metrics from autoScaling.metrics; move it there"))
	}
	v.toZero(at, e)
	if e.AutoScaling == nil || len(e.AutoScaling.Metrics) == 0 {
		if e.ScaleTarget != nil { // of the processor, which is scaled by where no metric is named
			v.percentage(at, &ComponentExtensionSpec{}, MetricCPU, *e.ScaleTarget)
		}
		return
	}
	for i, m := range e.AutoScaling.Metrics {
		where := at.Child("autoScaling", "metrics").Index(i)
		switch {
		case m.Type == ResourceMetricSource && m.Resource != nil:
			v.kedaResource(where.Child("resource"), m.Resource)
		case m.Type == ExternalMetricSource && m.External != nil:
			v.kedaQuery(where.Child("external"), m.External.Metric.Query, m.External.Target)
		case m.Type == PodMetricSource && m.PodMetric != nil:
			v.kedaQuery(where.Child("podmetric"), m.PodMetric.Metric.Query, m.PodMetric.Target)
		}
	}
}

func (v *validator) kedaResource(at *field.Path, r *ResourceMetric) {
	target := at.Child("target")
	switch {
	case r.Name == ResourceCPU && r.Target.unset(): // the CPU has a usual target
	case r.Target.Type == UtilizationTarget, r.Target.Type == "" && r.Target.AverageUtilization != nil: // the type that is meant when none is said
		if n := r.Target.AverageUtilization; n == nil || *n < 1 || *n > 100 {
			v.add(field.Invalid(target.Child("averageUtilization"), n, "must be between 1 and 100; it is a percentage of what the pods request"))
		}
	case r.Name == ResourceCPU:
		v.add(field.NotSupported(target.Child("type"), r.Target.Type, []MetricTargetType{UtilizationTarget}))
	case r.Target.Type != AverageValueTarget:
		v.add(field.NotSupported(target.Child("type"), r.Target.Type, []MetricTargetType{UtilizationTarget, AverageValueTarget}))
	default:
		v.leastMemory(target.Child("averageValue"), r.Target.AverageValue)
	}
}

func (v *validator) leastMemory(at *field.Path, value *MetricQuantity) {
	if value == nil {
		v.add(field.Required(at, "the target's type is AverageValue; set averageValue to a quantity such as 500Mi"))
		return
	}
	if q, err := value.Quantity(); err != nil || q.Cmp(resource.MustParse("1Mi")) < 0 {
		v.add(field.Invalid(at, *value, "must be at least 1Mi; write a quantity such as 500Mi"))
	}
}

func (v *validator) kedaQuery(at *field.Path, query string, target MetricTarget) {
	if query == "" {
		v.add(field.Required(at.Child("metric", "query"), "the autoscaler needs a query for the metric; set one"))
	}
	if target.Value == nil {
		v.add(field.Required(at.Child("target", "value"), "the autoscaler needs a number to hold the metric at; set one"))
	}
	missing := ""
	switch target.Type {
	case UtilizationTarget:
		if target.AverageUtilization == nil {
			missing = "averageUtilization"
		}
	case AverageValueTarget:
		if target.AverageValue == nil {
			missing = "averageValue"
		}
	case ValueTarget, "":
	default:
		v.add(field.NotSupported(at.Child("target", "type"), target.Type, []MetricTargetType{UtilizationTarget, ValueTarget, AverageValueTarget}))
	}
	if missing != "" {
		v.add(field.Required(at.Child("target", missing), fmt.Sprintf("the target's type is %s; set it", target.Type)))
	}
}
