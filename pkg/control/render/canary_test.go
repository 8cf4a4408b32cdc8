// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kserve-go/kserve-go/pkg/control/render"
)

// TestAPromotedCanaryKeepsItsPods: what a canary ran with is what the stable predictor of its name runs with, to the byte, so that no pod restarts.
func TestAPromotedCanaryKeepsItsPods(t *testing.T) {
	base := shipped(t)
	tests := map[string]struct{ stable, canary, promoted string }{
		"another model": {
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m}",
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m2}",
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m2}",
		},
		"with what the stable one said": {
			"minReplicas: 10, logger: {mode: all, url: http://sink}, nodeSelector: {a: b}, model: {modelFormat: {name: sklearn}, storageUri: gs://b/m, args: [--x]}",
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m2}",
			"minReplicas: 10, logger: {mode: all, url: http://sink}, nodeSelector: {a: b}, model: {modelFormat: {name: sklearn}, storageUri: gs://b/m2, args: [--x]}",
		},
		"of another format": {
			"model: {modelFormat: {name: sklearn}, runtime: kserve-sklearnserver, storageUri: gs://b/m}",
			"model: {modelFormat: {name: xgboost}, storageUri: gs://b/m2}",
			"model: {modelFormat: {name: xgboost}, storageUri: gs://b/m2}",
		},
		"in another runtime": {
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m}",
			"model: {modelFormat: {name: sklearn}, runtime: kserve-mlserver, protocolVersion: v2, storageUri: gs://b/m2}",
			"model: {modelFormat: {name: sklearn}, runtime: kserve-mlserver, protocolVersion: v2, storageUri: gs://b/m2}",
		},
		"with several sources": {
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m}",
			"model: {modelFormat: {name: sklearn}}, storageUris: [{uri: gs://b/x, mountPath: /mnt/models/x}]",
			"model: {modelFormat: {name: sklearn}}, storageUris: [{uri: gs://b/x, mountPath: /mnt/models/x}]",
		},
		"with a place in the storage configuration": {
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m}",
			"model: {modelFormat: {name: sklearn}, storage: {key: k, path: p, parameters: {type: s3, bucket: b}}}",
			"model: {modelFormat: {name: sklearn}, storage: {key: k, path: p, parameters: {type: s3, bucket: b}}}",
		},
		"as a container": {
			"model: {modelFormat: {name: sklearn}, storageUri: gs://b/m}",
			"containers: [{name: kserve-container, image: 'own:1'}]",
			"containers: [{name: kserve-container, image: 'own:1'}]",
		},
	}
	head := "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: foo, annotations: {serving.kserve.io/deploymentMode: Standard%s}}\n"
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := deployment(t, base, fmt.Sprintf(head, ", kserve-go.dev/canary-analysis: '{}'")+"spec: {predictor: {"+test.stable+"}, canary: [{trafficPercent: 20, predictor: {name: v2, "+test.canary+"}}]}")
			after := deployment(t, base, fmt.Sprintf(head, "")+"spec: {predictor: {name: v2, "+test.promoted+"}}")
			require.Equal(t, string(toYAML(t, before.Spec.Template)), string(toYAML(t, after.Spec.Template)))
			require.Equal(t, before.Spec.Selector, after.Spec.Selector)
		})
	}
}

func deployment(t *testing.T, base *world, text string) *appsv1.Deployment {
	t.Helper()
	w := read(t, base, []byte(text))
	p, err := w.decide()
	require.NoError(t, err)
	require.Empty(t, p.Unplanned)
	objects, err := render.Objects(p, w.settings)
	require.NoError(t, err)
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok && d.Name == "foo-v2-predictor" {
			return d
		}
	}
	require.Fail(t, "no such Deployment")
	return nil
}
