// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// ServiceDefaults is what the operator decides for InferenceServices that do not. The caller adds the local models that it knows.
func (s *Settings) ServiceDefaults() servingv1beta1.Defaults {
	r := s.Service.Resource
	return servingv1beta1.Defaults{
		Mode:                  s.Deploy.DefaultMode,
		ARTVersion:            s.Explainers.ART.DefaultVersion,
		NoServiceAccountToken: !s.Security.AutoMountToken,
		LocalModels:           servingv1beta1.LocalModels{Enabled: s.LocalModel.Enabled},
		Resources: corev1.ResourceRequirements{
			Limits:   resourceList(r.CPULimit, r.MemoryLimit),
			Requests: resourceList(r.CPURequest, r.MemoryRequest),
		},
	}
}

func resourceList(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if q, err := quantity.Parse(text); err == nil {
			list[name] = q
		}
	}
	return list
}

// ServiceRules is what validation of an InferenceService has to know. Hosts are those that the service would get (resolve.Hosts).
func (s *Settings) ServiceRules(containers []servingv1alpha1.ClusterStorageContainer, hosts servingv1beta1.Hosts) servingv1beta1.Rules {
	rules := servingv1beta1.Rules{
		Mode: s.Deploy.DefaultMode, GPUResources: s.MultiNode.GPUResources, NoOCI: s.Storage.OCI() == OCIDisabled, Hosts: hosts,
		NoTimeout: s.noTimeout(), NoSplit: s.NoSplit(), NoMeasurements: s.CanaryAnalysis.Address == "", NoOwnQueries: s.CanaryAnalysis.DisableOwnQueries,
	}
	for i := range containers {
		if c := &containers[i]; c.Disabled == nil || !*c.Disabled {
			rules.StorageFormats = append(rules.StorageFormats, c.Spec.SupportedURIFormats...)
		}
	}
	return rules
}

// noTimeout says why the time of requests is not limited in Standard mode; empty where it is.
func (s *Settings) noTimeout() string {
	switch in := &s.Ingress; {
	case in.DisableCreation:
		return "the operator makes no routes (ingress.disableIngressCreation); limit the time where your own routes are"
	case !in.EnableGatewayAPI:
		return "an Ingress does not limit the time of a request; ask the operator for the Gateway API (ingress.enableGatewayApi), or remove it"
	case in.DisableHTTPRouteTimeout:
		return "the operator has switched limits off (ingress.disableHTTPRouteTimeout); remove it"
	}
	return ""
}
