// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podrules

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scheduling checks what decides on the node.
func (r *rules) scheduling(at *field.Path, pod *corev1.PodSpec) {
	r.add(Labels(at.Child("nodeSelector"), pod.NodeSelector)...)
	for i := range pod.Tolerations {
		r.toleration(at.Child("tolerations").Index(i), &pod.Tolerations[i])
	}
	r.affinity(at.Child("affinity"), pod.Affinity)
	seen := map[string]bool{}
	for i := range pod.TopologySpreadConstraints {
		c, where := &pod.TopologySpreadConstraints[i], at.Child("topologySpreadConstraints").Index(i)
		r.spread(where, c)
		key := c.TopologyKey + " " + string(c.WhenUnsatisfiable)
		if seen[key] {
			fault := field.Duplicate(where.Child("topologyKey"), c.TopologyKey)
			fault.Detail = "a key and whenUnsatisfiable can be spread over once; remove one"
			r.add(fault)
		}
		seen[key] = true
	}
}

func (r *rules) toleration(at *field.Path, t *corev1.Toleration) {
	oneOf(r, at.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt)
	oneOf(r, at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	if t.Key != "" {
		r.key(at.Child("key"), t.Key)
	} else if t.Operator != corev1.TolerationOpExists {
		r.invalid(at.Child("operator"), string(t.Operator), "must be Exists where no key is named; set it, or set key")
	}
	switch {
	case t.Operator == corev1.TolerationOpExists && t.Value != "":
		r.invalid(at.Child("value"), t.Value, "must be empty beside the operator Exists; remove it, or use Equal")
	case (t.Operator == corev1.TolerationOpEqual || t.Operator == "") && len(validation.IsValidLabelValue(t.Value)) > 0:
		r.invalid(at.Child("value"), t.Value, "must be a taint's value, of letters, digits, '-', '_' and '.'; write it as on the node")
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		r.invalid(at.Child("effect"), string(t.Effect), "must be NoExecute beside tolerationSeconds; set it, or remove the seconds")
	}
}

func (r *rules) affinity(at *field.Path, a *corev1.Affinity) {
	if a == nil {
		return
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n, where := a.NodeAffinity, at.Child("nodeAffinity"); n != nil {
		if must := n.RequiredDuringSchedulingIgnoredDuringExecution; must != nil {
			terms := where.Child(required, "nodeSelectorTerms")
			if len(must.NodeSelectorTerms) == 0 && !r.options.Merged {
				r.required(terms, "a term is needed; add one, or remove the affinity")
			}
			for i := range must.NodeSelectorTerms {
				r.nodeTerm(terms.Index(i), &must.NodeSelectorTerms[i])
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			term := &n.PreferredDuringSchedulingIgnoredDuringExecution[i]
			r.weight(where.Child(preferred).Index(i), term.Weight)
			r.nodeTerm(where.Child(preferred).Index(i).Child("preference"), &term.Preference)
		}
	}
	if p := a.PodAffinity; p != nil {
		r.podTerms(at.Child("podAffinity", required), p.RequiredDuringSchedulingIgnoredDuringExecution)
		r.weighted(at.Child("podAffinity", preferred), p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		r.podTerms(at.Child("podAntiAffinity", required), p.RequiredDuringSchedulingIgnoredDuringExecution)
		r.weighted(at.Child("podAntiAffinity", preferred), p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (r *rules) weight(at *field.Path, weight int32) {
	r.between(at.Child("weight"), int64(weight), 1, 100, "it weighs this wish against the others")
}

func (r *rules) nodeTerm(at *field.Path, term *corev1.NodeSelectorTerm) {
	for i := range term.MatchExpressions {
		e, where := &term.MatchExpressions[i], at.Child("matchExpressions").Index(i)
		r.key(where.Child("key"), e.Key)
		if e.Operator == "" {
			r.required(where.Child("operator"), "an expression has an operator; set In, NotIn, Exists, DoesNotExist, Gt or Lt")
		}
		oneOf(r, where.Child("operator"), e.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(e.Values) == 0 {
				r.required(where.Child("values"), fmt.Sprintf("the operator %s needs values; add one", e.Operator))
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(e.Values) > 0 {
				r.add(field.Forbidden(where.Child("values"), fmt.Sprintf("the operator %s looks at the key only; remove them, or use In", e.Operator)))
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(e.Values) != 1 {
				r.required(where.Child("values"), fmt.Sprintf("the operator %s needs one value; set one", e.Operator))
			}
		}
	}
}

func (r *rules) podTerms(at *field.Path, terms []corev1.PodAffinityTerm) {
	for i := range terms {
		r.podTerm(at.Index(i), &terms[i])
	}
}

func (r *rules) weighted(at *field.Path, terms []corev1.WeightedPodAffinityTerm) {
	for i := range terms {
		r.weight(at.Index(i), terms[i].Weight)
		r.podTerm(at.Index(i).Child("podAffinityTerm"), &terms[i].PodAffinityTerm)
	}
}

func (r *rules) podTerm(at *field.Path, term *corev1.PodAffinityTerm) {
	r.topology(at.Child("topologyKey"), term.TopologyKey)
	r.selector(at.Child("labelSelector"), term.LabelSelector)
	r.selector(at.Child("namespaceSelector"), term.NamespaceSelector)
	for i, name := range term.Namespaces {
		r.label(at.Child("namespaces").Index(i), name)
	}
}

func (r *rules) topology(at *field.Path, key string) {
	if key == "" {
		r.required(at, "a label of the nodes is needed; set one such as topology.kubernetes.io/zone")
		return
	}
	r.key(at, key)
}

func (r *rules) selector(at *field.Path, s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	r.add(Labels(at.Child("matchLabels"), s.MatchLabels)...)
	for i, e := range s.MatchExpressions {
		where := at.Child("matchExpressions").Index(i)
		r.key(where.Child("key"), e.Key)
		if e.Operator == "" {
			r.required(where.Child("operator"), "an expression has an operator; set In, NotIn, Exists or DoesNotExist")
		}
		oneOf(r, where.Child("operator"), e.Operator, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(e.Values) == 0 {
				r.required(where.Child("values"), fmt.Sprintf("the operator %s needs values; add one", e.Operator))
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(e.Values) > 0 {
				r.add(field.Forbidden(where.Child("values"), fmt.Sprintf("the operator %s looks at the key only; remove them, or use In", e.Operator)))
			}
		}
	}
}

func (r *rules) spread(at *field.Path, c *corev1.TopologySpreadConstraint) {
	if c.MaxSkew < 1 {
		r.add(field.Invalid(at.Child("maxSkew"), c.MaxSkew, "must be at least 1; it is how many pods more one place may have than another"))
	}
	r.topology(at.Child("topologyKey"), c.TopologyKey)
	if c.WhenUnsatisfiable == "" {
		r.required(at.Child("whenUnsatisfiable"), "it has to be said what happens otherwise; set DoNotSchedule or ScheduleAnyway")
	}
	oneOf(r, at.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	r.selector(at.Child("labelSelector"), c.LabelSelector)
	if n := c.MinDomains; n != nil {
		switch {
		case *n < 1:
			r.add(field.Invalid(at.Child("minDomains"), *n, "must be at least 1; remove it for the default"))
		case c.WhenUnsatisfiable == corev1.ScheduleAnyway:
			r.add(field.Invalid(at.Child("minDomains"), *n, "is only for whenUnsatisfiable: DoNotSchedule; remove it"))
		}
	}
	for _, policy := range []struct {
		name  string
		value *corev1.NodeInclusionPolicy
	}{{"nodeAffinityPolicy", c.NodeAffinityPolicy}, {"nodeTaintsPolicy", c.NodeTaintsPolicy}} {
		if policy.value != nil {
			oneOf(r, at.Child(policy.name), *policy.value, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
		}
	}
}
