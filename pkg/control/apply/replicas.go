// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// handOver leaves the number of pods as it is when it stops being ours to say. A field that its only owner says no longer is set back to its
// default, and that would be one pod until the autoscaler has looked: so the field is given up before it is left out.
func (p *pass) handOver(ctx context.Context, want, there plan.Object) error {
	wanted, ok := want.(*appsv1.Deployment)
	have, also := there.(*appsv1.Deployment)
	if !ok || !also || wanted.Spec.Replicas != nil || have.Spec.Replicas == nil || *have.Spec.Replicas == 1 || !saysReplicas(ownFields(there)) {
		return nil
	}
	full := &appsv1.Deployment{}
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(want), full); err != nil {
		return p.failed("read", want, err)
	}
	if full.GetUID() != there.GetUID() {
		return nil // the write ends in a conflict
	}
	for i := range full.ManagedFields {
		entry := &full.ManagedFields[i]
		if !plan.IsApplied(entry) || entry.FieldsV1 == nil {
			continue
		}
		fields, said, err := withoutReplicas(entry.FieldsV1.GetRawBytes())
		if err != nil || !said {
			return nil //nolint:nilerr // fields that cannot be read are no reason not to write ours
		}
		patch, err := json.Marshal([]map[string]any{
			{"op": "replace", "path": "/metadata/resourceVersion", "value": full.ResourceVersion},
			{"op": "replace", "path": fmt.Sprintf("/metadata/managedFields/%d/fieldsV1", i), "value": fields},
		})
		if err != nil {
			return p.failed(VerbAdopt, want, err)
		}
		err = p.Client.Patch(ctx, full, client.RawPatch(types.JSONPatchType, patch))
		p.count(want, VerbAdopt)
		if err != nil {
			return p.failed(VerbAdopt, want, err)
		}
		return nil
	}
	return nil
}

func saysReplicas(fieldsV1 []byte) bool {
	_, said, err := withoutReplicas(fieldsV1)
	return err == nil && said
}

// withoutReplicas takes the number of pods out of the fields of a Deployment that somebody owns, and says whether it was there.
func withoutReplicas(fieldsV1 []byte) (fields map[string]any, said bool, err error) {
	if err := json.Unmarshal(bytes.TrimSpace(fieldsV1), &fields); err != nil {
		return nil, false, fmt.Errorf("read the fields of a Deployment: %w", err)
	}
	spec, _ := fields["f:spec"].(map[string]any)
	_, said = spec["f:replicas"]
	delete(spec, "f:replicas")
	return fields, said, nil
}
