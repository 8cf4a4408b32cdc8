// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// FuzzAdmission gives admission every object that can be decoded. Nothing panics, each fault names a field, and an object that was
// accepted once is accepted again, with its defaults and as a change of itself.
func FuzzAdmission(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(casesDir, "*", "input.yaml"))
	require.NoError(f, err)
	for _, name := range names {
		if !strings.Contains(name, "/bad-") && !strings.Contains(name, "/multinode") && !strings.Contains(name, "-all-components") && !strings.Contains(name, "/keda") {
			continue
		}
		for _, doc := range documents(f, name) {
			data, err := json.Marshal(doc)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	for _, seed := range []string{"testdata/roundtrip/inferenceservice.yaml", "testdata/roundtrip/others.yaml"} {
		for _, doc := range documents(f, seed) {
			data, err := json.Marshal(doc)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	scheme := runtime.NewScheme()
	require.NoError(f, v1beta1.AddToScheme(scheme))
	require.NoError(f, v1alpha1.AddToScheme(scheme))
	serializer := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
	f.Fuzz(func(t *testing.T, data []byte) {
		object, _, err := serializer.Decode(data, nil, nil)
		if err != nil {
			return
		}
		faults := admit(object)
		for _, fault := range faults {
			require.NotEmpty(t, fault.Field, "%v", fault)
		}
		if len(faults) == 0 {
			require.Empty(t, admit(object.DeepCopyObject()))
		}
	})
}

func admit(object runtime.Object) field.ErrorList {
	var faults field.ErrorList
	switch o := object.(type) {
	case *v1beta1.InferenceService:
		o.SetDefaults(v1beta1.Defaults{Mode: serving.Standard, NoServiceAccountToken: true, LocalModels: v1beta1.LocalModels{
			Enabled: true, Caches: []v1beta1.LocalModelCache{{Name: "c", SourceURI: "s3://models", NodeGroups: []string{"g"}}},
		}})
		faults, _ = o.Validate(v1beta1.Rules{Mode: serving.Standard})
		changed, _ := o.ValidateUpdate(o.DeepCopy(), v1beta1.Rules{Mode: serving.Standard})
		if len(faults) == 0 {
			faults = changed
		}
	case *v1alpha1.ServingRuntime:
		faults, _ = o.Validate(v1alpha1.RuntimeRules{Others: map[string]v1alpha1.ServingRuntimeSpec{o.Name: o.Spec}})
	case *v1alpha1.InferenceGraph:
		o.SetDefaults()
		faults, _ = o.Validate()
	case *v1alpha1.TrainedModel:
		faults = o.Validate()
	case *v1alpha1.ClusterStorageContainer:
		o.SetDefaults()
		faults = o.Validate()
	case *v1alpha1.ClusterServingRuntime:
		faults, _ = o.Validate(v1alpha1.RuntimeRules{})
	}
	return faults
}
