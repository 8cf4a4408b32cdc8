// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"testing"

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

func TestWhyAServiceIsNotReady(t *testing.T) {
	service := func(status string) *unstructured.Unstructured {
		return object(t, "{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: s}, status: "+status+"}")
	}
	require.Equal(t, "no bucket", Why(service(`{modelStatus: {lastFailureInfo: {message: no bucket}}, conditions: [{type: Ready, status: "False", message: other}]}`)))
	require.Equal(t, "Wait", Why(service(`{conditions: [{type: A, status: "True"}, {type: Ready, status: "False", reason: Wait}]}`)))
	require.Empty(t, Why(service(`{}`)))
	require.Equal(t, "http://s", URL(service(`{url: "http://s"}`)))
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
	require.Equal(t, []string{"Pod a: new", "Pod a: old"}, warnings)
	warnings, err = Warnings(t.Context(), client, "team", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"Pod a: new"}, warnings)
}
