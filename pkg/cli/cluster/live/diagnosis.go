// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Diagnosis is what a service or a graph says about itself. Every command that tells how one is uses it, so that all say the same.
type Diagnosis struct {
	// Ready is the status of the condition Ready: True, False or Unknown.
	Ready string `json:"ready"`
	// Stale says that the status is of an earlier version of the object.
	Stale bool `json:"stale,omitempty"`
	// Causes are what is wrong, what explains most first. Also of one that is ready: its latest change may have failed.
	Causes []Cause `json:"causes,omitempty"`
}

// Cause is one thing that is wrong.
type Cause struct {
	// Condition that says it; empty where none does.
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
}

// maxCause bounds what is shown of one cause: a status may hold a megabyte.
const maxCause = 2000

func (c Cause) String() string {
	return output.Clip(strings.TrimSuffix(strings.TrimPrefix(c.Reason+": "+c.Message, ": "), ": "), maxCause)
}

// OK says that it serves what is asked for now.
func (d *Diagnosis) OK() bool { return d.Ready == "True" && !d.Stale }

// Why is the deepest cause in one line, empty when nothing is wrong.
func (d *Diagnosis) Why() string {
	if len(d.Causes) == 0 {
		return ""
	}
	return d.Causes[0].String()
}

// Diagnose reads the status of an object, whoever wrote it: what has another shape than expected says nothing.
func Diagnose(o *unstructured.Unstructured) Diagnosis {
	d := Diagnosis{Ready: cmp.Or(Condition(o, string(serving.ConditionReady)), "Unknown")}
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration") // what is not there is 0
	d.Stale = observed != 0 && observed < o.GetGeneration()
	if o.GetDeletionTimestamp() != nil {
		d.Causes = append(d.Causes, Cause{Message: "it is being deleted"})
	}
	if d.Stale {
		d.Causes = append(d.Causes, Cause{Message: "its latest change is not looked at yet"})
	}
	all := conditions(o)
	if len(all) == 0 {
		d.Causes = append(d.Causes, Cause{Message: unseen(o)})
		return d
	}
	d.conditions(all)
	d.failure(o)
	return d
}

// GraphsNotServed is what the controller of this version makes of graphs.
const GraphsNotServed = "InferenceGraphs are not served in a cluster by this version, whose controller does not know them; kserve run serves them"

// unseen says why an object has no condition.
func unseen(o *unstructured.Unstructured) string {
	if o.GetKind() == "InferenceGraph" {
		return GraphsNotServed
	}
	return "no condition yet: the controller has not looked at it; kserve local logs controller, or the log of kserve-controller-manager, tells why"
}

// conditions takes the causes from the conditions. Each sentence is told once; that a route is missing while a component is not ready is no
// cause, for it is made once all are.
func (d *Diagnosis) conditions(all []map[string]any) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b map[string]any) int { return cmp.Compare(depth(a), depth(b)) })
	broken := slices.ContainsFunc(all, func(c map[string]any) bool {
		return rank(text(c, "type")) == rankComponent && text(c, "status") != "True"
	})
	var silent []Cause
	for _, c := range all {
		kind := text(c, "type")
		one := Cause{Condition: kind, Reason: text(c, "reason"), Message: text(c, "message")}
		follows := broken && rank(kind) >= rankRoute && rank(kind) <= rankSum
		switch {
		case text(c, "status") == "True" || kind == string(servingv1beta1.Stopped) || one.Reason == "" && one.Message == "":
		case one.Message == "":
			silent = append(silent, one)
		case follows || d.told(one.Message):
		default:
			d.Causes = append(d.Causes, one)
		}
	}
	if len(d.Causes) == 0 && len(silent) > 0 {
		d.Causes = silent[:1]
	}
}

// failure adds what the model's failure tells beyond the conditions.
func (d *Diagnosis) failure(o *unstructured.Unstructured) {
	at := []string{"status", "modelStatus", "lastFailureInfo"}
	field := func(name string) string { return text(o.Object, append(slices.Clone(at), name)...) }
	message := field("message")
	if message == "" || d.told(message) || d.completes(message) {
		return
	}
	var where []string
	if code, ok, _ := unstructured.NestedInt64(o.Object, append(slices.Clone(at), "exitCode")...); ok && code != 0 {
		where = append(where, fmt.Sprintf("exit code %d", code))
	}
	if location := field("location"); location != "" {
		where = append(where, location)
	}
	if len(where) > 0 {
		message += " (" + strings.Join(where, ", ") + ")"
	}
	d.Causes = append(d.Causes, Cause{Condition: "modelStatus", Reason: field("reason"), Message: message})
}

