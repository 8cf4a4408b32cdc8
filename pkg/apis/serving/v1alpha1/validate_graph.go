// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Validate returns what is wrong with a graph, and what is odd about it. A graph that is being deleted is right.
func (g *InferenceGraph) Validate() (field.ErrorList, []serving.Warning) {
	if g.DeletionTimestamp != nil {
		return nil, nil
	}
	name, spec := field.NewPath("metadata", "name"), field.NewPath("spec")
	faults := serving.ValidateName(name, g.Name)
	faults = append(faults, serving.ValidateDerivedName(name, g.Name, serving.AppPrefix+g.Name, "label "+serving.LabelApp, "metadata.name")...)
	if text, ok := g.Annotations[serving.AnnotationDeploymentMode]; ok {
		if _, known := serving.ParseDeploymentMode(text); !known {
			faults = append(faults, field.NotSupported(field.NewPath("metadata", "annotations").Key(serving.AnnotationDeploymentMode), text,
				[]serving.DeploymentMode{serving.Standard, serving.Knative}))
		}
	}
	more, warnings := serving.ValidateAnnotations(field.NewPath("metadata", "annotations"), g.Annotations, serving.OnGraph)
	faults = append(faults, more...)
	faults = append(faults, serving.ValidateReplicas(spec, g.Spec.MinReplicas, g.Spec.MaxReplicas)...)
	nodes := spec.Child("nodes")
	if _, ok := g.Spec.Nodes[GraphRootNode]; !ok {
		faults = append(faults, field.Required(nodes.Key(GraphRootNode), "a request enters a graph at the node root; add it, or rename the first node"))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Spec.Nodes)) {
		more, odd := g.validateNode(nodes.Key(name), g.Spec.Nodes[name])
		faults, warnings = append(faults, more...), append(warnings, odd...)
	}
	cycles := g.cycles(nodes)
	if len(cycles) == 0 && g.handed().Calls() > handoff.MaxGraphCalls {
		faults = append(faults, field.Invalid(nodes.Key(GraphRootNode), GraphRootNode, fmt.Sprintf(
			"one request would call services more than %d times, because nodes that call the same node twice double the calls; let fewer steps share nodes", handoff.MaxGraphCalls)))
	}
	return append(faults, cycles...), warnings
}

// handed is the graph as the router reads it, as far as it says who calls whom.
func (g *InferenceGraph) handed() handoff.Graph {
	out := handoff.Graph{Nodes: make(map[string]handoff.GraphNode, len(g.Spec.Nodes))}
	for name, node := range g.Spec.Nodes {
		steps := make([]handoff.GraphStep, len(node.Steps))
		for i := range node.Steps {
			steps[i].NodeName = node.Steps[i].NodeName
		}
		out.Nodes[name] = handoff.GraphNode{RouterType: string(node.RouterType), Steps: steps}
	}
	return out
}

// ValidateUpdate returns what is wrong with a change of a graph. Faults that the stored graph has too are warnings.
func (g *InferenceGraph) ValidateUpdate(old *InferenceGraph) (field.ErrorList, []serving.Warning) {
	faults, warnings := g.Validate()
	before, _ := old.Validate()
	faults, kept := serving.Ratchet(faults, before)
	return faults, append(warnings, kept...)
}

func (g *InferenceGraph) validateNode(path *field.Path, node InferenceRouter) (field.ErrorList, []serving.Warning) {
	var faults field.ErrorList
	var warnings []serving.Warning
	if !slices.Contains(InferenceRouterTypes(), node.RouterType) {
		faults = append(faults, field.NotSupported(path.Child("routerType"), node.RouterType, InferenceRouterTypes()))
	}
	if len(node.Steps) == 0 {
		faults = append(faults, field.Required(path.Child("steps"), "a node needs at least one step, and the router does not start without; add one"))
	}
	names, sum, unweighted := map[string]bool{}, int64(0), false
	if node.RouterType == Ensemble {
		faults = append(faults, ensembleKeys(path.Child("steps"), node.Steps)...)
	}
	for i := range node.Steps {
		step, at := &node.Steps[i], path.Child("steps").Index(i)
		faults = append(faults, g.validateStep(at, step)...)
		if step.StepName != "" && names[step.StepName] {
			faults = append(faults, serving.Duplicate(at.Child("name"), step.StepName, "steps of a node need names of their own; choose another, or remove it"))
		}
		names[step.StepName] = true
		switch {
		case node.RouterType != Splitter:
			if step.Weight != nil {
				warnings = append(warnings, serving.Warning{Field: at.Child("weight").String(), Detail: "has no effect in a " + string(node.RouterType) + "; remove it, or make the node a Splitter"})
			}
		case step.Weight == nil:
			unweighted = true
			faults = append(faults, field.Required(at.Child("weight"), "every step of a Splitter needs a weight; set its share in percent"))
		case *step.Weight < 0 || *step.Weight > 100:
			unweighted = true
			faults = append(faults, field.Invalid(at.Child("weight"), *step.Weight, "must be between 0 and 100; it is a share in percent"))
		default:
			sum += *step.Weight
		}
	}
	if node.RouterType == Splitter && !unweighted && sum != 100 {
		faults = append(faults, field.Invalid(path.Child("steps"), sum, "the weights of a Splitter must sum up to 100; change a weight"))
	}
	return faults, warnings
}

