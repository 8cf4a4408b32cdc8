// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// watches are where the services to look at come from.
func (c *controllers) watches() []source.Source {
	kind := func(o client.Object, h handler.EventHandler) source.Source { return source.Kind(c.cache, o, h) }
	children := childHandler()
	list := []source.Source{
		kind(&servingv1beta1.InferenceService{}, c.serviceHandler()),
		kind(&appsv1.Deployment{}, children),
		kind(&corev1.Service{}, children),
		kind(&autoscalingv2.HorizontalPodAutoscaler{}, children),
		kind(&networkingv1.Ingress{}, c.routeHandler()),
		kind(&corev1.Pod{}, podHandler()),
		kind(&servingv1alpha1.ServingRuntime{}, c.runtimeHandler()),
		kind(&corev1.ConfigMap{}, c.settingsHandler()),
	}
	if c.sight.runtimes {
		list = append(list, kind(&servingv1alpha1.ClusterServingRuntime{}, c.runtimeHandler()))
	}
	if c.sight.containers {
		list = append(list, kind(&servingv1alpha1.ClusterStorageContainer{}, c.everyServiceHandler()))
	}
	return list
}

// watched are the kinds of watches.
func (c *controllers) watched() []client.Object {
	list := []client.Object{
		&servingv1beta1.InferenceService{}, &appsv1.Deployment{}, &corev1.Service{}, &autoscalingv2.HorizontalPodAutoscaler{},
		&networkingv1.Ingress{}, &corev1.Pod{}, &servingv1alpha1.ServingRuntime{}, &corev1.ConfigMap{},
	}
	if c.sight.runtimes {
		list = append(list, &servingv1alpha1.ClusterServingRuntime{})
	}
	if c.sight.containers {
		list = append(list, &servingv1alpha1.ClusterStorageContainer{})
	}
	return list
}

// kindName is the Go name of a kind, which is its own.
func kindName(o client.Object) string { return reflect.TypeOf(o).Elem().Name() }

// serviceHandler leaves out what this process wrote itself.
func (c *controllers) serviceHandler() handler.EventHandler {
	add := func(o client.Object, q queue) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectNew.GetResourceVersion() != e.ObjectOld.GetResourceVersion() && !c.services.Wrote(e.ObjectNew) {
				add(e.ObjectNew, q)
			}
		},
	}
}

// gathering is how long the events of a service's objects and pods wait for more. A workload that comes up or rolls writes its status, and
// those of its pods, many times in a moment, and one pass that has seen them all does for what would be a pass and a status for each.
const gathering = 100 * time.Millisecond

// childHandler finds the service of an object that it controls. The creation of one is no news: this process did it, and knows the outcome.
func childHandler() handler.EventHandler {
	add := func(o client.Object, q queue) {
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == servingv1beta1.InferenceServiceKind && strings.HasPrefix(ref.APIVersion, serving.GroupName+"/") {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}, gathering)
		}
	}
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if !matters(e.ObjectOld, e.ObjectNew) {
				return
			}
			add(e.ObjectNew, q)
			if owner(e.ObjectOld) != owner(e.ObjectNew) {
				add(e.ObjectOld, q)
			}
		},
	}
}

func owner(o client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return ref.UID
	}
	return ""
}

// matters leaves out changes that nothing is decided by: the counters that an autoscaler writes every few seconds.
func matters(before, after client.Object) bool {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	x, ok := before.(*autoscalingv2.HorizontalPodAutoscaler)
	y, also := after.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok || !also {
		return true
	}
	return !reflect.DeepEqual(x.Spec, y.Spec) || !reflect.DeepEqual(x.Labels, y.Labels) || !reflect.DeepEqual(x.Annotations, y.Annotations) ||
		!reflect.DeepEqual(x.OwnerReferences, y.OwnerReferences) || !reflect.DeepEqual(ourFields(x.ManagedFields), ourFields(y.ManagedFields)) ||
		!reflect.DeepEqual(states(x), states(y))
}

