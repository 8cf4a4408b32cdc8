// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON(raw))
	return o
}

func TestWhatAPodWaitsFor(t *testing.T) {
	cases := map[string]struct{ status, want string }{
		"nothing known":    {`{}`, "Pending"},
		"running":          {`{phase: Running}`, "Running"},
		"a missing image":  {`{phase: Pending, containerStatuses: [{state: {waiting: {reason: ErrImagePull, message: no such image}}}]}`, "ErrImagePull: no such image"},
		"its last words":   {`{phase: Running, containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {message: no flag}}}]}`, "CrashLoopBackOff: no flag"},
		"a fetch's report": {`{initContainerStatuses: [{state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {message: '{"outcome":"failed","message":"no bucket"}'}}}]}`, "CrashLoopBackOff: no bucket"},
		"an initializer":   {`{phase: Pending, initContainerStatuses: [{state: {waiting: {reason: CrashLoopBackOff}}}], containerStatuses: [{state: {waiting: {reason: PodInitializing}}}]}`, "CrashLoopBackOff"},
		"no room":          {`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/1 nodes}]}`, "Unschedulable: 0/1 nodes"},
		"a strange status": {`{phase: Running, conditions: 7, containerStatuses: [x]}`, "Running"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, podState(object(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}, status: "+c.status+"}")))
		})
	}
}

func TestTheInitializerThatIsNotDone(t *testing.T) {
	pod := func(first, second bool) *unstructured.Unstructured {
		return object(t, fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {initContainerStatuses: [{name: a, ready: %t}, {name: b, ready: %t}]}}", first, second))
	}
	require.Equal(t, "a", initializer(pod(false, false)))
	require.Equal(t, "b", initializer(pod(true, false)))
	require.Empty(t, initializer(pod(true, true)))
}

func service(t *testing.T, metadata, status string) *unstructured.Unstructured {
	t.Helper()
	return object(t, "{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: s, namespace: n"+metadata+"}, status: "+status+"}")
}

func TestCausesAreInTheOrderInWhichTheyExplain(t *testing.T) {
	const notRouted = `{type: IngressReady, status: "False", reason: Predictor ingress not created, message: the predictor is not ready}`
	cases := map[string]struct {
		metadata, status string
		want             []string
		ok               bool
	}{
		"all is well": {"", `{conditions: [{type: Ready, status: "True"}, {type: Stopped, status: "False", message: x}]}`, nil, true},
		"the predictor's cause, and not what follows from it": {
			"", `{conditions: [` + notRouted + `, {type: PredictorReady, status: "False", reason: Bad, message: no bucket.}, {type: Ready, status: "False", reason: Bad, message: no bucket.}]}`,
			[]string{"Bad: no bucket."},
			false,
		},
		"the route, where it is the cause": {
			"", `{conditions: [{type: PredictorReady, status: "True"}, {type: IngressReady, status: "False", reason: R, message: no Gateway}, {type: Ready, status: "False", reason: R, message: no Gateway}]}`,
			[]string{"R: no Gateway"},
			false,
		},
		"what is false before what is not known": {
			"", `{conditions: [{type: PredictorReady, status: Unknown, reason: Starting, message: pods start}, {type: TransformerReady, status: "False", reason: Crash, message: it ends}]}`,
			[]string{"Crash: it ends", "Starting: pods start"},
			false,
		},
		"the failed change of one that serves": {
			"", `{conditions: [{type: Ready, status: "True"}, {type: LatestDeploymentReady, status: "False", reason: Bad, message: it serves as before}]}`,
			[]string{"Bad: it serves as before"},
			true,
		},
		"more of the model's failure": {
			"", `{conditions: [{type: PredictorReady, status: "False", reason: Bad, message: the model cannot be loaded}], modelStatus: {lastFailureInfo: {reason: Bad, message: "line 7", exitCode: 3, location: the pod}}}`,
			[]string{"Bad: the model cannot be loaded", "Bad: line 7 (exit code 3, the pod)"},
			false,
		},
		"the same of the model's failure": {
			"", `{conditions: [{type: PredictorReady, status: "False", reason: Bad, message: "it failed: line 7. Correct it"}], modelStatus: {lastFailureInfo: {message: "line  7"}}}`,
			[]string{"Bad: it failed: line 7. Correct it"},
			false,
		},
		"the same of the model's failure, in full": {
			"", `{conditions: [{type: PredictorReady, status: "False", reason: Pull, message: "image x: there are a, b… It is tried again"}], modelStatus: {lastFailureInfo: {reason: Sick, message: "Pull: image x: there are a, b, c"}}}`,
			[]string{"Pull: image x: there are a, b, c. It is tried again"},
			false,
		},
		"a reason alone": {"", `{conditions: [{type: A, status: "True"}, {type: Ready, status: "False", reason: Wait}]}`, []string{"Wait"}, false},
		"an older status": {
			", generation: 3", `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`, []string{"its latest change is not looked at yet"}, false,
		},
		"its end": {`, deletionTimestamp: "2026-01-01T00:00:00Z"`, `{conditions: [{type: Ready, status: "True"}]}`, []string{"it is being deleted"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := Diagnose(service(t, c.metadata, c.status))
			var got []string
			for _, one := range d.Causes {
				got = append(got, one.String())
			}
			require.Equal(t, c.want, got)
			require.Equal(t, c.ok, d.OK())
		})
	}
	none := Diagnose(service(t, "", `{}`))
	require.Contains(t, none.Why(), "no condition yet")
	require.Equal(t, "http://s", URL(service(t, "", `{url: "http://s"}`)))
	huge := Diagnose(service(t, "", `{conditions: [{type: Ready, status: "False", message: `+strings.Repeat("x", 1<<20)+`}]}`))
	require.Less(t, len(huge.Why()), 3000)
	require.Contains(t, huge.Why(), "1046576 bytes more")
}

