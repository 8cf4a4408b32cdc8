// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload puts pods into Deployments and Knative Services, and models of multi-model services into their ConfigMap.
//
// Called by: pkg/control/render.
// Next: pkg/control/render/podspec for the pod itself.
package workload

import (
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Objects are the workloads of one component.
func Objects(p *plan.Plan, c *plan.Component, st *settings.Settings) ([]plan.Object, error) {
	pod, err := podspec.Build(p, c, st)
	if err != nil {
		return nil, err
	}
	if p.Mode != serving.Standard {
		ksvc, err := knativeService(p, c, pod, st)
		if err != nil {
			return nil, err
		}
		return []plan.Object{ksvc}, nil
	}
	d := deployment(Meta(p, c), map[string]string{serving.LabelApp: names.App(c.Name)}, pod)
	d.Spec.Strategy, d.Spec.RevisionHistoryLimit, d.Spec.ProgressDeadlineSeconds = strategy(c, st)
	if c.Scale.Class == serving.AutoscalerNone && c.Scale.Min != nil {
		d.Spec.Replicas = c.Scale.Min
	}
	objects := []plan.Object{d}
	if c.Workers != nil {
		objects = append(objects, workers(p, c, st))
	}
	return objects, nil
}

// Meta is the metadata that workload, Service and autoscaler of a component share.
func Meta(p *plan.Plan, c *plan.Component) metav1.ObjectMeta {
	labels := maps.Clone(c.Labels)
	labels[serving.LabelApp] = names.App(c.Name)
	return metav1.ObjectMeta{Name: c.Name, Namespace: p.Owner.Namespace, Labels: labels, Annotations: maps.Clone(c.Annotations)}
}

// deployment selects by the label app alone: selectors cannot be changed, and existing clusters have this one.
func deployment(meta metav1.ObjectMeta, selector map[string]string, pod corev1.PodSpec) *appsv1.Deployment {
	// Kubernetes ignores the name in a template, but adopting what is there must not change a byte of it.
	template := metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: maps.Clone(meta.Labels), Annotations: maps.Clone(meta.Annotations)}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: template, Spec: pod},
		},
	}
}

// strategy is the user's, whole, or a rolling update with the operator's bounds.
func strategy(c *plan.Component, st *settings.Settings) (s appsv1.DeploymentStrategy, history, deadline *int32) {
	if c.Strategy != nil {
		return *c.Strategy.DeepCopy(), nil, nil
	}
	surge, unavailable := "25%", "25%"
	if st.Deploy.DefaultMode == serving.Standard {
		if v := st.Deploy.Rollout.Default.MaxSurge; v != "" {
			surge = v
		}
		if v := st.Deploy.Rollout.Default.MaxUnavailable; v != "" {
			unavailable = v
		}
	}
	return rolling(surge, unavailable), new(int32(10)), new(int32(600))
}

func rolling(surge, unavailable string) appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
		MaxSurge: bound(surge), MaxUnavailable: bound(unavailable),
	}}
}

// bound is a number or a percentage; a bare number must not reach Kubernetes as a text.
func bound(text string) *intstr.IntOrString {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return new(intstr.FromInt32(int32(n)))
	}
	return new(intstr.FromString(text))
}

// workers is the Deployment of the further nodes.
func workers(p *plan.Plan, c *plan.Component, st *settings.Settings) *appsv1.Deployment {
	w := c.Workers
	pod := *w.Pod.DeepCopy()
	podspec.Default(&pod)
	labels := maps.Clone(w.Labels)
	labels[serving.LabelApp] = names.App(c.Name + "-worker")
	d := deployment(metav1.ObjectMeta{Name: w.Name, Namespace: p.Owner.Namespace, Labels: labels, Annotations: maps.Clone(w.Annotations)}, map[string]string{serving.LabelApp: labels[serving.LabelApp]}, pod)
	_, d.Spec.RevisionHistoryLimit, d.Spec.ProgressDeadlineSeconds = strategy(&plan.Component{}, st)
	d.Spec.Strategy = rolling("100%", "0%")
	d.Spec.Replicas = new(w.Replicas)
	return d
}

// ModelConfig is the empty list of models of a multi-model service; it is filled elsewhere.
func ModelConfig(p *plan.Plan) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: names.ModelConfig(p.Owner.Name), Labels: maps.Clone(p.Owner.Labels)},
		Data:       map[string]string{handoff.ModelsFile: "[]"},
	}
}

// knativeClass is Knative's own autoscaler.
const knativeClass = "kpa.autoscaling.knative.dev"

// autoscaling are the annotations by which Knative scales a revision.
func autoscaling(c *plan.Component) map[string]string {
	a := maps.Clone(c.Annotations)
	if a == nil {
		a = map[string]string{}
	}
	if a[serving.AnnotationKnativeAutoscalerClass] == "" {
		a[serving.AnnotationKnativeAutoscalerClass] = knativeClass
	}
	if c.Scale.Target != nil {
		a[serving.AnnotationKnativeTarget] = strconv.Itoa(int(*c.Scale.Target))
	}
	if c.Scale.Metric != "" {
		a[serving.AnnotationKnativeMetric] = string(c.Scale.Metric)
	}
	a[serving.AnnotationKnativeMinScale] = "1"
	if c.Scale.Min != nil {
		a[serving.AnnotationKnativeMinScale] = strconv.Itoa(int(*c.Scale.Min))
	}
	if c.Scale.Max != 0 {
		a[serving.AnnotationKnativeMaxScale] = strconv.Itoa(int(c.Scale.Max))
	}
	return a
}

// isKnative tells Knative's own keys from the user's.
func isKnative(key string) bool {
	return strings.EqualFold(key, serving.AnnotationKnativeRolloutDuration) || strings.EqualFold(key, serving.AnnotationKnativePassthrough)
}
