// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// rule says which parts of a kind are kept up once an object is there.
type rule struct {
	parts []string
	// never: the object is made when it is missing; its content is someone else's.
	never bool
	// open are fields that are applied empty, so that the API server fills them, and of which nothing is ours.
	open []string
	// defaults are the fields inside of values owned as a whole that the API server fills in, with what it fills in.
	defaults map[string]any
}

//nolint:gochecknoglobals // nobody writes to them
var (
	podDefaults   = map[string]any{"apiVersion": "v1", "divisor": "0", "expirationSeconds": int64(3600)}
	routeDefaults = map[string]any{"weight": int64(1), "group": "", "kind": "Service"}
)

// ruleOf follows what existing clusters do: see plan.MetadataKept.
func ruleOf(gk schema.GroupKind) rule {
	r := rule{parts: []string{"spec"}, never: plan.MadeOnce(gk)}
	if plan.MetadataKept(gk) {
		r.parts = []string{"metadata", "spec"}
	}
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		r.defaults = podDefaults
	case plan.HTTPRoute.GroupKind():
		r.defaults = routeDefaults
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		r.open = []string{"behavior"}
	}
	return r
}

// isScaler tells the kinds of which two on one workload would fight: the old one goes before the new one comes.
func isScaler(gk schema.GroupKind) bool {
	return gk.Group == "autoscaling" || gk == plan.ScaledObject.GroupKind()
}
