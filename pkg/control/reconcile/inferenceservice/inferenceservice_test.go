// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
)

// world is a reconciler on controller-runtime's stand-in for an API server, which keeps managed fields but does no defaulting. That
// the real one agrees is shown in test/apiserver.
type world struct {
	*Reconciler
	client client.WithWatch
	events *record.FakeRecorder
	mu     sync.Mutex // writes go on beside each other
	writes []string
	fail   func(verb string, o client.Object) error
}

var name = client.ObjectKey{Namespace: "ns", Name: "m"}

func newWorld(tb testing.TB, objects ...client.Object) *world {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, servingv1alpha1.AddToScheme, servingv1beta1.AddToScheme} {
		require.NoError(tb, add(scheme))
	}
	for _, raw := range deploy.Runtimes() {
		csr := &servingv1alpha1.ClusterServingRuntime{}
		require.NoError(tb, yaml.Unmarshal(raw, csr))
		objects = append(objects, csr)
	}
	w := &world{events: record.NewFakeRecorder(100)}
	note := func(verb string, o client.Object) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writes = append(w.writes, verb+" "+o.GetName())
		if w.fail != nil {
			return w.fail(verb, o)
		}
		return nil
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&servingv1beta1.InferenceService{}).WithReturnManagedFields()
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.Ingress{}} {
		b = b.WithIndex(o, gather.IndexController, gather.ControllerOf)
	}
	b = b.WithIndex(&corev1.Pod{}, gather.IndexService, gather.ServiceOf).WithIndex(&networkingv1.Ingress{}, gather.IndexWay, gather.WaysOf)
	w.client = b.WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := note("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := note(sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := note("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
	}).Build()
	settings := gather.NewSettings("kserve", "")
	_, err := settings.Take(shipped(tb))
	require.NoError(tb, err)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(tb, err)
	kinds := &gather.Kinds{}
	w.Reconciler = &Reconciler{
		Client: w.client, Live: w.client, Settings: settings, Events: w.events, Metrics: metrics, Log: zap.NewNop(),
		Gather: &gather.Gatherer{Cache: w.client, Live: w.client, Kinds: kinds},
		Apply:  &apply.Applier{Client: w.client, Live: w.client, Kinds: kinds},
		Now:    func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	return w
}

func shipped(tb testing.TB) *corev1.ConfigMap {
	tb.Helper()
	cm := &corev1.ConfigMap{}
	require.NoError(tb, yaml.Unmarshal(deploy.Config(), cm))
	return cm
}

func sklearn(changes ...func(*servingv1beta1.InferenceService)) *servingv1beta1.InferenceService {
	uri := "gs://b/m"
	svc := &servingv1beta1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{
			Name: name.Name, Namespace: name.Namespace, UID: "1", Generation: 1, Finalizers: []string{serving.FinalizerInferenceService},
			Annotations: map[string]string{serving.AnnotationDeploymentMode: string(serving.Standard)},
		},
	}
	svc.Spec.Predictor.Model = &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}
	svc.Spec.Predictor.Model.StorageURI = &uri
	for _, change := range changes {
		change(svc)
	}
	return svc
}

// pass reconciles once, as if nothing were known of the pass before, and returns what was written.
func (w *world) pass(tb testing.TB) []string {
	tb.Helper()
	w.writes = nil
	w.settled = settled{}
	_, err := w.Reconcile(tb.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(tb, err)
	slices.Sort(w.writes)
	return w.writes
}

func (w *world) service(tb testing.TB) *servingv1beta1.InferenceService {
	tb.Helper()
	svc := &servingv1beta1.InferenceService{}
	require.NoError(tb, w.client.Get(tb.Context(), name, svc))
	return svc
}

func (w *world) deploymentReady(tb testing.TB) {
	tb.Helper()
	d := &appsv1.Deployment{}
	require.NoError(tb, w.client.Get(tb.Context(), client.ObjectKey{Namespace: "ns", Name: "m-predictor"}, d))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
	}}
	require.NoError(tb, w.client.Status().Update(tb.Context(), d))
}

func TestObjectsThenRouteThenNothing(t *testing.T) {
	w := newWorld(t, sklearn())
	require.Equal(t, []string{"patch m-predictor", "patch m-predictor", "patch m-predictor", "status m"}, w.pass(t))
	require.Empty(t, w.pass(t))
	w.deploymentReady(t)
	require.Equal(t, []string{"patch m", "status m"}, w.pass(t))
	require.Equal(t, corev1.ConditionTrue, w.service(t).Status.Condition(serving.ConditionReady).Status)
	require.Empty(t, w.pass(t))

	w.Apply = &apply.Applier{Client: w.client, Live: w.client, Kinds: w.Gather.Kinds}
	require.Empty(t, w.pass(t), "a process that remembers nothing writes nothing")
}