// states are the conditions of an autoscaler without their texts.
func states(h *autoscalingv2.HorizontalPodAutoscaler) map[autoscalingv2.HorizontalPodAutoscalerConditionType]string {
	m := map[autoscalingv2.HorizontalPodAutoscalerConditionType]string{}
	for i := range h.Status.Conditions {
		c := &h.Status.Conditions[i]
		m[c.Type] = string(c.Status) + " " + c.Reason
	}
	return m
}

// podHandler finds the service of a pod by its label.
func podHandler() handler.EventHandler {
	add := func(o client.Object, q queue) {
		if name := o.GetLabels()[serving.LabelInferenceService]; name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}, gathering)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				add(e.Object, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*corev1.Pod)
			after, also := e.ObjectNew.(*corev1.Pod)
			if ok && also && before.DeletionTimestamp.Equal(after.DeletionTimestamp) && reflect.DeepEqual(before.Status, after.Status) && reflect.DeepEqual(before.Labels, after.Labels) {
				return
			}
			add(e.ObjectNew, q)
		},
	}
}

// runtimeHandler finds the services that use a runtime, or could.
func (c *controllers) runtimeHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				c.users(ctx, q, e.Object)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { c.users(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := runtimeSpec(e.ObjectOld), runtimeSpec(e.ObjectNew)
			if before == nil || after == nil || !reflect.DeepEqual(before, after) {
				c.users(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
	}
}

func runtimeSpec(o client.Object) *servingv1alpha1.ServingRuntimeSpec {
	switch o := o.(type) {
	case *servingv1alpha1.ServingRuntime:
		return &o.Spec
	case *servingv1alpha1.ClusterServingRuntime:
		return &o.Spec
	}
	return nil
}

// users adds the services that a runtime, before and after a change, concerns.
func (c *controllers) users(ctx context.Context, q queue, runtimes ...client.Object) {
	var formats []string
	for _, r := range runtimes {
		if spec := runtimeSpec(r); spec != nil {
			for i := range spec.SupportedModelFormats {
				formats = append(formats, spec.SupportedModelFormats[i].Name)
			}
		}
	}
	name, namespace := runtimes[0].GetName(), runtimes[0].GetNamespace()
	c.eachService(ctx, namespace, q, func(svc *servingv1beta1.InferenceService) bool { return concerns(svc, name, formats) })
}

// concerns says that a service uses a runtime of the name, or would take one that supports one of the formats.
func concerns(svc *servingv1beta1.InferenceService, name string, formats []string) bool {
	if svc.Status.ServingRuntimeName == name || svc.Status.ClusterServingRuntimeName == name {
		return true
	}
	predictors := []*servingv1beta1.PredictorSpec{&svc.Spec.Predictor}
	for i := range svc.Spec.Canary {
		predictors = append(predictors, &svc.Spec.Canary[i].Predictor)
	}
	for _, p := range predictors {
		switch m := p.Model; {
		case m == nil && len(p.Containers) == 0: // a framework field of old, or a canary that says little
			return true
		case m == nil:
		case m.Runtime != nil:
			if *m.Runtime == name {
				return true
			}
		case m.ModelFormat.Name == "" || slices.Contains(formats, m.ModelFormat.Name):
			return true
		}
	}
	return false
}

// everyServiceHandler concerns all services.
func (c *controllers) everyServiceHandler() handler.EventHandler {
	all := func(ctx context.Context, q queue) { c.eachService(ctx, "", q, nil) }
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				all(ctx, q)
			}
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q queue) { all(ctx, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				all(ctx, q)
			}
		},
	}
}

// eachService adds the services of a namespace, or of all, that are wanted.
func (c *controllers) eachService(ctx context.Context, namespace string, q queue, wanted func(*servingv1beta1.InferenceService) bool) {
	var services servingv1beta1.InferenceServiceList
	if err := c.cache.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		c.log.Error("list services", zap.Error(err))
		return
	}
	for i := range services.Items {
		if svc := &services.Items[i]; wanted == nil || wanted(svc) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(svc)})
		}
	}
}
