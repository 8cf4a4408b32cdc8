// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
)

// route is one of the server's paths.
type route uint8

const (
	noRoute route = iota
	routeRoot
	routeMetrics
	routeOpenAPI
	routeDocs
	routeLivez
	routeReadyz
	routeV1Models
	routeV1Model
	routeV1Predict
	routeV1Explain
	routeV2Server
	routeV2Live
	routeV2Ready
	routeV2Models
	routeV2Model
	routeV2ModelReady
	routeV2Infer
	routeIndex
	routeLoad
	routeUnload
	routeCount
)

// target is what a path means.
type target struct {
	route         route
	name, version string
}

// method is the one method of a route besides HEAD, which goes with GET.
func (r route) method() string {
	switch r {
	case routeV1Predict, routeV1Explain, routeV2Infer, routeIndex, routeLoad, routeUnload:
		return "POST"
	default:
		return "GET"
	}
}

// predicts says that a model is asked to compute.
func (r route) predicts() bool {
	return r == routeV1Predict || r == routeV1Explain || r == routeV2Infer
}

func (r route) wire() wire {
	switch {
	case r >= routeV1Models && r <= routeV1Explain:
		return wireV1
	case r >= routeV2Server:
		return wireV2
	default:
		return wireOther
	}
}

// match reads a decoded path. It cleans nothing: a path with an empty or a dot segment is no route.
func (s *Server) match(path string) target {
	if rest, ok := strings.CutPrefix(path, "/v1/models"); ok {
		return matchV1(rest)
	}
	if rest, ok := strings.CutPrefix(path, "/v2"); ok {
		return matchV2(rest)
	}
	switch path {
	case "/":
		return target{route: routeRoot}
	case "/metrics":
		return target{route: routeMetrics}
	case "/openapi.json":
		return target{route: routeOpenAPI}
	case "/docs":
		if s.opts.Docs {
			return target{route: routeDocs}
		}
	case "/livez":
		return target{route: routeLivez}
	case "/readyz":
		return target{route: routeReadyz}
	}
	return target{}
}

func matchV1(rest string) target {
	if rest == "" {
		return target{route: routeV1Models}
	}
	name, ok := segment(rest)
	if !ok {
		return target{}
	}
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		switch name[i+1:] {
		case "predict":
			return target{route: routeV1Predict, name: name[:i]}
		case "explain":
			return target{route: routeV1Explain, name: name[:i]}
		}
	}
	return target{route: routeV1Model, name: name}
}

// segment is a path of one segment without its slash.
func segment(path string) (string, bool) {
	if len(path) < 2 || path[0] != '/' || strings.IndexByte(path[1:], '/') >= 0 {
		return "", false
	}
	return path[1:], true
}

func matchV2(rest string) target {
	switch rest {
	case "":
		return target{route: routeV2Server}
	case "/health/live":
		return target{route: routeV2Live}
	case "/health/ready":
		return target{route: routeV2Ready}
	case "/models":
		return target{route: routeV2Models}
	case "/repository/index":
		return target{route: routeIndex}
	}
	if model, ok := strings.CutPrefix(rest, "/models/"); ok {
		return matchV2Model(model)
	}
	if model, ok := strings.CutPrefix(rest, "/repository/models/"); ok {
		name, verb, _ := strings.Cut(model, "/")
		switch {
		case name == "":
		case verb == "load":
			return target{route: routeLoad, name: name}
		case verb == "unload":
			return target{route: routeUnload, name: name}
		}
	}
	return target{}
}

func matchV2Model(path string) target {
	name, rest, more := strings.Cut(path, "/")
	t := target{route: routeV2Model, name: name}
	if name == "" {
		return target{}
	}
	if !more {
		return t
	}
	if after, ok := strings.CutPrefix(rest, "versions/"); ok {
		t.version, rest, more = strings.Cut(after, "/")
		if t.version == "" {
			return target{}
		}
		if !more {
			return t
		}
	}
	switch rest {
	case "infer":
		t.route = routeV2Infer
	case "ready":
		t.route = routeV2ModelReady
	default:
		return target{}
	}
	return t
}
