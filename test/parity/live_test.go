// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCasesThatReachBeyondTheirNamespaceRunAlone(t *testing.T) {
	in := func(docs ...doc) []doc { return docs }
	plain := func(name, config string) *recorded {
		return &recorded{name: name, config: config, inputs: in(doc{"kind": "InferenceService", "metadata": doc{"name": "m"}})}
	}
	wide := &recorded{name: "w", inputs: in(doc{"kind": "ClusterServingRuntime", "metadata": doc{"name": "r"}})}
	elsewhere := &recorded{name: "e", inputs: in(doc{"kind": "ConfigMap", "metadata": doc{"name": "m", "namespace": "kserve"}})}
	var names [][]string
	for _, batch := range batches([]*recorded{plain("a", "{}"), wide, plain("b", ""), plain("c", "{}"), elsewhere, plain("d", "")}) {
		var list []string
		for _, c := range batch {
			list = append(list, c.name)
		}
		names = append(names, list)
	}
	require.Equal(t, [][]string{{"b", "d"}, {"e"}, {"w"}, {"a", "c"}}, names, "shipped settings first, equal settings together")
}

func TestStatuses(t *testing.T) {
	service := func(status doc) Outcome {
		return Outcome{Objects: []doc{{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": doc{"name": "m"}, "status": status}}}
	}
	one := func(kind, status, reason string) doc {
		return doc{"type": kind, "status": status, "reason": reason, "message": "said in " + reason, "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	recorded := doc{"url": "http://m", "observedGeneration": 1, "conditions": []any{one("Ready", "True", "")}}
	must := Difference{Conditions: []condition{{Object: "InferenceService/m", Type: "Ready", Status: "False", Reason: "Broken"}}}
	cases := map[string]struct {
		actual doc
		diff   Difference
		says   string
	}{
		"times, words and generations are not compared": {actual: doc{"url": "http://m", "observedGeneration": 2, "conditions": []any{doc{"type": "Ready", "status": "True", "message": "other"}}}},
		"more conditions are allowed":                   {actual: doc{"url": "http://m", "conditions": []any{one("Ready", "True", ""), one("More", "False", "Why")}}},
		"another url":                                   {actual: doc{"url": "http://n", "conditions": []any{one("Ready", "True", "")}}, says: "status.url"},
		"another reason":                                {actual: doc{"url": "http://m", "conditions": []any{one("Ready", "True", "Because")}}},
		"another status":                                {actual: doc{"url": "http://m", "conditions": []any{one("Ready", "False", "")}}, says: "conditions.Ready.status"},
		"a condition that must hold":                    {actual: doc{"url": "http://m", "conditions": []any{one("Ready", "False", "Broken")}}, diff: must},
		"and does not":                                  {actual: doc{"url": "http://m", "conditions": []any{one("Ready", "True", "")}}, diff: must, says: "condition Ready: expected False"},
		"and is not there":                              {actual: doc{"url": "http://m"}, diff: must, says: "condition Ready: expected False"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(Compare(service(recorded), service(c.actual), c.diff, ""), "\n")
			if c.says == "" {
				require.Empty(t, problems)
				return
			}
			require.Contains(t, problems, c.says)
		})
	}
}
