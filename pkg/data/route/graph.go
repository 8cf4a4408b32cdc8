// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// Graph is an InferenceGraph compiled for execution: every reference resolved, every mistake found. It is immutable.
type Graph struct {
	root *node
}

type node struct {
	name  string
	kind  string
	steps []step
}

// step is one step; its target is child if set, else url.
type step struct {
	// key names the step in an Ensemble's answer and in messages.
	key       string
	url       string
	child     *node
	response  bool // the body is the previous step's answer
	remap     bool // predictions become instances
	weight    int64
	condition string
	hard      bool
}

// Compile checks a graph whole and resolves its references. The error lists every fault, sorted, one a line.
func Compile(g handoff.Graph) (*Graph, error) {
	c := compiler{spec: g, nodes: map[string]*node{}}
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		c.nodes[name] = &node{name: name, kind: g.Nodes[name].RouterType}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Nodes)) {
		c.compile(name)
	}
	root, ok := c.nodes[handoff.RootNode]
	switch {
	case !ok:
		c.fault("nodes: there is no node %q, where a graph starts", handoff.RootNode)
	case len(c.faults) == 0:
		if cycle := findCycle(root, nil, map[*node]bool{}); cycle != "" {
			c.fault("nodes: %s is a cycle: a request would never end", cycle)
		} else if g.Calls() > handoff.MaxGraphCalls {
			c.fault("nodes: one request would make more than %d calls: nodes that call the same node twice double them", handoff.MaxGraphCalls)
		}
	}
	if len(c.faults) > 0 {
		return nil, fmt.Errorf("graph: %s", strings.Join(c.faults, "\n"))
	}
	return &Graph{root: root}, nil
}

type compiler struct {
	spec   handoff.Graph
	nodes  map[string]*node
	faults []string
}

func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *compiler) compile(name string) {
	spec, n := c.spec.Nodes[name], c.nodes[name]
	switch spec.RouterType {
	case handoff.Sequence, handoff.Switch, handoff.Ensemble, handoff.Splitter:
	default:
		c.fault("nodes.%s.routerType: %q is not one of Sequence, Switch, Ensemble, Splitter", name, spec.RouterType)
	}
	if len(spec.Steps) == 0 {
		c.fault("nodes.%s.steps: a node needs at least one step", name)
	}
	var weights int64
	for i, s := range spec.Steps {
		at := fmt.Sprintf("nodes.%s.steps[%d]", name, i)
		out := step{
			key: handoff.StepKey(s.Name, i), response: s.Data == handoff.DataResponse, remap: s.MapPredictionsToInstances,
			condition: s.Condition, hard: s.Dependency == handoff.DependencyHard,
		}
		c.target(at, s, &out)
		if spec.RouterType == handoff.Splitter {
			if s.Weight == nil || *s.Weight < 0 || *s.Weight > 100 {
				c.fault("%s.weight: a Splitter's step needs a weight of 0 to 100", at)
			} else {
				out.weight = *s.Weight
				weights += out.weight
			}
		}
		n.steps = append(n.steps, out)
	}
	if spec.RouterType == handoff.Splitter && weights != 100 {
		c.fault("nodes.%s.steps: the weights of a Splitter add up to 100, not %d", name, weights)
	}
}

func (c *compiler) target(at string, s handoff.GraphStep, out *step) {
	switch {
	case s.NodeName != "":
		out.child = c.nodes[s.NodeName]
		if out.child == nil {
			c.fault("%s.nodeName: there is no node %q", at, s.NodeName)
		}
	case s.ServiceURL != "":
		u, err := url.Parse(s.ServiceURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			c.fault("%s.serviceUrl: %q is not an http or https URL", at, s.ServiceURL)
		}
		out.url = s.ServiceURL
	case s.ServiceName != "":
		c.fault("%s.serviceName: %q was not resolved to a URL; the service may not be ready", at, s.ServiceName)
	default:
		c.fault("%s: a step needs a nodeName, a serviceName or a serviceUrl", at)
	}
}

// findCycle returns a path like "root → a → root", or "". Nodes in done are known to lead into none: a node that many steps
// share is walked once.
func findCycle(n *node, above []*node, done map[*node]bool) string {
	if i := slices.Index(above, n); i >= 0 {
		var names []string
		for _, a := range above[i:] {
			names = append(names, a.name)
		}
		return strings.Join(append(names, n.name), " → ")
	}
	if done[n] {
		return ""
	}
	for _, s := range n.steps {
		if s.child != nil {
			if found := findCycle(s.child, append(above, n), done); found != "" {
				return found
			}
		}
	}
	done[n] = true
	return ""
}

// pick chooses a Splitter's step for a number in [0, 100).
func (n *node) pick(number int64) *step {
	for i := range n.steps {
		if number -= n.steps[i].weight; number < 0 {
			return &n.steps[i]
		}
	}
	return &n.steps[len(n.steps)-1]
}

func randomPercent() int64 { return rand.Int64N(100) } //nolint:gosec // a traffic share needs no secret