func TestTheFinalizerIsAddedWhereAdmissionDidNot(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) { s.Finalizers = nil }))
	require.Equal(t, []string{"patch m"}, w.pass(t))
	require.Equal(t, []string{serving.FinalizerInferenceService}, w.service(t).Finalizers)
	require.Len(t, w.pass(t), 4)
}

func TestDeletionLetsGo(t *testing.T) {
	tm := &servingv1alpha1.TrainedModel{ObjectMeta: metav1.ObjectMeta{Name: "tm", Namespace: "ns", Labels: map[string]string{serving.LabelTrainedModelParent: "m"}}}
	other := &servingv1alpha1.TrainedModel{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "ns", Labels: map[string]string{serving.LabelTrainedModelParent: "n"}}}
	w := newWorld(t, sklearn(), tm, other)
	w.pass(t)
	require.NoError(t, w.client.Delete(t.Context(), w.service(t)))
	require.Equal(t, []string{"delete tm", "patch m"}, w.pass(t))
	require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), name, &servingv1beta1.InferenceService{})))
	require.Empty(t, w.pass(t))
}

func TestWhatSlippedPastAdmissionIsBlockedAndTold(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) {
		s.Spec.Predictor.MinReplicas, s.Spec.Predictor.MaxReplicas = new(int32(5)), 2
	}))
	require.Equal(t, []string{"status m"}, w.pass(t))
	c := w.service(t).Status.Condition(servingv1beta1.PredictorReady)
	require.Equal(t, corev1.ConditionFalse, c.Status)
	require.Contains(t, c.Message, "spec.predictor")
	require.Empty(t, w.pass(t), "no loop")
}

func TestWithoutGoodSettingsNothingHappens(t *testing.T) {
	w := newWorld(t, sklearn())
	w.Settings = gather.NewSettings("kserve", "")
	require.Equal(t, []string{"status m"}, w.pass(t), "but that a new service is told why")
	c := w.service(t).Status.Condition(serving.ConditionReady)
	require.Equal(t, "InvalidSettings", c.Reason)
	require.Contains(t, c.Message, "inferenceservice-config was not read yet")
	require.Empty(t, w.pass(t))
	broken := shipped(t)
	broken.Data["ingress"] = "{"
	_, err := w.Settings.Take(broken)
	require.Error(t, err)
	require.Equal(t, []string{"status m"}, w.pass(t))
	require.Contains(t, w.service(t).Status.Condition(serving.ConditionReady).Message, "ingress")
	_, err = w.Settings.Take(shipped(t))
	require.NoError(t, err)
	w.pass(t)
	require.Equal(t, "MinimumReplicasUnavailable", w.service(t).Status.Condition(serving.ConditionReady).Reason)
	w.Settings = gather.NewSettings("kserve", "")
	require.Empty(t, w.pass(t), "a service that has been looked at keeps its status")
}

func TestAServiceThatCannotBeMadeTellsOfSettingsThatAreNotInForce(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.Runtime = new("nobody-has-it") }))
	w.pass(t)
	before := w.service(t).Status.Condition(serving.ConditionReady).Message
	require.NotContains(t, before, "inferenceservice-config")
	broken := shipped(t)
	broken.Data["ingress"] = "{"
	_, err := w.Settings.Take(broken)
	require.Error(t, err)
	require.Equal(t, []string{"status m"}, w.pass(t))
	told := w.service(t).Status.Condition(serving.ConditionReady).Message
	require.Contains(t, told, "nobody-has-it")
	require.Contains(t, told, "ConfigMap inferenceservice-config cannot be used as it is now")
	require.Empty(t, w.pass(t))
	_, err = w.Settings.Take(shipped(t))
	require.NoError(t, err)
	w.pass(t)
	require.Equal(t, before, w.service(t).Status.Condition(serving.ConditionReady).Message)
}

