// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/reconcile/inferenceservice"
)

// listed is a cache that holds services.
type listed struct {
	cache.Cache
	services []servingv1beta1.InferenceService
}

func (l *listed) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	for i := range l.services {
		if o.Namespace == "" || o.Namespace == l.services[i].Namespace {
			list.(*servingv1beta1.InferenceServiceList).Items = append(list.(*servingv1beta1.InferenceServiceList).Items, l.services[i]) //nolint:forcetypeassert // nothing else is listed
		}
	}
	return nil
}

func service(namespace, name string) servingv1beta1.InferenceService {
	svc := servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: "1"}}
	svc.Spec.Predictor.Model = &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}
	return svc
}

// office is the controllers around three services in two namespaces.
func office(t *testing.T) *controllers {
	t.Helper()
	metrics, err := newSettingsMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	return &controllers{
		options: Options{Namespace: "kserve"}, log: zap.NewNop(), settings: gather.NewSettings("kserve", ""), metrics: metrics,
		events: record.NewFakeRecorder(10), services: &inferenceservice.Reconciler{},
		cache: &listed{services: []servingv1beta1.InferenceService{service("a", "x"), service("a", "y"), service("b", "x")}},
	}
}

// told are the services that a handler puts into the queue for one event, sorted.
func told(t *testing.T, h handler.EventHandler, e any) []string {
	t.Helper()
	q := &noted{}
	switch e := e.(type) {
	case event.CreateEvent:
		h.Create(t.Context(), e, q)
	case event.UpdateEvent:
		h.Update(t.Context(), e, q)
	case event.DeleteEvent:
		h.Delete(t.Context(), e, q)
	}
	slices.Sort(q.names)
	return slices.Compact(q.names)
}

// noted is a queue that notes what is put into it, now or for later.
type noted struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	names []string
}

func (q *noted) Add(r reconcile.Request) { q.names = append(q.names, r.String()) }

func (q *noted) AddAfter(r reconcile.Request, _ time.Duration) { q.Add(r) }

func everyone() []string { return []string{"a/x", "a/y", "b/x"} }

func operatorsConfig(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	require.NoError(t, yaml.Unmarshal(deploy.Config(), cm))
	cm.Namespace = "kserve"
	return cm
}

func TestNewSettingsConcernEveryServiceAndBadOnesThoseThatTellThem(t *testing.T) {
	c := office(t)
	services := c.cache.(*listed).services //nolint:forcetypeassert // it is
	for i := range services {
		services[i].Status.Conditions = []serving.Condition{{Type: serving.ConditionReady, Status: corev1.ConditionTrue}}
	}
	services[1].Status.Conditions[0].Status = corev1.ConditionFalse
	h := c.settingsHandler()
	good := operatorsConfig(t)
	require.Contains(t, c.missing(), "waits for good settings")
	require.Equal(t, everyone(), told(t, h, event.CreateEvent{Object: good}))
	require.Empty(t, told(t, h, event.UpdateEvent{ObjectOld: good, ObjectNew: good}), "a resync")
	first, fault := c.settings.Current()
	require.NoError(t, fault)

	bad := good.DeepCopy()
	bad.Data["ingress"] = "{"
	require.Equal(t, []string{"a/y"}, told(t, h, event.UpdateEvent{ObjectOld: good, ObjectNew: bad}), "what is ready has nothing to do with it")
	require.Empty(t, told(t, h, event.UpdateEvent{ObjectOld: good, ObjectNew: bad}), "the same fault")
	<-c.events.(*record.FakeRecorder).Events
	still, fault := c.settings.Current()
	require.ErrorContains(t, fault, "ingress")
	require.Same(t, first, still, "the last good ones stay")
	require.InDelta(t, 0, testutil.ToFloat64(c.metrics.valid), 0)
	require.Contains(t, <-c.events.(*record.FakeRecorder).Events, "the last good settings stay in force")

	require.Equal(t, []string{"a/y"}, told(t, h, event.UpdateEvent{ObjectOld: bad, ObjectNew: good}), "what is in force already is no news but to those that told of the other")
	require.InDelta(t, 1, testutil.ToFloat64(c.metrics.valid), 0)
	edited := good.DeepCopy()
	edited.Data["deploy"] = `{"defaultDeploymentMode":"Standard"}`
	require.Equal(t, everyone(), told(t, h, event.UpdateEvent{ObjectOld: good, ObjectNew: edited}))

	require.Equal(t, []string{"a/y"}, told(t, h, event.DeleteEvent{Object: edited}))
	now, fault := c.settings.Current()
	require.ErrorContains(t, fault, "does not exist")
	require.Equal(t, serving.Standard, now.Deploy.DefaultMode)
	other := good.DeepCopy()
	other.Name = "other"
	for _, e := range []any{event.CreateEvent{Object: other}, event.DeleteEvent{Object: other}} {
		require.Empty(t, told(t, h, e))
	}
	require.InDelta(t, 2, testutil.ToFloat64(c.metrics.loaded), 0)
}

