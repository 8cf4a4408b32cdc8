// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
)

// TestRecordedStatuses observes what is planned for each recorded service, in a world where every workload is made ready as the recorded
// one was, and compares the status with the recorded one: without an API server, for every case and mode.
func TestRecordedStatuses(t *testing.T) {
	cases, err := load("../data/parity")
	require.NoError(t, err)
	judged := 0
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, err := newWorld(c)
			require.NoError(t, err)
			generations := map[string]*revision{}
			for _, file := range c.files {
				if err := w.apply(file); err != nil {
					var out *outOfScopeError
					require.ErrorAs(t, err, &out)
					t.Skip(out.what)
				}
				for range 4 {
					w.observeAll(t, generations)
				}
			}
			var expected, actual Outcome
			for _, o := range c.expected.Objects {
				if o["kind"] == "InferenceService" {
					expected.Objects = append(expected.Objects, statusOnly(o))
				}
			}
			for _, id := range slices.Sorted(maps.Keys(w.tenants)) {
				if svc := w.tenants[id].service; svc != nil {
					o, err := asDoc(svc)
					require.NoError(t, err)
					o["kind"], o["apiVersion"] = "InferenceService", "serving.kserve.io/v1beta1"
					actual.Objects = append(actual.Objects, statusOnly(o))
				}
			}
			if len(w.rejected) > 0 {
				t.Skip("refused at admission")
			}
			diff := c.diff
			diff.Require, diff.Absent = nil, nil
			judged++
			require.Empty(t, Compare(expected, actual, diff, w.namespace))
		})
	}
	if !t.Failed() {
		require.Greater(t, judged, 140)
	}
}

func statusOnly(o doc) doc {
	return doc{"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": doc{"name": name(o)}, "status": o["status"]}
}

// observeAll is one pass of the controller over every service, with workloads that are ready at once.
func (w *world) observeAll(t *testing.T, generations map[string]*revision) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(w.tenants)) {
		tenant := w.tenants[id]
		if tenant.service == nil {
			continue
		}
		in := observe.Input{Service: tenant.service, Settings: w.settings, Now: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))}
		p, err := w.decide(tenant)
		var blocked *plan.Blocked
		var waiting *plan.Waiting
		if errors.As(err, &blocked) || errors.As(err, &waiting) {
			in.Failure = err
			tenant.plan, tenant.objects = nil, nil
		} else {
			require.NoError(t, err)
			in.Plan = p
			if !p.Frozen {
				objects, err := render.Objects(p, w.settings)
				require.NoError(t, err)
				tenant.plan, tenant.objects = p, objects
			}
		}
		for _, o := range tenant.objects {
			if w.ready {
				o = w.makeReady(t, o, generations)
			}
			in.Children.Add(o)
		}
		seen := observe.Service(in)
		again := in
		again.Service = tenant.service.DeepCopy()
		again.Service.Status = *seen.Status.DeepCopy()
		require.Equal(t, seen.Status, observe.Service(again).Status, "an unchanged world gives an equal status")
		tenant.service.Status = seen.Status
	}
}

// makeReady is the object with the status that the recorded world wrote.
func (w *world) makeReady(t *testing.T, o plan.Object, generations map[string]*revision) plan.Object {
	t.Helper()
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
		key := u.GetKind() + "/" + u.GetName()
		r := generations[key]
		if r == nil {
			r = &revision{}
			generations[key] = r
		}
		if spec := text(u.Object["spec"]); spec != r.spec {
			r.spec = spec
			r.generation++
		}
		u.SetGeneration(int64(r.generation))
		switch u.GetKind() {
		case "HTTPRoute":
			u.Object["status"] = routeStatus(u)
		case "Service":
			u.Object["status"] = ksvcStatus(u, w.namespace)
		}
		return u
	}
	return o
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
