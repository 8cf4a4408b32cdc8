// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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

// comparison is the verdict on one object.
type comparison struct {
	verdict verdict
	hash    uint64
}

var seed = maphash.MakeSeed()

// hashOf is a hash of what is wanted.
func hashOf(want plan.Object) (uint64, error) {
	raw, err := json.Marshal(want)
	if err != nil {
		return 0, fmt.Errorf("write JSON: %w", err)
	}
	return maphash.Bytes(seed, raw), nil
}

// compare looks whether an object has to be written.
func (m *memory) compare(owner string, want, there plan.Object) (comparison, error) {
	hash, err := hashOf(want)
	if err != nil {
		return comparison{}, err
	}
	c := comparison{hash: hash}
	known, ok := m.get(owner, keyOf(want))
	if ok && known.want == hash {
		if !newer(there.GetResourceVersion(), known.version) {
			return c, nil
		}
		have, err := fingerprint(there)
		if err != nil {
			return c, err
		}
		if have == known.have {
			return c, nil
		}
	}
	wanted, err := treeOf(want)
	if err != nil {
		return c, err
	}
	have, err := treeOf(there)
	if err != nil {
		return c, err
	}
	c.verdict = judge(wanted, have, ownFields(there), ruleOf(keyOf(want).GroupKind))
	return c, nil
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
	tree, err := treeOf(there)
	if err != nil {
		return 0, err
	}
	raw, err := json.Marshal(tree["spec"])
	if err != nil {
		return 0, fmt.Errorf("write JSON: %w", err)
	}
	_, _ = h.Write(raw)
	return h.Sum64(), nil
}

func (m *memory) get(owner string, k key) (entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.by[owner][k]
	return e, ok
}

// learn remembers that an object is as wanted. What was learned from a newer version stays.
func (m *memory) learn(owner string, want, there plan.Object, hash uint64) {
	known, ok := m.get(owner, keyOf(want))
	if ok && known.want == hash && !newer(there.GetResourceVersion(), known.version) {
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
	m.by[owner][keyOf(want)] = entry{want: hash, have: have, version: there.GetResourceVersion()}
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
	fields := o.GetManagedFields()
	for i := range fields {
		f := &fields[i]
		if f.Manager == FieldManager && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == "" && f.FieldsV1 != nil {
			return f.FieldsV1.Raw
		}
	}
	return nil
}

// treeOf is an object as JSON has it, without nulls.
func treeOf(o plan.Object) (map[string]any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("read %T: %w", o, err)
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