// ensembleKeys refuses a step that is called what another step without a name is called in the answer: its place.
func ensembleKeys(path *field.Path, steps []InferenceStep) field.ErrorList {
	var faults field.ErrorList
	unnamed := map[string]int{}
	for i := range steps {
		if steps[i].StepName == "" {
			unnamed[handoff.StepKey("", i)] = i
		}
	}
	for i := range steps {
		if other, taken := unnamed[steps[i].StepName]; taken {
			faults = append(faults, field.Invalid(path.Index(i).Child("name"), steps[i].StepName, fmt.Sprintf(
				"is what %s is called in the answer of an Ensemble, because it has no name; choose another, or give that step one", path.Index(other))))
		}
	}
	return faults
}

func (g *InferenceGraph) validateStep(path *field.Path, step *InferenceStep) field.ErrorList {
	var faults field.ErrorList
	var set []string
	for _, target := range []struct{ name, value string }{
		{"nodeName", step.NodeName}, {"serviceName", step.ServiceName}, {"serviceUrl", step.ServiceURL},
	} {
		if target.value != "" {
			set = append(set, target.name)
		}
	}
	switch len(set) {
	case 0:
		faults = append(faults, field.Required(path, "exactly one of nodeName, serviceName and serviceUrl must be set; name what the step calls"))
	case 1:
	default:
		faults = append(faults, field.Invalid(path, strings.Join(set, ", "), "exactly one of nodeName, serviceName and serviceUrl must be set; keep one"))
	}
	if step.NodeName != "" {
		if _, ok := g.Spec.Nodes[step.NodeName]; !ok {
			faults = append(faults, field.NotSupported(path.Child("nodeName"), step.NodeName, slices.Sorted(maps.Keys(g.Spec.Nodes))))
		}
	}
	if step.ServiceURL != "" {
		if u, err := url.Parse(step.ServiceURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			faults = append(faults, field.Invalid(path.Child("serviceUrl"), step.ServiceURL, "must be an http or https web address with a host; write for instance http://host/v1/models/m:predict"))
		}
	}
	if d := step.Dependency; d != "" && d != Soft && d != Hard {
		faults = append(faults, field.NotSupported(path.Child("dependency"), d, []InferenceStepDependency{Soft, Hard}))
	}
	return faults
}

// cycles refuses nodes that lead back to themselves, in which a request would go round for ever.
func (g *InferenceGraph) cycles(path *field.Path) field.ErrorList {
	const visiting, done = 1, 2
	var faults field.ErrorList
	state := map[string]int{}
	type frame struct {
		node string
		step int
	}
	for _, start := range slices.Sorted(maps.Keys(g.Spec.Nodes)) {
		if state[start] != 0 {
			continue
		}
		state[start] = visiting
		for stack := []frame{{start, 0}}; len(stack) > 0; {
			top := &stack[len(stack)-1]
			steps := g.Spec.Nodes[top.node].Steps
			if top.step == len(steps) {
				state[top.node] = done
				stack = stack[:len(stack)-1]
				continue
			}
			next := steps[top.step].NodeName
			top.step++
			switch _, ok := g.Spec.Nodes[next]; {
			case !ok || state[next] == done:
			case state[next] == visiting:
				faults = append(faults, field.Invalid(path.Key(top.node).Child("steps").Index(top.step-1).Child("nodeName"), next,
					fmt.Sprintf("leads back to %s, so a request would go round for ever; call another node", next)))
			default:
				state[next] = visiting
				stack = append(stack, frame{next, 0})
			}
		}
	}
	return faults
}
