// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

// noon is when the cases are observed, unless they say otherwise.
var noon = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

// failure is what a case says about why there is no plan, or what applying it ended with.
type failure struct {
	metav1.TypeMeta `json:",inline"`

	Blocked *plan.Blocked `json:"blocked,omitempty"`
	Waiting *plan.Waiting `json:"waiting,omitempty"`
	Apply   *applyError   `json:"apply,omitempty"`
}

type applyError struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

func (e *applyError) Error() string                { return e.Message }
func (e *applyError) About() (kind, object string) { return e.Kind, e.Name }

type clock struct {
	metav1.TypeMeta `json:",inline"`

	Now metav1.Time `json:"now"`
}

// TestFromPodsToStatus observes each case of testdata: in.yaml holds the service, its runtimes, its children and its pods as a cluster shows them.
func TestFromPodsToStatus(t *testing.T) {
	golden.Run(t, "testdata/cases", func(t *testing.T, c *golden.Case) {
		t.Helper()
		in := read(t, c.Input("in.yaml"))
		before := in.Service.DeepCopy()
		got := observe.Service(in)
		require.Equal(t, before, in.Service, "the input is left as it was")
		requireSane(t, in, got)
		out, err := yaml.Marshal(map[string]any{"status": got.Status, "events": got.Events, "requeueAfter": got.RequeueAfter.String()})
		require.NoError(t, err)
		c.Want("out.yaml", out)
	})
}

// requireSane holds for every input: looked at again, nothing has changed and nothing is told; conditions are sorted and bounded.
func requireSane(t *testing.T, in observe.Input, got observe.Result) {
	t.Helper()
	again := in
	again.Service = in.Service.DeepCopy()
	again.Service.Status = *got.Status.DeepCopy()
	again.Now = metav1.NewTime(in.Now.Add(7 * time.Second))
	if got.RequeueAfter > 0 && got.RequeueAfter <= 7*time.Second {
		again.Now = in.Now
	}
	second := observe.Service(again)
	require.Equal(t, got.Status, second.Status, "an unchanged world gives an equal status")
	require.Empty(t, second.Events, "an unchanged world has no events")
	for i, c := range got.Status.Conditions {
		require.LessOrEqual(t, len(c.Message), 500)
		if i > 0 {
			require.Less(t, got.Status.Conditions[i-1].Type, c.Type, "sorted, one of a type")
		}
	}
	if ready := got.Status.Condition(serving.ConditionReady); ready != nil && ready.Status == corev1.ConditionTrue {
		for _, kind := range []serving.ConditionType{servingv1beta1.PredictorReady, servingv1beta1.TransformerReady, servingv1beta1.ExplainerReady, servingv1beta1.IngressReady} {
			if c := got.Status.Condition(kind); c != nil {
				require.Equal(t, corev1.ConditionTrue, c.Status, "%s while Ready is True", kind)
			}
		}
	}
}

// read makes an observation's input of a case: what is planned is what the resolver plans.
func read(tb testing.TB, raw []byte) observe.Input {
	tb.Helper()
	return readWith(tb, raw, func(*servingv1beta1.InferenceService) {})
}

