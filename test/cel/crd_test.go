// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel holds the CRDs of deploy/crd against what an API server makes of them: they are structural and cheap enough, they accept
// every recorded object that was accepted, and each of their rules refuses what it is there for.
//
// Called by: go test.
// Next: nothing; it holds tests only.
package cel

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const (
	crdDir = "../../deploy/crd"

	// maxApplied is the size of the annotation in which a client-side apply keeps the whole object.
	maxApplied = 262144
	// maxStored is what etcd takes by default.
	maxStored = 1.5 * 1024 * 1024
)

// crd is one kind as an API server sees it.
type crd struct {
	definition *apiextensions.CustomResourceDefinition
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// loadCRDs reads the CRDs of a directory, by kind.
func loadCRDs(t *testing.T, dir string) map[string]*crd {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, names, 6)
	all := map[string]*crd{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		var external apiextensionsv1.CustomResourceDefinition
		require.NoError(t, yaml.UnmarshalStrict(data, &external), name)
		apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
		definition := &apiextensions.CustomResourceDefinition{}
		require.NoError(t, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, definition, nil))
		properties, err := apiextensions.GetSchemaForVersion(definition, definition.Spec.Versions[0].Name)
		require.NoError(t, err)
		structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
		require.NoError(t, err, name)
		validator, _, err := validation.NewSchemaValidator(properties.OpenAPIV3Schema)
		require.NoError(t, err, name)
		all[external.Spec.Names.Kind] = &crd{
			definition: definition, structural: structural, schema: validator,
			rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}
	}
	return all
}

// admit does with an object what an API server does: unknown fields, defaults, schema, lists and rules. old is nil for a new object.
func (c *crd) admit(ctx context.Context, object, old map[string]any) field.ErrorList {
	var faults field.ErrorList
	for _, path := range pruning.PruneWithOptions(object, c.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		faults = append(faults, field.Forbidden(field.NewPath(path), "unknown field"))
	}
	defaulting.Default(object, c.structural)
	if old == nil {
		faults = append(faults, validation.ValidateCustomResource(nil, object, c.schema)...)
	} else {
		faults = append(faults, validation.ValidateCustomResourceUpdate(nil, object, old, c.schema)...)
	}
	faults = append(faults, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	if c.rules != nil {
		var previous any
		if old != nil {
			previous = old
		}
		broken, _ := c.rules.Validate(ctx, nil, c.structural, object, previous, celconfig.RuntimeCELCostBudget)
		faults = append(faults, broken...)
	}
	return faults
}

// TestCRDs asks what an API server asks when a CRD is made: among much else that it is structural and that no rule may become too expensive.
func TestCRDs(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{crdDir, filepath.Join(crdDir, "minimal")} {
		for kind, c := range loadCRDs(t, dir) {
			t.Run(dir+" "+kind, func(t *testing.T) {
				t.Parallel()
				c.definition.Status.StoredVersions = []string{c.definition.Spec.Versions[0].Name}
				require.Empty(t, crdvalidation.ValidateCustomResourceDefinition(t.Context(), c.definition))
			})
		}
	}
}

// TestSize holds the CRDs below what clients and servers take.
func TestSize(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		dir   string
		limit map[string]int
	}{
		"complete CRDs can be stored, and all but one applied by every client": {crdDir, map[string]int{"InferenceService": maxStored / 2 * 2}},
		"minimal CRDs can be applied by every client":                          {filepath.Join(crdDir, "minimal"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names, err := filepath.Glob(filepath.Join(test.dir, "*.yaml"))
			require.NoError(t, err)
			for _, name := range names {
				data, err := os.ReadFile(name)
				require.NoError(t, err)
				text, err := yaml.YAMLToJSON(data)
				require.NoError(t, err)
				var object struct {
					Spec struct{ Names struct{ Kind string } }
				}
				require.NoError(t, json.Unmarshal(text, &object))
				limit := maxApplied
				if special, ok := test.limit[object.Spec.Names.Kind]; ok {
					limit = special
				}
				require.Less(t, len(text), limit, name)
			}
		})
	}
}

// TestSurface holds what people type and see: short names, columns, scopes and the status subresource.
func TestSurface(t *testing.T) {
	t.Parallel()
	type surface struct {
		Plural  string
		Short   []string
		Scope   string
		Status  bool
		Columns []string
	}
	runtime := []string{"Disabled=.spec.disabled", "ModelType=.spec.supportedModelFormats[*].name", "Containers=.spec.containers[*].name", "Age=.metadata.creationTimestamp"}
	ready := []string{"URL=.status.url", "Ready=.status.conditions[?(@.type=='Ready')].status", "Age=.metadata.creationTimestamp"}
	want := map[string]surface{
		"InferenceService": {"inferenceservices", []string{"isvc"}, "Namespaced", true, []string{
			"URL=.status.url", "Ready=.status.conditions[?(@.type=='Ready')].status",
			"Prev=.status.components.predictor.traffic[?(@.tag=='prev')].percent",
			"Latest=.status.components.predictor.traffic[?(@.latestRevision==true)].percent",
			"PrevRolledoutRevision=.status.components.predictor.traffic[?(@.tag=='prev')].revisionName",
			"LatestReadyRevision=.status.components.predictor.traffic[?(@.latestRevision==true)].revisionName",
			"Age=.metadata.creationTimestamp",
		}},
		"ServingRuntime":          {"servingruntimes", nil, "Namespaced", false, runtime},
		"ClusterServingRuntime":   {"clusterservingruntimes", nil, "Cluster", false, runtime},
		"InferenceGraph":          {"inferencegraphs", []string{"ig"}, "Namespaced", true, ready},
		"TrainedModel":            {"trainedmodels", []string{"tm"}, "Namespaced", true, ready},
		"ClusterStorageContainer": {"clusterstoragecontainers", nil, "Cluster", false, nil},
	}
	for kind, c := range loadCRDs(t, crdDir) {
		spec := c.definition.Spec
		got := surface{Plural: spec.Names.Plural, Short: spec.Names.ShortNames, Scope: string(spec.Scope)}
		resources, err := apiextensions.GetSubresourcesForVersion(c.definition, spec.Versions[0].Name)
		require.NoError(t, err)
		got.Status = resources != nil && resources.Status != nil
		columns := spec.AdditionalPrinterColumns
		if len(columns) == 0 {
			columns = spec.Versions[0].AdditionalPrinterColumns
		}
		for _, column := range columns {
			if kind == "ClusterStorageContainer" {
				continue // the API server's own default column
			}
			got.Columns = append(got.Columns, fmt.Sprintf("%s=%s", column.Name, column.JSONPath))
		}
		require.Equal(t, want[kind], got, kind)
	}
	require.Less(t, len(want), math.MaxInt)
}
