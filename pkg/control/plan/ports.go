// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// h2c is how a Service says that HTTP/2, and so gRPC, is spoken in clear text.
const h2c = "kubernetes.io/h2c"

// ServicePorts are the ports of the component's Service: those of the container that takes requests. The first is port 80, whatever the container
// calls it. A Service wants what a container may leave out: a name where there are several ports, and no number twice.
func (c *Component) ServicePorts() []corev1.ServicePort {
	declared := c.Front().Ports
	list := make([]corev1.ServicePort, 0, max(len(declared), 1))
	for _, p := range declared {
		sp := corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, TargetPort: intstr.FromInt32(p.ContainerPort), Protocol: p.Protocol}
		if sp.Protocol == "" {
			sp.Protocol = corev1.ProtocolTCP
		}
		if slices.ContainsFunc(list, func(o corev1.ServicePort) bool { return o.Protocol == sp.Protocol && o.TargetPort == sp.TargetPort }) {
			continue // said twice
		}
		switch {
		case len(list) == 0:
			sp.Port = handoff.ServicePort
		case sp.Port == handoff.ServicePort:
			sp.Port = handoff.HTTPPort // the first port has that number
		}
		for slices.ContainsFunc(list, func(o corev1.ServicePort) bool { return o.Protocol == sp.Protocol && o.Port == sp.Port }) {
			sp.Port++
		}
		if IsGRPC(p.Name) {
			sp.AppProtocol = new(h2c)
		}
		list = append(list, sp)
	}
	if len(list) == 0 {
		list = append(list, corev1.ServicePort{Name: c.Name, Port: handoff.ServicePort, TargetPort: intstr.FromInt32(handoff.HTTPPort), Protocol: corev1.ProtocolTCP})
	}
	if len(list) > 1 {
		nameAll(list)
	}
	if c.Sidecar {
		list[0].TargetPort = intstr.FromInt32(handoff.AgentPort)
	}
	return list
}

// nameAll gives ports without a name one that no other has.
func nameAll(list []corev1.ServicePort) {
	for i := range list {
		if list[i].Name != "" {
			continue
		}
		name := strings.ToLower(string(list[i].Protocol)) + "-" + list[i].TargetPort.String()
		for slices.ContainsFunc(list, func(o corev1.ServicePort) bool { return o.Name == name }) {
			name += "-x"
		}
		list[i].Name = name
	}
}

// Ports are the ports of the component's Service by which HTTP and gRPC are spoken; one of the two may be nil. gRPC is spoken where the port's
// name says so.
func (c *Component) Ports() (rest, grpc *corev1.ServicePort) {
	list := c.ServicePorts()
	for i := range list {
		switch p := &list[i]; {
		case p.Protocol != corev1.ProtocolTCP:
		case p.AppProtocol != nil && grpc == nil:
			grpc = p
		case p.AppProtocol == nil && rest == nil:
			rest = p
		}
	}
	if rest == nil && grpc == nil {
		rest = &list[0]
	}
	return rest, grpc
}

// IsGRPC tells by the name of a port whether gRPC is spoken there.
func IsGRPC(port string) bool { return strings.Contains(port, "grpc") || strings.Contains(port, "h2c") }
