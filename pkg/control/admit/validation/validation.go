// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation refuses objects that could not work, and says what is odd about others. Nothing that is being deleted is refused.
//
// Called by: control/admit.
// Next: apis/serving/{v1beta1,v1alpha1}, which know the rules.
package validation

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Validator answers for every kind.
type Validator struct {
	// Settings are the operator's as they are now, or the reason why there are none.
	Settings func() (*settings.Settings, error)
	// StorageContainers are those of the cluster as far as they are known. They belong to the cache.
	StorageContainers func() []servingv1alpha1.ClusterStorageContainer
	// Live asks the API server.
	Live client.Reader
}

// object is what every kind here has.
type object[T any] interface {
	*T
	metav1.Object
}

// checks are the rules of one kind. old is nil when the object is new.
type checks[T any] func(ctx context.Context, now, old *T) (field.ErrorList, []serving.Warning, error)

// kindOf makes a handler of a kind's rules.
func kindOf[T any, P object[T]](name string, check checks[T]) review.Handler {
	kind := schema.GroupKind{Group: serving.GroupName, Kind: name}
	return func(ctx context.Context, request *admissionv1.AdmissionRequest) review.Answer {
		if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
			return review.Allowed()
		}
		now, old, unseen := new(T), (*T)(nil), error(nil)
		unknown, err := review.StrictObject(request.Object.Raw, now)
		if err != nil {
			return review.Unread(err)
		}
		if P(now).GetDeletionTimestamp() != nil {
			return review.Allowed()
		}
		if request.Operation == admissionv1.Update {
			old = new(T)
			if unseen = review.Stored(request.OldObject.Raw, old); unseen != nil {
				old = nil // stored while nobody looked at it
			}
		}
		if P(now).GetNamespace() == "" {
			P(now).SetNamespace(request.Namespace)
		}
		faults, warnings, err := check(ctx, now, old)
		if err != nil {
			return review.Failed(http.StatusServiceUnavailable, err)
		}
		answer := review.Checked(kind, P(now).GetName(), faults, warnings)
		if unseen != nil {
			answer.Warnings = append(answer.Warnings, review.Cut("the object is judged as a new one, because the stored one cannot be read: "+unseen.Error(), 256))
		}
		answer.Unknown(unknown, review.FieldValidation(request), reflect.TypeFor[T]())
		return answer
	}
}

// judged is a verdict for which nothing had to be read that could not be.
func judged(faults field.ErrorList, warnings []serving.Warning) (field.ErrorList, []serving.Warning, error) {
	return faults, warnings, nil
}

// Service answers for InferenceServices.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=clusterstoragecontainers,verbs=list
func (v *Validator) Service() review.Handler {
	return kindOf(servingv1beta1.InferenceServiceKind, func(ctx context.Context, now, old *servingv1beta1.InferenceService) (field.ErrorList, []serving.Warning, error) {
		st, err := v.Settings()
		if err != nil {
			return nil, nil, err
		}
		check := func(containers []servingv1alpha1.ClusterStorageContainer) (field.ErrorList, []serving.Warning) {
			rules := st.ServiceRules(containers, resolve.Hosts(now, st))
			if old != nil {
				return now.ValidateUpdate(old, rules)
			}
			return now.Validate(rules)
		}
		faults, warnings := check(v.StorageContainers())
		if len(faults) == 0 {
			return faults, warnings, nil
		}
		// The storage container that the service needs may have been made a moment ago, so a refusal is made on the API server's word.
		var list servingv1alpha1.ClusterStorageContainerList
		if err := v.Live.List(ctx, &list); err != nil {
			return nil, nil, fmt.Errorf("list the ClusterStorageContainers, which say what sources there are: %w", err)
		}
		return judged(check(list.Items))
	})
}

// Runtime answers for ServingRuntimes, which are compared with the others of their namespace. They are read from the API server
// itself: of two that are made one after the other, the second has to see the first.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=servingruntimes;clusterservingruntimes,verbs=list
func (v *Validator) Runtime() review.Handler {
	return kindOf(servingv1alpha1.ServingRuntimeKind, func(ctx context.Context, now, old *servingv1alpha1.ServingRuntime) (field.ErrorList, []serving.Warning, error) {
		rules := servingv1alpha1.RuntimeRules{GPUResources: v.gpus(), Others: map[string]servingv1alpha1.ServingRuntimeSpec{}}
		if !now.Spec.IsDisabled() {
			var list servingv1alpha1.ServingRuntimeList
			if err := v.Live.List(ctx, &list, client.InNamespace(now.Namespace)); err != nil {
				return nil, nil, fmt.Errorf("list the ServingRuntimes of namespace %s, whose priorities must differ: %w", now.Namespace, err)
			}
			for i := range list.Items {
				rules.Others[list.Items[i].Name] = list.Items[i].Spec
			}
		}
		if old != nil {
			return judged(now.ValidateUpdate(old, rules))
		}
		return judged(now.Validate(rules))
	})
}

// ClusterRuntime answers for ClusterServingRuntimes, which are compared with each other.
func (v *Validator) ClusterRuntime() review.Handler {
	return kindOf(servingv1alpha1.ClusterServingRuntimeKind, func(ctx context.Context, now, old *servingv1alpha1.ClusterServingRuntime) (field.ErrorList, []serving.Warning, error) {
		rules := servingv1alpha1.RuntimeRules{GPUResources: v.gpus(), Others: map[string]servingv1alpha1.ServingRuntimeSpec{}}
		if !now.Spec.IsDisabled() {
			var list servingv1alpha1.ClusterServingRuntimeList
			if err := v.Live.List(ctx, &list); err != nil {
				return nil, nil, fmt.Errorf("list the ClusterServingRuntimes, whose priorities must differ: %w", err)
			}
			for i := range list.Items {
				rules.Others[list.Items[i].Name] = list.Items[i].Spec
			}
		}
		if old != nil {
			return judged(now.ValidateUpdate(old, rules))
		}
		return judged(now.Validate(rules))
	})
}

// gpus are the operator's names of GPUs; without settings the built-in ones have to do, so that runtimes can be installed first.
func (v *Validator) gpus() []string {
	st, err := v.Settings()
	if err != nil {
		return nil
	}
	return st.MultiNode.GPUResources
}

// Graph answers for InferenceGraphs.
func (v *Validator) Graph() review.Handler {
	return kindOf(servingv1alpha1.InferenceGraphKind, func(_ context.Context, now, old *servingv1alpha1.InferenceGraph) (field.ErrorList, []serving.Warning, error) {
		if old != nil {
			return judged(now.ValidateUpdate(old))
		}
		return judged(now.Validate())
	})
}

// TrainedModel answers for TrainedModels.
func (v *Validator) TrainedModel() review.Handler {
	return kindOf(servingv1alpha1.TrainedModelKind, func(_ context.Context, now, old *servingv1alpha1.TrainedModel) (field.ErrorList, []serving.Warning, error) {
		if old != nil {
			return judged(now.ValidateUpdate(old))
		}
		return now.Validate(), nil, nil
	})
}

// StorageContainer answers for ClusterStorageContainers.
func (v *Validator) StorageContainer() review.Handler {
	return kindOf(servingv1alpha1.ClusterStorageContainerKind, func(_ context.Context, now, old *servingv1alpha1.ClusterStorageContainer) (field.ErrorList, []serving.Warning, error) {
		if old != nil {
			return judged(now.ValidateUpdate(old))
		}
		return now.Validate(), nil, nil
	})
}
