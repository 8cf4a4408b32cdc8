// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpecification plays every example.
func TestSpecification(t *testing.T) {
	played := 0
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, isExample := strings.CutSuffix(filepath.ToSlash(path), ".yaml")
		require.True(t, isExample, "%s is no example: its name must end in .yaml", path)
		played++
		t.Run(strings.TrimPrefix(name, "testdata/"), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, problem := range play(raw) {
				t.Errorf("%s:\n  %s", path, problem)
			}
		})
		return nil
	})
	require.NoError(t, err)
	require.Positive(t, played)
}

// play returns what is wrong with an example or with what came of it.
func play(raw []byte) []string {
	e, err := read(raw)
	if err != nil {
		return []string{err.Error()}
	}
	got, err := run(e)
	if err != nil {
		return []string{err.Error()}
	}
	return judge(&e.expected, got)
}

const service = `
input:
- kind: InferenceService
  metadata: {name: iris}
  spec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: s3://b/m}}}
`

func TestExamplesThatSayNothingOrTooMuchAreErrors(t *testing.T) {
	cases := map[string]struct{ example, says string }{
		"nothing is expected":            {service, "expects nothing"},
		"nothing goes in":                {"objects: [{kind: Service}]", "no input"},
		"a key that does not exist":      {service + "object: []", `unknown field "object"`},
		"an unknown field of a service":  {strings.Replace(service, "storageUri", "storageURL", 1) + "warnings: []", `unknown field "storageURL"`},
		"an unknown kind":                {"input: [{kind: Inference, metadata: {name: a}}]\nwarnings: []", `kind "Inference" has no place`},
		"an unknown setting is no error": {service + "settings: {ingress: {urlScheme: https}}\nobjects: [{kind: Ingress, metadata: {name: iris}}]", ""},
		"settings that are not valid":    {service + "settings: {ingress: {ingressGateway: 7}}\nwarnings: []", "read the settings"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(play([]byte(c.example)), "\n")
			if c.says == "" {
				require.Empty(t, problems)
				return
			}
			require.Contains(t, problems, c.says)
		})
	}
}

func TestFailingExamplesSayWhatIsWrong(t *testing.T) {
	cases := map[string]struct{ expects, says string }{
		"a value":                {"objects: [{kind: Service, metadata: {name: iris-predictor}, spec: {type: NodePort}}]", `Service/iris-predictor.spec.type: expected "NodePort", is null`},
		"the object is shown":    {"objects: [{kind: Service, metadata: {name: iris-predictor}, spec: {type: NodePort}}]", "app: isvc.iris-predictor"},
		"an object":              {"objects: [{kind: Service, metadata: {name: other}}]", "there is no Service/other, only Deployment/iris-predictor"},
		"a container":            {"pods: [{metadata: {name: iris-predictor}, spec: {containers: [{name: agent}]}}]", "spec.containers[agent]: missing"},
		"what must be absent":    {"pods: [{metadata: {name: iris-predictor}, spec: {initContainers: null}}]", "spec.initContainers: must be absent"},
		"an object too many":     {"only: [Service/iris-predictor]", "only Service/iris-predictor must exist, there is Deployment/iris-predictor"},
		"an object that must go": {"absent: [Deployment/iris-predictor]", "Deployment/iris-predictor must not exist"},
		"a refusal":              {"refused: [format]", "admission must refuse this"},
		"a block":                {"blocked: {reason: NoSupportingRuntime}", "must be blocked with reason NoSupportingRuntime"},
		"a decision":             {`explained: ["runtime: mine"]`, "runtime: ClusterServingRuntime kserve-sklearnserver"},
		"an exact list":          {"exact: {'Pod/iris-predictor spec.containers[kserve-container].args': [--x]}", "- --model_name=iris"},
		"a status":               {"status: [{status: {url: 'http://other'}}]", `.status.url: expected "http://other"`},
		"a pod that is admitted": {"pods: [{metadata: {name: iris-predictor}, refused: no}]", "does not contain"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, strings.Join(play([]byte(service+c.expects)), "\n"), c.says)
		})
	}
}
