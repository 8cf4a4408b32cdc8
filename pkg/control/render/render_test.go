// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

// world is what a case's in.yaml says: a service, and what is different from a cluster as shipped.
type world struct {
	snap     plan.Snapshot
	graph    *servingv1alpha1.InferenceGraph
	services map[string]*servingv1beta1.InferenceService
	settings *settings.Settings
}

// decide plans the graph where there is one, else the service.
func (w *world) decide() (*plan.Plan, error) {
	if w.graph == nil {
		return resolve.Service(&w.snap, w.settings)
	}
	return resolve.Graph(&plan.GraphSnapshot{Graph: w.graph, Services: w.services, Runtimes: w.snap.Runtimes, ClusterRuntimes: w.snap.ClusterRuntimes}, w.settings)
}

// TestFromYAMLToObjects plans and renders each case of testdata: plan.yaml holds the decisions, out/ the objects and the pods as admission leaves them.
func TestFromYAMLToObjects(t *testing.T) {
	base := shipped(t)
	golden.Run(t, "testdata", func(t *testing.T, c *golden.Case) {
		t.Helper()
		w := read(t, base, c.Input("in.yaml"))
		defer w.lend(t)()
		p, err := w.decide()
		w.briefly(t, p, err)
		var blocked *plan.Blocked
		if errors.As(err, &blocked) {
			c.Want("plan.yaml", toYAML(t, map[string]any{"blocked": blocked}))
			return
		}
		var waiting *plan.Waiting
		if errors.As(err, &waiting) {
			c.Want("plan.yaml", toYAML(t, map[string]any{"waiting": waiting}))
			return
		}
		require.NoError(t, err)
		c.Want("plan.yaml", toYAML(t, p))
		objects, err := render.Objects(p, w.settings)
		require.NoError(t, err)
		again, err := render.Objects(p, w.settings)
		require.NoError(t, err)
		for i, o := range objects {
			raw := toYAML(t, o)
			require.Equal(t, string(raw), string(toYAML(t, again[i])), "same input, same bytes")
			kind := o.GetObjectKind().GroupVersionKind()
			name := strings.ToLower(kind.Kind)
			if kind.Group == "serving.knative.dev" {
				name = "ksvc"
			}
			c.Want("out/"+name+"-"+o.GetName()+".yaml", raw)
			if d, ok := o.(*appsv1.Deployment); ok {
				c.Want("out/pod-"+d.Name+".yaml", toYAML(t, w.admitted(t, d)))
			}
		}
	})
}

// lend makes of what is read something that belongs to a cache, where all services have the same, and gives what finds that it was written to.
// Lists get room behind their ends: an append that does not copy writes there, where nobody but the next one sees it.
func (w *world) lend(t *testing.T) func() {
	t.Helper()
	for i := range w.snap.ClusterRuntimes {
		w.snap.ClusterRuntimes[i] = *w.snap.ClusterRuntimes[i].DeepCopy()
	}
	for i := range w.snap.StorageContainers {
		w.snap.StorageContainers[i] = *w.snap.StorageContainers[i].DeepCopy()
	}
	lent := []any{&w.snap.Service, &w.graph, &w.snap.Runtimes, &w.snap.ClusterRuntimes, &w.snap.StorageContainers}
	for _, l := range lent {
		eachList(reflect.ValueOf(l), func(list reflect.Value) {
			roomy := reflect.MakeSlice(list.Type(), list.Len(), list.Len()+2)
			reflect.Copy(roomy, list)
			list.Set(roomy)
		})
	}
	before, err := json.Marshal(lent)
	require.NoError(t, err)
	return func() {
		after, err := json.Marshal(lent)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after))
		for _, l := range lent {
			eachList(reflect.ValueOf(l), func(list reflect.Value) {
				for i := list.Len(); i < list.Cap(); i++ {
					require.True(t, list.Slice(0, list.Cap()).Index(i).IsZero(), "something was written behind the end of a %s: %v", list.Type(), list)
				}
			})
		}
	}
}

func eachList(v reflect.Value, f func(reflect.Value)) {
	switch v.Kind() { //nolint:exhaustive // other kinds hold no lists that can be set
	case reflect.Pointer:
		if !v.IsNil() {
			eachList(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				eachList(v.Field(i), f)
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			f(v)
		}
		for i := range v.Len() {
			eachList(v.Index(i), f)
		}
	}
}

// briefly decides without the reasons: the outcome has to be the same.
func (w *world) briefly(t *testing.T, whole *plan.Plan, whyNot error) {
	t.Helper()
	w.snap.Brief = true
	defer func() { w.snap.Brief = false }()
	p, err := w.decide()
	if whyNot != nil {
		require.EqualError(t, err, whyNot.Error())
		return
	}
	require.NoError(t, err)
	if w.graph == nil {
		require.NotEmpty(t, whole.Decisions)
		require.Empty(t, p.Decisions)
	}
	p.Decisions = whole.Decisions
	require.Equal(t, whole, p)
}

// admitted is a pod of the Deployment after admission.
func (w *world) admitted(t *testing.T, d *appsv1.Deployment) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	a := podspec.Admission{Settings: w.settings, Around: &w.snap.Surroundings, Namespace: d.Namespace}
	if w.snap.Service != nil {
		a.PredictorLogger = w.snap.Service.Spec.Predictor.Logger
	}
	require.NoError(t, podspec.Inject(pod, a))
	once := toYAML(t, pod)
	require.NoError(t, podspec.Inject(pod, a))
	require.Equal(t, string(once), string(toYAML(t, pod)), "admission twice is admission once")
	return pod
}

