// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Ready is a cluster in which every workload and route is ready at once.
type Ready struct {
	Namespace   string
	generations map[string]*revision
}

// Object is a copy of a rendered object with the status that such a cluster gives it.
func (r *Ready) Object(o plan.Object) plan.Object {
	switch o := o.(type) {
	case *appsv1.Deployment:
		d := o.DeepCopy()
		n := int32(1)
		if d.Spec.Replicas != nil {
			n = *d.Spec.Replicas
		}
		d.Generation = 1
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability."},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: "ok"},
			},
		}
		return d
	case *unstructured.Unstructured:
		u := o.DeepCopy()
		u.SetGeneration(r.generation(u))
		switch u.GetKind() {
		case "HTTPRoute":
			u.Object["status"] = routeStatus(u)
		case "Service":
			u.Object["status"] = ksvcStatus(u, r.Namespace)
		}
		return u
	}
	return o
}

// generation counts the specs that an object has had.
func (r *Ready) generation(u *unstructured.Unstructured) int64 {
	if r.generations == nil {
		r.generations = map[string]*revision{}
	}
	key := u.GetKind() + "/" + u.GetName()
	seen := r.generations[key]
	if seen == nil {
		seen = &revision{}
		r.generations[key] = seen
	}
	if spec := text(u.Object["spec"]); spec != seen.spec {
		seen.spec = spec
		seen.generation++
	}
	return int64(seen.generation)
}

func routeStatus(u *unstructured.Unstructured) doc {
	refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "parentRefs")
	var parents []any
	for _, ref := range refs {
		yes := func(kind string) doc {
			return doc{"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": u.GetGeneration(), "lastTransitionTime": "2026-01-01T12:00:00Z"}
		}
		parents = append(parents, doc{"controllerName": "example.com/gw", "parentRef": ref, "conditions": []any{yes("Accepted"), yes("ResolvedRefs")}})
	}
	return doc{"parents": parents}
}

func ksvcStatus(u *unstructured.Unstructured, namespace string) doc {
	revision := fmt.Sprintf("%s-%05d", u.GetName(), u.GetGeneration())
	shares, _, _ := unstructured.NestedSlice(u.Object, "spec", "traffic")
	var traffic []any
	for _, s := range shares {
		share := maps.Clone(s.(doc)) //nolint:forcetypeassert // the renderer wrote it
		if share["latestRevision"] == true {
			share["revisionName"] = revision
		}
		if tag, ok := share["tag"].(string); ok && tag != "" {
			share["url"] = "http://" + tag + "-" + u.GetName() + "." + namespace + ".example.com"
		}
		traffic = append(traffic, share)
	}
	yes := func(kind string) doc { return doc{"type": kind, "status": "True"} }
	return doc{
		"observedGeneration": u.GetGeneration(), "url": "http://" + strings.Join([]string{u.GetName(), namespace, "example.com"}, "."),
		"address":                   doc{"url": "http://" + u.GetName() + "." + namespace + ".svc.cluster.local"},
		"latestCreatedRevisionName": revision, "latestReadyRevisionName": revision, "traffic": traffic,
		"conditions": []any{yes("Ready"), yes("ConfigurationsReady"), yes("RoutesReady")},
	}
}
