// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// replacement lets a component be ready while its workload takes the place of another, to which requests are led until it can answer: that
// of a predictor that was renamed, or whose canary was promoted before it had a pod.
func (o *observer) replacement(c *plan.Component, p *part) {
	if c.Canary != nil || p.status == corev1.ConditionTrue || !o.wasTrue(c) {
		return
	}
	before := o.replaced(c)
	if before == nil {
		return
	}
	if p.behind == nil && p.tell {
		p.behind = &finding{rank: rankSlow, reason: p.reason, message: p.message, weak: p.weak}
	}
	p.fact = fact{
		status: corev1.ConditionTrue, reason: ReasonReplacing,
		message: "Deployment " + before.Name + " serves until Deployment " + c.Name + " can take its place",
	}
	p.progress, p.replaces = "", true
	p.pods = append(p.pods[:len(p.pods):len(p.pods)], ofDeployment(o.podsOf(serving.LabelApp, names.App(before.Name)), before.Name)...)
}

// replaced is the Deployment that serves in the place of a component's own.
func (o *observer) replaced(c *plan.Component) *appsv1.Deployment {
	for _, d := range o.in.Children.Deployments {
		if d.Name != c.Name && serving.ComponentRole(d.Labels[serving.LabelComponent]) == c.Role && d.DeletionTimestamp.IsZero() &&
			d.Status.AvailableReplicas > 0 && o.in.Plan.RoleOf(d.Name) == "" && o.ledTo(d.Name) {
			return d
		}
	}
	return nil
}

// ledTo says that a route of the service leads to a Service.
func (o *observer) ledTo(service string) bool {
	for _, in := range o.in.Children.Ingresses {
		for i := range in.Spec.Rules {
			http := in.Spec.Rules[i].HTTP
			for j := 0; http != nil && j < len(http.Paths); j++ {
				if s := http.Paths[j].Backend.Service; s != nil && s.Name == service {
					return true
				}
			}
		}
	}
	for _, u := range o.in.Children.Optional {
		if !isHTTPRoute(u) {
			continue
		}
		if weight, _ := sharesOf(u, service); weight > 0 {
			return true
		}
	}
	return false
}

func isHTTPRoute(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == plan.HTTPRoute.GroupKind()
}