func TestAServiceIsLookedAtWhenItChanges(t *testing.T) {
	c := office(t)
	h := c.serviceHandler()
	x := service("a", "x")
	require.Equal(t, []string{"a/x"}, told(t, h, event.CreateEvent{Object: &x}))
	require.Equal(t, []string{"a/x"}, told(t, h, event.DeleteEvent{Object: &x}))
	require.Empty(t, told(t, h, event.UpdateEvent{ObjectOld: &x, ObjectNew: &x}))
	y := x.DeepCopy()
	y.ResourceVersion = "2"
	require.Equal(t, []string{"a/x"}, told(t, h, event.UpdateEvent{ObjectOld: &x, ObjectNew: y}))
}

func TestAChildConcernsTheServiceThatControlsIt(t *testing.T) {
	h := childHandler()
	child := func(version, owner string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "d", ResourceVersion: version}}
		if owner != "" {
			d.OwnerReferences = ownedBy(owner)
		}
		return d
	}
	const ours = "serving.kserve.io/v1beta1"
	require.Empty(t, told(t, h, event.CreateEvent{Object: child("1", ours)}), "this process made it")
	require.Equal(t, []string{"a/m"}, told(t, h, event.DeleteEvent{Object: child("1", ours)}))
	require.Equal(t, []string{"a/m"}, told(t, h, event.UpdateEvent{ObjectOld: child("1", ours), ObjectNew: child("2", ours)}))
	require.Equal(t, []string{"a/m"}, told(t, h, event.UpdateEvent{ObjectOld: child("1", ours), ObjectNew: child("2", "")}), "somebody took the owner away")
	require.Empty(t, told(t, h, event.UpdateEvent{ObjectOld: child("1", ours), ObjectNew: child("1", ours)}), "a resync")
	require.Empty(t, told(t, h, event.DeleteEvent{Object: child("1", "example.com/v1")}))
	require.Empty(t, told(t, h, event.DeleteEvent{Object: child("1", "")}))
}

func TestAPodConcernsTheServiceThatItNames(t *testing.T) {
	h := podHandler()
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", Labels: map[string]string{serving.LabelInferenceService: "m"}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	require.Equal(t, []string{"a/m"}, told(t, h, event.CreateEvent{Object: pod(corev1.PodPending)}))
	require.Empty(t, told(t, h, event.CreateEvent{Object: pod(corev1.PodPending), IsInInitialList: true}), "its service is looked at anyhow")
	require.Equal(t, []string{"a/m"}, told(t, h, event.UpdateEvent{ObjectOld: pod(corev1.PodPending), ObjectNew: pod(corev1.PodRunning)}))
	annotated := pod(corev1.PodPending)
	annotated.Annotations = map[string]string{"a": "b"}
	require.Empty(t, told(t, h, event.UpdateEvent{ObjectOld: pod(corev1.PodPending), ObjectNew: annotated}))
	require.Equal(t, []string{"a/m"}, told(t, h, event.DeleteEvent{Object: pod(corev1.PodPending)}))
	foreign := pod(corev1.PodPending)
	foreign.Labels = nil
	require.Empty(t, told(t, h, event.DeleteEvent{Object: foreign}))
}

func TestARuntimeConcernsItsNamespaceOrAll(t *testing.T) {
	c := office(t)
	h := c.runtimeHandler()
	spec := servingv1alpha1.ServingRuntimeSpec{SupportedModelFormats: []servingv1alpha1.SupportedModelFormat{{Name: "sklearn"}}}
	one := &servingv1alpha1.ServingRuntime{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r"}, Spec: spec}
	wide := &servingv1alpha1.ClusterServingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: spec}
	require.Equal(t, []string{"a/x", "a/y"}, told(t, h, event.CreateEvent{Object: one}))
	require.Empty(t, told(t, h, event.CreateEvent{Object: one, IsInInitialList: true}))
	require.Equal(t, everyone(), told(t, h, event.DeleteEvent{Object: wide}))
	touched := wide.DeepCopy()
	touched.Labels = map[string]string{"a": "b"}
	require.Empty(t, told(t, h, event.UpdateEvent{ObjectOld: wide, ObjectNew: touched}), "its spec is what counts")
	other := wide.DeepCopy()
	other.Spec.SupportedModelFormats[0].Name = "xgboost"
	require.Equal(t, everyone(), told(t, h, event.UpdateEvent{ObjectOld: wide, ObjectNew: other}), "it no longer serves what it served")

	all := c.everyServiceHandler()
	container := &servingv1alpha1.ClusterStorageContainer{ObjectMeta: metav1.ObjectMeta{Name: "c", ResourceVersion: "1"}}
	require.Equal(t, everyone(), told(t, all, event.CreateEvent{Object: container}))
	require.Empty(t, told(t, all, event.CreateEvent{Object: container, IsInInitialList: true}))
	require.Empty(t, told(t, all, event.UpdateEvent{ObjectOld: container, ObjectNew: container}))
	require.Equal(t, everyone(), told(t, all, event.DeleteEvent{Object: container}))
}