// readWith is read of a service that is changed first.
func readWith(tb testing.TB, raw []byte, change func(*servingv1beta1.InferenceService)) observe.Input {
	tb.Helper()
	in := observe.Input{Now: noon}
	snap := plan.Snapshot{
		ReadyCanaries: map[string]bool{},
		Surroundings:  plan.Surroundings{ServiceAccounts: map[string]corev1.ServiceAccount{}, Secrets: map[string]corev1.Secret{}},
	}
	var operator corev1.ConfigMap
	require.NoError(tb, yaml.UnmarshalStrict(deploy.Config(), &operator))
	config := maps.Clone(operator.Data)
	fail := failure{}
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		var meta metav1.TypeMeta
		require.NoError(tb, yaml.Unmarshal(doc, &meta))
		switch meta.Kind {
		case "Clock":
			var c clock
			strict(tb, doc, &c)
			in.Now = c.Now
		case "Failure":
			strict(tb, doc, &fail)
		case "ConfigMap":
			var c corev1.ConfigMap
			strict(tb, doc, &c)
			maps.Copy(config, c.Data)
		case "InferenceService":
			in.Service = &servingv1beta1.InferenceService{}
			strict(tb, doc, in.Service)
		case "ServingRuntime":
			snap.Runtimes = append(snap.Runtimes, servingv1alpha1.ServingRuntime{})
			strict(tb, doc, &snap.Runtimes[len(snap.Runtimes)-1])
		case "Pod":
			in.Pods = append(in.Pods, corev1.Pod{})
			strict(tb, doc, &in.Pods[len(in.Pods)-1])
		case "Deployment":
			d := &appsv1.Deployment{}
			strict(tb, doc, d)
			in.Children.Add(d)
		case "HorizontalPodAutoscaler":
			h := &autoscalingv2.HorizontalPodAutoscaler{}
			strict(tb, doc, h)
			in.Children.Add(h)
		case "Ingress":
			i := &networkingv1.Ingress{}
			strict(tb, doc, i)
			in.Children.Add(i)
		default:
			u := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON(doc)
			require.NoError(tb, err)
			require.NoError(tb, u.UnmarshalJSON(text)) // with whole numbers, as from the API server
			in.Children.Add(u)
		}
	}
	require.NotNil(tb, in.Service)
	change(in.Service)
	var err error
	in.Settings, err = settings.Parse(config)
	require.NoError(tb, err)
	snap.Service = in.Service.DeepCopy()
	snap.Service.SetDefaults(in.Settings.ServiceDefaults())
	var planned error
	in.Plan, planned = resolve.Service(&snap, in.Settings)
	switch {
	case fail.Apply != nil:
		in.Failure = fail.Apply
		require.NoError(tb, planned)
	case fail.Blocked != nil:
		in.Failure, in.Plan = fail.Blocked, nil
	case fail.Waiting != nil:
		in.Failure, in.Plan = fail.Waiting, nil
	case planned != nil:
		in.Failure, in.Plan = planned, nil
		require.True(tb, errors.As(planned, new(*plan.Blocked)) || errors.As(planned, new(*plan.Waiting)))
	}
	return in
}

func strict(tb testing.TB, doc []byte, into any) {
	tb.Helper()
	require.NoError(tb, yaml.UnmarshalStrict(doc, into), "%s", doc)
}

// TestALongCrashLoopIsOneStatus walks a container through its back-off cycle: every state of it gives the same status, so that a service
// that fails for a week is written once.
func TestALongCrashLoopIsOneStatus(t *testing.T) {
	for name, cycle := range map[string][]string{
		"initializer": {"model-not-found-first-end", "model-not-found-back-off", "model-not-found-tried-again"},
		"server":      {"server-crashes", "server-crashes-and-runs-again"},
		"image":       {"image-err-pull", "image-pull-back-off"},
	} {
		t.Run(name, func(t *testing.T) {
			var first *observe.Result
			for _, state := range append(slices.Clone(cycle), cycle...) {
				raw, err := os.ReadFile("testdata/cases/" + state + "/in.yaml")
				require.NoError(t, err)
				in := read(t, raw)
				if first != nil {
					in.Service.Status = *first.Status.DeepCopy()
					in.Now = metav1.NewTime(in.Now.Add(5 * time.Minute))
				}
				got := observe.Service(in)
				if first == nil {
					first = &got
				}
				require.Equal(t, first.Status, got.Status, state)
			}
		})
	}
}

func TestFiguresThatChangeFromTryToTryAreNoChange(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases/model-denied/in.yaml")
	require.NoError(t, err)
	in := read(t, raw)
	first := observe.Service(in)
	again := read(t, bytes.ReplaceAll(raw, []byte("4442587FB7D0A2F9"), []byte("09B5C2A3119FE0D4")))
	again.Service.Status = *first.Status.DeepCopy()
	require.Equal(t, first.Status, observe.Service(again).Status)
	other := read(t, bytes.ReplaceAll(raw, []byte("exitCode: 1"), []byte("exitCode: 2")))
	other.Service.Status = *first.Status.DeepCopy()
	require.NotEqual(t, first.Status, observe.Service(other).Status, "another exit code is news")
}

