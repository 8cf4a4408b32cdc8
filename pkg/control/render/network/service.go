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

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// clusterPort is the first port of every component's Service.
const clusterPort = handoff.ServicePort

// Services are the Services of one component in Standard mode.
func Services(p *plan.Plan, c *plan.Component, meta metav1.ObjectMeta, st *settings.Settings) []plan.Object {
	s := service(meta)
	s.Spec.Selector = map[string]string{serving.LabelApp: names.App(c.Name)}
	s.Spec.Ports = c.ServicePorts()
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
