// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// admit applies defaults and validation to an input, as the webhooks would.
func (w *world) admit(kind string, d doc) error {
	if kind != servingv1beta1.InferenceServiceKind {
		return nil
	}
	svc, err := decode[servingv1beta1.InferenceService](d)
	if err != nil {
		return fmt.Errorf("read InferenceService: %w", err)
	}
	svc.Namespace = namespace
	svc.Generation = 1
	if w.service != nil {
		svc.Generation = w.service.Generation
		if text(svc.Spec) != text(w.service.Spec) {
			svc.Generation++
		}
		svc.Status = w.service.Status
	}
	temporary(svc, w.settings)
	w.service = svc
	return nil
}

func temporary(svc *servingv1beta1.InferenceService, st *settings.Settings) {
	if svc.Annotations == nil {
		svc.Annotations = map[string]string{}
	}
	if m, ok := svc.Annotations[serving.AnnotationDeploymentMode]; ok {
		if mode, ok := serving.ParseDeploymentMode(m); ok {
			svc.Annotations[serving.AnnotationDeploymentMode] = string(mode)
		}
	} else if st.Deploy.DefaultMode != serving.Knative {
		svc.Annotations[serving.AnnotationDeploymentMode] = string(st.Deploy.DefaultMode)
	}
	if m := svc.Spec.Predictor.Model; m != nil {
		if _, ok := svc.Annotations["modelFormat"]; !ok {
			svc.Annotations["modelFormat"] = m.ModelFormat.Name
		}
	}
	name := func(cs []corev1.Container) {
		if len(cs) > 0 {
			if cs[0].Name == "" || len(cs) == 1 {
				cs[0].Name = "kserve-container"
			}
			r := st.Service.Resource
			for _, e := range []struct {
				l    *corev1.ResourceList
				k, v string
			}{{&cs[0].Resources.Limits, "cpu", r.CPULimit}, {&cs[0].Resources.Limits, "memory", r.MemoryLimit}, {&cs[0].Resources.Requests, "cpu", r.CPURequest}, {&cs[0].Resources.Requests, "memory", r.MemoryRequest}} {
				if *e.l == nil {
					*e.l = corev1.ResourceList{}
				}
				if _, ok := (*e.l)[corev1.ResourceName(e.k)]; !ok && e.v != "" {
					(*e.l)[corev1.ResourceName(e.k)] = settings.Quantity(e.v)
				}
			}
		}
	}
	if svc.Spec.Predictor.Model == nil {
		name(svc.Spec.Predictor.Containers)
	}
	if t := svc.Spec.Transformer; t != nil {
		name(t.Containers)
	}
	if t := svc.Spec.Explainer; t != nil {
		name(t.Containers)
	}
}