func TestPodsThatSomebodyElseMadeSayNothing(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases/server-crashes/in.yaml")
	require.NoError(t, err)
	none := read(t, raw)
	require.NotEmpty(t, none.Pods)
	with := observe.Service(none)
	none.Pods = nil
	without := observe.Service(none)
	require.NotEqual(t, with.Status, without.Status, "its own pods do")
	beside := read(t, raw)
	byHand := beside.Pods[0].DeepCopy()
	delete(byHand.Labels, "pod-template-hash")
	byHand.Name, byHand.CreationTimestamp = "by-hand", metav1.NewTime(beside.Now.Time)
	byHand.Status = corev1.PodStatus{Phase: corev1.PodFailed, Message: "forged"}
	beside.Pods = append(beside.Pods, *byHand)
	require.Equal(t, with.Status, observe.Service(beside).Status, "a pod made by hand beside them")
	for sentence, change := range map[string]func(*corev1.Pod){
		"a pod of a Job":                func(p *corev1.Pod) { p.OwnerReferences = controller("Job", "j") },
		"a pod of another's ReplicaSet": func(p *corev1.Pod) { p.OwnerReferences = controller("ReplicaSet", "other-1") },
	} {
		t.Run(sentence, func(t *testing.T) {
			in := read(t, raw)
			for i := range in.Pods {
				change(&in.Pods[i])
			}
			require.Equal(t, without.Status, observe.Service(in).Status)
		})
	}
	own := read(t, raw)
	for i := range own.Pods {
		own.Pods[i].OwnerReferences = controller("ReplicaSet", "m-predictor-"+own.Pods[i].Labels["pod-template-hash"])
	}
	require.Equal(t, with.Status, observe.Service(own).Status)
}

func controller(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: "u", Controller: new(true)}}
}

func TestAServiceThatIsGoingIsLeftAsItIs(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases/served-unchanged/in.yaml")
	require.NoError(t, err)
	in := read(t, raw)
	in.Service.DeletionTimestamp = &noon
	in.Children, in.Pods = plan.Children{}, nil
	require.Equal(t, observe.Result{Status: in.Service.Status}, observe.Service(in))
	require.Equal(t, observe.Result{}, observe.Service(observe.Input{}))
}

// BenchmarkService is what each pass of the controller costs here: a service that serves, unchanged, and one that fails.
func BenchmarkService(b *testing.B) {
	for name, pods := range map[string]int{"served-unchanged": 1, "server-crashes": 1, "served-unchanged/100": 100} {
		file, _, _ := strings.Cut(name, "/")
		raw, err := os.ReadFile("testdata/cases/" + file + "/in.yaml")
		require.NoError(b, err)
		in := read(b, raw)
		for range pods - 1 {
			in.Pods = append(in.Pods, in.Pods[0])
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				observe.Service(in)
			}
		})
	}
}

// TestARevisionThatWasRolledBackIsNeverReferredTo walks through a canary that is taken back and the one after it: the rest of the requests
// is always for the revision that last had all of them.
func TestARevisionThatWasRolledBackIsNeverReferredTo(t *testing.T) {
	raw, err := os.ReadFile("testdata/cases/knative-ready/in.yaml")
	require.NoError(t, err)
	planned, _, _ := strings.Cut(string(raw), "\n---\napiVersion: serving.knative.dev/v1\n")
	status := servingv1beta1.InferenceServiceStatus{}
	for _, step := range []struct {
		revision string
		share    *int64
		want     []serving.TrafficTarget
	}{
		{"v1", nil, traffic(100, "")},
		{"v2", new(int64(20)), traffic(20, "v1")},
		{"v2", new(int64(0)), traffic(0, "v1")},
		{"v3", new(int64(20)), traffic(20, "v1")},
		{"v3", nil, traffic(100, "")},
		{"v4", new(int64(5)), traffic(5, "v3")},
	} {
		in := readWith(t, []byte(planned), func(svc *servingv1beta1.InferenceService) {
			svc.Status, svc.Spec.Predictor.CanaryTrafficPercent = status, step.share
		})
		got := in.Plan.Component(serving.Predictor).Traffic
		require.Equal(t, step.want, got, step.revision)
		got[0].RevisionName = step.revision // Knative says which one the latest is
		told, err := json.Marshal(got)
		require.NoError(t, err)
		ksvc := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSON([]byte(`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: m-predictor, namespace: ns, generation: 1, labels: {component: predictor}},
status: {observedGeneration: 1, url: "http://m", latestCreatedRevisionName: ` + step.revision + `, latestReadyRevisionName: ` + step.revision + `, traffic: ` + string(told) + `,
conditions: [{type: Ready, status: "True"}]}}`))
		require.NoError(t, err)
		require.NoError(t, ksvc.UnmarshalJSON(text))
		in.Children.Add(ksvc)
		status = observe.Service(in).Status
	}
}

// traffic gives the latest revision a share, and another the rest.
func traffic(share int64, rest string) []serving.TrafficTarget {
	list := []serving.TrafficTarget{{LatestRevision: new(true), Percent: &share}}
	if rest != "" {
		list = append(list, serving.TrafficTarget{Tag: "prev", RevisionName: rest, LatestRevision: new(false), Percent: new(100 - share)})
	}
	return list
}
