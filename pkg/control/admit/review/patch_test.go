// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package review_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
)

// thing is an object with all that a patch has to cope with.
type thing struct {
	Labels map[string]string `json:"labels,omitempty"`
	Zero   struct {
		Inner *int `json:"inner,omitempty"`
	} `json:"zero"`
	List []item `json:"list,omitempty"`
	Text string `json:"text,omitempty"`
}

type item struct {
	Name string `json:"name"`
	Size *int   `json:"size,omitempty"`
}

// apply changes an object by a patch as an API server does.
func apply(tb testing.TB, raw []byte, steps []review.Operation) string {
	tb.Helper()
	text, err := json.Marshal(steps)
	require.NoError(tb, err)
	if len(steps) == 0 {
		return string(raw)
	}
	patch, err := jsonpatch.DecodePatch(text)
	require.NoError(tb, err, string(text))
	out, err := patch.Apply(raw)
	require.NoError(tb, err, string(text))
	return string(out)
}

func TestPatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		raw    string
		change func(*thing)
		want   string
	}{
		"nothing":                             {`{"unknown":1}`, func(*thing) {}, `{"unknown":1}`},
		"a map that is not there":             {`{}`, func(o *thing) { o.Labels = map[string]string{"a/b~c": "x"} }, `{"labels":{"a/b~c":"x"}}`},
		"a map that is null":                  {`{"labels":null}`, func(o *thing) { o.Labels = map[string]string{"a": "x"} }, `{"labels":{"a":"x"}}`},
		"a map that is empty":                 {`{"labels":{}}`, func(o *thing) { o.Labels = map[string]string{"a": "x"} }, `{"labels":{"a":"x"}}`},
		"one key of many":                     {`{"labels":{"b":"y"}}`, func(o *thing) { o.Labels["a/b"] = "" }, `{"labels":{"b":"y","a/b":""}}`},
		"a key that goes":                     {`{"labels":{"b":"y","c":"z"}}`, func(o *thing) { delete(o.Labels, "b") }, `{"labels":{"c":"z"}}`},
		"the last key that goes":              {`{"labels":{"b":"y"}}`, func(o *thing) { delete(o.Labels, "b") }, `{}`},
		"an object that is written when zero": {`{}`, func(o *thing) { o.Zero.Inner = new(3) }, `{"zero":{"inner":3}}`},
		"what is unknown stays":               {`{"zero":{"new":[1]},"list":[{"name":"a","new":true}],"newer":{}}`, func(o *thing) { o.Zero.Inner, o.List[0].Size = new(1), new(2) }, `{"zero":{"new":[1],"inner":1},"list":[{"name":"a","new":true,"size":2}],"newer":{}}`},
		"an item more":                        {`{"list":[{"name":"a","new":true}]}`, func(o *thing) { o.List = append(o.List, item{Name: "b"}) }, `{"list":[{"name":"a","new":true},{"name":"b"}]}`},
		"an item less":                        {`{"list":[{"name":"a"},{"name":"b"}]}`, func(o *thing) { o.List = o.List[1:] }, `{"list":[{"name":"b"}]}`},
		"a first list":                        {`{}`, func(o *thing) { o.List = []item{{Name: "b"}} }, `{"list":[{"name":"b"}]}`},
		"a text":                              {`{"text":"a"}`, func(o *thing) { o.Text = "b" }, `{"text":"b"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before, after thing
			require.NoError(t, json.Unmarshal([]byte(c.raw), &before))
			require.NoError(t, json.Unmarshal([]byte(c.raw), &after))
			c.change(&after)
			steps, err := review.Patch([]byte(c.raw), &before, &after)
			require.NoError(t, err)
			require.JSONEq(t, c.want, apply(t, []byte(c.raw), steps))
		})
	}
}

// FuzzPatch: whatever two objects are, the patch makes the one into the other and applies.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"labels":{"a":"1"},"list":[{"name":"a"}],"x":1}`), []byte(`{"labels":{"b":"1"},"list":[{"name":"b"},{"name":"a","size":1}]}`))
	f.Add([]byte(`{}`), []byte(`{"text":"a","zero":{"inner":1}}`))
	f.Add([]byte(`{"labels":null,"list":[]}`), []byte(`{"labels":{"~/":""}}`))
	f.Fuzz(func(t *testing.T, raw, other []byte) {
		var before, after thing
		// What the API server sends was read and written by it before, so a key stands in it once.
		var tree map[string]any
		if json.Unmarshal(raw, &tree) != nil || json.Unmarshal(other, &after) != nil || tree == nil {
			t.Skip("no two objects")
		}
		raw, err := json.Marshal(tree)
		require.NoError(t, err)
		if review.Object(raw, &before) != nil {
			t.Skip("an object of another kind")
		}
		steps, err := review.Patch(raw, &before, &after)
		if err != nil {
			t.Skip("nested too deeply to patch")
		}
		var got thing
		require.NoError(t, review.Object([]byte(apply(t, raw, steps)), &got))
		want, err := json.Marshal(after)
		require.NoError(t, err)
		have, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(have))
	})
}
