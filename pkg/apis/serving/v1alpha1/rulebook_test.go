// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/internal/rulebook"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
)

// TestEveryRuleIsDocumented holds the page of rules to what the rules say, and every refusal to naming path, value, rule and fix.
func TestEveryRuleIsDocumented(t *testing.T) { //nolint:paralleltest // writes one file
	section := func(title string, rules map[string]rule, validate func(string) field.ErrorList) {
		var rows []rulebook.Row
		for name, test := range rules {
			faults := validate(test.refused)
			for _, fault := range faults {
				rulebook.Sound(t, fault)
			}
			rows = append(rows, rulebook.Refusal(t, name, test.field, faults))
		}
		rulebook.Section(t, title, rows)
	}
	section("runtimes", runtimeRules(), func(text string) field.ErrorList {
		faults, _ := read[v1alpha1.ServingRuntime](t, text).Validate(v1alpha1.RuntimeRules{GPUResources: []string{"own.test/gpu"}})
		return faults
	})
	section("graphs", graphRules(), func(text string) field.ErrorList {
		faults, _ := read[v1alpha1.InferenceGraph](t, text).Validate()
		return faults
	})
	section("models", modelRules(), func(text string) field.ErrorList { return read[v1alpha1.TrainedModel](t, text).Validate() })
	section("storage containers", containerRules(), func(text string) field.ErrorList {
		return read[v1alpha1.ClusterStorageContainer](t, text).Validate()
	})
}
