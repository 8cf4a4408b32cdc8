// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func leadingTo(services ...any) *unstructured.Unstructured {
	refs := make([]any, 0, len(services))
	for _, s := range services {
		refs = append(refs, map[string]any{"name": s})
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{map[string]any{"backendRefs": refs}}}}}
	u.SetGroupVersionKind(plan.HTTPRoute.GroupVersionKind)
	return u
}

func TestARouteWaitsForWhatItIsToLeadTo(t *testing.T) {
	cases := map[string]struct {
		now, then *unstructured.Unstructured
		served    bool
		relieves  bool
		early     bool
	}{
		"nothing changes":                                {now: leadingTo("a"), then: leadingTo("a"), early: false},
		"another that serves with pods enough":           {now: leadingTo("a"), then: leadingTo("b"), served: true, relieves: true, early: false},
		"another that serves and is too small":           {now: leadingTo("a"), then: leadingTo("b"), served: true, early: true},
		"another that does not serve":                    {now: leadingTo("a"), then: leadingTo("b"), relieves: true, early: true},
		"one of two stays alone and is too small":        {now: leadingTo("a", "b"), then: leadingTo("b"), served: true, early: true},
		"one of two stays alone and has pods enough":     {now: leadingTo("a", "b"), then: leadingTo("b"), served: true, relieves: true, early: false},
		"one comes beside it, however small":             {now: leadingTo("a"), then: leadingTo("a", "b"), served: true, early: false},
		"a route that leads nowhere has nothing to lose": {now: leadingTo(), then: leadingTo("b"), early: false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &pass{w: Wanted{Served: func(string) bool { return c.served }, Relieves: func(string, string) bool { return c.relieves }}}
			require.Equal(t, c.early, p.tooEarly(c.then, c.now))
		})
	}
}
