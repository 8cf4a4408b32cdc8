// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// TestSettingsThatNeverRestComeToTheLast edits the operator's ConfigMap several times a second while services come up.
func TestSettingsThatNeverRestComeToTheLast(t *testing.T) {
	const services = 20
	w := newWorld(t)
	settings := func(ctx context.Context, key string, fields any) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.System, Name: "inferenceservice-config"}}
		patch, err := json.Marshal(map[string]any{"data": map[string]any{key: fields}})
		if err != nil {
			return err
		}
		return w.Client.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch))
	}
	cm, base := &corev1.ConfigMap{}, map[string]any{}
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}, cm))
	require.NoError(t, json.Unmarshal([]byte(cm.Data["ingress"]), &base))
	ingress := func(domain string, none bool) {
		base["ingressDomain"], base["disableIngressCreation"] = domain, none
		raw, err := json.Marshal(base)
		require.NoError(t, err)
		require.NoError(t, settings(t.Context(), "ingress", string(raw)))
	}
	for _, key := range []string{"ingress", "service"} {
		var before any // none goes again
		if text, there := cm.Data[key]; there {
			before = text
		}
		t.Cleanup(func() { require.NoError(t, settings(context.Background(), key, before)) })
	}
	for i := range services {
		ingress(fmt.Sprintf("d%d.example", i), i%4 == 3)
		if i%5 == 4 {
			require.NoError(t, settings(t.Context(), "ingress", `{"ingressDomain":7}`)) // no settings at all
		}
		require.NoError(t, settings(t.Context(), "service", fmt.Sprintf(`{"serviceClusterIPNone":%t}`, i%6 == 5)))
		w.apply(sklearn(fmt.Sprintf("m%02d", i), "s3://models/iris"))
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	ingress("last.example", false)
	require.NoError(t, settings(t.Context(), "service", `{"serviceClusterIPNone":false}`))
	w.Eventually(t, "every service is as the last settings say", func(ctx context.Context) error {
		if _, err := w.MakeReady(ctx, w.ns); err != nil {
			return err
		}
		for i := range services {
			svc, ingress := &servingv1beta1.InferenceService{}, &networkingv1.Ingress{}
			key := w.key(fmt.Sprintf("m%02d", i))
			if err := errors.Join(w.Client.Get(ctx, key, svc), w.Client.Get(ctx, key, ingress), isReady(svc)); err != nil {
				return fmt.Errorf("%s: %w", key.Name, err)
			}
			host := key.Name + "-" + w.ns + ".last.example"
			if svc.Status.URL != "http://"+host || ingress.Spec.Rules[0].Host != host {
				return fmt.Errorf("%s is at %s and %s", key.Name, svc.Status.URL, ingress.Spec.Rules[0].Host)
			}
		}
		return nil
	})
	w.settle()
	n := len(w.writes())
	var deployments appsv1.DeploymentList
	require.NoError(t, w.Client.List(t.Context(), &deployments, client.InNamespace(w.ns)))
	require.Len(t, deployments.Items, services)
	for i := range deployments.Items {
		require.LessOrEqual(t, deployments.Items[i].Generation, int64(1), "no pod is replaced by what concerns routes")
	}
	w.settle()
	require.Len(t, w.writes(), n, "nothing is written at rest")
}

// TestAFrozenServiceOutlivesItsRuntime edits and deletes what a frozen service was made from, then lets it go on.
func TestAFrozenServiceOutlivesItsRuntime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	of := strings.NewReplacer("name: sklearn", "name: own-format") // which no other runtime serves
	w.apply(of.Replace(sklearnRuntime), of.Replace(sklearn("m", "s3://models/iris", `serving.kserve.io/disable-auto-update: "true"`)))
	w.ready("m")
	before := w.inventory()
	w.apply(of.Replace(strings.ReplaceAll(sklearnRuntime, "sk:1", "sk:2")))
	runtime := &servingv1alpha1.ServingRuntime{}
	runtime.Namespace, runtime.Name = w.ns, has(w, "m", &servingv1beta1.InferenceService{}, nil).Status.ServingRuntimeName
	require.NoError(t, w.Client.Delete(t.Context(), runtime))
	w.settle()
	require.NotEmpty(t, before)
	kept := func() {
		t.Helper()
		now := w.inventory()
		for name, uid := range before {
			require.Equal(t, uid, now[name], name)
		}
		require.Equal(t, "registry.test/sk:1", has(w, "m-predictor", &appsv1.Deployment{}, nil).Spec.Template.Spec.Containers[0].Image)
	}
	kept()
	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/disable-auto-update":null}}}`)
	w.says("m", servingv1beta1.LatestDeploymentReady, "NoSupportingRuntime", "serves as before")
	kept()
	w.apply(of.Replace(strings.ReplaceAll(sklearnRuntime, "sk:1", "sk:3")))
	w.ready("m")
	require.Equal(t, "registry.test/sk:3", has(w, "m-predictor", &appsv1.Deployment{}, nil).Spec.Template.Spec.Containers[0].Image)
	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/disable-auto-update":"true"}}}`)
	require.NoError(t, w.Client.Delete(t.Context(), w.service("m")))
	gone(w, "m", &servingv1beta1.InferenceService{})
}

// TestAModeThatChangesAtOnceLeavesOneOfThem changes the mode back and forth before and while the controller looks.
func TestAModeThatChangesAtOnceLeavesOneOfThem(t *testing.T) {
	t.Parallel()
	const services = 4
	w := newWorld(t)
	for i := range services {
		name := fmt.Sprintf("m%02d", i)
		w.apply(sklearn(name, "s3://models/iris"))
		for turn := range i {
			wanted := []string{"Knative", "Standard"}[turn%2]
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"serving.kserve.io/deploymentMode":"`+wanted+`"}}}`))
			if err := w.Client.Patch(t.Context(), w.service(name), patch); err != nil {
				require.ErrorContains(t, err, "the mode of a deployed service cannot change")
			}
		}
	}
	for i := range services {
		name := fmt.Sprintf("m%02d", i)
		svc := w.ready(name)
		w.Eventually(t, "objects of one mode", func(ctx context.Context) error {
			if err := w.Client.Get(ctx, w.key(name), svc); err != nil {
				return err
			}
			var standard, knative bool
			for _, ref := range w.Refs(w.ns) {
				if ref.Name == name+"-predictor" {
					standard = standard || ref.GVK.Kind == "Deployment"
					knative = knative || ref.GVK.Group == "serving.knative.dev"
				}
			}
			if standard == knative || standard != (svc.Status.DeploymentMode == serving.Standard) {
				return fmt.Errorf("%s is in %s mode: Deployment %t, Knative Service %t", name, svc.Status.DeploymentMode, standard, knative)
			}
			return nil
		})
		// An annotation that missed its mode hinders nothing else.
		w.change(w.service(name), `{"metadata":{"labels":{"team":"a"}}}`)
		if svc.Status.DeploymentMode == serving.Standard {
			w.change(w.service(name), `{"spec":{"predictor":{"maxReplicas":3}}}`)
		}
		w.ready(name)
	}
}
