// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
)

// admit applies defaults and validation to an input, as the webhooks would. Kinds that are accepted but not planned yet are out of scope.
func (w *world) admit(kind string, d input) error {
	snap, err := w.snapshot()
	if err != nil {
		return err
	}
	switch kind {
	case servingv1beta1.InferenceServiceKind:
		return w.admitService(d, snap)
	case "ServingRuntime":
		rt, err := decode[servingv1alpha1.ServingRuntime](d)
		if err != nil {
			return err
		}
		others := map[string]servingv1alpha1.ServingRuntimeSpec{}
		for i := range snap.Runtimes {
			others[snap.Runtimes[i].Name] = snap.Runtimes[i].Spec
		}
		faults, _ := rt.Validate(servingv1alpha1.RuntimeRules{Others: others, GPUResources: w.settings.MultiNode.GPUResources})
		return faults.ToAggregate()
	case "InferenceGraph":
		graph, err := decode[servingv1alpha1.InferenceGraph](d)
		if err != nil {
			return err
		}
		graph.SetDefaults()
		faults, _ := graph.Validate()
		return orOutOfScope(kind, faults)
	case "TrainedModel":
		model, err := decode[servingv1alpha1.TrainedModel](d)
		if err != nil {
			return err
		}
		return orOutOfScope(kind, model.Validate())
	case "LLMInferenceService":
		return &outOfScopeError{kind}
	}
	return nil
}

func orOutOfScope(kind string, faults field.ErrorList) error {
	if err := faults.ToAggregate(); err != nil {
		return err
	}
	return &outOfScopeError{kind}
}

func (w *world) admitService(d input, snap *plan.Snapshot) error {
	svc, err := decode[servingv1beta1.InferenceService](d)
	if err != nil {
		return fmt.Errorf("read InferenceService: %w", err)
	}
	svc.Namespace = w.namespace
	svc.Generation = 1
	if w.service != nil {
		svc.Generation = w.service.Generation
		if text(svc.Spec) != text(w.service.Spec) {
			svc.Generation++
		}
		svc.Status = w.service.Status
	}
	svc.SetDefaults(w.settings.ServiceDefaults())
	rules := w.settings.ServiceRules(snap.StorageContainers, resolve.Hosts(svc, w.settings))
	faults, _ := svc.Validate(rules)
	if w.service != nil {
		faults, _ = svc.ValidateUpdate(w.service, rules)
	}
	if err := faults.ToAggregate(); err != nil {
		return err
	}
	w.service = svc
	return nil
}
