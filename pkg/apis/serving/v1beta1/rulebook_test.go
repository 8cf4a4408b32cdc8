// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/internal/rulebook"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// TestEveryRuleIsDocumented holds the page of rules to what the rules say, and every refusal to naming path, value, rule and fix.
func TestEveryRuleIsDocumented(t *testing.T) { //nolint:paralleltest // writes one file
	var refused, odd, changes []rulebook.Row
	for name, test := range rules() {
		faults, _ := service(t, test.refused).Validate(operator())
		for _, fault := range faults {
			rulebook.Sound(t, fault)
		}
		refused = append(refused, rulebook.Refusal(t, name, test.field, faults))
	}
	for name, test := range oddities() {
		_, warnings := service(t, test.in).Validate(v1beta1.Rules{Mode: serving.Knative})
		require.NotEmpty(t, warnings, name)
		odd = append(odd, rulebook.Warning(name, warnings[0]))
	}
	for name, test := range updates() {
		if test.field == "" {
			changes = append(changes, rulebook.Row{Rule: name, Says: "accepted"})
			continue
		}
		faults, _ := service(t, test.next).ValidateUpdate(service(t, test.old), v1beta1.Rules{Mode: serving.Knative})
		changes = append(changes, rulebook.Refusal(t, name, test.field, faults))
	}
	rulebook.Section(t, "services", refused)
	rulebook.Section(t, "service warnings", odd)
	rulebook.Section(t, "service changes", changes)
}
