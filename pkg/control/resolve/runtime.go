// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// candidate is a runtime of either scope.
type candidate struct {
	name       string
	cluster    bool
	serverType string
	created    time.Time
	spec       *servingv1alpha1.ServingRuntimeSpec
}

func (c candidate) label() string {
	return plan.Runtime{Name: c.name, Cluster: c.cluster}.Kind() + " " + c.name
}

func (c candidate) plan() *plan.Runtime {
	return &plan.Runtime{Name: c.name, Cluster: c.cluster, ServerType: c.serverType}
}

// serverType is what the runtime says it holds, else what its well-known name says.
func serverType(name string, annotations map[string]string) string {
	if t, ok := annotations[serving.AnnotationServerType]; ok {
		return t
	}
	switch name {
	case "kserve-mlserver":
		return mlserver
	case "kserve-torchserve":
		return torchserve
	case "kserve-tritonserver":
		return tritonserver
	case "kserve-tensorflow-serving":
		return tensorflowServing
	case "kserve-huggingfaceserver":
		return huggingfaceserver
	case "kserve-vllmserver":
		return vllmserver
	}
	return ""
}

// candidates are all runtimes in reach, those of the namespace first, each scope by name: no message depends on the order of reading.
func (r *resolver) candidates() []candidate {
	if r.runtimes != nil {
		return r.runtimes
	}
	all := make([]candidate, 0, len(r.snap.Runtimes)+len(r.snap.ClusterRuntimes))
	for i := range r.snap.Runtimes {
		rt := &r.snap.Runtimes[i]
		all = append(all, candidate{rt.Name, false, serverType(rt.Name, rt.Annotations), rt.CreationTimestamp.Time, &rt.Spec})
	}
	for i := range r.snap.ClusterRuntimes {
		rt := &r.snap.ClusterRuntimes[i]
		all = append(all, candidate{rt.Name, true, serverType(rt.Name, rt.Annotations), rt.CreationTimestamp.Time, &rt.Spec})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(btoi(a.cluster), btoi(b.cluster)), cmp.Compare(a.name, b.name))
	})
	r.runtimes = all
	return all
}

// runtime finds the runtime of a model: the one that the model names, else the best of those that serve it.
func (r *resolver) runtime(model *servingv1beta1.ModelSpec, multiNode bool) (*candidate, error) {
	if model.Runtime != nil && *model.Runtime != "" {
		return r.namedRuntime(*model.Runtime, model)
	}
	return r.bestRuntime(model, multiNode)
}

func (r *resolver) namedRuntime(name string, model *servingv1beta1.ModelSpec) (*candidate, error) {
	var found *candidate
	for _, c := range r.candidates() { // those of the namespace come first
		if c.name == name {
			found = &c
			break
		}
	}
	reject := func(reason servingv1beta1.FailureReason, format string, args ...any) error {
		return &plan.Blocked{Reason: string(reason), Message: fmt.Sprintf(format, args...)}
	}
	if found == nil {
		return nil, reject(servingv1beta1.RuntimeNotRecognized,
			"spec.predictor.model.runtime names %q, and there is neither a ServingRuntime of that name in namespace %s nor a ClusterServingRuntime: create it, correct the name, or leave it out to have one chosen%s",
			name, r.svc.Namespace, near(name, r.candidates()))
	}
	if deref(found.spec.Disabled) {
		return nil, reject(servingv1beta1.RuntimeDisabled, "%s is disabled: enable it (spec.disabled: false) or name another in spec.predictor.model.runtime", found.label())
	}
	if p := model.ProtocolVersion; p != nil && *p != "" && len(found.spec.ProtocolVersions) > 0 && !slices.Contains(found.spec.ProtocolVersions, *p) {
		return nil, reject(servingv1beta1.NoSupportingRuntime, "%s does not speak protocol %q: set spec.predictor.model.protocolVersion to %s", found.label(), *p, list(found.spec.ProtocolVersions))
	}
	if !slices.ContainsFunc(found.spec.SupportedModelFormats, func(f servingv1alpha1.SupportedModelFormat) bool { return formatMatches(f, model.ModelFormat) }) {
		return nil, reject(servingv1beta1.NoSupportingRuntime, "%s does not support model format %s%s: it supports %s", found.label(), formatText(model.ModelFormat), nearFormat(model.ModelFormat.Name, []candidate{*found}), supported(found.spec.SupportedModelFormats))
	}
	why := "spec.predictor.model.runtime names it"
	if r.follows {
		why = "the stable predictor has it, and the model format is the same"
	}
	r.decide(plan.Decision{Subject: plan.SubjectRuntime, Role: serving.Predictor, Chosen: found.label(), Why: why})
	return found, nil
}

