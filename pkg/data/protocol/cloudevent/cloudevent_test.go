// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudevent

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

const attributes = `"specversion":"1.0","id":"1","source":"s","type":"t"`

func TestFromJSON(t *testing.T) {
	for name, c := range map[string]struct {
		body, data, err string
		none            bool
	}{
		"data are found where they lie":        {body: `{` + attributes + `,"time":"x","data":{"instances":[1]}}`, data: `{"instances":[1]}`},
		"a time is not needed":                 {body: `{"data":[1, 2],` + attributes + `}`, data: `[1, 2]`},
		"base64 is decoded":                    {body: `{` + attributes + `,"data_base64":"W10="}`, data: `[]`},
		"what is no base64 is named":           {body: `{` + attributes + `,"data_base64":"*"}`, err: "data_base64 is not base64"},
		"an event without data is named":       {body: `{` + attributes + `}`, err: "neither data nor data_base64"},
		"another version is named":             {body: `{"specversion":"9","id":"1","source":"s","type":"t","data":1}`, err: "Found invalid specversion 9"},
		"a V1 body is no event":                {body: `{"instances":[[1]]}`, none: true},
		"one id is not four members":           {body: `{"id":"1","id":"2","id":"3","specversion":"1.0","data":1}`, none: true},
		"an array is no event":                 {body: `[]`, none: true},
		"damaged JSON is left to others":       {body: `{` + attributes, none: true},
		"text that is not UTF-8 is no event":   {body: "{\xff}", none: true},
		"more attributes than fit are refused": {body: `{` + strings.Repeat(`"a":1,`, 200) + attributes + `,"data":1}`, err: "more than 128"},
	} {
		t.Run(name, func(t *testing.T) {
			e, data, err := FromJSON([]byte(c.body))
			require.Equal(t, !c.none, e != nil)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Equal(t, protocol.Invalid, protocol.From(err).Code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.data, string(data))
		})
	}
}

var answer = Answer{ID: "9", Source: "me", Type: "r", Time: "now"}

func TestReplyOfAStructuredEvent(t *testing.T) {
	e, _, err := FromJSON([]byte(`{` + attributes + `,"time":"then","subject":"s","ext":7,"datacontenttype":"application/json","data":1}`))
	require.NoError(t, err)
	out := e.Reply(answer)
	require.Equal(t, `{"specversion": "1.0", "id": "9", "source": "me", "type": "r", "time": "now", "data": {"a": [1, "x,y:\"z"]}}`,
		string(out.AppendJSON(nil, []byte(`{"a":[1,"x,y:\"z"]}`))))

	merge := answer
	merge.Merge = true
	out = e.Reply(merge)
	text := out.AppendJSON(nil, []byte(`2`))
	require.Equal(t, `{"specversion": "1.0", "id": "9", "source": "me", "type": "r", "datacontenttype": "application/json", "subject": "s", `+
		`"time": "now", "data": 2, "ext": 7}`, string(text))
}

func TestReplyOfABinaryEvent(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"ce-specversion": "0.3", "ce-id": "1", "ce-source": "s", "ce-type": "t", "CE-Custom-Extension": "v", "ce-datacontenttype": "application/json",
	} {
		h.Set(name, value)
	}
	require.True(t, InHeaders(h))
	e, err := FromHeaders(h)
	require.NoError(t, err)

	got := http.Header{}
	out := e.Reply(answer)
	out.SetHeaders(got)
	require.Equal(t, http.Header{"Ce-Specversion": {"1.0"}, "Ce-Id": {"9"}, "Ce-Source": {"me"}, "Ce-Type": {"r"}, "Ce-Time": {"now"}}, got)

	merge := answer
	merge.Merge = true
	got = http.Header{}
	out = e.Reply(merge)
	out.SetHeaders(got)
	require.Equal(t, http.Header{
		"Ce-Specversion": {"0.3"}, "Ce-Id": {"9"}, "Ce-Source": {"me"}, "Ce-Type": {"r"}, "Ce-Time": {"now"}, "Ce-Custom-Extension": {"v"},
	}, got)

	h.Set("ce-specversion", "9")
	_, err = FromHeaders(h)
	require.EqualError(t, err, "Cloud Event Exceptions: Found invalid specversion 9")
	h.Del("ce-type")
	require.False(t, InHeaders(h))
}

func TestIsStructured(t *testing.T) {
	for kind, want := range map[string]bool{
		"application/cloudevents+json": true, "Application/CloudEvents+JSON; charset=utf-8": true,
		"application/json": false, "application/cloudevents-batch+json": false, "": false,
	} {
		require.Equal(t, want, IsStructured(kind), kind)
	}
}

// FuzzFromJSON checks that what is taken for an event gives an answer that is JSON.
func FuzzFromJSON(f *testing.F) {
	f.Add([]byte(`{` + attributes + `,"time":"x","ext":{"a":[1]},"data":{"instances":[1]}}`))
	f.Add([]byte(`{` + attributes + `,"data_base64":"W10="}`))
	f.Add([]byte(`{"specversion":"1.0"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, _, err := FromJSON(body)
		if e == nil || err != nil {
			return
		}
		merge := answer
		merge.Merge = true
		out := e.Reply(merge)
		if text := out.AppendJSON(nil, []byte(`{"predictions":[1]}`)); !json.Valid(text) {
			t.Fatalf("%q becomes %q", body, text)
		}
	})
}
