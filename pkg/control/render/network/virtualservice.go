// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"maps"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/loose"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// The part of an Istio VirtualService that is written here.
type (
	vsSpec struct {
		Hosts    []string  `json:"hosts"`
		Gateways []string  `json:"gateways"`
		HTTP     []vsRoute `json:"http"`
	}
	vsRoute struct {
		Match   []vsMatch       `json:"match"`
		Rewrite *vsRewrite      `json:"rewrite,omitempty"`
		Headers vsHeaders       `json:"headers"`
		Route   []vsDestination `json:"route"`
	}
	vsMatch struct {
		URI       *vsText  `json:"uri,omitempty"`
		Authority *vsText  `json:"authority,omitempty"`
		Gateways  []string `json:"gateways"`
	}
	vsText struct {
		Exact  string `json:"exact,omitempty"`
		Prefix string `json:"prefix,omitempty"`
		Regex  string `json:"regex,omitempty"`
	}
	vsRewrite struct {
		URI      string          `json:"uri,omitempty"`
		URIRegex *vsRegexRewrite `json:"uriRegexRewrite,omitempty"`
	}
	vsRegexRewrite struct {
		Match   string `json:"match"`
		Rewrite string `json:"rewrite"`
	}
	vsHeaders struct {
		Request vsHeaderChange `json:"request"`
	}
	vsHeaderChange struct {
		Set map[string]string `json:"set"`
	}
	vsDestination struct {
		Destination vsHost `json:"destination"`
		Weight      int    `json:"weight"`
	}
	vsHost struct {
		Host string `json:"host"`
		Port vsPort `json:"port"`
	}
	vsPort struct {
		Number int `json:"number"`
	}
)

const explainTail = `/v1/models/[\w-]+:explain`

// Mesh routes the hosts of a service in Knative mode to its components: an alias Service inside the cluster, and a VirtualService.
func Mesh(p *plan.Plan, st *settings.Settings, withVirtualService bool) ([]plan.Object, error) {
	alias := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Owner.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: st.Ingress.LocalGatewayService, SessionAffinity: corev1.ServiceAffinityNone},
	}
	if !withVirtualService {
		return []plan.Object{alias}, nil
	}
	vs, err := loose.Object(metav1.TypeMeta{APIVersion: "networking.istio.io/v1beta1", Kind: "VirtualService"},
		metav1.ObjectMeta{Name: p.Owner.Name, Labels: maps.Clone(p.Owner.Labels), Annotations: plan.Without(p.Owner.Annotations, st.DisallowedAnnotations())},
		mesh{p, st}.spec())
	if err != nil {
		return nil, err
	}
	return []plan.Object{alias, vs}, nil
}

type mesh struct {
	p  *plan.Plan
	st *settings.Settings
}

func (m mesh) spec() vsSpec {
	in, route := &m.st.Ingress, &m.p.Route
	internal := m.clusterHost(m.p.Owner.Name)
	s := vsSpec{Hosts: []string{internal}, Gateways: []string{in.LocalGateway, "mesh"}}
	if !route.Internal {
		s.Hosts = append(s.Hosts, route.Host)
		s.Gateways = append(s.Gateways, in.IngressGateway)
	}
	if route.Path != "" {
		s.Hosts = append(s.Hosts, in.Domain)
	}
	if !route.Internal {
		s.Hosts = append(s.Hosts, route.MoreHosts...)
	}
	entry, explainer := m.p.Entry(), m.p.Component(serving.Explainer)
	if explainer != nil {
		s.HTTP = append(s.HTTP, m.to(explainer, m.matches(&vsText{Regex: "^" + explainTail + "$"}), nil))
	}
	s.HTTP = append(s.HTTP, m.to(entry, m.matches(nil), nil))
	if route.Path == "" {
		return s
	}
	shared := func(uri vsText) vsMatch {
		return vsMatch{URI: &uri, Authority: authority(in.Domain), Gateways: []string{in.IngressGateway}}
	}
	if explainer != nil {
		pattern := route.Path + "(" + explainTail + ")$"
		s.HTTP = append(s.HTTP, m.to(explainer, []vsMatch{shared(vsText{Regex: pattern})}, &vsRewrite{URIRegex: &vsRegexRewrite{Match: pattern, Rewrite: `\1`}}))
	}
	s.HTTP = append(s.HTTP, m.to(entry, []vsMatch{shared(vsText{Prefix: route.Path + "/"}), shared(vsText{Exact: route.Path})}, &vsRewrite{URI: "/"}))
	return s
}

func (m mesh) clusterHost(name string) string {
	return name + "." + m.p.Owner.Namespace + ".svc." + m.st.ClusterDomain
}

func (m mesh) matches(uri *vsText) []vsMatch {
	in, route := &m.st.Ingress, &m.p.Route
	list := []vsMatch{{URI: uri, Authority: authority(m.clusterHost(m.p.Owner.Name)), Gateways: []string{in.LocalGateway, "mesh"}}}
	if route.Internal {
		return list
	}
	for _, host := range append([]string{route.Host}, route.MoreHosts...) {
		list = append(list, vsMatch{URI: uri, Authority: authority(host), Gateways: []string{in.IngressGateway}})
	}
	return list
}

// authority matches a host with or without a port.
func authority(host string) *vsText {
	return &vsText{Regex: "^" + regexp.QuoteMeta(host) + `(?::\d{1,5})?$`}
}

func (m mesh) to(c *plan.Component, matches []vsMatch, rewrite *vsRewrite) vsRoute {
	return vsRoute{
		Match: matches, Rewrite: rewrite,
		Headers: vsHeaders{Request: vsHeaderChange{Set: map[string]string{
			"Host": m.clusterHost(c.Name), headerName: m.p.Owner.Name, headerNS: m.p.Owner.Namespace,
		}}},
		Route: []vsDestination{{Destination: vsHost{Host: m.st.Ingress.KnativeLocalGatewayService, Port: vsPort{Number: clusterPort}}, Weight: 100}},
	}
}
