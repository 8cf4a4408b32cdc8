// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// huge is nearly what an API server stores of one object.
const huge = 900 << 10

// TestAServiceOfAMegabyteIsServed has a container whose environment is nearly as long as an object may be: service and Deployment hold it each.
func TestAServiceOfAMegabyteIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var env []string
	for i := range 9 {
		env = append(env, fmt.Sprintf("{name: BIG_%d, value: %q}", i, strings.Repeat(string(rune('a'+i)), huge/9)))
	}
	// Not applied as an older kubectl does, which keeps a copy in an annotation: that would be too long.
	require.NoError(t, w.Client.Create(t.Context(), document(t, w.ns, service("m", "containers: [{name: kserve-container, image: i, env: ["+strings.Join(env, ", ")+"]}]"))))
	w.ready("m")
	d := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	require.Len(t, d.Spec.Template.Spec.Containers[0].Env[8].Value, huge/9)
	w.settle()
	version := d.ResourceVersion
	w.change(w.service("m"), `{"metadata":{"labels":{"touched":"yes"}}}`)
	w.settle()
	require.Equal(t, version, has(w, "m-predictor", &appsv1.Deployment{}, nil).ResourceVersion, "a label replaces no pod")
	w.change(w.service("m"), `{"spec":{"predictor":{"maxReplicas":3}}}`)
	w.settle()
	require.NoError(t, w.Client.Delete(t.Context(), w.service("m")))
	gone(w, "m", &servingv1beta1.InferenceService{})
}

// TestMessagesOfAMegabyteAreCut has a pod that says nearly as much as an object may hold.
func TestMessagesOfAMegabyteAreCut(t *testing.T) {
	t.Parallel()
	n := startService(t)
	n.deploymentSays(0, "aaaa", "ReplicaSetUpdated")
	pod := n.pod("aaaa")
	long := strings.Repeat("no room here; ", huge/14)
	n.podSays(pod, corev1.PodPending, map[corev1.PodConditionType]string{corev1.PodScheduled: "Unschedulable: " + long}, corev1.ContainerState{}, corev1.ContainerState{}, nil)
	status := n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "Unschedulable")
	text, err := json.Marshal(status)
	require.NoError(t, err)
	require.Less(t, len(text), 64<<10, "a status is read by people")
	require.Contains(t, string(text), "no room here")

	waiting := waits("ImagePullBackOff")
	waiting.Waiting.Message = "Back-off pulling image: " + strings.Repeat("denied ", huge/7)
	n.podSays(pod, corev1.PodPending, scheduled, waiting, waits("PodInitializing"), nil)
	status = n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "")
	text, err = json.Marshal(status)
	require.NoError(t, err)
	require.Less(t, len(text), 64<<10)
}

// TestTwoControllersWithoutALeaseComeToOneEnd runs a second one that asks for no lease beside the first: they do the same work twice, and
// neither undoes what the other did.
func TestTwoControllersWithoutALeaseComeToOneEnd(t *testing.T) {
	w := newWorld(t)
	config, err := w.As(t.Context(), cluster.ControllerAccount)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, config, cluster.ControllerAccount))
	second := start(t, path, false)
	second.waitReady(t, w)
	for i := range 5 {
		w.apply(sklearn(fmt.Sprintf("m%d", i), "s3://models/v1"))
	}
	for i := range 5 {
		w.ready(fmt.Sprintf("m%d", i))
		w.change(w.service(fmt.Sprintf("m%d", i)), `{"spec":{"predictor":{"model":{"storageUri":"s3://models/v2"}}}}`)
	}
	for i := range 5 {
		w.ready(fmt.Sprintf("m%d", i))
	}
	w.settle() // neither writes for as long as nothing happens
	for i := range 5 {
		d := has(w, fmt.Sprintf("m%d-predictor", i), &appsv1.Deployment{}, nil)
		require.Equal(t, "s3://models/v2", d.Spec.Template.Annotations["internal.serving.kserve.io/storage-initializer-sourceuri"])
		require.LessOrEqual(t, d.Generation, int64(3), "made once, changed once, scaled at most once")
	}
	for i := range 5 {
		require.NoError(t, w.Client.Delete(context.WithoutCancel(t.Context()), w.service(fmt.Sprintf("m%d", i))))
	}
	for i := range 5 {
		gone(w, fmt.Sprintf("m%d", i), &servingv1beta1.InferenceService{})
	}
	require.Zero(t, second.panics(t))
}
