// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// narrow is a service account that has roles in some namespaces and none in the cluster.
const narrow = "narrow-controller"

// grant gives the account the rules of the shipped ClusterRole as a Role in a namespace, but those about some resources.
func (w *world) grant(ns string, without ...string) {
	w.t.Helper()
	shipped := &rbacv1.ClusterRole{}
	require.NoError(w.t, w.Client.Get(w.t.Context(), client.ObjectKey{Name: "kserve-manager-role"}, shipped))
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: narrow}}
	for _, rule := range shipped.Rules {
		rule.Resources = slices.DeleteFunc(rule.Resources, func(r string) bool { return slices.Contains(without, r) })
		if len(rule.Resources) > 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	require.NoError(w.t, w.Client.Create(w.t.Context(), role))
	w.bind(ns, narrow)
}

func (w *world) bind(ns, role string) {
	w.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: narrow},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: cluster.System, Name: narrow}},
	}
	require.NoError(w.t, w.Client.Create(w.t.Context(), binding))
	w.t.Cleanup(func() { require.NoError(w.t, w.Client.Delete(context.Background(), binding)) })
}

func TestAControllerOfSomeNamespacesNeedsRolesInThoseOnly(t *testing.T) {
	w := newWorld(t)
	second, elsewhere := newWorld(t), newWorld(t)
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.System, Name: narrow}}
	require.NoError(t, w.Client.Create(t.Context(), account))
	t.Cleanup(func() { require.NoError(t, w.Client.Delete(context.Background(), account)) })
	w.grant(w.ns)
	w.grant(second.ns, "scaledobjects")
	w.bind(cluster.System, "kserve-manager-role")
	config, err := w.As(t.Context(), narrow)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, config, narrow))

	core, logged := observer.New(zap.WarnLevel)
	c := startLogging(t, path, zap.New(core), func(o *manager.Options) { o.Namespaces = []string{w.ns, second.ns} })
	c.waitReady(t, w)
	keda := sklearn("keda", "s3://models/iris", "serving.kserve.io/autoscalerClass: keda") +
		"    autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}\n"
	elsewhere.apply(sklearn("m", "s3://models/iris"))
	w.apply(sklearn("m", "s3://models/iris"))
	second.apply(keda)
	second.says("keda", servingv1beta1.PredictorReady, "ScaledObject", "does not let it list scaledobjects.keda.sh in namespace "+second.ns)
	second.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	second.ready("m")
	has(second, "m", &networkingv1.Ingress{}, nil)
	absent(elsewhere, "m-predictor", &appsv1.Deployment{})

	w.change(w.service("m"), `{"spec":{"predictor":{"model":{"storageUri":"s3://models/v2"}}}}`)
	w.ready("m")
	require.NoError(t, w.Client.Delete(t.Context(), w.service("m")))
	gone(w, "m", &servingv1beta1.InferenceService{})
	c.stop(t)

	blind := logged.FilterMessageSnippet("clusterservingruntimes, clusterstoragecontainers, customresourcedefinitions")
	require.Equal(t, 1, blind.Len(), "what is not seen is said in one line")
	require.Equal(t, 1, logged.FilterMessageSnippet("scaledobjects.keda.sh").Len())
	requests, err := w.Requests(narrow)
	require.NoError(t, err)
	require.NotEmpty(t, requests)
	for _, r := range requests {
		if r.Namespace == "knative-serving" {
			continue // Knative's settings, where they may be read
		}
		require.False(t, r.Forbidden, r.String())
	}
}
