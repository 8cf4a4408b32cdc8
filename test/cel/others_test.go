// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

const othersDir = "../data/crds"

// TestWhatIsRenderedFitsTheKindsOfOtherProjects holds every golden object of a kind of another project against that project's own
// definition: no unknown field, which an API server would drop in silence, and no broken rule.
func TestWhatIsRenderedFitsTheKindsOfOtherProjects(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(othersDir, "*.yaml"))
	require.NoError(t, err)
	kinds := map[string]string{} // the file of a group and kind
	for _, name := range names {
		var o struct {
			Spec struct {
				Group string `json:"group"`
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
			} `json:"spec"`
		}
		read(t, name, &o)
		kinds[o.Spec.Group+"/"+o.Spec.Names.Kind] = name
	}
	golden, err := filepath.Glob("../../pkg/control/render/testdata/*/out/*.yaml")
	require.NoError(t, err)
	crds, seen := map[string]*crd{}, map[string]int{}
	for _, name := range golden {
		var o map[string]any
		read(t, name, &o)
		api, _ := o["apiVersion"].(string)
		kind, _ := o["kind"].(string)
		group, version, _ := strings.Cut(api, "/")
		file, ok := kinds[group+"/"+kind]
		if !ok {
			continue
		}
		if crds[api+kind] == nil {
			crds[api+kind], err = readVersion(file, version)
			require.NoError(t, err, file)
		}
		seen[kind]++
		require.Empty(t, crds[api+kind].admit(t.Context(), o, nil), name)
	}
	for _, kind := range []string{"HTTPRoute", "VirtualService", "ScaledObject", "OpenTelemetryCollector"} {
		require.NotZero(t, seen[kind], "no golden %s", kind)
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	text, err = yaml.YAMLToJSON(text)
	require.NoError(t, err, name)
	require.NoError(t, utiljson.Unmarshal(text, into), name) // whole numbers are integers
}

// readVersion reads a CRD that has several versions, as an API server that is asked for one of them.
func readVersion(name, version string) (*crd, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var o map[string]any
	if err := yaml.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	spec, _ := o["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	spec["versions"] = slices.DeleteFunc(versions, func(v any) bool { m, ok := v.(map[string]any); return ok && m["name"] != version })
	if text, err = yaml.Marshal(o); err != nil {
		return nil, err
	}
	return parseCRD(text)
}