// shipped is a cluster as it is installed; cases start from it.
func shipped(t *testing.T) *world {
	t.Helper()
	w := &world{}
	for _, raw := range append(deploy.Runtimes(), deploy.StorageContainer()) {
		w.add(t, raw, nil)
	}
	return w
}

func read(t *testing.T, base *world, raw []byte) *world {
	t.Helper()
	w := &world{services: map[string]*servingv1beta1.InferenceService{}, snap: plan.Snapshot{
		ReadyCanaries: map[string]bool{},
		Surroundings:  plan.Surroundings{ServiceAccounts: map[string]corev1.ServiceAccount{}, Secrets: map[string]corev1.Secret{}},
	}}
	config := map[string]string{}
	var operator corev1.ConfigMap
	require.NoError(t, yaml.UnmarshalStrict(deploy.Config(), &operator))
	maps.Copy(config, operator.Data)
	w.snap.ClusterRuntimes = slices.Clone(base.snap.ClusterRuntimes)
	w.snap.StorageContainers = slices.Clone(base.snap.StorageContainers)
	for _, raw := range bytes.Split(raw, []byte("\n---\n")) {
		w.add(t, raw, config)
	}
	var err error
	w.settings, err = settings.Parse(config)
	require.NoError(t, err)
	if g := w.graph; g != nil {
		g.Namespace, g.UID = "default", "5c8a0c2e-0000-4000-8000-000000000002"
		g.SetDefaults()
		faults, _ := g.Validate()
		require.Empty(t, faults)
		return w
	}
	svc := w.snap.Service
	require.NotNil(t, svc, "in.yaml has an InferenceService")
	if svc.Namespace == "" {
		svc.Namespace = "default"
	}
	svc.UID = "5c8a0c2e-0000-4000-8000-000000000001"
	svc.SetDefaults(w.settings.ServiceDefaults())
	faults, _ := svc.Validate(w.settings.ServiceRules(w.snap.StorageContainers, resolve.Hosts(svc, w.settings)))
	require.Empty(t, faults)
	for i := range svc.Spec.Canary {
		w.snap.ReadyCanaries[svc.Spec.Canary[i].Predictor.Name] = true
	}
	return w
}

func (w *world) add(t *testing.T, raw []byte, config map[string]string) {
	t.Helper()
	var kind metav1.TypeMeta
	require.NoError(t, yaml.Unmarshal(raw, &kind))
	switch kind.Kind {
	case "InferenceService":
		w.snap.Service = decode[servingv1beta1.InferenceService](t, raw)
		w.services[w.snap.Service.Name] = w.snap.Service
	case "InferenceGraph":
		w.graph = decode[servingv1alpha1.InferenceGraph](t, raw)
	case "ServingRuntime":
		w.snap.Runtimes = append(w.snap.Runtimes, *decode[servingv1alpha1.ServingRuntime](t, raw))
	case "ClusterServingRuntime":
		w.snap.ClusterRuntimes = append(w.snap.ClusterRuntimes, *decode[servingv1alpha1.ClusterServingRuntime](t, raw))
	case "ClusterStorageContainer":
		w.snap.StorageContainers = append(w.snap.StorageContainers, *decode[servingv1alpha1.ClusterStorageContainer](t, raw))
	case "ServiceAccount":
		sa := decode[corev1.ServiceAccount](t, raw)
		w.snap.ServiceAccounts[sa.Name] = *sa
	case "Secret":
		s := decode[corev1.Secret](t, raw)
		s.Data = map[string][]byte{}
		for k, v := range s.StringData {
			s.Data[k] = []byte(v)
		}
		w.snap.Secrets[s.Name] = *s
	case "ConfigMap": // fields over those of the shipped one
		for key, text := range decode[corev1.ConfigMap](t, raw).Data {
			merged := map[string]any{}
			if base, ok := config[key]; ok {
				require.NoError(t, json.Unmarshal([]byte(base), &merged))
			}
			require.NoError(t, json.Unmarshal([]byte(text), &merged))
			out, err := json.Marshal(merged)
			require.NoError(t, err)
			config[key] = string(out)
		}
	default:
		t.Fatalf("in.yaml holds a %q, which no case needs", kind.Kind)
	}
}

func decode[T any](t *testing.T, raw []byte) *T {
	t.Helper()
	out := new(T)
	require.NoError(t, yaml.UnmarshalStrict(raw, out), string(raw))
	return out
}

func toYAML(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := yaml.Marshal(v)
	require.NoError(t, err)
	return raw
}

// TestNothingIsMadeForAStoppedService also covers what slips past admission.
func TestNothingIsMadeForAStoppedService(t *testing.T) {
	w := read(t, shipped(t), []byte(minimal(`serving.kserve.io/stop: "TRUE"`)))
	p, err := resolve.Service(&w.snap, w.settings)
	require.NoError(t, err)
	objects, err := render.Objects(p, w.settings)
	require.NoError(t, err)
	require.Empty(t, objects)
}

func minimal(annotations ...string) string {
	return fmt.Sprintf(`apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: foo
  annotations:
    serving.kserve.io/deploymentMode: Standard
    %s
spec:
  predictor:
    model:
      modelFormat:
        name: sklearn
      storageUri: gs://b/m
`, strings.Join(annotations, "\n    "))
}
