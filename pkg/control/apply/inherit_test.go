// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func TestInheritedLabelsAreNoReasonToWrite(t *testing.T) {
	tree := func(text string) map[string]any {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		return m
	}
	object := func(labels, template string) map[string]any {
		return tree(`{"metadata": {"labels": ` + labels + `}, "spec": {"template": {"metadata": {"labels": ` + template + `}, "spec": {"a": "b"}}}}`)
	}
	const fields = `{"f:metadata": {"f:labels": {"f:app": {}, "f:team": {}}}, "f:spec": {"f:template": {"f:metadata": {"f:labels": {"f:app": {}, "f:team": {}}}, "f:spec": {"f:a": {}}}}}`
	have := object(`{"app": "m", "team": "a"}`, `{"app": "m", "team": "a"}`)
	r := rule{parts: []string{"metadata", "spec"}}
	cases := map[string]struct {
		want      map[string]any
		have      map[string]any
		fields    string
		inherited map[string]string
		verdict   verdict
	}{
		"nothing changed":               {want: have, inherited: map[string]string{"team": "a"}, verdict: same},
		"another value":                 {want: object(`{"app": "m", "team": "b"}`, `{"app": "m", "team": "b"}`), inherited: map[string]string{"team": "b"}, verdict: same},
		"a new label":                   {want: object(`{"app": "m", "team": "a", "x": "y"}`, `{"app": "m", "team": "a", "x": "y"}`), inherited: map[string]string{"team": "a", "x": "y"}, verdict: same},
		"a label that is not inherited": {want: object(`{"app": "n", "team": "a"}`, `{"app": "n", "team": "a"}`), inherited: map[string]string{"team": "a"}, verdict: differs},
		"a component's value over it":   {want: object(`{"app": "m", "team": "c"}`, `{"app": "m", "team": "c"}`), inherited: map[string]string{"team": "b"}, verdict: differs},
		"a label that is gone":          {want: object(`{"app": "m"}`, `{"app": "m"}`), verdict: differs},
		"one that somebody else has edited": {
			want: have, inherited: map[string]string{"team": "a"}, verdict: differs,
			have:   object(`{"app": "m", "team": "theirs"}`, `{"app": "m", "team": "a"}`),
			fields: `{"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:template": {"f:metadata": {"f:labels": {"f:app": {}, "f:team": {}}}, "f:spec": {"f:a": {}}}}}`,
		},
		"the first label of all": {
			want: tree(`{"metadata": {"labels": {"x": "y"}, "annotations": {"z": "1"}}, "spec": {"a": "b"}}`), inherited: map[string]string{"x": "y"}, verdict: same,
			have: tree(`{"metadata": {"annotations": {"z": "1"}}, "spec": {"a": "b"}}`), fields: `{"f:metadata": {"f:annotations": {"f:z": {}}}, "f:spec": {"f:a": {}}}`,
		},
		"the first label of ours": {
			want: tree(`{"metadata": {"labels": {"x": "y"}, "annotations": {"z": "1"}}, "spec": {"a": "b"}}`), inherited: map[string]string{"x": "y"}, verdict: same,
			have: tree(`{"metadata": {"labels": {"their": "own"}, "annotations": {"z": "1"}}, "spec": {"a": "b"}}`), fields: `{"f:metadata": {"f:annotations": {"f:z": {}}}, "f:spec": {"f:a": {}}}`,
		},
		"another value beside another change": {
			want:      tree(`{"metadata": {"labels": {"app": "m", "team": "b"}}, "spec": {"template": {"metadata": {"labels": {"app": "m", "team": "b"}}, "spec": {"a": "c"}}}}`),
			inherited: map[string]string{"team": "b"}, verdict: differs,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.have == nil {
				c.have = have
			}
			if c.fields == "" {
				c.fields = fields
			}
			before, err := json.Marshal(c.want)
			require.NoError(t, err)
			got := plan.KeepInherited(c.want, c.have, []byte(c.fields), c.inherited)
			require.Equal(t, c.verdict, judge(got, c.have, []byte(c.fields), r))
			after, err := json.Marshal(c.want)
			require.NoError(t, err)
			require.JSONEq(t, string(before), string(after), "what is wanted is left as it was")
		})
	}
}
