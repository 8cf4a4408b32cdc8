// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podrules

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Labels checks labels that objects get, or that select them.
func Labels(at *field.Path, labels map[string]string) field.ErrorList {
	r := &rules{}
	for _, key := range sorted(labels) {
		r.key(at.Key(key), key)
		if len(validation.IsValidLabelValue(labels[key])) > 0 {
			r.invalid(at.Key(key), labels[key], valueRule)
		}
	}
	return r.faults
}

// maxAnnotations is the number of bytes that the annotations of an object may have.
const maxAnnotations = 256 << 10

// Annotations checks annotations that pods get.
func Annotations(at *field.Path, annotations map[string]string) field.ErrorList {
	r, size := &rules{}, 0
	for _, key := range sorted(annotations) {
		// An API server looks at the key in lower case.
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			r.invalid(at.Key(key), key, dottedRule)
		}
		size += len(key) + len(annotations[key])
	}
	if size > maxAnnotations {
		r.add(field.Invalid(at, strconv.Itoa(size)+" bytes", "must be at most 262144 bytes together; keep long texts in a ConfigMap"))
	}
	return r.faults
}

// Strategy checks how a Deployment replaces pods.
func Strategy(at *field.Path, s *appsv1.DeploymentStrategy) field.ErrorList {
	if s == nil {
		return nil
	}
	r := &rules{}
	oneOf(r, at.Child("type"), s.Type, appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType)
	rolling, where := s.RollingUpdate, at.Child("rollingUpdate")
	if rolling == nil {
		return r.faults
	}
	if s.Type == appsv1.RecreateDeploymentStrategyType {
		r.add(field.Forbidden(where, "the type Recreate ends all pods first; remove it, or use the type RollingUpdate"))
		return r.faults
	}
	surge, okSurge := r.share(where.Child("maxSurge"), rolling.MaxSurge)
	unavailable, okUnavailable := r.share(where.Child("maxUnavailable"), rolling.MaxUnavailable)
	switch {
	case okSurge && okUnavailable && surge == 0 && unavailable == 0:
		r.add(field.Invalid(where.Child("maxUnavailable"), rolling.MaxUnavailable.String(), "must not be 0 beside a maxSurge of 0, because no pod could ever be replaced; raise one"))
	case okUnavailable && rolling.MaxUnavailable.Type == intstr.String && unavailable > 100:
		r.add(field.Invalid(where.Child("maxUnavailable"), rolling.MaxUnavailable.String(), "must not be more than 100%; lower it"))
	}
	return r.faults
}

// share reads a number or percentage. Without one there is no share to judge: the API server sets 25 %.
func (r *rules) share(at *field.Path, value *intstr.IntOrString) (int, bool) {
	switch {
	case value == nil:
		return 0, false
	case value.Type == intstr.Int:
		r.notNegative(at, int64(value.IntVal))
		return int(value.IntVal), value.IntVal >= 0
	case len(validation.IsValidPercent(value.StrVal)) > 0:
		r.invalid(at, value.StrVal, "must be a number or a percentage; write for instance 1 or 25%")
		return 0, false
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
	return percent, err == nil
}

// Bounds that an API server holds autoscalers to.
const (
	maxWindow = 3600
	maxPeriod = 1800
)

// Behavior checks how fast an autoscaler goes.
func Behavior(at *field.Path, b *autoscalingv2.HorizontalPodAutoscalerBehavior) field.ErrorList {
	if b == nil {
		return nil
	}
	r := &rules{}
	for _, way := range []struct {
		name  string
		rules *autoscalingv2.HPAScalingRules
	}{{"scaleUp", b.ScaleUp}, {"scaleDown", b.ScaleDown}} {
		if way.rules == nil {
			continue
		}
		where := at.Child(way.name)
		if n := way.rules.StabilizationWindowSeconds; n != nil {
			r.between(where.Child("stabilizationWindowSeconds"), int64(*n), 0, maxWindow, "it is a number of seconds")
		}
		if p := way.rules.SelectPolicy; p != nil {
			oneOf(r, where.Child("selectPolicy"), *p, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect)
		}
		for i, policy := range way.rules.Policies {
			step := where.Child("policies").Index(i)
			oneOf(r, step.Child("type"), policy.Type, autoscalingv2.PodsScalingPolicy, autoscalingv2.PercentScalingPolicy)
			if policy.Type == "" {
				r.required(step.Child("type"), "a policy has a type; set Pods or Percent")
			}
			if policy.Value < 1 {
				r.add(field.Invalid(step.Child("value"), policy.Value, "must be at least 1; to forbid this way, set selectPolicy: Disabled"))
			}
			r.between(step.Child("periodSeconds"), int64(policy.PeriodSeconds), 1, maxPeriod, "it is a number of seconds")
		}
	}
	return r.faults
}
