// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/offline"
)

const head = `apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: iris, namespace: team}
spec:
`

// workOf plans the first service of a text.
func workOf(t *testing.T, text string) (*work, error) {
	t.Helper()
	world, faults := offline.Load(strings.NewReader(text), []string{"-"})
	require.Empty(t, faults)
	p, err := world.Plan(world.Services[0])
	require.NoError(t, err)
	return understand(world, world.Services[0], p)
}

func TestWhatOnlyAClusterCanDoIsRefusedInASentence(t *testing.T) {
	model := "  predictor:\n    model: {modelFormat: {name: sklearn}, storageUri: \"s3://b/m\"}\n"
	cases := map[string]struct{ text, say string }{
		"a transformer":        {head + model + "  transformer: {containers: [{name: kserve-container, image: me/t:1}]}\n", "spec.transformer runs the container image me/t:1"},
		"an explainer":         {head + model + "  explainer: {containers: [{name: kserve-container, image: me/e:1}]}\n", "spec.explainer runs the container image me/e:1"},
		"a custom predictor":   {head + "  predictor: {containers: [{name: kserve-container, image: me/p:1}]}\n", "spec.predictor.containers runs the container image me/p:1"},
		"a third-party server": {head + "  predictor: {model: {modelFormat: {name: pytorch}, storageUri: \"s3://b/m\"}}\n", "kserve-torchserve runs the container image"},
		"a format of ours in another server": {
			head + "  predictor: {model: {modelFormat: {name: sklearn}, protocolVersion: v2, storageUri: \"s3://b/m\"}}\n",
			"or set spec.predictor.model.runtime: kserve-sklearnserver to have it served here",
		},
		"no model": {head + "  predictor: {model: {modelFormat: {name: sklearn}}}\n", "no storageUri"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := workOf(t, c.text)
			var r *refusal
			require.True(t, errors.As(err, &r), "%v", err)
			require.Contains(t, err.Error(), c.say)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := workOf(t, strings.Replace(head, "namespace: team", "namespace: team, annotations: {serving.kserve.io/stop: \"true\"}", 1)+model)
	require.ErrorIs(t, err, errStopped)
}

func TestWorkIsWhatThePodWouldBeTold(t *testing.T) {
	w, err := workOf(t, head+`  predictor:
    serviceAccountName: reader
    model:
      modelFormat: {name: xgboost}
      storageUri: s3://bucket/path
      args: [--model_name=other, --nthread, "3"]
      env: [{name: PREDICT_PROBA, value: "TRUE"}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: team}
secrets: [{name: keys}]
---
apiVersion: v1
kind: Secret
metadata:
  name: keys
  namespace: team
  annotations: {serving.kserve.io/s3-endpoint: "minio.local:9000", serving.kserve.io/s3-usehttps: "0"}
stringData: {AWS_ACCESS_KEY_ID: me, AWS_SECRET_ACCESS_KEY: hidden}
`)
	require.NoError(t, err)
	require.Equal(t, "other", w.model)
	require.Equal(t, "xgboost", w.format)
	require.Equal(t, 3, w.threads)
	require.True(t, w.proba)
	require.Len(t, w.sources, 1)
	require.Equal(t, "s3://bucket/path", w.sources[0].URI)
	require.Empty(t, w.sources[0].Path)
	require.Equal(t, "me", w.env["AWS_ACCESS_KEY_ID"])
	require.Equal(t, "hidden", w.env["AWS_SECRET_ACCESS_KEY"])
	require.Equal(t, "http://minio.local:9000", w.env["AWS_ENDPOINT_URL"])
	require.Contains(t, w.hosts, "iris.team.example.com")
	require.Contains(t, w.hosts, "iris.team.svc.cluster.local")
	require.Equal(t, "/v1/models/other:predict", w.path())
}

func TestImageNames(t *testing.T) {
	for image, want := range map[string]string{
		"kserve-go/model-server:latest":         "model-server",
		"registry:5000/a/b/sklearnserver:v0.20": "sklearnserver",
		"kserve/xgbserver@sha256:abc":           "xgbserver",
		"plain":                                 "plain",
	} {
		require.Equal(t, want, imageName(image))
	}
}
