// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// scale decides how many pods there are and who says so.
func (r *resolver) scale(c *plan.Component, ext *servingv1beta1.ComponentExtensionSpec) error {
	c.Scale = plan.Scale{
		Min: ext.MinReplicas, Max: ext.MaxReplicas, Metric: deref(ext.ScaleMetric), Target: ext.ScaleTarget,
		TargetType: deref(ext.ScaleMetricType), AutoScaling: ext.AutoScaling,
	}
	d := plan.Decision{Subject: plan.SubjectScale, Role: c.Role}
	if r.plan.Mode != serving.Standard {
		d.Chosen, d.Why = "Knative autoscaler", "Knative scales its revisions itself"
		r.decide(d)
		return nil
	}
	class, given := c.Annotations[serving.AnnotationAutoscalerClass]
	c.Scale.Class, d.Why = serving.AutoscalerClass(class), "annotation "+serving.AnnotationAutoscalerClass
	if !given {
		c.Scale.Class, d.Why = serving.AutoscalerHPA, "the default of Standard mode"
	}
	if !slices.Contains(serving.AutoscalerClasses(), c.Scale.Class) {
		return unsupported("annotation %s has the unknown value %q: use %s", serving.AnnotationAutoscalerClass, class, list(serving.AutoscalerClasses()))
	}
	least := minReplicas(c.Scale.Min)
	if c.Scale.Class == serving.AutoscalerHPA {
		least = max(least, 1)
	}
	d.Chosen = fmt.Sprintf("%s, %d to %d pods", c.Scale.Class, least, max(c.Scale.Max, least))
	if c.Scale.Class == serving.AutoscalerExternal || c.Scale.Class == serving.AutoscalerNone {
		d.Chosen = string(c.Scale.Class)
	}
	if c.Scale.Class == serving.AutoscalerHPA {
		annotatedScale(c)
	}
	r.decide(d)
	return nil
}

// annotatedScale follows the older annotations for metric and target where no field says anything; admission has checked them.
func annotatedScale(c *plan.Component) {
	if a := c.Scale.AutoScaling; a != nil && len(a.Metrics) > 0 {
		return
	}
	if c.Scale.Metric == "" {
		for _, key := range []string{serving.AnnotationMetrics, serving.AnnotationMetric} {
			if m := servingv1beta1.ScaleMetric(c.Annotations[key]); m == servingv1beta1.MetricCPU || m == servingv1beta1.MetricMemory {
				c.Scale.Metric = m
			}
		}
	}
	if target, err := strconv.ParseInt(c.Annotations[serving.AnnotationTargetUtilization], 10, 32); err == nil && target > 0 && c.Scale.Target == nil {
		c.Scale.Target = new(int32(target))
	}
}

func minReplicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// knative decides what only revisions have: traffic and initial scale.
func (r *resolver) knative(c *plan.Component, ext *servingv1beta1.ComponentExtensionSpec) {
	if text, ok := c.Annotations[serving.AnnotationKnativeInitialScale]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n == 0 && !r.snap.KnativeZeroInitialScale {
			delete(c.Annotations, serving.AnnotationKnativeInitialScale)
		}
	}
	latest := serving.TrafficTarget{LatestRevision: new(true), Percent: new(int64(100))}
	if c.Annotations[serving.AnnotationEnableTagRouting] == "true" {
		latest.Tag = "latest"
	}
	c.Traffic = []serving.TrafficTarget{latest}
	rolled := r.svc.Status.Components[c.Role].LatestRolledoutRevision
	if p := ext.CanaryTrafficPercent; p != nil && rolled != "" && *p < 100 {
		c.Traffic[0].Percent = p
		c.Traffic = append(c.Traffic, serving.TrafficTarget{RevisionName: rolled, LatestRevision: new(false), Percent: new(100 - *p), Tag: "prev"})
	}
}

// checkScale refuses what a HorizontalPodAutoscaler cannot do; a canary may have no share and still gets its one pod.
func (r *resolver) checkScale() error {
	for i := range r.plan.Components {
		c := &r.plan.Components[i]
		if c.Canary == nil && r.plan.Mode == serving.Standard && c.Scale.Class == serving.AutoscalerHPA && c.Scale.Min != nil && *c.Scale.Min == 0 {
			return unsupported("spec.%s.minReplicas is 0, but a HorizontalPodAutoscaler keeps at least one pod: set it to 1, or annotation %s: keda, or use Knative mode", c.Role, serving.AnnotationAutoscalerClass)
		}
	}
	return nil
}
