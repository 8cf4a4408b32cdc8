// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// adoption is the patch that makes what another controller wrote of an object ours, so that it can be taken back. It is nil when no other
// controller wrote any of it.
func adoption(full, want plan.Object) ([]byte, error) {
	if err := csaupgrade.UpgradeManagedFields(full, formerManagers, FieldManager); err != nil {
		return nil, fmt.Errorf("read whose the fields are: %w", err)
	}
	if len(ownFields(full)) == 0 {
		return nil, nil
	}
	fields := full.GetManagedFields()
	for i := range fields {
		f := &fields[i]
		if f.Manager != FieldManager || f.Operation != metav1.ManagedFieldsOperationApply || f.Subresource != "" || f.FieldsV1 == nil {
			continue
		}
		rest, err := without(f.FieldsV1.GetRawBytes(), filledIn(want))
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

// filledIn is the field that is applied empty, and whose inside the API server fills in for a new object only: taken back from an object that
// is there, it would be empty for good.
func filledIn(want plan.Object) []string {
	hpa, ok := want.(*autoscalingv2.HorizontalPodAutoscaler)
	if ok && hpa.Spec.Behavior != nil && hpa.Spec.Behavior.ScaleUp == nil && hpa.Spec.Behavior.ScaleDown == nil {
		return []string{"spec", "behavior"}
	}
	return nil
}

// without takes what is inside of a field out of a set of fields.
func without(fieldsV1 []byte, path []string) ([]byte, error) {
	if len(path) == 0 {
		return fieldsV1, nil
	}
	var all map[string]any
	if err := json.Unmarshal(fieldsV1, &all); err != nil {
		return nil, fmt.Errorf("read whose the fields are: %w", err)
	}
	at := all
	for _, name := range path {
		below, ok := at["f:"+name].(map[string]any)
		if !ok {
			return fieldsV1, nil
		}
		at = below
	}
	clear(at)
	return json.Marshal(all)
}
