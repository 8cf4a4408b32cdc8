// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func TestPortsOfAServiceAreOnesThatKubernetesTakes(t *testing.T) {
	cases := map[string]struct {
		ports   []corev1.ContainerPort
		sidecar bool
		want    string
	}{
		"none":                                {nil, false, "m:80/TCP->8080"},
		"none, with an agent":                 {nil, true, "m:80/TCP->9081"},
		"one without a name":                  {[]corev1.ContainerPort{{ContainerPort: 5000}}, false, ":80/TCP->5000"},
		"two without names":                   {[]corev1.ContainerPort{{ContainerPort: 5000}, {ContainerPort: 6000}}, false, "tcp-5000:80/TCP->5000 tcp-6000:6000/TCP->6000"},
		"the agent takes the first only":      {[]corev1.ContainerPort{{Name: "http", ContainerPort: 5000}, {Name: "grpc", ContainerPort: 6000}}, true, "http:80/TCP->9081 grpc:6000/TCP->6000 h2c"},
		"said twice":                          {[]corev1.ContainerPort{{Name: "a", ContainerPort: 5000}, {Name: "b", ContainerPort: 5000}}, false, "a:80/TCP->5000"},
		"one number, two protocols":           {[]corev1.ContainerPort{{Name: "a", ContainerPort: 5000}, {Name: "b", ContainerPort: 5000, Protocol: corev1.ProtocolUDP}}, false, "a:80/TCP->5000 b:5000/UDP->5000"},
		"a second 80":                         {[]corev1.ContainerPort{{Name: "a", ContainerPort: 5000}, {Name: "b", ContainerPort: 80}}, false, "a:80/TCP->5000 b:8080/TCP->80"},
		"a second 80, and 8080 is taken":      {[]corev1.ContainerPort{{Name: "a", ContainerPort: 5000}, {Name: "c", ContainerPort: 8080}, {Name: "b", ContainerPort: 80}}, false, "a:80/TCP->5000 c:8080/TCP->8080 b:8081/TCP->80"},
		"a name that would be given is taken": {[]corev1.ContainerPort{{Name: "tcp-6000", ContainerPort: 5000}, {ContainerPort: 6000}}, false, "tcp-6000:80/TCP->5000 tcp-6000-x:6000/TCP->6000"},
		"the first is 80":                     {[]corev1.ContainerPort{{Name: "a", ContainerPort: 80}, {Name: "b", ContainerPort: 81}}, false, "a:80/TCP->80 b:81/TCP->81"},
		"HTTP/2 is told by the name":          {[]corev1.ContainerPort{{Name: "h2c", ContainerPort: 9000}}, false, "h2c:80/TCP->9000 h2c"},
		"a second 80 of UDP has its own 80":   {[]corev1.ContainerPort{{Name: "a", ContainerPort: 5000, Protocol: corev1.ProtocolTCP}, {Name: "b", ContainerPort: 81, Protocol: corev1.ProtocolUDP}}, false, "a:80/TCP->5000 b:81/UDP->81"},
		"names are kept where there are some": {[]corev1.ContainerPort{{Name: "a", ContainerPort: 5000}, {ContainerPort: 6000}}, false, "a:80/TCP->5000 tcp-6000:6000/TCP->6000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			component := plan.Component{Name: "m", Sidecar: c.sidecar, Pod: corev1.PodSpec{Containers: []corev1.Container{{Name: "kserve-container", Ports: c.ports}}}}
			var got []string
			for _, p := range component.ServicePorts() {
				text := fmt.Sprintf("%s:%d/%s->%s", p.Name, p.Port, p.Protocol, p.TargetPort.String())
				if p.AppProtocol != nil {
					text += " " + strings.TrimPrefix(*p.AppProtocol, "kubernetes.io/")
				}
				got = append(got, text)
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// FuzzServicePorts holds every list of container ports to what Kubernetes asks of the ports of a Service.
func FuzzServicePorts(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{80, 0, 80, 1, 81, 2, 80, 3}, false)
	f.Add([]byte{80, 1, 80, 1, 144, 0, 145, 0, 31, 2}, true)
	names := []string{"", "grpc", "http", "tcp-8080"}
	f.Fuzz(func(t *testing.T, raw []byte, sidecar bool) {
		var ports []corev1.ContainerPort
		for i := 0; i+1 < min(len(raw), 40); i += 2 {
			p := corev1.ContainerPort{ContainerPort: int32(raw[i])%100*81 + 80, Name: names[raw[i+1]%4]}
			if p.Name != "" && p.Name != "tcp-8080" {
				p.Name += fmt.Sprint("-", i) // a container has no name twice
			}
			if raw[i+1]&4 != 0 {
				p.Protocol = corev1.ProtocolUDP
			}
			if p.Name == "tcp-8080" && slices.ContainsFunc(ports, func(o corev1.ContainerPort) bool { return o.Name == p.Name }) {
				p.Name = ""
			}
			ports = append(ports, p)
		}
		c := plan.Component{Name: "m", Sidecar: sidecar, Pod: corev1.PodSpec{Containers: []corev1.Container{{Name: "kserve-container", Ports: ports}}}}
		got := c.ServicePorts()
		require.NotEmpty(t, got)
		require.Equal(t, int32(80), got[0].Port)
		seen := map[string]bool{}
		for _, p := range got {
			number := fmt.Sprint(p.Protocol, p.Port)
			require.False(t, seen[number], "%s twice in %+v", number, got)
			require.False(t, seen["name "+p.Name], "%q twice in %+v", p.Name, got)
			require.True(t, p.Name != "" || len(got) == 1, "no name in %+v", got)
			require.True(t, p.Port > 0 && p.Port < 65536 && p.TargetPort.IntVal > 0)
			seen[number], seen["name "+p.Name] = true, true
		}
		rest, grpc := c.Ports()
		require.True(t, rest != nil || grpc != nil)
	})
}
