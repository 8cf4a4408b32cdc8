// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// isRoute tells what is made when the service can answer for the first time, and kept up from then on.
func isRoute(o plan.Object) bool {
	return plan.IsRoute(o.GetObjectKind().GroupVersionKind().GroupKind())
}

// everyComponentServed says that each component can answer, as far as its workload says. Status asks for more (control/observe): a pod that
// serves, a workload that has seen its last change. Here a workload that is scaled to zero counts, for a request may be what scales it up.
func everyComponentServed(p *plan.Plan, children *plan.Children) bool {
	for i := range p.Components {
		c := &p.Components[i]
		if c.Canary != nil {
			continue
		}
		if p.Mode != serving.Standard {
			if !ksvcReady(children.OptionalObject(plan.KnativeService.Group, plan.KnativeService.Kind, c.Name)) {
				return false
			}
			continue
		}
		if !available(children.Deployment(c.Name)) || c.Workers != nil && !available(children.Deployment(c.Workers.Name)) {
			return false
		}
	}
	return true
}

func available(d *appsv1.Deployment) bool {
	if d == nil {
		return false
	}
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == appsv1.DeploymentAvailable {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// serves says whether a workload can answer, with all of the pods that it is to have or with some.
func serves(d *appsv1.Deployment) bool {
	return available(d) || d != nil && d.Status.AvailableReplicas > 0
}

// relieves says that a component has the pods that it takes to leave another to itself: as many as the other has that serve, or as are wanted at
// least. A promoted canary has had a part of the requests only. Whoever scales it from outside knows best.
func relieves(p *plan.Plan, children *plan.Children, service, other string) bool {
	for i := range p.Components {
		c := &p.Components[i]
		if c.Name != service || c.Scale.Class == serving.AutoscalerExternal {
			continue
		}
		now, before := children.Deployment(service), children.Deployment(other)
		if now == nil || before == nil {
			return true // it has been seen to that routes lead to what serves
		}
		least := int32(1)
		if c.Scale.Min != nil {
			least = *c.Scale.Min
		}
		return now.Status.AvailableReplicas >= min(least, before.Status.AvailableReplicas)
	}
	return true
}

// wasCanary says that a workload was a canary predictor when the status was last written. Nothing is waited for to take requests from one: it
// may be what fails.
func wasCanary(svc *servingv1beta1.InferenceService, workload string) bool {
	return slices.ContainsFunc(svc.Status.CanaryStatuses, func(c servingv1beta1.CanaryStatus) bool {
		return names.Predictor(svc.Name, c.Name) == workload
	})
}

func ksvcReady(o *unstructured.Unstructured) bool {
	if o == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" {
			return m["status"] == "True"
		}
	}
	return false
}

// unlisted are the objects without our label that the service may have from a time when it was another: the alias of Knative mode and
// the list of models of a multi-model service.
func unlisted(p *plan.Plan, children *plan.Children) []plan.Object {
	var list []plan.Object
	if p.Mode != serving.Standard {
		list = append(list, &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: p.Owner.Name, Namespace: p.Owner.Namespace},
		})
	}
	for _, d := range children.Deployments {
		if d.Annotations[serving.AnnotationInternalConfigVolumeName] != "" {
			list = append(list, &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: names.ModelConfig(p.Owner.Name), Namespace: p.Owner.Namespace},
			})
			break
		}
	}
	return list
}