// told says whether a sentence is part of a cause.
func (d *Diagnosis) told(message string) bool {
	message = plainly(message)
	return slices.ContainsFunc(d.Causes, func(c Cause) bool { return strings.Contains(plainly(c.String()), message) })
}

// completes puts a sentence into the cause that has its beginning: conditions cut what others said before they go on with their advice.
func (d *Diagnosis) completes(message string) bool {
	message = plainly(message)
	for i := range d.Causes {
		c := &d.Causes[i]
		begins, advice, cut := strings.Cut(plainly(c.String()), "…")
		if cut && begins != "" && strings.HasPrefix(message, begins) {
			c.Message = strings.TrimPrefix(message, c.Reason+": ") + "." + advice
			return true
		}
	}
	return false
}

func plainly(text string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// What conditions are about, what explains most first.
const (
	rankComponent = iota
	rankConfiguration
	rankUpdate
	rankCanary
	rankOther
	rankRoute
	rankIngress
	rankSum
	rankAdvice
	rankReady // says again what another says
)

func rank(kind string) int {
	switch serving.ConditionType(kind) {
	case servingv1beta1.PredictorReady, servingv1beta1.TransformerReady, servingv1beta1.ExplainerReady:
		return rankComponent
	case servingv1beta1.PredictorConfigurationReady, servingv1beta1.TransformerConfigurationReady, servingv1beta1.ExplainerConfigurationReady:
		return rankConfiguration
	case servingv1beta1.LatestDeploymentReady:
		return rankUpdate
	case servingv1beta1.CanaryPredictorReady:
		return rankCanary
	case servingv1beta1.PredictorRouteReady, servingv1beta1.TransformerRouteReady, servingv1beta1.ExplainerRoutesReady:
		return rankRoute
	case servingv1beta1.IngressReady:
		return rankIngress
	case servingv1beta1.RoutesReady:
		return rankSum
	case servingv1beta1.OCIImageVolumeCompatible, servingv1beta1.Stopped:
		return rankAdvice
	case serving.ConditionReady:
		return rankReady
	}
	return rankOther
}

// depth orders conditions by what they explain: what is false before what is not known before what is true.
func depth(c map[string]any) int { return Depth(text(c, "type"), text(c, "status")) }

// Depth is the place of a condition of that type and status in a list of causes.
func Depth(kind, status string) int {
	const kinds = 100
	switch {
	case kind == string(servingv1beta1.Stopped) && status == "False", status == "True":
		return 2*kinds + rank(kind)
	case status == "False":
		return rank(kind)
	}
	return kinds + rank(kind)
}

// Service is an InferenceService in one line.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     string `json:"ready"`
	URL       string `json:"url,omitempty"`
	// Reason and Message are of the deepest cause.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Stale says that the status is of an earlier version of the service.
	Stale bool `json:"stale,omitempty"`
	// Canaries are the canary predictors, each in a few words.
	Canaries []string `json:"canaries,omitempty"`
	// Created is when the service was.
	Created metav1.Time `json:"created,omitzero"`
}

// OK says that it serves what is asked for now.
func (s *Service) OK() bool { return s.Ready == "True" && !s.Stale }

// Why is the deepest cause in one line.
func (s *Service) Why() string { return Cause{Reason: s.Reason, Message: s.Message}.String() }

// ServiceOf is the line of an InferenceService.
func ServiceOf(o *unstructured.Unstructured) Service {
	d := Diagnose(o)
	s := Service{Namespace: o.GetNamespace(), Name: o.GetName(), Ready: d.Ready, URL: URL(o), Stale: d.Stale, Created: o.GetCreationTimestamp()}
	if len(d.Causes) > 0 {
		s.Reason, s.Message = d.Causes[0].Reason, output.Clip(d.Causes[0].Message, maxCause)
	}
	for _, c := range maps(o, "status", "canaryStatuses") {
		s.Canaries = append(s.Canaries, canary(c))
	}
	return s
}

// canary is a canary predictor in a few words: its share in force, that asked for, and what its measurements say.
func canary(c map[string]any) string {
	percent := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(c, field) // what is not there is 0
		return n
	}
	words := []string{text(c, "name")}
	if shadow := percent("shadowPercent"); shadow > 0 {
		words = append(words, fmt.Sprintf("copies %d%%", shadow))
	} else {
		words = append(words, fmt.Sprintf("%d%% of %d%%", percent("weight"), percent("trafficPercent")))
	}
	if verdict := text(c, "analysis", "verdict"); verdict != "" {
		words = append(words, verdict)
	} else if ready, _, _ := unstructured.NestedBool(c, "ready"); !ready {
		words = append(words, cmp.Or(text(c, "reason"), "not ready"))
	}
	return strings.Join(words, " ")
}
