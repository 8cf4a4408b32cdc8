// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import "strconv"

// The router's command line and environment, set by the InferenceGraph renderer.
const (
	// FlagGraphJSON carries a Graph as JSON.
	FlagGraphJSON = "graph-json"
	// EnvPropagateHeaders is a comma-separated list of regular expressions: inbound headers that reach the steps.
	EnvPropagateHeaders = "PROPAGATE_HEADERS"
	// RouterPort is the router's only port.
	RouterPort = 8080
)

// The kinds of a graph node.
const (
	Sequence = "Sequence"
	Switch   = "Switch"
	Ensemble = "Ensemble"
	Splitter = "Splitter"
)

// RootNode is the node where a graph starts.
const RootNode = "root"

// Graph is an InferenceGraph as the router reads it: spec.nodes with every serviceName already resolved to a serviceUrl.
type Graph struct {
	Nodes    map[string]GraphNode `json:"nodes"`
	Timeouts *GraphTimeouts       `json:"routerTimeouts,omitempty"`
}

// GraphNode is one node.
type GraphNode struct {
	RouterType string      `json:"routerType"`
	Steps      []GraphStep `json:"steps,omitempty"`
}

// GraphStep is one step of a node. Its target is NodeName if set, else ServiceURL.
type GraphStep struct {
	Name        string `json:"name,omitempty"`
	NodeName    string `json:"nodeName,omitempty"`
	ServiceName string `json:"serviceName,omitempty"`
	ServiceURL  string `json:"serviceUrl,omitempty"`
	// Data is "$request" (the default) or "$response": whose body the step of a Sequence gets.
	Data string `json:"data,omitempty"`
	// MapPredictionsToInstances turns {"predictions": […]} into {"instances": […]} before the step is called.
	MapPredictionsToInstances bool `json:"mapPredictionsToInstances,omitempty"`
	// Weight is the share of a Splitter's requests, in percent.
	Weight *int64 `json:"weight,omitempty"`
	// Condition is a gjson path that must exist.
	Condition string `json:"condition,omitempty"`
	// Dependency is "Soft" (the default) or "Hard": whether a failing step ends the node.
	Dependency string `json:"dependency,omitempty"`
}

// The values of GraphStep.Data and GraphStep.Dependency that change behaviour.
const (
	DataResponse   = "$response"
	DependencyHard = "Hard"
)

// GraphTimeouts are seconds; nil means the default.
type GraphTimeouts struct {
	ServerRead    *int64 `json:"serverRead,omitempty"`
	ServerWrite   *int64 `json:"serverWrite,omitempty"`
	ServerIdle    *int64 `json:"serverIdle,omitempty"`
	ServiceClient *int64 `json:"serviceClient,omitempty"`
}

// MaxGraphCalls bounds what one request may set off: in a graph of shared nodes the calls can double with every node.
const MaxGraphCalls = 1000

// StepKey is the name of a step in the answer of an Ensemble: its own, or else its place.
func StepKey(name string, place int) string {
	if name != "" {
		return name
	}
	return strconv.Itoa(place)
}

// Calls is how many services one request reaches at the most, counted up to just above MaxGraphCalls. A graph that leads back to
// itself has more than that.
func (g Graph) Calls() int {
	const unfinished = -1
	known := map[string]int{}
	var count func(name string) int
	count = func(name string) int {
		switch have, ok := known[name]; {
		case ok && have == unfinished:
			return MaxGraphCalls + 1
		case ok:
			return have
		}
		known[name] = unfinished
		node, total := g.Nodes[name], 0
		for _, s := range node.Steps {
			one := 1
			if s.NodeName != "" {
				one = count(s.NodeName)
			}
			if node.RouterType == Switch || node.RouterType == Splitter {
				total = max(total, one)
			} else {
				total = min(total+one, MaxGraphCalls+1)
			}
		}
		known[name] = total
		return total
	}
	return count(RootNode)
}
