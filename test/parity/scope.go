// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The rules that put a case out of scope: what is not Standard mode of an InferenceService. Each looks at the inputs and the operator's
// settings, never at a name.
const (
	ruleGraph     = "InferenceGraph"
	ruleTrained   = "TrainedModel"
	ruleKnative   = "Knative mode"
	ruleModelMesh = "ModelMesh mode"
)

const annotationPrefix = "serving.kserve.io/"

// scopeOf names the first rule that puts a case out of scope, or nothing. settings are the ConfigMap of the case, documents all that
// it applies.
func scopeOf(settings map[string]string, documents []doc) string {
	byDefault, _ := setting(settings, "deploy")["defaultDeploymentMode"].(string)
	modes := map[string]string{} // a service keeps the mode that it was made with
	for _, d := range documents {
		if _, known := modes[name(d)]; d["kind"] == "InferenceService" && !known {
			modes[name(d)] = modeOf(d, byDefault)
		}
		if rule := scopeOfDocument(d, modes[name(d)]); rule != "" {
			return rule
		}
	}
	return ""
}

// modeOf is the deployment mode that a service asks for. One without a predictor has none: there is nothing to deploy.
func modeOf(d doc, byDefault string) string {
	if mode, ok := child(child(d, "metadata"), "annotations")[annotationPrefix+"deploymentMode"].(string); ok {
		return mode
	}
	if len(child(child(d, "spec"), "predictor")) == 0 {
		return ""
	}
	return byDefault
}

func scopeOfDocument(d doc, mode string) string {
	switch d["kind"] {
	case "InferenceGraph":
		return ruleGraph
	case "TrainedModel":
		return ruleTrained
	case "InferenceService":
		switch mode {
		case "Knative", "Serverless":
			return ruleKnative
		case "ModelMesh":
			return ruleModelMesh
		}
	}
	return ""
}

// setting is the JSON document of one key of the ConfigMap; empty when there is none.
func setting(settings map[string]string, key string) doc {
	var d doc
	if json.Unmarshal([]byte(settings[key]), &d) != nil {
		return nil
	}
	return d
}

// perRule counts the results that are out of scope, most first: "Knative mode: 30, canary: 8".
func perRule(results []Result) (int, string) {
	counts, total := map[string]int{}, 0
	for _, r := range results {
		if r.OutOfScope != "" {
			counts[r.OutOfScope]++
			total++
		}
	}
	rules := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	said := make([]string, len(rules))
	for i, rule := range rules {
		said[i] = fmt.Sprintf("%s: %d", rule, counts[rule])
	}
	return total, strings.Join(said, ", ")
}
