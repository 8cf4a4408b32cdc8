// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Kinds says which optional kinds the cluster has now. It may be used from several goroutines.
type Kinds struct {
	mu     sync.RWMutex
	have   map[schema.GroupKind]plan.Optional
	denied map[schema.GroupKind]string
}

// Set records that the cluster has a kind, or has it no longer, and says whether that is news.
func (k *Kinds) Set(o plan.Optional, present bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.denied, o.GroupKind())
	if _, was := k.have[o.GroupKind()]; was == present {
		return false
	}
	if !present {
		delete(k.have, o.GroupKind())
		return true
	}
	if k.have == nil {
		k.have = map[schema.GroupKind]plan.Optional{}
	}
	k.have[o.GroupKind()] = o
	return true
}

// Deny records why a kind that is there cannot be used, and says whether that is news; an empty why ends it.
func (k *Kinds) Deny(o plan.Optional, why string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.denied[o.GroupKind()] == why {
		return false
	}
	if why == "" {
		delete(k.denied, o.GroupKind())
		return true
	}
	if k.denied == nil {
		k.denied = map[schema.GroupKind]string{}
	}
	k.denied[o.GroupKind()] = why
	return true
}

// Denied is why a kind that is there cannot be used.
func (k *Kinds) Denied(gk schema.GroupKind) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.denied[gk]
}

// Has says whether objects of a kind can be read and written. It is true of every kind that is not optional.
func (k *Kinds) Has(gk schema.GroupKind) bool {
	if _, optional := plan.OptionalKind(gk); !optional {
		return true
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.have[gk]
	return ok
}

// Present are the optional kinds that the cluster has, sorted.
func (k *Kinds) Present() []plan.Optional {
	k.mu.RLock()
	defer k.mu.RUnlock()
	list := make([]plan.Optional, 0, len(k.have))
	for _, o := range k.have {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b plan.Optional) int { return cmp.Compare(a.CRD, b.CRD) })
	return list
}
