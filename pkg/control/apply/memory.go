// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// memory spares comparisons: what was the same a moment ago is the same now when neither side changed. It also ends quarrels: where the
// API server, asked for one thing, makes another of it, asking again would be no different. Losing it costs comparisons, never a write.
type memory struct {
	mu sync.Mutex
	by map[string]map[key]entry
}

// entry is a pair that was found, or made, the same.
type entry struct {
	want    uint64 // of what was wanted
	have    uint64 // of what was there, as far as it is ours
	version string // resourceVersion of what was there
}

var seed = maphash.MakeSeed() //nolint:gochecknoglobals // hashes are compared within one process only

// wish is what is wanted as it is sent, and a hash of it.
type wish struct {
	plan.Object
	body []byte
	hash uint64
}

func wishOf(o plan.Object) (*wish, error) {
	body, err := bodyOf(o)
	if err != nil {
		return nil, err
	}
	return &wish{Object: o, body: body, hash: maphash.Bytes(seed, body)}, nil
}

// bodyOf is the JSON of an object without its status.
func bodyOf(o plan.Object) ([]byte, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		if _, ok := u.Object["status"]; ok {
			u = u.DeepCopy()
			delete(u.Object, "status")
		}
		return u.MarshalJSON()
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	// Go writes the fields of a struct in their order, and the last of every built-in kind is its status, which is empty here.
	if i := bytes.LastIndex(raw, []byte(`,"status":{`)); i > 0 {
		raw = append(raw[:i], '}')
	}
	return raw, nil
}

// compare looks whether an object has to be written.
func (m *memory) compare(owner *plan.Owner, want *wish, there plan.Object) (verdict, error) {
	known, ok := m.get(owner.UID, keyOf(want.Object))
	if ok && known.want == want.hash {
		if !newer(there.GetResourceVersion(), known.version) {
			return same, nil
		}
		have, err := fingerprint(there)
		if err != nil {
			return differs, err
		}
		if have == known.have {
			return same, nil
		}
	}
	wanted, err := treeOf(want.Object)
	if err != nil {
		return differs, err
	}
	have, err := treeOf(there)
	if err != nil {
		return differs, err
	}
	fields := ownFields(there)
	wanted = plan.KeepInherited(wanted, have, fields, owner.InheritedLabels(keyOf(want.Object).GroupKind))
	return judge(wanted, have, fields, ruleOf(keyOf(want.Object).GroupKind)), nil
}

// newer says that a version comes after another. Versions of one kind are numbers that grow.
func newer(version, than string) bool {
	if version == than {
		return false
	}
	a, err := strconv.ParseUint(version, 10, 64)
	b, otherErr := strconv.ParseUint(than, 10, 64)
	return err != nil || otherErr != nil || a > b
}

// fingerprint is a hash of what there is of ours in an object: the fields that we own, and its spec.
func fingerprint(there plan.Object) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.Write(ownFields(there))
	if g := there.GetGeneration(); g != 0 {
		_, _ = h.WriteString(strconv.FormatInt(g, 10))
		return h.Sum64(), nil
	}
	raw, err := json.Marshal(specOf(there))
	if err != nil {
		return 0, fmt.Errorf("write JSON: %w", err)
	}
	_, _ = h.Write(raw)
	return h.Sum64(), nil
}

// specOf is the spec of an object whose changes Kubernetes does not number.
func specOf(o plan.Object) any {
	switch o := o.(type) {
	case *corev1.Service:
		return o.Spec
	case *autoscalingv2.HorizontalPodAutoscaler:
		return o.Spec
	case *unstructured.Unstructured:
		return o.Object["spec"]
	}
	return o
}

func (m *memory) get(owner string, k key) (entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.by[owner][k]
	return e, ok
}

// learn remembers that an object is as wanted. What was learned from a newer version stays.
func (m *memory) learn(owner string, want *wish, there plan.Object) {
	k := keyOf(want.Object)
	known, ok := m.get(owner, k)
	if ok && known.want == want.hash && !newer(there.GetResourceVersion(), known.version) {
		return
	}
	have, err := fingerprint(there)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[string]map[key]entry{}
	}
	if m.by[owner] == nil {
		m.by[owner] = map[key]entry{}
	}
	m.by[owner][k] = entry{want: want.hash, have: have, version: there.GetResourceVersion()}
}

func (m *memory) drop(owner string, k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by[owner], k)
}

func (m *memory) forget(owner string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, owner)
}

// ownFields is what the API server says that we own of an object, nil where we never applied it.
func ownFields(o plan.Object) []byte {
	if u, ok := o.(*unstructured.Unstructured); ok {
		if text := ownText(u); text != "" {
			return withOwner([]byte(text), o)
		}
		return nil
	}
	fields := o.GetManagedFields()
	for i := range fields {
		f := &fields[i]
		if plan.IsApplied(f) && f.FieldsV1 != nil {
			return withOwner(f.FieldsV1.GetRawBytes(), o)
		}
	}
	return nil
}

// treeOf is an object as JSON has it, without nulls.
func treeOf(o plan.Object) (map[string]any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	tree, err := plan.Tree(o)
	if err != nil {
		return nil, err
	}
	withoutNulls(tree)
	return tree, nil
}

// withoutNulls takes out fields that say nothing.
func withoutNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if inner == nil {
				delete(v, k)
				continue
			}
			withoutNulls(inner)
		}
	case []any:
		for _, inner := range v {
			withoutNulls(inner)
		}
	}
}