func TestAServiceWhoseHostAnotherClaimsSaysSoOnce(t *testing.T) {
	w := newWorld(t, sklearn())
	w.pass(t)
	w.deploymentReady(t)
	w.pass(t)
	other := &networkingv1.Ingress{}
	require.NoError(t, w.client.Get(t.Context(), name, other))
	other = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "n", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Name: "n", UID: "2", Controller: new(true),
	}}}, Spec: other.Spec}
	require.NoError(t, w.client.Create(t.Context(), other))
	drain(w.events)
	require.Equal(t, []string{"status m"}, w.pass(t))
	svc := w.service(t)
	require.Equal(t, corev1.ConditionTrue, svc.Status.Condition(serving.ConditionReady).Status)
	c := svc.Status.Condition(servingv1beta1.HostUnique)
	require.Equal(t, corev1.ConditionFalse, c.Status)
	require.Contains(t, c.Message, "InferenceService n in namespace other")
	require.Len(t, drain(w.events), 1)
	require.Empty(t, w.pass(t))
	require.Empty(t, drain(w.events))
	require.NoError(t, w.client.Delete(t.Context(), other))
	w.pass(t)
	require.Nil(t, w.service(t).Status.Condition(servingv1beta1.HostUnique))
}

func drain(r *record.FakeRecorder) []string {
	var all []string
	for {
		select {
		case e := <-r.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

func TestErrorsOfTheAPIServer(t *testing.T) {
	kind := schema.GroupResource{Resource: "deployments"}
	cases := map[string]struct {
		err     error
		again   time.Duration
		isError bool
		says    string
	}{
		"a refused object is told and tried again much later": {err: apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "m-predictor", nil), again: retryRefused, says: "is invalid"},
		"a quota is tried again soon":                         {err: apierrors.NewForbidden(kind, "m-predictor", errors.New("exceeded quota: q")), isError: true, says: "exceeded quota"},
		"a server that is down is tried again soon":           {err: apierrors.NewInternalError(errors.New("failed calling webhook x")), isError: true, says: "failed calling webhook x"},
		"a conflict is no error":                              {err: apierrors.NewConflict(kind, "m-predictor", errors.New("changed")), again: firstCalm, says: "does not exist yet"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, sklearn())
			w.fail = func(verb string, o client.Object) error {
				if _, ok := o.(*appsv1.Deployment); ok && verb == "patch" {
					return c.err
				}
				return nil
			}
			res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
			require.Equal(t, c.isError, err != nil, "%v", err)
			if c.again != 0 {
				require.Equal(t, c.again, res.RequeueAfter)
			}
			require.Contains(t, w.service(t).Status.Condition(servingv1beta1.PredictorReady).Message, c.says)
			require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-predictor"}, &corev1.Service{}), "the other objects are made all the same")
			w.fail = nil
			require.Contains(t, w.pass(t), "patch m-predictor")
		})
	}
}

func TestAStatusThatSomeoneElseWroteFirstIsTriedAgain(t *testing.T) {
	w := newWorld(t, sklearn())
	w.fail = func(verb string, o client.Object) error {
		if verb == "status" {
			return apierrors.NewConflict(schema.GroupResource{Resource: "inferenceservices"}, o.GetName(), errors.New("changed"))
		}
		return nil
	}
	res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(t, err)
	require.Equal(t, firstCalm, res.RequeueAfter)
	require.Empty(t, w.events.Events, "what was not written is not told")
}

func TestLeftoversStayUntilWhatReplacesThemIsThere(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Name = "one" }))
	w.pass(t)
	svc := w.service(t)
	svc.Spec.Predictor.Name = "two"
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.fail = func(verb string, o client.Object) error {
		if _, ok := o.(*appsv1.Deployment); ok && verb == "patch" {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, o.GetName(), nil)
		}
		return nil
	}
	w.pass(t)
	old := client.ObjectKey{Namespace: "ns", Name: "m-one-predictor"}
	require.NoError(t, w.client.Get(t.Context(), old, &appsv1.Deployment{}))
	w.fail = nil
	w.pass(t)
	require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), old, &appsv1.Deployment{})))
	require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), old, &corev1.Service{})))
}

