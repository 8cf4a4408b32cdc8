// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

type doc = map[string]any

// Outcome is what a control plane made of a case.
type Outcome struct {
	Rejected []Rejection `json:"rejected"`
	Objects  []doc       `json:"objects"`
	Pods     []doc       `json:"pods"`
}

// Rejection is one document that admission refused.
type Rejection struct {
	Step  string `json:"step"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Error string `json:"error"`
}

func (r Rejection) id() string { return r.Step + " " + r.Kind + "/" + r.Name }

// Difference is what is right where the recorded outcome is not, for one case.
type Difference struct {
	Refuse     *Rejection  `json:"refuse"`
	MayRefuse  *Rejection  `json:"may_refuse"`
	RefuseOnly *bool       `json:"refuse_only"`
	Absent     []string    `json:"absent"`
	Allow      []string    `json:"allow"`
	Set        []place     `json:"set"`
	Unset      []place     `json:"unset"`
	Forbid     []place     `json:"forbid"`
	Ignore     []place     `json:"ignore"`
	Require    []place     `json:"require"`
	Conditions []condition `json:"conditions"`
	Right      string      `json:"right"`
}

type place struct {
	Object      string `json:"object"`
	Path        string `json:"path"`
	Value       any    `json:"value"`
	Fields      any    `json:"fields"`
	OrReference bool   `json:"or_reference"`
}

type condition struct {
	Object string `json:"object"`
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

func set(items ...string) map[string]bool {
	m := map[string]bool{}
	for _, i := range items {
		m[i] = true
	}
	return m
}

// rules of the comparison: which names have a meaning of their own.
type rules struct {
	keepEmpty, textMaps, dropFalse, quantityMaps, closedMaps, closedFields, orderedKeyed, unordered map[string]bool
	keyed                                                                                           map[string]string
}

func theRules() *rules {
	closed := []string{"labels", "annotations", "matchLabels", "selector", "nodeSelector", "limits", "requests", "data"}
	return &rules{
		keepEmpty:    set("emptyDir"),
		textMaps:     set("labels", "annotations", "matchLabels"),
		dropFalse:    set("latestRevision", "readOnly"),
		quantityMaps: set("limits", "requests"),
		closedMaps:   set(closed...),
		closedFields: set(append(closed, "env", "envFrom", "args", "command", "volumes", "volumeMounts", "containers", "initContainers", "ownerReferences", "finalizers")...),
		orderedKeyed: set("initContainers"),
		unordered:    set("hosts", "gateways", "hostnames", "finalizers", "tolerations", "metrics", "triggers", "secrets"),
		keyed: map[string]string{
			"env": "name", "volumes": "name", "volumeMounts": "mountPath", "containers": "name", "initContainers": "name",
			"imagePullSecrets": "name", "conditions": "type", "ownerReferences": "name",
		},
	}
}

// key identifies an object by kind, group and name; the version is not compared.
func key(o doc) string {
	api, _ := o["apiVersion"].(string)
	group := ""
	if i := strings.LastIndex(api, "/"); i >= 0 {
		group = api[:i]
	}
	return fmt.Sprint(o["kind"], ".", group, "/", name(o))
}

func name(o doc) string {
	meta, _ := o["metadata"].(doc)
	n, _ := meta["name"].(string)
	return n
}

// short is the key as people write it: Kind/name.
func short(key string) string {
	kind, rest, _ := strings.Cut(key, ".")
	return kind + "/" + rest[strings.LastIndex(rest, "/")+1:]
}

// normalise drops what differs from run to run and writes NS for the namespace.
func normalise(o doc, namespace string) doc {
	o = walk(o, namespace).(doc)
	meta, _ := o["metadata"].(doc)
	for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink", "namespace"} {
		delete(meta, k)
	}
	if a, ok := meta["annotations"].(doc); ok {
		delete(a, "kubectl.kubernetes.io/last-applied-configuration")
		delete(a, "deployment.kubernetes.io/revision")
	}
	if refs, ok := meta["ownerReferences"].([]any); ok {
		for _, r := range refs {
			if ref, ok := r.(doc); ok {
				delete(ref, "uid")
			}
		}
	}
	if spec, ok := o["spec"].(doc); ok && o["kind"] == "Service" && o["apiVersion"] == "v1" {
		if spec["clusterIP"] != "None" {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		for _, p := range items(spec, "ports") {
			delete(p, "nodePort")
		}
	}
	if data, ok := o["data"].(doc); ok && o["kind"] == "Secret" {
		keys := []any{}
		for _, k := range slices.Sorted(maps.Keys(data)) {
			keys = append(keys, k)
		}
		o["data"] = keys
	}
	if !statusKinds()[fmt.Sprint(o["kind"])] {
		delete(o, "status") // it is simulated
	}
	plainStatus(child(o, "status"))
	return o
}

func statusKinds() map[string]bool {
	return set("InferenceService", "InferenceGraph", "TrainedModel", "LLMInferenceService")
}

// plainStatus drops what a status says about times and in words.
func plainStatus(status doc) {
	delete(status, "observedGeneration")
	for _, c := range items(status, "conditions") {
		for _, k := range []string{"message", "lastTransitionTime", "lastUpdateTime", "observedGeneration"} {
			delete(c, k)
		}
	}
	info := child(child(status, "modelStatus"), "lastFailureInfo")
	for k := range info {
		if k != "reason" && k != "exitCode" {
			delete(info, k)
		}
	}
}

func walk(v any, namespace string) any {
	switch v := v.(type) {
	case doc:
		out := make(doc, len(v))
		for k, inner := range v {
			if k != "creationTimestamp" {
				out[k] = walk(inner, namespace)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = walk(v[i], namespace)
		}
		return out
	case string:
		if namespace != "" {
			return strings.ReplaceAll(v, namespace, "NS")
		}
	}
	return v
}

// simplify gives one spelling to one meaning: empty is absent, quantities are numbers, JSON texts are values, keyed lists are maps.
func (r *rules) simplify(v any, name string) any {
	switch v := v.(type) {
	case doc:
		out := doc{}
		for k, inner := range v {
			var s any
			if r.quantityMaps[name] {
				s = quantity(inner)
			} else {
				s = r.simplify(inner, k)
			}
			if !r.empty(s, name, k) || r.keepEmpty[k] && isEmptyMap(s) {
				out[k] = s
			}
		}
		return out
	case []any:
		return r.simplifyList(v, name)
	case string:
		if strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[") {
			var inner any
			if json.Unmarshal([]byte(v), &inner) == nil {
				return doc{"(json)": r.simplify(inner, "")}
			}
		}
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return v
}

func (r *rules) empty(v any, in, k string) bool {
	switch v := v.(type) {
	case nil:
		return true
	case doc:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == "" && !r.textMaps[in]
	case bool:
		return !v && r.dropFalse[k]
	}
	return false
}

func isEmptyMap(v any) bool {
	m, ok := v.(doc)
	return ok && len(m) == 0
}

func (r *rules) simplifyList(v []any, name string) any {
	if field, ok := r.keyed[name]; ok && len(v) > 0 {
		out, order := doc{}, []any{}
		for _, item := range v {
			m, ok := item.(doc)
			if !ok {
				break
			}
			n, _ := m[field].(string)
			order = append(order, n)
			out[n] = r.simplify(m, "")
		}
		if len(out) == len(v) {
			if r.orderedKeyed[name] {
				out["(order)"] = order
			}
			return out
		}
	}
	list := make([]any, len(v))
	hostRules := name == "rules" && len(v) > 0
	for i := range v {
		list[i] = r.simplify(v[i], "")
		m, ok := v[i].(doc)
		_, http := m["http"]
		_, host := m["host"]
		hostRules = hostRules && ok && http && host
	}
	if r.unordered[name] || hostRules {
		sort.Slice(list, func(i, j int) bool { return text(list[i]) < text(list[j]) })
	}
	return list
}

func quantity(v any) any {
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	if err != nil {
		return v
	}
	number := q.AsDec().String()
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func brief(v any) string {
	s := text(v)
	if len(s) < 160 {
		return s
	}
	return s[:157] + "..."
}

// differ lists what the expected side has and the actual has not, and the reverse in closed places.
func (r *rules) differ(e, a any, path string, out *[]string) {
	say := func(format string, args ...any) { *out = append(*out, fmt.Sprintf(format, args...)) }
	em, eok := e.(doc)
	am, aok := a.(doc)
	el, elok := e.([]any)
	al, alok := a.([]any)
	switch {
	case eok && aok:
		for _, k := range slices.Sorted(maps.Keys(em)) {
			if _, ok := am[k]; !ok {
				say("%s.%s: missing, expected %s", path, k, brief(em[k]))
				continue
			}
			r.differ(em[k], am[k], path+"."+k, out)
		}
		last := path[strings.LastIndex(path, ".")+1:]
		_, keyed := r.keyed[last]
		closed := r.closedMaps[last] || keyed && last != "conditions"
		for _, k := range slices.Sorted(maps.Keys(am)) {
			if _, ok := em[k]; !ok && (closed || r.closedFields[k]) {
				say("%s.%s: not expected, is %s", path, k, brief(am[k]))
			}
		}
	case elok && alok && len(el) == len(al):
		for i := range el {
			r.differ(el[i], al[i], fmt.Sprintf("%s.%d", path, i), out)
		}
	case text(e) != text(a):
		say("%s: expected %s, is %s", path, brief(e), brief(a))
	}
}

// lacks is differ where the actual side may have more, also in keyed lists.
func (r *rules) lacks(e, a any, path string, out *[]string) {
	if e == nil {
		return
	}
	em, eok := e.(doc)
	am, aok := a.(doc)
	if !eok || !aok {
		if text(e) != text(a) {
			*out = append(*out, fmt.Sprintf("%s: expected %s, is %s", path, brief(e), brief(a)))
		}
		return
	}
	for _, k := range slices.Sorted(maps.Keys(em)) {
		if k == "(order)" {
			continue
		}
		if _, ok := am[k]; !ok {
			*out = append(*out, fmt.Sprintf("%s.%s: missing, expected %s", path, k, brief(em[k])))
			continue
		}
		r.lacks(em[k], am[k], path+"."+k, out)
	}
}
