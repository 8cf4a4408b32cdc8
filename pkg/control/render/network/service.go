// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network makes components reachable: Services inside the cluster, Ingress, HTTPRoutes or a VirtualService from outside.
//
// Called by: pkg/control/render.
// Next: pkg/control/render, which stamps and sorts what is made here.
package network

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

const (
	clusterPort = handoff.ServicePort
	h2c         = "kubernetes.io/h2c"
)

// Services are the Services of one component in Standard mode.
func Services(p *plan.Plan, c *plan.Component, meta metav1.ObjectMeta, st *settings.Settings) []plan.Object {
	s := service(meta)
	s.Spec.Selector = map[string]string{serving.LabelApp: names.App(c.Name)}
	s.Spec.Ports = ports(c)
	if st.ClusterService.Headless {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
	objects := []plan.Object{s}
	if w := c.Workers; w != nil {
		objects = append(objects,
			nodes(w.HeadService, names.App(c.Name), serving.MultiNodeHead, meta, p.Owner.Generation),
			nodes(w.Service, names.App(c.Name+"-worker"), serving.MultiNodeWorker, meta, p.Owner.Generation))
	}
	return objects
}

func service(meta metav1.ObjectMeta) *corev1.Service {
	return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: *meta.DeepCopy()}
}

// ports are those of the container that takes requests. The first is port 80, whatever the container calls it.
func ports(c *plan.Component) []corev1.ServicePort {
	declared := c.Front().Ports
	list := make([]corev1.ServicePort, 0, max(len(declared), 1))
	for i, p := range declared {
		sp := corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, TargetPort: intstr.FromInt32(p.ContainerPort), Protocol: p.Protocol}
		if i == 0 {
			sp.Port = clusterPort
		}
		if sp.Protocol == "" {
			sp.Protocol = corev1.ProtocolTCP
		}
		if plan.IsGRPC(p.Name) {
			protocol := h2c
			sp.AppProtocol = &protocol
		}
		list = append(list, sp)
	}
	if len(list) == 0 {
		list = append(list, corev1.ServicePort{Name: c.Name, Port: clusterPort, TargetPort: intstr.FromInt32(handoff.HTTPPort), Protocol: corev1.ProtocolTCP})
	}
	if c.Sidecar {
		list[0].TargetPort = intstr.FromInt32(handoff.AgentPort)
	}
	return list
}

// nodes is the headless Service by which the nodes of one generation find each other before they are ready.
func nodes(name, app, role string, meta metav1.ObjectMeta, generation int64) *corev1.Service {
	s := service(meta)
	s.Name = name
	s.Labels = maps.Clone(s.Labels)
	s.Labels[serving.LabelMultiNodeRole] = role
	s.Spec = corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
		Selector: map[string]string{serving.LabelApp: app, serving.LabelGeneration: strconv.FormatInt(generation, 10)},
	}
	return s
}
