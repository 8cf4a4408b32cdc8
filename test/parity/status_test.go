// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			cluster := &Ready{Namespace: w.namespace}
			for _, file := range c.files {
				if err := w.apply(file); err != nil {
					var out *outOfScopeError
					require.ErrorAs(t, err, &out)
					t.Skip(out.what)
				}
				for range 4 {
					w.observeAll(t, cluster)
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
func (w *world) observeAll(t *testing.T, cluster *Ready) {
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
				o = cluster.Object(o)
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
