// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package mistyped_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/mistyped"
)

type document struct {
	Count   *int32            `json:"count"`
	Small   int8              `json:"small"`
	Name    string            `json:"name"`
	On      bool              `json:"on"`
	Words   []string          `json:"words"`
	Map     map[string]string `json:"map"`
	Wait    metav1.Duration   `json:"wait"`
	Since   metav1.Time       `json:"since"`
	Pod     corev1.PodSpec    `json:"pod"`
	Elapsed time.Duration     `json:"elapsed"`
}

func decode(raw []byte) error { return json.Unmarshal(raw, &document{}) }

func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, path, says string }{
		"a quantity that is none":   {`{"pod": {"containers": [{}, {"resources": {"limits": {"memory": "1Gi", "cpu": "two"}}}]}}`, "pod.containers[1].resources.limits.cpu", `the text "two" (quoted values are texts) is no quantity; write for example 500m, 2 or 1Gi`},
		"a text for a number":       {`{"count": "3"}`, "count", `a whole number is expected, got the text "3" (quoted values are texts)`},
		"a fraction":                {`{"count": 1.5}`, "count", "a whole number is expected, got the number 1.5"},
		"a number without room":     {`{"count": 3000000000}`, "count", "a whole number between -2147483648 and 2147483647 is expected, got the number 3e+09"},
		"a small one without room":  {`{"small": 128}`, "small", "a whole number between -128 and 127 is expected, got the number 128"},
		"a number for a text":       {`{"pod": {"containers": [{"env": [{"name": "A", "value": 1}]}]}}`, "pod.containers[0].env[0].value", "a text is expected, got the number 1; put it in quotes"},
		"a word that YAML reads":    {`{"name": true}`, "name", "a text is expected, got true; put it in quotes: YAML reads y, yes, on and true as true, n, no, off and false as false"},
		"a text for a switch":       {`{"on": "true"}`, "on", `true or false is expected, got the text "true" (quoted values are texts)`},
		"one word for a list":       {`{"words": "a"}`, "words", `a list is expected, got the text "a" (quoted values are texts)`},
		"a list for an object":      {`{"map": ["a"]}`, "map", "an object with fields is expected, got a list"},
		"an object for a list":      {`{"pod": {"containers": {"name": "a"}}}`, "pod.containers", "a list is expected, got an object with fields"},
		"a time that is none":       {`{"wait": "5"}`, "wait", `the text "5" (quoted values are texts) is no length of time; write for example 30s or 1m30s`},
		"a moment that is none":     {`{"since": "yesterday"}`, "since", `the text "yesterday" (quoted values are texts) is no point in time; write for example 2026-01-02T15:04:05Z`},
		"a key with dots":           {`{"map": {"a.b/c": 5}}`, "map[a.b/c]", "a text is expected, got the number 5; put it in quotes"},
		"not even a document":       {`{`, "", "unexpected end of JSON input"},
		"a list instead of all":     {`[1]`, "", "an object with fields is expected, got a list"},
		"a port without any number": {`{"pod": {"containers": [{"ports": [{"containerPort": 99999999999}]}]}}`, "pod.containers[0].ports[0].containerPort", "a whole number between -2147483648 and 2147483647 is expected, got the number 9.9999999999e+10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := decode([]byte(test.in))
			require.Error(t, err)
			path, message := mistyped.Find([]byte(test.in), err, decode)
			require.Equal(t, test.path, path)
			require.Equal(t, test.says, message)
		})
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys []string
		want string
	}{
		"a field":         {[]string{"a", "b"}, `{"a":{"c":12345678901234567890},"l":[1,2]}`},
		"a place":         {[]string{"l", "0"}, `{"a":{"b":1,"c":12345678901234567890},"l":[null,2]}`},
		"nothing":         {nil, ""},
		"what is not":     {[]string{"x", "y"}, ""},
		"beyond the end":  {[]string{"l", "2"}, ""},
		"a field of none": {[]string{"a", "b", "c"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const in = `{"a":{"b":1,"c":12345678901234567890},"l":[1,2]}`
			out, ok := mistyped.Without([]byte(in), test.keys)
			require.Equal(t, test.want != "", ok)
			if ok {
				require.Equal(t, test.want, string(out))
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{`{"count": "3"}`, `{"pod": {"containers": [{"resources": {"limits": {"cpu": "two"}}}]}}`, `{"map": {"a.b": 5}}`, `[`, `null`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if err := decode([]byte(in)); err != nil {
			if _, message := mistyped.Find([]byte(in), err, decode); message == "" {
				t.Error("an error and no word about it")
			}
		}
	})
}
