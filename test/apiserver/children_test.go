// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// TestAdmissionRefusesWhatTheChildrenWouldBeRefusedFor asks the API server about the children of both sides of each rule: what admission
// refuses it refuses as well, and what it accepts admission accepts.
func TestAdmissionRefusesWhatTheChildrenWouldBeRefusedFor(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../pkg/apis/serving/v1beta1/testdata/children.yaml")
	require.NoError(t, err)
	var rules []struct {
		Rule, Field, Says, Schema, Refused, Accepted string
		Custom                                       bool
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &rules))
	require.NotEmpty(t, rules)
	w := newWorld(t)
	var config struct{ Data map[string]string }
	require.NoError(t, yaml.Unmarshal(deploy.Config(), &config))
	st, err := settings.Parse(config.Data)
	require.NoError(t, err)
	for _, rule := range rules {
		t.Run(rule.Rule, func(t *testing.T) {
			t.Parallel()
			for _, side := range []struct {
				fields  string
				refused bool
			}{{rule.Accepted, false}, {rule.Refused, true}} {
				if !rule.Custom {
					side.fields = "model: {modelFormat: {name: sklearn}, storageUri: 's3://b/m'}, " + side.fields
				}
				o := document(t, w.ns, service("a", side.fields))
				admission := w.Client.Create(t.Context(), o.DeepCopy(), client.DryRunAll)
				children := w.tryChildren(t, o.Object, st)
				if !side.refused {
					require.NoError(t, children, "the children of %s", side.fields)
					require.NoError(t, admission, side.fields)
					continue
				}
				require.Error(t, children, "an API server takes the children of %s, so admission has to", side.fields)
				if rule.Schema != "" {
					require.ErrorContains(t, admission, rule.Schema, side.fields)
					continue
				}
				require.ErrorContains(t, admission, rule.Field, side.fields)
				require.ErrorContains(t, admission, rule.Says, side.fields)
			}
		})
	}
}

// tryChildren makes the children of a service without storing them.
func (w *world) tryChildren(t *testing.T, service map[string]any, st *settings.Settings) error {
	t.Helper()
	var svc servingv1beta1.InferenceService
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(service, &svc))
	svc.UID = "5c8a0c2e-0000-4000-8000-000000000001"
	svc.SetDefaults(st.ServiceDefaults())
	var runtimes servingv1alpha1.ServingRuntimeList
	require.NoError(t, w.Client.List(t.Context(), &runtimes, client.InNamespace(w.ns)))
	p, err := resolve.Service(&plan.Snapshot{Service: &svc, Runtimes: runtimes.Items}, st)
	if err != nil {
		return err // what the plan refuses has no children either
	}
	objects, err := render.Objects(p, st)
	require.NoError(t, err)
	require.NotEmpty(t, objects)
	var faults []error
	for _, o := range objects {
		copied, ok := o.DeepCopyObject().(client.Object)
		require.True(t, ok)
		copied.SetNamespace(w.ns)
		if err := w.Client.Create(t.Context(), copied, client.DryRunAll); err != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err))
		}
	}
	return errors.Join(faults...)
}
