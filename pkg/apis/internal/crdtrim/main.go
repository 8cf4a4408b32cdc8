// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdtrim makes generated CRDs small enough to apply: it drops the descriptions of types that are not this project's,
// and writes a second set for clients that keep the whole object in an annotation: it keeps every field, knows the project's own ones and
// their rules, and nothing of what is inside those of other types.
//
// In pkg/apis, with a scratch directory CRD:
//
//	controller-gen object:headerFile=serving/boilerplate.go.txt paths=./serving/...
//	controller-gen crd:generateEmbeddedObjectMeta=true paths=./serving/... output:crd:dir=CRD
//	go run ./internal/crdtrim CRD ../../deploy/crd
//
// Called by: the generate target, after controller-gen.
// Next: test/cel, which loads what it wrote.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: crdtrim FROM-DIRECTORY TO-DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "crdtrim:", err)
		os.Exit(1)
	}
}

// kinds holds the Go type behind each CRD.
func kinds() map[string]reflect.Type {
	return map[string]reflect.Type{
		v1beta1.InferenceServiceKind:         reflect.TypeFor[v1beta1.InferenceService](),
		v1alpha1.ServingRuntimeKind:          reflect.TypeFor[v1alpha1.ServingRuntime](),
		v1alpha1.ClusterServingRuntimeKind:   reflect.TypeFor[v1alpha1.ClusterServingRuntime](),
		v1alpha1.InferenceGraphKind:          reflect.TypeFor[v1alpha1.InferenceGraph](),
		v1alpha1.TrainedModelKind:            reflect.TypeFor[v1alpha1.TrainedModel](),
		v1alpha1.ClusterStorageContainerKind: reflect.TypeFor[v1alpha1.ClusterStorageContainer](),
	}
}

func run(from, to string) error {
	names, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list CRDs: %w", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read CRD: %w", err)
		}
		var crd map[string]any
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
		goType, ok := kinds()[kind]
		if !ok {
			return fmt.Errorf("%s: kind %q has no Go type here", name, kind)
		}
		for _, schema := range schemas(crd) {
			trim(schema, goType)
			if bound(schema) == 0 {
				return fmt.Errorf("%s: no quantity has the pattern that Kubernetes gave them: see anyQuantity", name)
			}
		}
		if err := write(crd, filepath.Join(to, filepath.Base(name))); err != nil {
			return err
		}
		for _, schema := range schemas(crd) {
			minimal(schema, goType)
		}
		if err := write(crd, filepath.Join(to, "minimal", filepath.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// schemas returns the schema of each version of a CRD.
func schemas(crd map[string]any) []map[string]any {
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	var all []map[string]any
	for i := range versions {
		list, _ := crd["spec"].(map[string]any)["versions"].([]any)
		version, _ := list[i].(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		root, _ := schema["openAPIV3Schema"].(map[string]any)
		all = append(all, root)
	}
	return all
}

func write(crd map[string]any, name string) error {
	var out bytes.Buffer
	serializer := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, nil, nil, kjson.SerializerOptions{Yaml: true})
	if err := serializer.Encode(&unstructured.Unstructured{Object: crd}, &out); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil { //nolint:gosec // a file of the repository
		return fmt.Errorf("write CRD: %w", err)
	}
	return nil
}
