// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package autoscale makes what scales a Deployment: a HorizontalPodAutoscaler, or KEDA's ScaledObject with the collector it may need.
//
// Called by: pkg/control/render.
// Next: pkg/control/render, which stamps and sorts what is made here.
package autoscale

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// defaultCPU is the utilisation in percent that pods are kept at where nobody says another.
const defaultCPU = 80

// Objects are the autoscaler of one component in Standard mode.
func Objects(p *plan.Plan, c *plan.Component, meta metav1.ObjectMeta, st *settings.Settings) ([]plan.Object, error) {
	var objects []plan.Object
	collector, err := collector(c, meta, st)
	if err != nil {
		return nil, err
	}
	if collector != nil {
		objects = append(objects, collector)
	}
	switch c.Scale.Class {
	case serving.AutoscalerHPA:
		objects = append(objects, hpa(c, meta))
	case serving.AutoscalerKEDA:
		so, err := scaledObject(p, c, meta, st)
		if err != nil {
			return nil, err
		}
		objects = append(objects, so)
	case serving.AutoscalerExternal, serving.AutoscalerNone:
	}
	return objects, nil
}

func hpa(c *plan.Component, meta metav1.ObjectMeta) *autoscalingv2.HorizontalPodAutoscaler {
	lowest := int32(1)
	if c.Scale.Min != nil {
		lowest = max(*c.Scale.Min, 1)
	}
	behavior := &autoscalingv2.HorizontalPodAutoscalerBehavior{}
	if a := c.Scale.AutoScaling; a != nil && a.Behavior != nil {
		behavior = a.Behavior.DeepCopy()
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: *meta.DeepCopy(),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: c.Name},
			MinReplicas:    &lowest,
			MaxReplicas:    max(c.Scale.Max, lowest),
			Metrics:        metrics(&c.Scale),
			Behavior:       behavior,
		},
	}
}

func metrics(s *plan.Scale) []autoscalingv2.MetricSpec {
	if s.AutoScaling != nil && len(s.AutoScaling.Metrics) > 0 {
		var list []autoscalingv2.MetricSpec
		for i := range s.AutoScaling.Metrics {
			if m := s.AutoScaling.Metrics[i].Resource; m != nil {
				list = append(list, resourceMetric(corev1.ResourceName(m.Name), longTarget(m)))
			}
		}
		return list
	}
	switch s.Metric {
	case "", servingv1beta1.MetricCPU:
		return []autoscalingv2.MetricSpec{resourceMetric(corev1.ResourceCPU, shortTarget(s, defaultCPU))}
	case servingv1beta1.MetricMemory:
		if s.Target != nil {
			return []autoscalingv2.MetricSpec{resourceMetric(corev1.ResourceMemory, shortTarget(s, 0))}
		}
	case servingv1beta1.MetricConcurrency, servingv1beta1.MetricRPS: // only Knative measures requests
	}
	return nil
}

func resourceMetric(name corev1.ResourceName, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: target}}
}

// shortTarget is scaleTarget as scaleMetricType says: a percentage, or an average quantity per pod.
func shortTarget(s *plan.Scale, fallback int32) autoscalingv2.MetricTarget {
	value := fallback
	if s.Target != nil {
		value = *s.Target
	}
	if s.TargetType == servingv1beta1.AverageValueTarget {
		return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(int64(value), resource.DecimalSI)}
	}
	return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &value}
}

func longTarget(m *servingv1beta1.ResourceMetric) autoscalingv2.MetricTarget {
	if m.Target.Type == servingv1beta1.AverageValueTarget && m.Target.AverageValue != nil {
		if q, err := m.Target.AverageValue.Quantity(); err == nil {
			return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &q}
		}
	}
	utilization := m.Target.AverageUtilization
	if utilization == nil && m.Name == servingv1beta1.ResourceCPU {
		utilization = new(int32(defaultCPU))
	}
	return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: utilization}
}
