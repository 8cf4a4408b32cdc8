// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podmutation gives the pods of InferenceServices what their annotations ask for: the model, the agent, metrics. It reads
// each thing by its name, when a pod comes, and writes nothing but the patch.
//
// Called by: control/admit.
// Next: control/render/podspec, which knows what a pod gets; control/gather, which reads credentials.
package podmutation

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Mutator answers for pods.
type Mutator struct {
	// Settings are the operator's as they are now, or the reason why there are none.
	Settings func() (*settings.Settings, error)
	// Live asks the API server.
	Live client.Reader
}

// Pod answers for the creation of a pod.
func (m *Mutator) Pod(ctx context.Context, request *admissionv1.AdmissionRequest) review.Answer {
	if request.Operation != admissionv1.Create || request.SubResource != "" {
		return review.Allowed()
	}
	var before corev1.Pod
	if err := review.Object(request.Object.Raw, &before); err != nil {
		return review.Unread(err)
	}
	if _, ours := before.Labels[serving.LabelInferenceService]; !ours {
		return review.Allowed()
	}
	st, err := m.Settings()
	if err != nil {
		return review.Failed(http.StatusServiceUnavailable, err)
	}
	admission, err := m.read(ctx, &before, request.Namespace, st)
	if err != nil {
		return failed(err)
	}
	after := before.DeepCopy()
	if err := podspec.Inject(after, *admission); err != nil {
		return review.Failed(http.StatusBadRequest, err)
	}
	patch, err := review.Patch(request.Object.Raw, &before, after)
	if err != nil {
		return review.Failed(http.StatusInternalServerError, err)
	}
	return review.Answer{Patch: patch}
}

// failed says why something could not be read: whoever makes the pod tries again.
func failed(err error) review.Answer {
	var blocked *plan.Blocked
	switch {
	case errors.As(err, &blocked):
		return review.Failed(http.StatusBadRequest, err)
	case apierrors.IsForbidden(err):
		return review.Failed(http.StatusForbidden, fmt.Errorf("%w: the webhook's own role lacks the permission", err))
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return review.Failed(http.StatusGatewayTimeout, fmt.Errorf("%w: the API server did not answer in time; the pod is tried again", err))
	}
	return review.Failed(http.StatusServiceUnavailable, err)
}

// read gets what the pod's annotations make necessary, and nothing else.
func (m *Mutator) read(ctx context.Context, pod *corev1.Pod, namespace string, st *settings.Settings) (*podspec.Admission, error) {
	a := &podspec.Admission{Settings: st, Namespace: namespace, Around: &plan.Surroundings{}}
	n := podspec.NeedsOf(pod, st)
	if n.Logger {
		logger, err := m.predictorLogger(ctx, namespace, pod.Labels[serving.LabelInferenceService])
		if err != nil {
			return nil, err
		}
		a.PredictorLogger = logger
	}
	if n.Account {
		around, err := m.surroundings(ctx, pod, a, n)
		if err != nil {
			return nil, err
		}
		a.Around = around
	}
	if n.StorageContainers {
		var list servingv1alpha1.ClusterStorageContainerList
		if err := m.Live.List(ctx, &list); err != nil {
			return nil, fmt.Errorf("list the ClusterStorageContainers, one of which may bring the model: %w", err)
		}
		a.Around.StorageContainers = list.Items
	}
	return a, nil
}

// surroundings reads service accounts and secrets by name.
//
// +kubebuilder:rbac:groups="",resources=serviceaccounts;secrets,verbs=get
// +kubebuilder:rbac:groups=serving.kserve.io,resources=clusterstoragecontainers,verbs=list
func (m *Mutator) surroundings(ctx context.Context, pod *corev1.Pod, a *podspec.Admission, n podspec.Needs) (*plan.Surroundings, error) {
	names := gather.Names{Namespace: a.Namespace, ServiceAccounts: []string{orDefault(pod.Spec.ServiceAccountName)}}
	named := pod.Annotations[a.Settings.Credentials.StorageSecretAnnotation]
	if named != "" {
		names.Secrets = append(names.Secrets, named)
	}
	if n.StorageSpec && named == "" {
		names.Secrets = append(names.Secrets, a.Settings.Credentials.StorageSpecSecret)
	}
	if account := podspec.LoggerAccount(a.PredictorLogger, a.Settings); n.Logger && account != "" && account != names.ServiceAccounts[0] {
		names.ServiceAccounts = append(names.ServiceAccounts, account)
	}
	around, err := gather.Surroundings(ctx, m.Live, names)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of the pod in namespace %s: %w", a.Namespace, err)
	}
	return around, nil
}

func orDefault(account string) string {
	if account == "" {
		return "default"
	}
	return account
}

// predictorLogger reads the logger of the pod's service, whose store settings hold for every component. A service that has gone has none.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=inferenceservices,verbs=get
func (m *Mutator) predictorLogger(ctx context.Context, namespace, name string) (*servingv1beta1.LoggerSpec, error) {
	var svc servingv1beta1.InferenceService
	switch err := m.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &svc); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read InferenceService %s/%s, which says where the logger stores: %w", namespace, name, err)
	}
	return svc.Spec.Predictor.Logger, nil
}
