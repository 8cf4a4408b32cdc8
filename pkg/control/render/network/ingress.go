// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Ingress routes the service's host to its entry, and each component's own host to the component.
func Ingress(p *plan.Plan, st *settings.Settings) *networkingv1.Ingress {
	rules := []networkingv1.IngressRule{rule(p.Route.Host, p.Entry().Name)}
	for _, role := range []serving.ComponentRole{serving.Transformer, serving.Explainer, serving.Predictor} {
		if c := p.Component(role); c != nil {
			rules = append(rules, rule(c.Host, c.Name))
		}
	}
	class := st.Ingress.ClassName
	if class != nil && *class == "" {
		class = nil // the cluster's default class; an empty name is refused
	}
	return &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Owner.Name, Annotations: plan.Without(p.Owner.Annotations, nil)},
		Spec:       networkingv1.IngressSpec{IngressClassName: class, Rules: rules},
	}
}

func rule(host, service string) networkingv1.IngressRule {
	prefix := networkingv1.PathTypePrefix
	return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: &prefix,
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: clusterPort}}},
		}},
	}}}
}
