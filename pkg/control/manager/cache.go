// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// cacheOptions keep the cache to what belongs to services: memory grows with them, not with the cluster. The namespace is the operator's,
// where its settings are; of services it holds those of some namespaces, or of all.
func cacheOptions(namespace string, some []string) cache.Options {
	var only map[string]cache.Config
	for _, name := range some {
		if only == nil {
			only = map[string]cache.Config{}
		}
		only[name] = cache.Config{}
	}
	s := &shared{}
	ours := cache.ByObject{Label: hasLabel(serving.LabelInferenceService), Transform: s.after(keepOurs)}
	bare := cache.ByObject{Transform: s.after(withoutManagers)}
	return cache.Options{
		DefaultTransform:  s.after(keepOurs),
		DefaultNamespaces: only,
		// What is not watched on purpose is an error, not another watch.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&servingv1beta1.InferenceService{}:         bare,
			&servingv1alpha1.ServingRuntime{}:          bare,
			&servingv1alpha1.ClusterServingRuntime{}:   bare,
			&servingv1alpha1.ClusterStorageContainer{}: bare,
			&appsv1.Deployment{}:                       ours,
			&corev1.Service{}:                          ours,
			&autoscalingv2.HorizontalPodAutoscaler{}:   ours,
			// Ingresses and the optional kinds carry the labels of their service or none: what is not ours is kept as a name only.
			&networkingv1.Ingress{}: {Transform: s.after(keepOurs)},
			&corev1.Pod{}:           {Label: hasLabel(serving.LabelInferenceService), Transform: s.after(keepStatus)},
			&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{namespace: {
				FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, settings.ConfigMapName),
			}}, Transform: withoutManagers},
			crdMetadata(): {Transform: keepName},
		},
	}
}

func hasLabel(name string) labels.Selector {
	r, err := labels.NewRequirement(name, selection.Exists, nil)
	if err != nil {
		return labels.Nothing() // impossible: the name is a constant
	}
	return labels.NewSelector().Add(*r)
}

// crdMetadata is how CustomResourceDefinitions are watched.
func crdMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
}

func withoutManagers(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// keepOurs keeps an object of ours whole, but of the records of managers only our own: applying needs that one. Of objects of others the
// name stays.
func keepOurs(o any) (any, error) {
	m, ok := o.(metav1.Object)
	if !ok {
		return o, nil
	}
	if ref := metav1.GetControllerOfNoCopy(m); ref != nil && strings.HasPrefix(ref.APIVersion, serving.GroupName+"/") {
		if u, ok := o.(*unstructured.Unstructured); ok {
			apply.KeepOwn(u)
			return u, nil
		}
		own := ourFields(m.GetManagedFields())
		for i := range own {
			if f := own[i].FieldsV1; f != nil {
				own[i].FieldsV1 = metav1.NewFieldsV1(string(apply.WithoutOwner(f.GetRawBytes(), m)))
			}
		}
		m.SetManagedFields(own)
		return o, nil
	}
	switch o := o.(type) {
	case *networkingv1.Ingress:
		return &networkingv1.Ingress{TypeMeta: o.TypeMeta, ObjectMeta: identity(o)}, nil
	case *unstructured.Unstructured:
		bare := &unstructured.Unstructured{Object: map[string]any{}}
		bare.SetGroupVersionKind(o.GroupVersionKind())
		bare.SetName(o.GetName())
		bare.SetNamespace(o.GetNamespace())
		bare.SetUID(o.GetUID())
		bare.SetResourceVersion(o.GetResourceVersion())
		return bare, nil
	}
	m.SetManagedFields(nil)
	return o, nil
}

func ourFields(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range all {
		if all[i].Manager == plan.FieldManager && all[i].Operation == metav1.ManagedFieldsOperationApply {
			return []metav1.ManagedFieldsEntry{all[i]}
		}
	}
	return nil
}

func identity(m metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion()}
}

func keepName(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: identity(m)}, nil
}

// keepStatus keeps of a pod what its service's status is made from.
func keepStatus(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	kept := &corev1.Pod{ObjectMeta: identity(pod), Status: pod.Status}
	kept.Labels, kept.OwnerReferences = pod.Labels, pod.OwnerReferences
	kept.CreationTimestamp, kept.DeletionTimestamp = pod.CreationTimestamp, pod.DeletionTimestamp
	kept.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates,
		Containers: outlines(pod.Spec.Containers), InitContainers: outlines(pod.Spec.InitContainers),
	}
	for i := range pod.Spec.Volumes {
		if v := pod.Spec.Volumes[i]; v.Secret != nil || v.ConfigMap != nil || v.PersistentVolumeClaim != nil {
			kept.Spec.Volumes = append(kept.Spec.Volumes, v)
		}
	}
	return kept, nil
}

func outlines(all []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, 0, len(all))
	for i := range all {
		c := &all[i]
		kept = append(kept, corev1.Container{
			Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy,
			ReadinessProbe: c.ReadinessProbe, LivenessProbe: c.LivenessProbe, StartupProbe: c.StartupProbe,
		})
	}
	return kept
}

// doNotWait asks for what a cache has now.
func doNotWait() cache.InformerGetOption { return cache.BlockUntilSynced(false) }

// unfollowed logs which kind cannot be followed and why, at most once a minute for each: what follows it tries again by itself.
func unfollowed(log *zap.Logger) toolscache.WatchErrorHandlerWithContext {
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(_ context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return // as every watch ends now and then
		}
		kind := r.TypeDescription()
		mu.Lock()
		told := time.Since(last[kind]) < time.Minute
		if !told {
			last[kind] = time.Now()
		}
		mu.Unlock()
		if told {
			return
		}
		hint := ""
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			hint = "; the controller's role needs list and watch on it"
		}
		log.Warn("cannot follow "+kind+hint, zap.Error(err))
	}
}
