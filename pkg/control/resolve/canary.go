// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// canaries decides on the canary predictors, and makes room for those that are ready in the stable one.
func (r *resolver) canaries(stable *resolved) ([]plan.Component, error) {
	if len(r.svc.Spec.Canary) == 0 || r.plan.Mode != serving.Standard {
		return nil, nil
	}
	all := make([]plan.Component, 0, len(r.svc.Spec.Canary)+1)
	stableMin := minReplicas(r.svc.Spec.Predictor.MinReplicas)
	var busy int32
	for i := range r.svc.Spec.Canary {
		canary := &r.svc.Spec.Canary[i]
		spec, err := overlay(stable.spec, &canary.Predictor)
		if err != nil {
			return nil, unsupported("spec.canary[%d].predictor cannot be laid over spec.predictor: %v", i, err)
		}
		replicas := int32((int64(stableMin)*int64(canary.TrafficPercent) + 99) / 100)
		if canary.Predictor.MinReplicas != nil {
			replicas = *canary.Predictor.MinReplicas
		}
		spec.MinReplicas, spec.MaxReplicas = &replicas, 0
		spec.ScaleTarget, spec.ScaleMetric, spec.ScaleMetricType, spec.AutoScaling = nil, nil, nil, nil
		made, err := r.predictor(spec)
		if err != nil {
			return nil, err
		}
		ready := r.snap.ReadyCanaries[spec.Name]
		made.component.Canary = &plan.Canary{Name: spec.Name, Percent: canary.TrafficPercent, Ready: ready}
		if ready {
			busy += replicas
		}
		all = append(all, *made.component)
	}
	if r.svc.Spec.Predictor.MinReplicas != nil && busy > 0 {
		stable.component.Scale.Min = new(max(stableMin-busy, 1))
	}
	return all, nil
}

// overlay is the stable predictor with everything that the canary says over it: objects are merged, lists replaced.
func overlay(stable, canary *servingv1beta1.PredictorSpec) (*servingv1beta1.PredictorSpec, error) {
	base, err := asMap(stable)
	if err != nil {
		return nil, err
	}
	over, err := asMap(canary)
	if err != nil {
		return nil, err
	}
	otherFormat := canary.Model != nil && canary.Model.ModelFormat.Name != "" && stable.Model != nil && canary.Model.ModelFormat.Name != stable.Model.ModelFormat.Name
	raw, err := json.Marshal(mergeMaps(base, over))
	if err != nil {
		return nil, err
	}
	merged := &servingv1beta1.PredictorSpec{}
	if err := json.Unmarshal(raw, merged); err != nil {
		return nil, err
	}
	if otherFormat && canary.Model.Runtime == nil {
		// The runtime of the stable predictor does not know the canary's format; let one be chosen.
		merged.Model.Runtime = nil
	}
	return merged, nil
}

func asMap(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("read predictor: %w", err)
	}
	var m map[string]any
	return m, json.Unmarshal(raw, &m)
}

func mergeMaps(base, over map[string]any) map[string]any {
	for k, v := range over {
		if v == "" || v == nil {
			continue
		}
		inner, isMap := v.(map[string]any)
		old, wasMap := base[k].(map[string]any)
		if isMap && wasMap {
			base[k] = mergeMaps(old, inner)
			continue
		}
		base[k] = v
	}
	return base
}
