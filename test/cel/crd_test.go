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
	"os"
	"path/filepath"
	"sync"
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
	maxStored = 1572864
)

// crd is one kind as an API server sees it.
type crd struct {
	definition *apiextensions.CustomResourceDefinition
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// complete are the CRDs of crdDir, read and compiled once for all tests. Nobody changes them.
var complete = sync.OnceValues(func() (map[string]*crd, error) { return readCRDs(crdDir) }) // compiling the rules takes seconds

// loadCRDs returns the complete CRDs, by kind.
func loadCRDs(t *testing.T) map[string]*crd {
	t.Helper()
	all, err := complete()
	require.NoError(t, err)
	require.Len(t, all, 6)
	return all
}

// readCRDs reads the CRDs of a directory, by kind.
func readCRDs(dir string) (map[string]*crd, error) {
	names, err := filepath.Glob(filepath.Join(dir, "serving.kserve.io_*.yaml"))
	if err != nil {
		return nil, err
	}
	all := map[string]*crd{}
	for _, name := range names {
		c, err := readCRD(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[c.definition.Spec.Names.Kind] = c
	}
	return all, nil
}

func readCRD(name string) (*crd, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseCRD(data)
}

func parseCRD(data []byte) (*crd, error) {
	var external apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &external); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&external)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	definition := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&external, definition, nil); err != nil {
		return nil, err
	}
	version := definition.Spec.Versions[0].Name
	definition.Status.StoredVersions = []string{version}
	properties, err := apiextensions.GetSchemaForVersion(definition, version)
	if err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(properties.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	return &crd{
		definition: definition, structural: structural, schema: validator,
		rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
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
		crds, err := readCRDs(dir)
		require.NoError(t, err)
		require.Len(t, crds, 6)
		for kind, c := range crds {
			t.Run(filepath.Base(dir)+" "+kind, func(t *testing.T) {
				t.Parallel()
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
		"complete CRDs can be stored, and all but one applied by every client": {crdDir, map[string]int{"InferenceService": maxStored}},
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
	for kind, c := range loadCRDs(t) {
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
}

// TestDescriptions holds that fields of ours are explained, and that those of the core types, which are explained elsewhere, cost no space.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	for kind, c := range loadCRDs(t) {
		for _, part := range []string{"spec", "status"} {
			for name, property := range c.structural.Properties[part].Properties {
				require.NotEmpty(t, property.Description, "%s.%s.%s", kind, part, name)
			}
		}
	}
	service := loadCRDs(t)["InferenceService"].structural
	predictor := service.Properties["spec"].Properties["predictor"]
	for name, property := range predictor.Properties {
		require.NotEmpty(t, property.Description, "spec.predictor.%s", name)
	}
	for name, property := range predictor.Properties["model"].Properties {
		require.NotEmpty(t, property.Description, "spec.predictor.model.%s", name)
	}
	for name, property := range predictor.Properties["containers"].Items.Properties {
		require.Empty(t, property.Description, "spec.predictor.containers[].%s", name)
	}
	require.Empty(t, predictor.Properties["affinity"].Properties["nodeAffinity"].Description)
}
