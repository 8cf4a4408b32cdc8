// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/kserve-go/kserve-go/pkg/cli" // in the binary that is built here: a cached result ends when it changes
	"github.com/kserve-go/kserve-go/test/process"
)

func TestAnswersAreTheModelsOwn(t *testing.T) {
	root, err := process.Root()
	require.NoError(t, err)
	binary, err := process.Build(t.Context(), root, "kserve", t.TempDir())
	require.NoError(t, err)
	o := options{root: root, binary: binary, file: "deploy/samples/sklearn-iris.yaml", golden: "deploy/samples/golden/sklearn-iris.json"}
	other := filepath.Join(t.TempDir(), "iris.yaml")
	text, err := os.ReadFile(filepath.Join(root, o.file))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, bytes.Replace(text, []byte("s3://kserve-samples/iris"), []byte("s3://kserve-samples/iris-other"), 1), 0o600))

	t.Run("the sample's model passes three times", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, demo(t.Context(), o, &out), out.String())
		require.True(t, strings.HasSuffix(out.String(), "\n3 passed, 0 failed\n"), out.String())
		require.Equal(t, 3, strings.Count(out.String(), "  latency  "))
	})
	t.Run("another model in its place answers otherwise and fails three times", func(t *testing.T) {
		var out bytes.Buffer
		o := o
		o.file = other
		require.Error(t, demo(t.Context(), o, &out))
		require.True(t, strings.HasSuffix(out.String(), "\n0 passed, 3 failed\n"), out.String())
	})
	t.Run("the other model's own answers pass for it", func(t *testing.T) {
		var out bytes.Buffer
		o := o
		o.file, o.golden = other, goldenAs(t, root)
		require.NoError(t, demo(t.Context(), o, &out), out.String())
	})
	t.Run("a model that is not there is an error", func(t *testing.T) {
		var out bytes.Buffer
		o := o
		o.file = filepath.Join(t.TempDir(), "none.yaml")
		require.NoError(t, os.WriteFile(o.file, bytes.Replace(text, []byte("kserve-samples/iris"), []byte("kserve-samples/nothing"), 1), 0o600))
		require.Error(t, demo(context.Background(), o, &out))
		require.NotContains(t, out.String(), "passed")
	})
}

// goldenAs is the other model's golden file under the service's name.
func goldenAs(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/samples/golden/sklearn-iris-other.json"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "golden.json")
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(`"sklearn-iris-other"`), []byte(`"sklearn-iris"`), 1), 0o600))
	return path
}
