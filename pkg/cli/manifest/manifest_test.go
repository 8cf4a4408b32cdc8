// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

const iris = `apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: iris
spec:
  predictor:
    minReplicas: 2
    model:
      modelFormat: {name: sklearn}
      storageUri: s3://models/iris
`

func TestParseReadsEveryDocumentWithItsPlace(t *testing.T) {
	text := "# a comment first\n---\n" + iris + "--- # the second\n\n" + strings.ReplaceAll(iris, "name: iris", "name: other") + "---\n# nothing\n"
	objects, faults := Parse("f.yaml", []byte(text))
	require.Empty(t, faults)
	require.Len(t, objects, 2)
	require.Equal(t, "inferenceservice/iris", objects[0].ID())
	require.Equal(t, 3, objects[0].Line)
	require.Equal(t, 2, objects[1].Document)
	service, ok := objects[1].Value.(*servingv1beta1.InferenceService)
	require.True(t, ok)
	require.Equal(t, "other", service.Name)
	require.EqualValues(t, 2, *service.Spec.Predictor.MinReplicas)
}

func TestParseReadsJSONAndLists(t *testing.T) {
	text := `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "ns"}, "datas": {}}]}`
	objects, faults := Parse("f.json", []byte(text))
	require.Len(t, objects, 1)
	require.Equal(t, "secret/a", objects[0].ID())
	require.Len(t, faults, 1)
	require.Equal(t, `f.json:3 (document 1): ns/secret/b: items[1].datas: unknown field; did you mean "data"?`, faults[0].String())
}

func TestWrongTypesInALongListAreFoundWithFewDecodings(t *testing.T) {
	var text strings.Builder
	text.WriteString(iris + "      env:\n")
	for i := range 5000 {
		value := "x"
		if i%2500 == 1234 {
			value = "5" // the same error twice
		}
		text.WriteString("      - {name: A, value: " + value + "}\n")
	}
	_, faults := Parse("f", []byte(text.String()))
	require.Len(t, faults, 2)
	require.Equal(t, "spec.predictor.model.env[1234].value", faults[0].Path)
	require.Equal(t, 12+1234, faults[0].Line)
	require.Equal(t, "spec.predictor.model.env[3734].value", faults[1].Path)
}

func TestTypedListsAreReadAndTheirItemsNeedNoKind(t *testing.T) {
	text := `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceServiceList", "items": [
  {"metadata": {"name": "a"}, "spec": {"predictor": {}}},
  {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "b"}, "spec": {"predictor": {}}},
  7]}`
	objects, faults := Parse("f.json", []byte(text))
	require.Len(t, objects, 2)
	require.Equal(t, "inferenceservice/a", objects[0].ID())
	require.Len(t, faults, 1)
	require.Equal(t, `f.json:4 (document 1): items[2]: an object is expected (apiVersion, kind, metadata, spec), got a plain value`, faults[0].String())
}

func TestAFileNamedTwiceIsReadOnceAndPipesOfAFolderAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "iris.yaml")
	require.NoError(t, os.WriteFile(file, []byte(iris), 0o600))
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "link.yaml")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	objects, faults := Load(strings.NewReader(""), []string{file, dir, file})
	require.Empty(t, faults)
	require.Len(t, objects, 1)
}

