// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// clash tells that requests to a host of the service may reach another one. Which of them answers, the gateway decides.
func (o *observer) clash() {
	if c := o.in.Clash; c != nil {
		o.conditions.put(servingv1beta1.HostUnique, fact{
			status: corev1.ConditionFalse, reason: ReasonHostClash, tell: true,
			message: fmt.Sprintf("host %s is that of InferenceService %s in namespace %s, too: requests to it may reach either; give one of them another name, or let ingress.domainTemplate tell them apart", c.Host, c.Name, c.Namespace),
		})
	}
}
