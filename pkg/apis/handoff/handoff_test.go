// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
)

func TestModels(t *testing.T) {
	t.Parallel()
	const file = `[{"modelName":"m","modelSpec":{"storageUri":"s3://a/b","framework":"sklearn","memory":"1Gi"}}]`
	var models handoff.Models
	require.NoError(t, json.Unmarshal([]byte(file), &models))
	require.Equal(t, handoff.Models{{Name: "m", Spec: handoff.ModelSpec{StorageURI: "s3://a/b", Framework: "sklearn", Memory: "1Gi"}}}, models)
	text, err := json.Marshal(models)
	require.NoError(t, err)
	require.Equal(t, file, string(text))
}

// TestGraphReadsTheSpec gives the router what the renderer writes: the spec of an InferenceGraph.
func TestGraphReadsTheSpec(t *testing.T) {
	t.Parallel()
	spec := v1alpha1.InferenceGraphSpec{
		Nodes: map[string]v1alpha1.InferenceRouter{"root": {RouterType: v1alpha1.Splitter, Steps: []v1alpha1.InferenceStep{{
			StepName: "a", InferenceTarget: v1alpha1.InferenceTarget{NodeName: "n", ServiceName: "s", ServiceURL: "http://u"},
			Data: "$response", MapPredictionsToInstances: true, Weight: new(int64(3)), Condition: "c", Dependency: v1alpha1.Hard,
		}}}},
		RouterTimeouts: &v1alpha1.InferenceRouterTimeouts{ServerRead: new(int64(1)), ServerWrite: new(int64(2)), ServerIdle: new(int64(3)), ServiceClient: new(int64(4))},
	}
	text, err := json.Marshal(spec)
	require.NoError(t, err)
	require.Contains(t, string(text), `"resources":{}`, "the router's argument has always held it")
	var graph handoff.Graph
	require.NoError(t, json.Unmarshal(text, &graph))
	require.Equal(t, handoff.Graph{
		Nodes: map[string]handoff.GraphNode{"root": {RouterType: handoff.Splitter, Steps: []handoff.GraphStep{{
			Name: "a", NodeName: "n", ServiceName: "s", ServiceURL: "http://u",
			Data: handoff.DataResponse, MapPredictionsToInstances: true, Weight: new(int64(3)), Condition: "c", Dependency: handoff.DependencyHard,
		}}}},
		Timeouts: &handoff.GraphTimeouts{ServerRead: new(int64(1)), ServerWrite: new(int64(2)), ServerIdle: new(int64(3)), ServiceClient: new(int64(4))},
	}, graph)
}

func FuzzModels(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"modelName":"m","modelSpec":{"storageUri":"s3://a/b","framework":"sklearn","memory":"1Gi"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var models handoff.Models
		if json.Unmarshal(data, &models) != nil {
			return
		}
		text, err := json.Marshal(models)
		require.NoError(t, err)
		var again handoff.Models
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, models, again)
	})
}

func TestArg(t *testing.T) {
	t.Parallel()
	require.Equal(t, "--model_dir=/mnt/models", handoff.Arg(handoff.FlagModelDir, handoff.ModelDir))
	require.Equal(t, "--enable-puller", handoff.Flag(handoff.FlagEnablePuller))
}

// TestStandardLibraryOnly keeps the contract light enough for every binary.
func TestStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			require.NotContains(t, spec.Path.Value, ".", name)
		}
	}
}

// TestEnvironmentNamesAreUnique finds a name that was declared twice under two words.
func TestEnvironmentNamesAreUnique(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Env") {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				require.Empty(t, seen[value.Value], "%s is declared twice", value.Value)
				seen[value.Value] = spec.Names[0].Name
			}
			return true
		})
	}
	require.Greater(t, len(seen), 50)
}