func (r *resolver) bestRuntime(model *servingv1beta1.ModelSpec, multiNode bool) (*candidate, error) {
	protocol := serving.ProtocolV1
	if model.ProtocolVersion != nil && *model.ProtocolVersion != "" {
		protocol = *model.ProtocolVersion
	}
	var fit []candidate
	var rejected []plan.Rejection
	var onlyProtocol []candidate
	candidates := r.candidates()
	for _, c := range candidates {
		if r.snap.Brief && !slices.ContainsFunc(c.spec.SupportedModelFormats, func(f servingv1alpha1.SupportedModelFormat) bool { return formatMatches(f, model.ModelFormat) }) {
			continue // whatever else may be said of it
		}
		why, speaksOther := refusal(c, model.ModelFormat, protocol, multiNode)
		if why == "" {
			fit = append(fit, c)
			continue
		}
		if speaksOther {
			onlyProtocol = append(onlyProtocol, c)
		}
		knows := slices.ContainsFunc(c.spec.SupportedModelFormats, func(f servingv1alpha1.SupportedModelFormat) bool { return f.Name == model.ModelFormat.Name })
		rejected = append(rejected, plan.Rejection{Name: c.label(), Why: why, Unrelated: !knows})
	}
	if len(fit) == 0 {
		message := fmt.Sprintf("no runtime supports model format %s with protocol %s", formatText(model.ModelFormat), protocol)
		switch {
		case len(onlyProtocol) > 0:
			c := onlyProtocol[0]
			message += fmt.Sprintf("; %s supports the format and speaks %s: set spec.predictor.model.protocolVersion: %s", c.label(), list(c.spec.ProtocolVersions), firstProtocol(c.spec.ProtocolVersions))
		case len(candidates) == 0:
			message += "; there are no runtimes at all: install the ClusterServingRuntimes (deploy/runtimes) or create a ServingRuntime"
		default:
			message += nearFormat(model.ModelFormat.Name, candidates)
			message += "; name one in spec.predictor.model.runtime, or create a ServingRuntime that lists the format with autoSelect: true"
		}
		r.decide(plan.Decision{Subject: plan.SubjectRuntime, Role: serving.Predictor, Why: message, Rejected: rejected})
		return nil, &plan.Blocked{Reason: string(servingv1beta1.NoSupportingRuntime), Message: message}
	}
	order(fit, model.ModelFormat.Name)
	best := fit[0]
	for _, c := range fit[1:] {
		rejected = append(rejected, plan.Rejection{Name: c.label(), Why: lost(best, c, model.ModelFormat.Name)})
	}
	why := fmt.Sprintf("the only runtime that selects itself for model format %s with protocol %s", formatText(model.ModelFormat), protocol)
	if len(fit) > 1 {
		why = fmt.Sprintf("the first of %d runtimes that select themselves for model format %s with protocol %s", len(fit), formatText(model.ModelFormat), protocol)
	}
	r.decide(plan.Decision{Subject: plan.SubjectRuntime, Role: serving.Predictor, Chosen: best.label(), Why: why, Rejected: rejected})
	return &best, nil
}

// refusal says why a runtime cannot be chosen for a model, empty when it can, and whether another protocol would let it be looked at.
func refusal(c candidate, format servingv1beta1.ModelFormat, protocol serving.ProtocolVersion, multiNode bool) (why string, speaksOther bool) {
	if deref(c.spec.Disabled) {
		return "is disabled", false
	}
	if deref(c.spec.MultiModel) {
		return "is for ModelMesh (multiModel)", false
	}
	listed, selects := false, false
	for _, f := range c.spec.SupportedModelFormats {
		if formatMatches(f, format) {
			listed = true
			selects = selects || deref(f.AutoSelect)
		}
	}
	switch {
	case !listed:
		return "does not support " + formatText(format) + ", only " + supported(c.spec.SupportedModelFormats), false
	case !selects:
		return "supports the format, but does not select itself (autoSelect): name it in spec.predictor.model.runtime", false
	case len(c.spec.ProtocolVersions) > 0 && !slices.Contains(c.spec.ProtocolVersions, protocol):
		return "speaks " + list(c.spec.ProtocolVersions) + ", not " + string(protocol), true
	case multiNode && c.spec.WorkerSpec == nil:
		return "has no workerSpec, which spec.predictor.workerSpec needs", false
	case !multiNode && c.spec.WorkerSpec != nil:
		return "is for several nodes (it has a workerSpec)", false
	}
	return "", false
}

