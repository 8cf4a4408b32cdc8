// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

const casesDir = "../../../test/data/parity/cases"

func newSerializer(t *testing.T) *kjson.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
}

// TestRoundTrip decodes every recorded input strictly and encodes it again: no field is unknown and none is lost.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	serializer := newSerializer(t)
	names := slices.Concat(glob(t, casesDir, "*/input.yaml"), glob(t, casesDir, "*/steps/*.yaml"))
	require.NotEmpty(t, names)
	seen := map[string]int{}
	for _, name := range names {
		for i, doc := range documents(t, name) {
			kind, ours := doc["kind"].(string), strings.HasPrefix(fmt.Sprint(doc["apiVersion"]), serving.GroupName+"/")
			if !ours {
				continue
			}
			seen[kind]++
			delete(doc, "$delete")
			t.Run(fmt.Sprintf("%s %d %s", strings.TrimPrefix(name, casesDir), i, kind), func(t *testing.T) {
				t.Parallel()
				requireRoundTrip(t, serializer, doc)
			})
		}
	}
	require.Subset(t, slices.Collect(maps.Keys(seen)), []string{
		v1beta1.InferenceServiceKind, v1alpha1.ServingRuntimeKind, v1alpha1.ClusterServingRuntimeKind,
		v1alpha1.InferenceGraphKind, v1alpha1.TrainedModelKind, v1alpha1.ClusterStorageContainerKind,
	})
}

// TestRoundTripExpected does the same with the objects that the reference stored, so with every status it wrote.
func TestRoundTripExpected(t *testing.T) {
	t.Parallel()
	serializer := newSerializer(t)
	count := 0
	for _, name := range glob(t, casesDir, "*/expected.yaml") {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		var outcome struct{ Objects []map[string]any }
		require.NoError(t, yaml.Unmarshal(data, &outcome))
		for i, doc := range outcome.Objects {
			if !strings.HasPrefix(fmt.Sprint(doc["apiVersion"]), serving.GroupName+"/") {
				continue
			}
			count++
			t.Run(fmt.Sprintf("%s %d %s", strings.TrimPrefix(name, casesDir), i, doc["kind"]), func(t *testing.T) {
				t.Parallel()
				requireRoundTrip(t, serializer, doc)
			})
		}
	}
	require.Greater(t, count, 300)
}

func TestStrictDecodeRefusesUnknownFields(t *testing.T) {
	t.Parallel()
	serializer := newSerializer(t)
	tests := map[string]string{
		"a field that no component has":        `{"spec":{"predictor":{"model":{"modelFormat":{"name":"a"},"storageUrl":"s3://a"}}}}`,
		"a field in the wrong case":            `{"spec":{"predictor":{"model":{"modelFormat":{"name":"a"},"storageURI":"s3://a"}}}}`,
		"ephemeral containers of a predictor":  `{"spec":{"predictor":{"ephemeralContainers":[]}}}`,
		"a quantity that is no quantity":       `{"spec":{"predictor":{"autoScaling":{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"value":"much"}}}]}}}}`,
		"a text where a number is wanted":      `{"spec":{"predictor":{"minReplicas":"1"}}}`,
		"a number that is too big for a field": `{"spec":{"predictor":{"minReplicas":4294967296}}}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text = `{"apiVersion":"serving.kserve.io/v1beta1","kind":"InferenceService",` + text[1:]
			_, _, err := serializer.Decode([]byte(text), nil, nil)
			require.Error(t, err)
		})
	}
}

// TestAdditions decodes the fields that no recorded input uses.
func TestAdditions(t *testing.T) {
	t.Parallel()
	serializer := newSerializer(t)
	for _, name := range glob(t, "testdata/roundtrip", "*.yaml") {
		for i, doc := range documents(t, name) {
			t.Run(fmt.Sprintf("%s %d", name, i), func(t *testing.T) {
				t.Parallel()
				requireRoundTrip(t, serializer, doc)
			})
		}
	}
}

func requireRoundTrip(t *testing.T, serializer *kjson.Serializer, doc map[string]any) {
	t.Helper()
	in, err := json.Marshal(doc)
	require.NoError(t, err)
	object, _, err := serializer.Decode(in, nil, nil)
	require.NoError(t, err)
	copied := object.DeepCopyObject()
	var out bytes.Buffer
	require.NoError(t, serializer.Encode(copied, &out))
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	var want map[string]any
	require.NoError(t, json.Unmarshal(in, &want))
	require.Empty(t, differences("", want, got))
}

// differences lists what got lacks of want, and what it has beyond it. Absent and empty are one; so are 1 and 1000m.
func differences(path string, want, got any) []string {
	if isEmpty(want) && isEmpty(got) {
		return nil
	}
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		keys := maps.Clone(w)
		maps.Copy(keys, g)
		var all []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			all = append(all, differences(path+"."+key, w[key], g[key])...)
		}
		return all
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s: want %d items, got %d", path, len(w), len(g))}
		}
		var all []string
		for i := range w {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return all
	}
	if want == got || sameQuantity(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("%s: want %v, got %v", path, want, got)}
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, item := range v {
			if !isEmpty(item) {
				return false
			}
		}
		return true
	}
	return false
}

func sameQuantity(a, b any) bool {
	p, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && p.Cmp(q) == 0
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, names, "no file matches %s in %s", pattern, dir)
	return names
}

func documents(tb testing.TB, name string) []map[string]any {
	tb.Helper()
	file, err := os.Open(name)
	require.NoError(tb, err)
	defer file.Close()
	// Version 3 reads y and n as texts, as the tool that wrote the recorded files does.
	decoder := yaml.NewDecoder(file)
	var docs []map[string]any
	for {
		var doc map[string]any
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return docs
		} else if err != nil {
			require.NoError(tb, err, name)
		}
		if doc != nil {
			docs = append(docs, doc)
		}
	}
}
