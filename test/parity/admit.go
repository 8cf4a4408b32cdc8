// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
)

// admit applies defaults and validation to an input, as the webhooks would. Kinds that are accepted but not planned yet are out of scope.
func (w *world) admit(kind string, d input) error {
	snap, err := w.snapshot(nil)
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
		return w.admitGraph(d, graph)
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

func (w *world) admitGraph(d input, graph *servingv1alpha1.InferenceGraph) error {
	graph.Namespace, graph.Generation = w.namespace, 1
	if graph.Annotations == nil {
		graph.Annotations = map[string]string{}
	}
	// The recorded client was one that leaves this annotation, and it shows in the pods of graphs.
	applied := walk(d.doc, "").(doc)
	child(applied, "metadata")["namespace"] = w.namespace
	orElse(child(applied, "metadata"), "annotations", doc{})
	graph.Annotations[corev1.LastAppliedConfigAnnotation] = text(applied)
	graph.SetDefaults()
	faults, _ := graph.Validate()
	if err := faults.ToAggregate(); err != nil {
		return err
	}
	w.tenants["InferenceGraph/"+graph.Name] = &tenant{graph: graph}
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
	id := servingv1beta1.InferenceServiceKind + "/" + svc.Name
	old := w.tenants[id]
	if old != nil {
		svc.Generation = old.service.Generation
		if text(svc.Spec) != text(old.service.Spec) {
			svc.Generation++
		}
		svc.Status = old.service.Status
	}
	svc.SetDefaults(w.settings.ServiceDefaults())
	rules := w.settings.ServiceRules(snap.StorageContainers, resolve.Hosts(svc, w.settings))
	faults, _ := svc.Validate(rules)
	if old != nil {
		faults, _ = svc.ValidateUpdate(old.service, rules)
	}
	if err := faults.ToAggregate(); err != nil {
		return err
	}
	if old == nil {
		old = &tenant{}
		w.tenants[id] = old
	}
	old.service = svc
	return nil
}
