// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// Clash is a host that a route of the service has, and one of another service has as well.
type Clash struct {
	Host string
	// Namespace and Name of the other service.
	Namespace, Name string
}

// clashes tells that requests to a host of the service may reach another one. Which of them answers, the gateway decides.
func (o *observer) clashes() {
	if len(o.in.Clashes) == 0 {
		return
	}
	first := slices.MinFunc(o.in.Clashes, func(a, b Clash) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	others := map[Clash]bool{}
	for _, c := range o.in.Clashes {
		others[Clash{Namespace: c.Namespace, Name: c.Name}] = true
	}
	message := fmt.Sprintf("host %s is that of InferenceService %s in namespace %s, too", first.Host, first.Name, first.Namespace)
	if len(others) > 1 {
		message += fmt.Sprintf(" (and of %d more services)", len(others)-1)
	}
	o.conditions.put(servingv1beta1.HostUnique, fact{
		status: corev1.ConditionFalse, reason: ReasonHostClash, tell: true,
		message: message + ": requests to it may reach either; give one another name, or let ingress.domainTemplate tell them apart",
	})
}
