// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package defaulting fills in what an InferenceService leaves open, as a patch of what was sent.
//
// Called by: control/admit.
// Next: apis/serving/v1beta1, whose SetDefaults knows what is filled in.
package defaulting

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Settings are the operator's as they are now, or the reason why there are none.
type Settings func() (*settings.Settings, error)

// Caches are the local model caches that a service of a namespace can use, those of the namespace first.
type Caches func(ctx context.Context, namespace string) ([]servingv1beta1.LocalModelCache, error)

// Service answers for InferenceServices. caches may be nil where there are none.
func Service(current Settings, caches Caches) review.Handler {
	return func(ctx context.Context, request *admissionv1.AdmissionRequest) review.Answer {
		if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
			return review.Allowed()
		}
		var before servingv1beta1.InferenceService
		if err := review.Object(request.Object.Raw, &before); err != nil {
			return review.Unread(err)
		}
		if before.DeletionTimestamp != nil {
			return review.Allowed()
		}
		st, err := current()
		if err != nil {
			return review.Failed(http.StatusServiceUnavailable, err)
		}
		after := before.DeepCopy()
		if request.Operation == admissionv1.Create {
			after.Status = servingv1beta1.InferenceServiceStatus{} // of another cluster; an API server drops it too
		} else {
			follow(after, request.OldObject.Raw)
		}
		defaults := st.ServiceDefaults()
		if defaults.LocalModels.Enabled && caches != nil {
			if defaults.LocalModels.Caches, err = caches(ctx, request.Namespace); err != nil {
				return review.Failed(http.StatusServiceUnavailable, err)
			}
		}
		after.SetDefaults(defaults)
		after.Status = before.Status
		if request.Operation == admissionv1.Create {
			finalizer(after)
		}
		patch, err := patch(request.Object.Raw, &before, after)
		if err != nil {
			return review.Failed(http.StatusInternalServerError, err)
		}
		return review.Answer{Patch: patch}
	}
}

// follow takes from the stored service what SetDefaults cannot know: the mode that it runs in, because a replaced object comes without its
// status, and whether the annotation that tells the model's format is one that was filled in for the format as it was.
func follow(svc *servingv1beta1.InferenceService, oldRaw []byte) {
	if len(oldRaw) == 0 {
		return
	}
	var old struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			Predictor struct {
				Model *struct {
					ModelFormat struct {
						Name string `json:"name"`
					} `json:"modelFormat"`
				} `json:"model"`
			} `json:"predictor"`
		} `json:"spec"`
		Status struct {
			DeploymentMode string `json:"deploymentMode"`
		} `json:"status"`
	}
	if json.Unmarshal(oldRaw, &old) != nil {
		return
	}
	if svc.Status.DeploymentMode == "" {
		svc.Status.DeploymentMode = serving.DeploymentMode(old.Status.DeploymentMode)
	}
	filled := old.Metadata.Annotations[serving.AnnotationModelFormat]
	if m := old.Spec.Predictor.Model; m != nil && filled != "" && filled == m.ModelFormat.Name && svc.Annotations[serving.AnnotationModelFormat] == filled {
		delete(svc.Annotations, serving.AnnotationModelFormat)
	}
}

// finalizer saves the controller the write that would add it. What ModelMesh keeps is not ours to clean up.
func finalizer(svc *servingv1beta1.InferenceService) {
	if svc.Annotations[serving.AnnotationDeploymentMode] == string(serving.ModelMesh) && svc.Spec.Transformer == nil {
		return
	}
	if !slices.Contains(svc.Finalizers, serving.FinalizerInferenceService) {
		svc.Finalizers = append(svc.Finalizers, serving.FinalizerInferenceService)
	}
}

// patch is the difference. A model that moves from an older field takes along what this version does not know of it.
func patch(raw []byte, before, after *servingv1beta1.InferenceService) ([]review.Operation, error) {
	steps, err := review.Patch(raw, before, after)
	if err != nil || before.Spec.Predictor.Model != nil {
		return steps, err
	}
	frameworks := before.Spec.Predictor.Frameworks()
	from := slices.IndexFunc(frameworks, func(f servingv1beta1.Framework) bool { return *f.Spec != nil })
	moved := slices.IndexFunc(steps, func(s review.Operation) bool { return s.Path == "/spec/predictor/model" })
	if from < 0 || moved < 0 {
		return steps, nil
	}
	var sent, known map[string]any
	if err := review.Object(raw, &sent); err != nil {
		return nil, err
	}
	text, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("write the service: %w", err)
	}
	if err := review.Object(text, &known); err != nil {
		return nil, err
	}
	if model, ok := steps[moved].Value.(map[string]any); ok {
		field := []string{"spec", "predictor", frameworks[from].Name}
		addUnknown(model, child(sent, field...), child(known, field...))
	}
	return steps, nil
}

func child(tree map[string]any, path ...string) map[string]any {
	for _, key := range path {
		tree, _ = tree[key].(map[string]any)
	}
	return tree
}

// addUnknown copies what was sent and is not known.
func addUnknown(to, sent, known map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		old, isKnown := known[key]
		if !isKnown {
			if _, taken := to[key]; !taken {
				to[key] = sent[key]
			}
			continue
		}
		into, a := to[key].(map[string]any)
		from, b := sent[key].(map[string]any)
		was, c := old.(map[string]any)
		if a && b && c {
			addUnknown(into, from, was)
		}
	}
}
