// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// writeStatus sends what changed of the status, if anything, and only if nobody has changed the service since it was read. It returns the
// version that the service has then.
func (r *Reconciler) writeStatus(ctx context.Context, svc *servingv1beta1.InferenceService, status *servingv1beta1.InferenceServiceStatus) (string, error) {
	if equality.Semantic.DeepEqual(&svc.Status, status) {
		return svc.ResourceVersion, nil
	}
	before, after := outline(svc), outline(svc)
	before.Status, after.Status = svc.Status, *status
	patch, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		return "", fmt.Errorf("write the status: %w", err)
	}
	// Of the answer only the version is of interest: asked for the metadata alone, the server sends no service that would be read again here.
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: svc.Name, Namespace: svc.Namespace}}
	answer.SetGroupVersionKind(servingv1beta1.SchemeGroupVersion.WithKind(servingv1beta1.InferenceServiceKind))
	if err := r.Client.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return "", fmt.Errorf("write the status: %w", err)
	}
	r.Metrics.wrote(servingv1beta1.InferenceServiceKind, "status")
	if status.DeploymentMode == serving.Standard {
		// Nothing that is decided in this mode depends on the status, so the event of this write is no news.
		r.own.set(svc.UID, written{base: svc.ResourceVersion, version: answer.ResourceVersion, status: status})
	}
	return answer.ResourceVersion, nil
}

// outline is a service with nothing but its identity.
func outline(svc *servingv1beta1.InferenceService) *servingv1beta1.InferenceService {
	return &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{
		Name: svc.Name, Namespace: svc.Namespace, UID: svc.UID, ResourceVersion: svc.ResourceVersion, Finalizers: slices.Clone(svc.Finalizers),
	}}
}

// holdOn sees to it that a service has the finalizer, which the defaulting webhook gives it at its creation. When it had to be added, this
// pass is over: the change of the service starts the next.
func (r *Reconciler) holdOn(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings) (done bool, err error) {
	if hasFinalizer(svc) || svc.Spec.Transformer == nil && modeOf(svc, st) == serving.ModelMesh {
		return false, nil
	}
	return true, r.setFinalizer(ctx, svc, true)
}

func modeOf(svc *servingv1beta1.InferenceService, st *settings.Settings) serving.DeploymentMode {
	if mode, ok := serving.ParseDeploymentMode(string(svc.Status.DeploymentMode)); ok {
		return mode
	}
	if mode, ok := serving.ParseDeploymentMode(svc.Annotations[serving.AnnotationDeploymentMode]); ok {
		return mode
	}
	return st.Deploy.DefaultMode
}

func hasFinalizer(svc *servingv1beta1.InferenceService) bool {
	return slices.Contains(svc.Finalizers, serving.FinalizerInferenceService)
}

func (r *Reconciler) setFinalizer(ctx context.Context, svc *servingv1beta1.InferenceService, present bool) error {
	before, after := outline(svc), outline(svc)
	after.Finalizers = slices.DeleteFunc(after.Finalizers, func(f string) bool { return f == serving.FinalizerInferenceService })
	if present {
		after.Finalizers = append(after.Finalizers, serving.FinalizerInferenceService)
	}
	if err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the finalizer: %w", err)
	}
	r.Metrics.wrote(servingv1beta1.InferenceServiceKind, "finalizer")
	return nil
}

// deleteModels deletes the TrainedModels of a service. They belong to it by a label.
func (r *Reconciler) deleteModels(ctx context.Context, svc *servingv1beta1.InferenceService) error {
	var models servingv1alpha1.TrainedModelList
	err := r.Live.List(ctx, &models, client.InNamespace(svc.Namespace), client.MatchingLabels{serving.LabelTrainedModelParent: svc.Name})
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil // the cluster does not have the kind, or has it no longer
	}
	if err != nil {
		return fmt.Errorf("list trained models: %w", err)
	}
	for i := range models.Items {
		if models.Items[i].DeletionTimestamp != nil {
			continue
		}
		if err := r.Client.Delete(ctx, &models.Items[i], client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete trained model %s: %w", models.Items[i].Name, err)
		}
	}
	return nil
}

// versions remembers which service has which name, and which versions of services this process wrote itself.
type versions struct {
	mu    sync.Mutex
	by    map[types.UID]written
	names map[types.NamespacedName]types.UID
}

// written is a version of a service that this process made of another by writing the status. The status is kept until the cache has it.
type written struct {
	base, version string
	status        *servingv1beta1.InferenceServiceStatus
}

func (v *versions) set(uid types.UID, w written) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by = map[types.UID]written{}
	}
	v.by[uid] = w
}

// catchUp makes of a service that the cache had before this process's last write the one after it. Otherwise a pass that comes soon after
// another would decide from the former status, and its own write would end in a conflict.
func (v *versions) catchUp(svc *servingv1beta1.InferenceService) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w := v.by[svc.UID]; w.status != nil && w.base == svc.ResourceVersion {
		svc.ResourceVersion, svc.Status = w.version, *w.status.DeepCopy()
	}
}

// named records who has a name now, nobody for an empty UID. It returns who had it before, if that one is gone.
func (v *versions) named(name types.NamespacedName, now types.UID) (before types.UID, gone bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before, known := v.names[name]
	if known && before == now {
		return "", false
	}
	delete(v.by, before)
	if now == "" {
		delete(v.names, name)
		return before, known
	}
	if v.names == nil {
		v.names = map[types.NamespacedName]types.UID{}
	}
	v.names[name] = now
	return before, known
}

// Wrote says that a version of a service is the outcome of this process's own status write, and that nothing follows from it.
func (r *Reconciler) Wrote(svc client.Object) bool {
	r.own.mu.Lock()
	defer r.own.mu.Unlock()
	w, ok := r.own.by[svc.GetUID()]
	if !ok || w.version != svc.GetResourceVersion() {
		return false
	}
	w.status = nil // the cache has it now
	r.own.by[svc.GetUID()] = w
	return true
}