func TestACanaryInAFewWords(t *testing.T) {
	s := ServiceOf(service(t, "", `{canaryStatuses: [
		{name: v2, ready: true, trafficPercent: 20, weight: 5, analysis: {verdict: Passing}}, {name: v3, shadowPercent: 10, reason: Waits}, {name: v4, ready: true, trafficPercent: 1}]}`))
	require.Equal(t, []string{"v2 5% of 20% Passing", "v3 copies 10% Waits", "v4 0% of 1%"}, s.Canaries)
}

func TestAKubeconfigThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	nowhere := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", nowhere)
	_, _, err := Config("", "")
	require.ErrorContains(t, err, "KUBECONFIG names "+nowhere+", which does not exist")
	_, _, err = Config(nowhere, "")
	require.ErrorContains(t, err, nowhere)
	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, os.WriteFile(there, []byte("{}"), 0o600))
	t.Setenv("KUBECONFIG", nowhere+string(filepath.ListSeparator)+there)
	_, _, err = Config("", "")
	require.ErrorContains(t, err, there, "a file without a cluster")
	_, _, err = Config("", "elsewhere")
	require.ErrorContains(t, err, there)
	require.ErrorContains(t, err, `"elsewhere"`)
}

func lines(all []Warning) (texts []string) {
	for _, w := range all {
		texts = append(texts, w.String())
	}
	return texts
}

func TestWarningsOfAnEarlierNamesakeAreLeftOut(t *testing.T) {
	event := func(name, uid, stamp string) *unstructured.Unstructured {
		return object(t, fmt.Sprintf(`{apiVersion: v1, kind: Event, metadata: {name: %s, namespace: team}, type: Warning, message: %s, %s, involvedObject: {kind: Pod, name: a, uid: %q}}`, name, name, stamp, uid))
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{core("events"): "EventList"},
		event("dead", "1", `lastTimestamp: "2026-01-05T00:00:00Z"`), event("mine", "2", `lastTimestamp: "2026-01-01T00:00:00Z"`),
		event("series", "2", `series: {lastObservedTime: "2026-01-03T00:00:00.5Z"}, lastTimestamp: null`), event("nobody", "", `eventTime: "2026-01-02T00:00:00.000000Z"`))
	got, err := WarningsAbout(t.Context(), client, "team", []Object{{Kind: "Pod", Name: "a", UID: "2"}, {Kind: "Pod", Name: "b", UID: "1"}}, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"Pod a: series", "Pod a: nobody", "Pod a: mine"}, lines(got))
	require.Equal(t, time.Date(2026, 1, 3, 0, 0, 0, 5e8, time.UTC), got[0].Time)
}

func TestPodsAndWarningsOfANamespace(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{core("pods"): "PodList", core("events"): "EventList"},
		object(t, `{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: team}, status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{restartCount: 2}]}}`),
		object(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: team}}`), object(t, `{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: other}}`),
		object(t, `{apiVersion: v1, kind: Event, metadata: {name: old, namespace: team}, type: Warning, message: old, lastTimestamp: "2026-01-01T00:00:00Z", involvedObject: {kind: Pod, name: a}}`),
		object(t, `{apiVersion: v1, kind: Event, metadata: {name: new, namespace: team}, type: Warning, message: new, lastTimestamp: "2026-01-02T00:00:00Z", involvedObject: {kind: Pod, name: a}}`),
		object(t, `{apiVersion: v1, kind: Event, metadata: {name: again, namespace: team}, type: Warning, message: new, lastTimestamp: "2026-01-03T00:00:00Z", involvedObject: {kind: Pod, name: a}}`))
	found, err := Pods(t.Context(), client, "team")
	require.NoError(t, err)
	require.Equal(t, []Pod{{Namespace: "team", Name: "a", State: "Pending"}, {Namespace: "team", Name: "b", Ready: true, State: "Running", Restarts: 2}}, found)
	warnings, err := Warnings(t.Context(), client, "team", 5)
	require.NoError(t, err)
	require.Equal(t, []string{"Pod a: new", "Pod a: old"}, lines(warnings))
	warnings, err = Warnings(t.Context(), client, "team", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"Pod a: new"}, lines(warnings))
}
