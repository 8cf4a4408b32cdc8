// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celmodel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// change does with a change what an API server since Kubernetes 1.30 does: what was stored and does not change is not judged anew.
func (c *crd) change(t *testing.T, object, old map[string]any) field.ErrorList {
	t.Helper()
	correlated := common.NewCorrelatedObject(object, old, &celmodel.Structural{Structural: c.structural})
	faults := validation.ValidateCustomResourceUpdate(nil, object, old, c.schema, validation.WithRatcheting(correlated))
	if len(listtype.ValidateListSetsAndMaps(nil, c.structural, old)) == 0 {
		faults = append(faults, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	}
	if len(faults) == 0 && c.rules != nil {
		faults, _ = c.rules.Validate(t.Context(), nil, c.structural, object, old, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(correlated))
	}
	return faults
}

// TestWhatIsStoredCanBeLabelledAndDeleted holds that an object which a rule would refuse today, and which was stored before, gets a label,
// loses a finalizer, and is refused only when the faulty part changes to another fault.
func TestWhatIsStoredCanBeLabelledAndDeleted(t *testing.T) {
	t.Parallel()
	crds := loadCRDs(t)
	all := otherRows()
	all["InferenceService"] = serviceRows()
	tried := 0
	for kind, rows := range all {
		for name, test := range rows {
			if test.old != "" || strings.Contains(test.says, "unknown field") || test.says == "Required" || name == "quantity" {
				continue // rules about changes, and what no schema of the kind ever let pass
			}
			tried++
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				c := crds[kind]
				old := object(t, c, test.refused)
				metadata, _ := old["metadata"].(map[string]any)
				metadata["finalizers"] = []any{"a.test/b"}
				now := kruntime.DeepCopyJSON(old)
				metadata, _ = now["metadata"].(map[string]any)
				metadata["labels"] = map[string]any{"a": "b"}
				delete(metadata, "finalizers")
				require.Empty(t, c.change(t, now, old))
			})
		}
	}
	require.Greater(t, tried, 85)
}

// TestAChangeIsJudged holds that a fault which was not there before is refused.
func TestAChangeIsJudged(t *testing.T) {
	t.Parallel()
	c := loadCRDs(t)["InferenceService"]
	for name, test := range serviceRows() {
		if strings.HasPrefix(name, "name:") || strings.Contains(test.says, "unknown field") {
			continue // a name does not change
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, c.change(t, object(t, c, test.refused), object(t, c, test.accepted)))
		})
	}
}