// TestObjectsAreWrittenBesideEachOther holds every write back until four have come, so that none is done before others have begun, and no fifth may
// come beside them. Scalers wait for what they scale. Some fail, and the others are made.
func TestObjectsAreWrittenBesideEachOther(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) {
		s.Spec.Transformer = &servingv1beta1.TransformerSpec{PodSpec: servingv1beta1.PodSpec{Containers: []corev1.Container{{Name: "kserve-container", Image: "i"}}}}
	}))
	var mu sync.Mutex
	arrived, inFlight, most := 0, 0, 0
	var deployed, scaled []string
	enough := make(chan struct{})
	w.Apply.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			mu.Lock()
			inFlight++
			most = max(most, inFlight)
			if arrived++; arrived == 4 {
				close(enough)
			}
			mu.Unlock()
			select {
			case <-enough:
			case <-time.After(10 * time.Second):
				return errors.New("no other write came beside this one")
			}
			time.Sleep(50 * time.Millisecond) // for a fifth to come, if one could
			mu.Lock()
			defer mu.Unlock()
			inFlight--
			switch o.(type) {
			case *corev1.Service:
				return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, o.GetName(), errors.New("quota"))
			case *appsv1.Deployment:
				deployed = append(deployed, o.GetName())
			case *autoscalingv2.HorizontalPodAutoscaler:
				require.Len(t, deployed, 2, "scalers come after what they scale")
				scaled = append(scaled, o.GetName())
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.Error(t, err)
	require.Equal(t, 4, most)
	require.Zero(t, inFlight)
	want := []string{"m-predictor", "m-transformer"}
	require.ElementsMatch(t, want, deployed)
	require.ElementsMatch(t, want, scaled)
	for _, name := range want {
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &autoscalingv2.HorizontalPodAutoscaler{}))
	}
	require.Contains(t, w.service(t).Status.Condition(servingv1beta1.PredictorReady).Message, "quota")
}

// TestAPanicOfAWriteEndsItsPassOnly shows that it comes out where controller-runtime catches it.
func TestAPanicOfAWriteEndsItsPassOnly(t *testing.T) {
	w := newWorld(t, sklearn())
	w.Apply.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			panic("of a write")
		},
	})
	defer func() {
		require.Contains(t, recover(), "of a write\ngoroutine")
		w.Apply.Client = w.client
		require.Contains(t, w.pass(t), "patch m-predictor", "the next pass is none the worse")
	}()
	_, _ = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	t.Error("it did not panic")
}

// BenchmarkUnchanged is a pass over a service whose world is as it should be: gather, plan, render, compare, observe. Its reads are
// answered by copies in memory, as the cache does.
func BenchmarkUnchanged(b *testing.B) {
	w := newWorld(b, sklearn())
	w.pass(b)
	w.deploymentReady(b)
	w.pass(b)
	require.Empty(b, w.pass(b))
	held := newHeld(b, w)
	for label, forget := range map[string]func(*Reconciler){
		"nothing has changed":                 func(*Reconciler) {},
		"what was changed is no reason":       func(r *Reconciler) { r.settled.forget("1") },
		"nothing is known, as at a new start": func(r *Reconciler) { r.settled.forget("1"); r.Apply.Forget("1") },
	} {
		b.Run(label, func(b *testing.B) {
			r := &Reconciler{
				Client: held, Live: held, Settings: w.Settings, Events: w.events, Metrics: w.Metrics, Log: w.Log, Now: w.Now,
				Gather: &gather.Gatherer{Cache: held, Live: held, Kinds: w.Gather.Kinds},
				Apply:  &apply.Applier{Client: held, Live: held, Kinds: w.Gather.Kinds},
			}
			b.ReportAllocs()
			for b.Loop() {
				forget(r)
				if _, err := r.Reconcile(b.Context(), ctrl.Request{NamespacedName: name}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// held answers reads with what a world had at one moment, and fails on a write.
type held struct {
	client.Client
	service     *servingv1beta1.InferenceService
	deployments appsv1.DeploymentList
	services    corev1.ServiceList
	scalers     autoscalingv2.HorizontalPodAutoscalerList
	ingresses   networkingv1.IngressList
	runtimes    servingv1alpha1.ClusterServingRuntimeList
}

func newHeld(b *testing.B, w *world) *held {
	b.Helper()
	h := &held{service: w.service(b)}
	for _, list := range []client.ObjectList{&h.deployments, &h.services, &h.scalers, &h.ingresses, &h.runtimes} {
		require.NoError(b, w.client.List(b.Context(), list))
	}
	return h
}

func (h *held) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	svc, ok := o.(*servingv1beta1.InferenceService)
	if !ok {
		return errors.New("only the service is read by its name")
	}
	h.service.DeepCopyInto(svc)
	return nil
}

func (h *held) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *appsv1.DeploymentList:
		list.Items = h.deployments.Items
	case *corev1.ServiceList:
		list.Items = h.services.Items
	case *autoscalingv2.HorizontalPodAutoscalerList:
		list.Items = h.scalers.Items
	case *networkingv1.IngressList:
		list.Items = h.ingresses.Items
	case *servingv1alpha1.ClusterServingRuntimeList:
		list.Items = h.runtimes.Items
	}
	return nil
}
