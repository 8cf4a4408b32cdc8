// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// adoption is the patch that makes what another controller wrote of an object ours, so that it can be taken back. It is nil when no other
// controller wrote any of it.
func adoption(full, want plan.Object) ([]byte, error) {
	if err := csaupgrade.UpgradeManagedFields(full, formerManagers, plan.FieldManager); err != nil {
		return nil, fmt.Errorf("read whose the fields are: %w", err)
	}
	if len(ownFields(full)) == 0 {
		return nil, nil
	}
	tree, err := treeOf(want)
	if err != nil {
		return nil, err
	}
	fields := full.GetManagedFields()
	for i := range fields {
		f := &fields[i]
		if !plan.IsApplied(f) || f.FieldsV1 == nil {
			continue
		}
		rest, err := letGo(f.FieldsV1.GetRawBytes(), tree)
		if err != nil {
			return nil, err
		}
		f.FieldsV1 = &metav1.FieldsV1{}
		f.FieldsV1.SetRawBytes(rest)
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": full.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("say whose the fields are: %w", err)
	}
	return patch, nil
}

// letGo takes out of a set of fields what is inside of those that are applied empty. The API server fills such a field in for a new object;
// taken back from an object that is there, it would be empty for good, or no object at all.
func letGo(fieldsV1 []byte, want map[string]any) ([]byte, error) {
	var owned map[string]any
	if err := json.Unmarshal(fieldsV1, &owned); err != nil {
		return nil, fmt.Errorf("read whose the fields are: %w", err)
	}
	letGoBelow(owned, want)
	return json.Marshal(owned)
}

func letGoBelow(owned, want map[string]any) {
	for name, value := range want {
		below, isOwned := owned["f:"+name].(map[string]any)
		inner, isMap := value.(map[string]any)
		switch {
		case !isOwned || !isMap:
		case len(inner) == 0:
			clear(below)
		default:
			letGoBelow(below, inner)
		}
	}
}
