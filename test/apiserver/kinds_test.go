// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// withSetting changes one field of a document of the operator's ConfigMap until the test ends.
func (w *world) withSetting(key, field string, value any) {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}
	require.NoError(w.t, w.Client.Get(w.t.Context(), name, cm))
	before, there := cm.Data[key]
	fields := map[string]any{}
	if there {
		require.NoError(w.t, json.Unmarshal([]byte(before), &fields))
	}
	fields[field] = value
	after, err := json.Marshal(fields)
	require.NoError(w.t, err)
	put := func(text string) {
		require.NoError(w.t, w.Client.Get(context.Background(), name, cm))
		if cm.Data[key] = text; text == "" {
			delete(cm.Data, key)
		}
		require.NoError(w.t, w.Client.Update(context.Background(), cm))
	}
	put(string(after))
	w.t.Cleanup(func() { put(before) })
}

// TestEveryKindIsMadeChangedAndPruned goes through the life of a service with each kind of object that the controller may make.
func TestEveryKindIsMadeChangedAndPruned(t *testing.T) {
	const mode = "serving.kserve.io/deploymentMode"
	cases := map[string]struct {
		gateway     bool
		annotations []string
		predictor   string
		wants       map[string]int
	}{
		"knative-and-istio": {
			annotations: []string{mode + ": Knative"},
			wants:       map[string]int{"serving.knative.dev/Service": 1, "Service": 1, "networking.istio.io/VirtualService": 1},
		},
		"gateway": {
			gateway:     true,
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
			if c.gateway {
				w.withSetting("ingress", "enableGatewayApi", true)
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

func TestCredentialsAreReadWhereAServiceNamesThem(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Client.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.System, Name: "authorities"}, Data: map[string]string{"cabundle.crt": "x"},
	}))
	t.Cleanup(func() {
		require.NoError(t, w.Client.Delete(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.System, Name: "authorities"}}))
	})
	w.withSetting("storageInitializer", "caBundleConfigMapName", "authorities")
	w.apply(
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s3}\nstringData: {AWS_ACCESS_KEY_ID: a, AWS_SECRET_ACCESS_KEY: b}",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\nsecrets: [{name: s3}]",
		sklearn("m", "s3://models/iris")+"    serviceAccountName: sa\n    logger: {mode: all, url: 'http://logs.example.com'}\n",
	)
	w.ready("m")
	// Several sources are fetched by the template itself, which the controller makes.
	several := strings.Replace(sklearn("several", "x"), "      storageUri: x\n", "", 1)
	w.apply(several + "    serviceAccountName: sa\n    storageUris: [{uri: 's3://models/a', mountPath: /mnt/models/a}, {uri: 's3://models/b', mountPath: /mnt/models/b}]\n")
	has(w, "several-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		if !strings.Contains(fmt.Sprint(d.Spec.Template.Spec.InitContainers), "AWS_SECRET_ACCESS_KEY") {
			return fmt.Errorf("the init containers are %v", d.Spec.Template.Spec.InitContainers)
		}
		return nil
	})
	has(w, "global-ca-bundle", &corev1.ConfigMap{}, func(cm *corev1.ConfigMap) error {
		if cm.Data["cabundle.crt"] != "x" {
			return fmt.Errorf("it holds %v", cm.Data)
		}
		return nil
	})
	d := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: d.Spec.Template.Spec}
	pod.Name, pod.Namespace = "p", w.ns
	require.NoError(t, w.Client.Create(t.Context(), pod, client.DryRunAll))
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	require.Contains(t, names, "agent")
	require.Contains(t, fmt.Sprint(pod.Spec.InitContainers[0].Env), "AWS_SECRET_ACCESS_KEY")
}

func TestTheModelsOfAServerForManyAreListed(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(strings.Replace(sklearnRuntime, "name: sk}", "name: many}", 1), "spec:\n", "spec:\n  multiModel: true\n", 1),
		"apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata:\n  name: m\n  annotations: {serving.kserve.io/deploymentMode: Standard}\n"+
			"spec:\n  predictor:\n    model: {modelFormat: {name: sklearn}, runtime: many}\n")
	has(w, "modelconfig-m-0", &corev1.ConfigMap{}, nil)
	w.ready("m")
	w.change(w.service("m"), `{"metadata": {"annotations": {"serving.kserve.io/stop": "true"}}}`)
	gone(w, "modelconfig-m-0", &corev1.ConfigMap{})
}
