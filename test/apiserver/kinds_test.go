// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// kinds counts the objects of a namespace that the controller made, as "group/Kind".
func (w *world) kinds() map[string]int {
	counts := map[string]int{}
	for _, ref := range w.Refs(w.ns) {
		if ref.GVK.Group != "serving.kserve.io" {
			counts[strings.TrimPrefix(ref.GVK.Group+"/"+ref.GVK.Kind, "/")]++
		}
	}
	return counts
}

func (w *world) consistsOf(want map[string]int) {
	w.t.Helper()
	w.Eventually(w.t, fmt.Sprintf("objects %v", want), func(context.Context) error {
		if is := w.kinds(); !maps.Equal(is, want) {
			return fmt.Errorf("there are %v", is)
		}
		return nil
	})
}

// withSettings changes one key of the operator's ConfigMap until the test ends.
func (w *world) withSettings(key, text string) {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}
	require.NoError(w.t, w.Client.Get(w.t.Context(), name, cm))
	put := func(text string) {
		require.NoError(w.t, w.Client.Get(context.Background(), name, cm))
		cm.Data[key] = text
		require.NoError(w.t, w.Client.Update(context.Background(), cm))
	}
	before := cm.Data[key]
	put(text)
	w.t.Cleanup(func() { put(before) })
}

// TestEveryKindIsMadeChangedAndPruned goes through the life of a service with each kind of object that the controller may make.
func TestEveryKindIsMadeChangedAndPruned(t *testing.T) {
	const mode = "serving.kserve.io/deploymentMode"
	cases := map[string]struct {
		ingress     string
		annotations []string
		predictor   string
		wants       map[string]int
	}{
		"knative-and-istio": {
			annotations: []string{mode + ": Knative"},
			wants:       map[string]int{"serving.knative.dev/Service": 1, "Service": 1, "networking.istio.io/VirtualService": 1},
		},
		"gateway": {
			ingress:     `{"enableGatewayApi": true, "kserveIngressGateway": "kserve/ingress", "ingressDomain": "example.com", "urlScheme": "http"}`,
			annotations: []string{mode + ": Standard"},
			wants: map[string]int{
				"apps/Deployment": 1, "Service": 1, "autoscaling/HorizontalPodAutoscaler": 1, "gateway.networking.k8s.io/HTTPRoute": 2,
			},
		},
		"keda-and-opentelemetry": {
			annotations: []string{mode + ": Standard", "serving.kserve.io/autoscalerClass: keda", "sidecar.opentelemetry.io/inject: m-predictor"},
			predictor: `
    minReplicas: 1
    maxReplicas: 5
    autoScaling:
      metrics:
      - type: PodMetric
        podmetric:
          metric: {backend: opentelemetry, metricNames: [running], query: running}
          target: {type: Value, value: "4"}`,
			wants: map[string]int{
				"apps/Deployment": 1, "Service": 1, "keda.sh/ScaledObject": 1, "opentelemetry.io/OpenTelemetryCollector": 1, "networking.k8s.io/Ingress": 1,
			},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.ingress != "" {
				w.withSettings("ingress", c.ingress)
			}
			text := "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata:\n  name: m\n  annotations:\n    " +
				strings.Join(c.annotations, "\n    ") + "\nspec:\n  predictor:\n    model: {modelFormat: {name: sklearn}, storageUri: \"s3://models/iris\"}" + c.predictor
			w.apply(text)
			w.ready("m")
			w.consistsOf(c.wants)

			svc := &servingv1beta1.InferenceService{}
			require.NoError(t, w.Client.Get(t.Context(), w.key("m"), svc))
			w.change(svc, `{"metadata": {"labels": {"team": "a"}, "annotations": {"example.com/note": "b"}}, "spec": {"predictor": {"model": {"storageUri": "s3://models/other"}}}}`)
			w.ready("m")
			w.consistsOf(c.wants)

			w.change(svc, `{"metadata": {"annotations": {"serving.kserve.io/stop": "true"}}}`)
			w.consistsOf(map[string]int{})
		})
	}
}