func TestFaultsSayWhereAndWhatToDo(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string
	}{
		"a tab before a field": {
			"apiVersion: v1\nmetadata:\n\tname: x\n",
			[]string{"f:3 (document 1): not valid YAML: found character that cannot start any token; indent with spaces"},
		},
		"a binary file": {
			"\x7fELF\x01",
			[]string{"f:1 (document 1): not valid YAML: control characters are not allowed; is this a text file?"},
		},
		"an object that is planned by nobody": {
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
			[]string{`f:2 (document 1): kind: kind "Deployment" of apps/v1 is not planned from; leave it out of these files, which take ` +
				"ClusterServingRuntime, ClusterStorageContainer, ConfigMap, InferenceGraph, InferenceService, Namespace, Secret, ServiceAccount, ServingRuntime, TrainedModel"},
		},
		"a list whose items are none": {
			"apiVersion: v1\nkind: List\nitems: 5\n",
			[]string{"f:3 (document 1): items: a list of objects is expected"},
		},
		"a list inside a list": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: []}\n",
			[]string{"f:4 (document 1): items[0].kind: a list inside a list; put its items into the outer one"},
		},
		"the version before v1beta1": {
			strings.Replace(iris, "v1beta1", "v1alpha2", 1),
			[]string{"f:1 (document 1): apiVersion: the apiVersion of kind InferenceService is serving.kserve.io/v1beta1; " +
				"serving.kserve.io/v1alpha2 is no longer served: move spec.default.predictor to spec.predictor"},
		},
		"names that a terminal would obey or that are endless": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: \"a\\n\\e[2J" + strings.Repeat("x", 200) + "\"}\nx: 1\n",
			[]string{"f:4 (document 1): secret/a\\n\\x1b[2J" + strings.Repeat("x", 128-len("secret/a..[2J")) + "…: " +
				"x: unknown field; known here: apiVersion, data, immutable, kind, metadata, stringData, type"},
		},
		"an unknown field, near a known one": {
			strings.Replace(iris, "minReplicas", "minReplica", 1),
			[]string{`f:7 (document 1): inferenceservice/iris: spec.predictor.minReplica: unknown field; did you mean "minReplicas"?`},
		},
		"wrong types, all of them": {
			strings.NewReplacer("minReplicas: 2", `minReplicas: "two"`, "storageUri: s3://models/iris", "storageUri: [a]\n      resources: {limits: {cpu: lots}}").Replace(iris),
			[]string{
				`f:7 (document 1): inferenceservice/iris: spec.predictor.minReplicas: a whole number is expected, got the text "two" (quoted values are texts)`,
				`f:10 (document 1): inferenceservice/iris: spec.predictor.model.storageUri: a text is expected, got a list`,
				`f:11 (document 1): inferenceservice/iris: spec.predictor.model.resources.limits.cpu: the text "lots" (quoted values are texts) is no quantity; write for example 500m, 2 or 1Gi`,
			},
		},
		"quantities that could not be computed": {
			strings.Replace(iris, "storageUri: s3://models/iris", "storageUri: s3://models/iris\n      resources: {limits: {cpu: 1e999999999999, memory: '1E-100000'}}", 1),
			[]string{
				`f:11 (document 1): inferenceservice/iris: spec.predictor.model.resources.limits.cpu: "1e999999999999" has an exponent beyond 99, which no quantity can hold`,
				`f:11 (document 1): inferenceservice/iris: spec.predictor.model.resources.limits.memory: "1E-100000" has an exponent beyond 99, which no quantity can hold`,
			},
		},
		"texts that YAML does not take for texts": {
			strings.Replace(iris, "name: iris", "name: iris\n  labels: {a: y, b: 3}", 1),
			[]string{
				`f:5 (document 1): inferenceservice/iris: metadata.labels.a: a text is expected, got true; put it in quotes: YAML reads y, yes, on and true as true, n, no, off and false as false`,
				`f:5 (document 1): inferenceservice/iris: metadata.labels.b: a text is expected, got the number 3; put it in quotes`,
			},
		},
		"an unknown kind": {
			strings.Replace(iris, "InferenceService", "InferenceServise", 1),
			[]string{`f:2 (document 1): kind: unknown kind "InferenceServise"; did you mean "InferenceService"?`},
		},
		"a version that the kind does not have": {
			strings.Replace(iris, "v1beta1", "v1", 1),
			[]string{`f:1 (document 1): apiVersion: the apiVersion of kind InferenceService is serving.kserve.io/v1beta1, got serving.kserve.io/v1`},
		},
		"no name": {
			strings.Replace(iris, "name: iris", "labels: {}", 1),
			[]string{`f:3 (document 1): inferenceservice: metadata.name: missing`},
		},
		"a key given twice": {
			strings.Replace(iris, "    minReplicas: 2\n", "    minReplicas: 2\n    minReplicas: 3\n", 1),
			[]string{`f:8 (document 1): not valid YAML: key "minReplicas" already set in map; keep one of the two`},
		},
		"a tab in the second document": {
			iris + "---\nkind: x\n\tmetadata: y\n",
			[]string{"f:13 (document 2): not valid YAML: found a tab character that violates indentation; indent with spaces"},
		},
		"no object at all": {
			"just text\n",
			[]string{`f:1 (document 1): an object is expected (apiVersion, kind, metadata, spec), got a text`},
		},
		"no apiVersion": {
			"kind: InferenceService\n",
			[]string{`f:1 (document 1): apiVersion: missing or no text; for an InferenceService write serving.kserve.io/v1beta1`},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := Parse("f", []byte(c.text))
			var got []string
			for _, f := range faults {
				got = append(got, f.String())
			}
			require.ElementsMatch(t, c.want, got)
		})
	}
}

func TestLoadTakesFoldersFilesAndStdin(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("b.yaml", iris)
	write("a.yml", strings.Replace(iris, "name: iris", "name: first", 1))
	write("notes.txt", "not read")
	write("deeper/c.yaml", "not: read")
	objects, faults := Load(strings.NewReader(strings.Replace(iris, "name: iris", "name: piped", 1)), []string{dir, "-"})
	require.Empty(t, faults)
	require.Len(t, objects, 3)
	require.Equal(t, []string{"first", "iris", "piped"}, []string{objects[0].Name, objects[1].Name, objects[2].Name})

	_, faults = Load(strings.NewReader(iris), []string{dir, "-", "-", filepath.Join(dir, "none.yaml"), filepath.Join(dir, "deeper", "..", "deeper")})
	require.Len(t, faults, 4, "the same object twice, stdin twice, a file that is not there, a file without an object: %v", faults)
}

func TestDuplicatedObjectNamesTheFirst(t *testing.T) {
	objects, _ := Parse("f", []byte(iris+"---\n"+iris))
	faults := duplicates(objects)
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].String(), "the same object is in f, line 1, too")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(iris))
	f.Add([]byte("---\n- a\n--- x\n{}"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{}, null, 3]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, faults := Parse("f", data)
		for _, o := range objects {
			if o.Name == "" || o.Value == nil {
				t.Fatalf("an object without name or value: %+v", o)
			}
		}
		for _, fault := range faults {
			if fault.Message == "" {
				t.Fatalf("a fault that says nothing: %+v", fault)
			}
		}
	})
}
