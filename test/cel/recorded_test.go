// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

const casesDir = "../data/parity/cases"

// decode reads JSON as an API server does: whole numbers stay whole.
func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, utiljson.Unmarshal(data, &out))
	return out
}

// documents reads the objects of our group from a file.
func documents(t *testing.T, name string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	// Version 3 reads y and n as texts, as the tool that wrote the recorded files does.
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var all []map[string]any
	for {
		var doc map[string]any
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			require.NoError(t, err, name)
		}
		if strings.HasPrefix(fmt.Sprint(doc["apiVersion"]), serving.GroupName+"/") {
			text, err := json.Marshal(doc)
			require.NoError(t, err)
			all = append(all, decode(t, text))
		}
	}
}

// document is one object of a case.
type document struct{ Step, Kind, Name string }

// outcome is what the reference did with a case.
type outcome struct {
	Rejected []document
	Objects  []map[string]any
}

// outcomes reads what the reference did with each case; the rejected documents are those that are to be refused.
func outcomes(t *testing.T) map[string]outcome {
	t.Helper()
	var intended struct {
		Cases map[string]struct{ Refuse *document }
	}
	data, err := os.ReadFile("../data/parity/differences.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &intended))
	files, err := filepath.Glob(filepath.Join(casesDir, "*", "expected.yaml"))
	require.NoError(t, err)
	require.Greater(t, len(files), 200)
	all := map[string]outcome{}
	for _, file := range files {
		var o outcome
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(data, &o))
		name := filepath.Base(filepath.Dir(file))
		if more := intended.Cases[name].Refuse; more != nil {
			o.Rejected = append(o.Rejected, *more)
		}
		all[name] = o
	}
	return all
}

// TestRecorded holds that the CRDs accept every recorded input that was not refused, and accept and keep every field that was stored.
func TestRecorded(t *testing.T) {
	t.Parallel()
	minimal, err := readCRDs(filepath.Join(crdDir, "minimal"))
	require.NoError(t, err)
	for name, crds := range map[string]map[string]*crd{"complete": loadCRDs(t), "minimal": minimal} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recordedPass(t, crds)
		})
	}
}

// recordedPass holds CRDs to what was accepted.
func recordedPass(t *testing.T, crds map[string]*crd) {
	t.Helper()
	inputs, stored := 0, 0
	for name, o := range outcomes(t) {
		dir := filepath.Join(casesDir, name)
		steps, err := filepath.Glob(filepath.Join(dir, "steps", "*.yaml"))
		require.NoError(t, err)
		for _, file := range append(steps, filepath.Join(dir, "input.yaml")) {
			for _, doc := range documents(t, file) {
				metadata, _ := doc["metadata"].(map[string]any)
				kind := fmt.Sprint(doc["kind"])
				if doc["$delete"] != nil || slices.Contains(o.Rejected, document{filepath.Base(file), kind, fmt.Sprint(metadata["name"])}) {
					continue
				}
				require.Contains(t, crds, kind)
				require.Empty(t, crds[kind].admit(t.Context(), doc, nil), "%s %s", file, kind)
				inputs++
			}
		}
		for _, object := range o.Objects {
			metadata, _ := object["metadata"].(map[string]any)
			kind := fmt.Sprint(object["kind"])
			refused := func(d document) bool { return d.Kind == kind && d.Name == fmt.Sprint(metadata["name"]) }
			if !strings.HasPrefix(fmt.Sprint(object["apiVersion"]), serving.GroupName+"/") || slices.ContainsFunc(o.Rejected, refused) {
				continue
			}
			text, err := json.Marshal(object)
			require.NoError(t, err)
			require.Empty(t, crds[kind].admit(t.Context(), decode(t, text), nil), "%s %s", name, kind)
			stored++
		}
	}
	require.Greater(t, inputs, 350)
	require.Greater(t, stored, 300)
}

// TestShippedFiles holds that what the project ships can be applied.
func TestShippedFiles(t *testing.T) {
	t.Parallel()
	crds := loadCRDs(t)
	for _, dir := range []string{"../../deploy/runtimes", "../../deploy/samples", "../../deploy/config"} {
		err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".yaml" || entry.Name() == "kustomization.yaml" {
				return err
			}
			for _, doc := range documents(t, name) {
				kind := fmt.Sprint(doc["kind"])
				require.Contains(t, crds, kind, name)
				require.Empty(t, crds[kind].admit(t.Context(), doc, nil), "%s %s", name, kind)
			}
			return nil
		})
		require.NoError(t, err)
	}
}
