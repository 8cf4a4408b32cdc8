// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/loose"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// The part of a Knative Service that is written here.
type (
	ksvcSpec struct {
		Template ksvcTemplate            `json:"template"`
		Traffic  []serving.TrafficTarget `json:"traffic,omitempty"`
	}
	ksvcTemplate struct {
		Metadata ksvcTemplateMeta `json:"metadata"`
		Spec     revisionSpec     `json:"spec"`
	}
	ksvcTemplateMeta struct {
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	revisionSpec struct {
		servingv1beta1.PodSpec      `json:",inline"`
		ContainerConcurrency        *int64 `json:"containerConcurrency,omitempty"`
		TimeoutSeconds              *int64 `json:"timeoutSeconds,omitempty"`
		ResponseStartTimeoutSeconds *int64 `json:"responseStartTimeoutSeconds,omitempty"`
	}
)

// knativeService is the component as a Knative Service. Knative names its revisions itself.
func knativeService(p *plan.Plan, c *plan.Component, pod corev1.PodSpec, st *settings.Settings) (*unstructured.Unstructured, error) {
	annotations := autoscaling(c)
	own := map[string]string{}
	for key, value := range annotations {
		if isKnative(key) {
			own[key] = value
			delete(annotations, key)
		}
	}
	if len(own) == 0 {
		own = nil
	}
	labels, startTimeout := c.Labels, c.TimeoutSeconds
	if c.Role == "" { // the router of a graph
		labels, startTimeout = p.Owner.Labels, nil
	}
	spec := ksvcSpec{
		Template: ksvcTemplate{
			Metadata: ksvcTemplateMeta{Labels: plan.Without(c.Labels, st.DisallowedLabels()), Annotations: annotations},
			Spec: revisionSpec{
				PodSpec: servingv1beta1.PodSpec(pod), ContainerConcurrency: c.Concurrency,
				TimeoutSeconds: c.TimeoutSeconds, ResponseStartTimeoutSeconds: startTimeout,
			},
		},
		Traffic: c.Traffic,
	}
	return loose.Object(metav1.TypeMeta{APIVersion: "serving.knative.dev/v1", Kind: "Service"},
		metav1.ObjectMeta{Name: c.Name, Labels: maps.Clone(labels), Annotations: own}, spec)
}
