// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// backend is a port of a Service.
type backend struct {
	namespace, service string
	port               networkingv1.ServiceBackendPort
}

// route is one path of one host.
type route struct {
	path  string
	exact bool
	to    backend
}

// table finds the backend of a request. It is built anew from all Ingresses and never changed.
type table struct {
	hosts map[string][]route // "" is any host, "*.example.com" any host one label below
	rest  *backend           // what no rule has, where an Ingress says so
}

// newTable puts the rules of all ingresses in the order in which they are tried: of two that match alike the older one wins.
func newTable(ingresses []*networkingv1.Ingress) *table {
	t := &table{hosts: map[string][]route{}}
	ingresses = slices.Clone(ingresses)
	slices.SortFunc(ingresses, func(a, b *networkingv1.Ingress) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, in := range ingresses {
		if d := in.Spec.DefaultBackend; d != nil && d.Service != nil && t.rest == nil {
			t.rest = &backend{in.Namespace, d.Service.Name, d.Service.Port}
		}
		for _, rule := range in.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			host := strings.ToLower(rule.Host)
			for _, p := range rule.HTTP.Paths {
				if p.Backend.Service == nil {
					continue
				}
				t.hosts[host] = append(t.hosts[host], route{
					path: cmp.Or(p.Path, "/"), exact: p.PathType != nil && *p.PathType == networkingv1.PathTypeExact,
					to: backend{in.Namespace, p.Backend.Service.Name, p.Backend.Service.Port},
				})
			}
		}
	}
	for _, routes := range t.hosts {
		slices.SortStableFunc(routes, func(a, b route) int {
			if a.exact != b.exact {
				if a.exact {
					return -1
				}
				return 1
			}
			return cmp.Compare(len(b.path), len(a.path))
		})
	}
	return t
}

// find returns the backend for a request to a host, which comes without port and in small letters, and whether any rule names its host.
func (t *table) find(host, path string) (to backend, found, knownHost bool) {
	candidates := []string{host}
	if _, parent, ok := strings.Cut(host, "."); ok {
		candidates = append(candidates, "*."+parent)
	}
	for _, h := range append(candidates, "") {
		routes, ok := t.hosts[h]
		knownHost = knownHost || ok
		for _, r := range routes {
			if r.matches(path) {
				return r.to, true, true
			}
		}
	}
	if t.rest != nil {
		return *t.rest, true, true
	}
	return backend{}, false, knownHost
}

// matches compares element by element: /a matches /a and /a/b, not /ab.
func (r route) matches(path string) bool {
	if r.exact {
		return path == r.path
	}
	prefix := strings.TrimSuffix(r.path, "/")
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}
