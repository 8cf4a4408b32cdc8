// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render turns a Plan into the objects that a cluster shall have, sorted and stamped with their owner. Same input, same bytes.
//
// Called by: pkg/cli; the controller, once it reconciles.
// Next: whoever prints the objects, runs what they say, or applies them.
package render

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/autoscale"
	"github.com/kserve-go/kserve-go/pkg/control/render/network"
	"github.com/kserve-go/kserve-go/pkg/control/render/workload"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// ComponentError says why the objects of one component cannot be made.
type ComponentError struct {
	// Name of the workload.
	Name string
	Err  error
}

func (e *ComponentError) Error() string { return fmt.Sprintf("render %s: %v", e.Name, e.Err) }

// Unwrap gives the cause.
func (e *ComponentError) Unwrap() error { return e.Err }

// Objects are everything that a service owns, sorted by kind and name. A stopped service owns nothing.
func Objects(p *plan.Plan, st *settings.Settings) ([]plan.Object, error) {
	if p.Stopped || len(p.Components) == 0 {
		return nil, nil
	}
	var objects []plan.Object
	multiModel := false
	for i := range p.Components {
		c := &p.Components[i]
		made, err := component(p, c, st)
		if err != nil {
			return nil, &ComponentError{Name: c.Name, Err: err}
		}
		objects = append(objects, made...)
		multiModel = multiModel || c.MultiModel
	}
	routes, err := routes(p, st)
	if err != nil {
		return nil, fmt.Errorf("render routes: %w", err)
	}
	objects = append(objects, routes...)
	if multiModel {
		objects = append(objects, workload.ModelConfig(p))
	}
	for _, o := range objects {
		stamp(o, &p.Owner)
	}
	slices.SortStableFunc(objects, func(a, b plan.Object) int {
		return cmp.Or(
			cmp.Compare(a.GetObjectKind().GroupVersionKind().Kind, b.GetObjectKind().GroupVersionKind().Kind),
			cmp.Compare(a.GetObjectKind().GroupVersionKind().Group, b.GetObjectKind().GroupVersionKind().Group),
			cmp.Compare(a.GetName(), b.GetName()),
		)
	})
	return objects, nil
}

func component(p *plan.Plan, c *plan.Component, st *settings.Settings) ([]plan.Object, error) {
	objects, err := workload.Objects(p, c, st)
	if err != nil || p.Mode != serving.Standard {
		return objects, err
	}
	meta := workload.Meta(p, c)
	objects = append(objects, network.Services(p, c, meta, st)...)
	scalers, err := autoscale.Objects(p, c, meta, st)
	return append(objects, scalers...), err
}

func routes(p *plan.Plan, st *settings.Settings) ([]plan.Object, error) {
	r := &p.Route
	switch {
	case p.Mode == serving.ModelMesh:
		return nil, nil
	case p.Mode == serving.Knative && r.Mesh:
		return network.Mesh(p, st, !r.NoVirtualService)
	case p.Mode == serving.Knative || r.Internal || r.Disabled:
		return nil, nil
	case st.Ingress.EnableGatewayAPI:
		return network.HTTPRoutes(p, st)
	}
	return []plan.Object{network.Ingress(p, st)}, nil
}

// stamp gives an object its namespace and the one owner that it is deleted with.
func stamp(o plan.Object, owner *plan.Owner) {
	yes := true
	o.SetNamespace(owner.Namespace)
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: types.UID(owner.UID), Controller: &yes, BlockOwnerDeletion: &yes,
	}})
}
