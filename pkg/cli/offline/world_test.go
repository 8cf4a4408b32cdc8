// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
)

const service = `apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: iris}
spec:
  predictor:
    model:
      modelFormat: {name: sklearn}
      storageUri: s3://models/iris
`

func TestEveryShippedRuntimeIsReadAndOneOfTheFilesReplacesIt(t *testing.T) {
	shipped := 0
	for _, doc := range deploy.Runtimes() {
		objects, faults := manifest.Parse("shipped", doc)
		require.Empty(t, faults)
		shipped += len(objects)
	}
	world, faults := Load(strings.NewReader(service+"---\n"+string(deploy.Runtimes()[0])), []string{"-"})
	require.Empty(t, faults)
	require.Len(t, world.cluster, shipped)
}

func TestNearerRuntimeWins(t *testing.T) {
	runtime := `---
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: mine}
spec:
  protocolVersions: [v1]
  supportedModelFormats: [{name: sklearn, version: "1", autoSelect: true}]
  containers: [{name: kserve-container, image: me/mine:1, args: ["--model_name={{.Name}}"]}]
`
	world, faults := Load(strings.NewReader(service+runtime), []string{"-"})
	require.Empty(t, faults)
	p, err := world.Plan(world.Services[0])
	require.NoError(t, err)
	require.Equal(t, "mine", p.Components[0].Runtime.Name)

	world, _ = Load(strings.NewReader(service+strings.Replace(runtime, "{name: mine}", "{name: mine, namespace: other}", 1)), []string{"-"})
	p, err = world.Plan(world.Services[0])
	require.NoError(t, err)
	require.Equal(t, "kserve-sklearnserver", p.Components[0].Runtime.Name, "a runtime of another namespace is out of reach")
}

func TestWithoutLeavesOutWhatHasAFault(t *testing.T) {
	bad := strings.NewReplacer("name: iris", "name: bad", "s3://", "foo://").Replace(service)
	world, faults := Load(strings.NewReader(service+"---\n"+bad), []string{"-"})
	require.Len(t, faults, 1)
	require.Equal(t, "spec.predictor.model.storageUri", faults[0].Path)
	require.Len(t, world.Services, 2)
	rest := world.Without(faults)
	require.Len(t, rest.Services, 1)
	require.Equal(t, "iris", rest.Services[0].Object.Name)
}