// formatMatches compares as users know it: by exact text, and a model without a version fits every version.
func formatMatches(f servingv1alpha1.SupportedModelFormat, want servingv1beta1.ModelFormat) bool {
	if f.Name != want.Name {
		return false
	}
	return want.Version == nil || f.Version != nil && *f.Version == *want.Version
}

// order is total: scope, priority, protocol, age, name.
func order(cs []candidate, format string) {
	slices.SortFunc(cs, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(btoi(a.cluster), btoi(b.cluster)),
			comparePriority(priority(a, format), priority(b, format)),
			cmp.Compare(lowestRank(a.spec.ProtocolVersions), lowestRank(b.spec.ProtocolVersions)),
			b.created.Compare(a.created),
			cmp.Compare(a.name, b.name),
		)
	})
}

// lost says by which rule of the order a runtime came second.
func lost(best, c candidate, format string) string {
	switch {
	case best.cluster != c.cluster:
		return "runtimes of the namespace come before those of the cluster"
	case comparePriority(priority(best, format), priority(c, format)) != 0:
		return fmt.Sprintf("priority %s is below %s of %s", priorityText(c, format), priorityText(best, format), best.name)
	case lowestRank(best.spec.ProtocolVersions) != lowestRank(c.spec.ProtocolVersions):
		return best.name + " speaks the earlier protocol"
	case !best.created.Equal(c.created):
		return best.name + " is newer"
	}
	return best.name + " comes first by name"
}

// priority is that of the first entry of the format, whatever its version.
func priority(c candidate, format string) *int32 {
	for _, f := range c.spec.SupportedModelFormats {
		if f.Name == format {
			return f.Priority
		}
	}
	return nil
}

func priorityText(c candidate, format string) string {
	if p := priority(c, format); p != nil {
		return fmt.Sprint(*p)
	}
	return "(none)"
}

// comparePriority puts the higher first and none last.
func comparePriority(a, b *int32) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*b, *a)
}

func protocolRank(p serving.ProtocolVersion) int {
	if i := slices.Index(serving.ProtocolVersions(), p); i >= 0 {
		return i + 1
	}
	return len(serving.ProtocolVersions()) + 1
}

func lowestRank(ps []serving.ProtocolVersion) int {
	lowest := len(serving.ProtocolVersions()) + 1
	for _, p := range ps {
		lowest = min(lowest, protocolRank(p))
	}
	return lowest
}

// firstProtocol is the lowest-ranked protocol of a runtime, empty when it lists none.
func firstProtocol(ps []serving.ProtocolVersion) serving.ProtocolVersion {
	var first serving.ProtocolVersion
	for _, p := range ps {
		if first == "" || protocolRank(p) < protocolRank(first) {
			first = p
		}
	}
	return first
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func formatText(f servingv1beta1.ModelFormat) string {
	if f.Version != nil {
		return fmt.Sprintf("%q version %q", f.Name, *f.Version)
	}
	return fmt.Sprintf("%q", f.Name)
}

func supported(fs []servingv1alpha1.SupportedModelFormat) string {
	if len(fs) == 0 {
		return "none"
	}
	texts := make([]string, 0, len(fs))
	for _, f := range fs {
		text := f.Name
		if f.Version != nil {
			text += " " + *f.Version
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func list[T ~string](items []T) string {
	texts := make([]string, 0, len(items))
	for _, p := range items {
		texts = append(texts, string(p))
	}
	return strings.Join(texts, ", ")
}

// near offers the known name that looks most like the one that was written.
func near(name string, cs []candidate) string {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "")) }
	best, distance := "", 3
	for _, c := range cs {
		if d := spelling.Edits(plain(c.name), plain(name)); d < distance && d < len(c.name)/2 {
			best, distance = c.name, d
		}
	}
	for _, c := range cs {
		if best == "" && (strings.Contains(c.name, name) || strings.Contains(name, c.name)) {
			best = c.name
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// nearFormat offers the format of a runtime that looks most like the one that was written; none where it is one of theirs.
func nearFormat(name string, cs []candidate) string {
	best, distance := "", 3
	for _, c := range cs {
		for _, f := range c.spec.SupportedModelFormats {
			if d := spelling.Edits(strings.ToLower(f.Name), strings.ToLower(name)); f.Name == name {
				return ""
			} else if d < distance && d < len(f.Name)/2 {
				best, distance = f.Name, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
