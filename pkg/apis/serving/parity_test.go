// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// refusal names a document of a case.
type refusal struct{ Step, Kind, Name string }

// recorded is what the reference did with a case, and what is right where that differs.
type recorded struct {
	Rejected []refusal
	Objects  []map[string]any
	refuse   *refusal
	may      *refusal
}

func readRecorded(t *testing.T, dir string) recorded {
	t.Helper()
	var outcome recorded
	data, err := os.ReadFile(filepath.Join(dir, "expected.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &outcome))
	return outcome
}

// intended is what is right where the reference is not, by case.
type intended map[string]struct {
	Refuse    *refusal
	MayRefuse *refusal `yaml:"may_refuse"`
}

func readIntended(t *testing.T) intended {
	t.Helper()
	var all struct{ Cases intended }
	data, err := os.ReadFile("../../../test/data/parity/differences.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &all))
	require.NotEmpty(t, all.Cases)
	return all.Cases
}

// admission does with the documents of a case what a webhook does, and remembers what was stored.
type admission struct {
	t          *testing.T
	serializer *kjson.Serializer
	defaults   v1beta1.Defaults
	rules      v1beta1.Rules
	services   map[string]*v1beta1.InferenceService
	runtimes   map[string]v1alpha1.ServingRuntimeSpec
	models     map[string]*v1alpha1.TrainedModel
	graphs     map[string]*v1alpha1.InferenceGraph
}

func newAdmission(t *testing.T, serializer *kjson.Serializer, dir string) *admission {
	t.Helper()
	amounts := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi")}
	a := &admission{
		t: t, serializer: serializer,
		defaults: v1beta1.Defaults{
			Mode:       serving.Knative,
			Resources:  corev1.ResourceRequirements{Requests: amounts, Limits: amounts.DeepCopy()},
			ARTVersion: "latest",
		},
		services: map[string]*v1beta1.InferenceService{},
		runtimes: map[string]v1alpha1.ServingRuntimeSpec{},
		models:   map[string]*v1alpha1.TrainedModel{},
		graphs:   map[string]*v1alpha1.InferenceGraph{},
	}
	var config struct {
		Deploy           struct{ DefaultDeploymentMode string }
		InferenceService struct {
			Resource *struct{ CPURequest, CPULimit, MemoryRequest, MemoryLimit string }
		}
		Security struct{ AutoMountServiceAccountToken *bool }
	}
	if data, err := os.ReadFile(filepath.Join(dir, "config.json")); err == nil {
		require.NoError(t, json.Unmarshal(data, &config))
	}
	if mode, ok := serving.ParseDeploymentMode(config.Deploy.DefaultDeploymentMode); ok {
		a.defaults.Mode = mode
	}
	if r := config.InferenceService.Resource; r != nil {
		for _, override := range []struct {
			list corev1.ResourceList
			name corev1.ResourceName
			text string
		}{
			{a.defaults.Resources.Requests, corev1.ResourceCPU, r.CPURequest},
			{a.defaults.Resources.Limits, corev1.ResourceCPU, r.CPULimit},
			{a.defaults.Resources.Requests, corev1.ResourceMemory, r.MemoryRequest},
			{a.defaults.Resources.Limits, corev1.ResourceMemory, r.MemoryLimit},
		} {
			if override.text != "" {
				override.list[override.name] = resource.MustParse(override.text)
			}
		}
	}
	a.defaults.NoServiceAccountToken = config.Security.AutoMountServiceAccountToken != nil && !*config.Security.AutoMountServiceAccountToken
	a.rules.Mode = a.defaults.Mode
	// What an installation ships beside the runtimes: one storage container.
	var shipped v1alpha1.ClusterStorageContainer
	data, err := json.Marshal(documents(t, "../../../deploy/config/storagecontainer.yaml")[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &shipped))
	a.rules.StorageFormats = shipped.Spec.SupportedURIFormats
	return a
}

// apply takes one document and returns why it is refused.
func (a *admission) apply(doc map[string]any) (faults field.ErrorList, warnings []serving.Warning) {
	data, err := json.Marshal(doc)
	require.NoError(a.t, err)
	object, _, err := a.serializer.Decode(data, nil, nil)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}, nil
	}
	return a.applyObject(object)
}

func (a *admission) applyObject(object runtime.Object) (faults field.ErrorList, warnings []serving.Warning) {
	switch o := object.(type) {
	case *v1beta1.InferenceService:
		old := a.services[o.Name]
		if old != nil {
			o.Status.DeploymentMode = old.Status.DeploymentMode
		}
		o.SetDefaults(a.defaults)
		if old == nil {
			faults, warnings = o.Validate(a.rules)
		} else {
			faults, warnings = o.ValidateUpdate(old, a.rules)
		}
		if len(faults) == 0 {
			stored := o.DeepCopy()
			stored.SetDefaults(a.defaults)
			require.Equal(a.t, o, stored, "defaults a second time change nothing")
			if mode, ok := serving.ParseDeploymentMode(o.Annotations[serving.AnnotationDeploymentMode]); ok {
				stored.Status.DeploymentMode = mode
			} else {
				stored.Status.DeploymentMode = a.defaults.Mode
			}
			a.services[o.Name] = stored
		}
	case *v1alpha1.ServingRuntime:
		if faults, warnings = o.Validate(v1alpha1.RuntimeRules{Others: a.runtimes}); len(faults) == 0 {
			a.runtimes[o.Name] = o.Spec
		}
	case *v1alpha1.ClusterServingRuntime:
		faults, warnings = o.Validate(v1alpha1.RuntimeRules{})
	case *v1alpha1.InferenceGraph:
		o.SetDefaults()
		faults, warnings = o.Validate()
		a.graphs[o.Name] = o
	case *v1alpha1.TrainedModel:
		faults = o.Validate()
		a.models[o.Name] = o
	case *v1alpha1.ClusterStorageContainer:
		if faults = o.Validate(); len(faults) == 0 {
			a.rules.StorageFormats = append(a.rules.StorageFormats, o.Spec.SupportedURIFormats...)
		}
	}
	return faults, warnings
}

// TestParity refuses exactly the recorded documents that are to be refused, and gives the others the recorded defaults.
func TestParity(t *testing.T) {
	t.Parallel()
	dirs := glob(t, casesDir, "*")
	require.Greater(t, len(dirs), 200)
	right, serializer := readIntended(t), newSerializer(t)
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			want, a := readRecorded(t, dir), newAdmission(t, serializer, dir)
			want.refuse, want.may = right[filepath.Base(dir)].Refuse, right[filepath.Base(dir)].MayRefuse
			files := append([]string{filepath.Join(dir, "input.yaml")}, steps(t, dir)...)
			for _, file := range files {
				for _, doc := range documents(t, file) {
					if !strings.HasPrefix(fmt.Sprint(doc["apiVersion"]), serving.GroupName+"/") || doc["$delete"] != nil {
						continue
					}
					a.check(want, filepath.Base(file), doc)
				}
			}
			a.compareDefaults(want)
		})
	}
}

func (a *admission) check(want recorded, step string, doc map[string]any) {
	metadata, _ := doc["metadata"].(map[string]any)
	this := refusal{step, fmt.Sprint(doc["kind"]), fmt.Sprint(metadata["name"])}
	faults, warnings := a.apply(doc)
	for _, fault := range faults {
		a.t.Log("fault:", fault)
	}
	for _, warning := range warnings {
		a.t.Log("warning:", warning)
	}
	switch {
	case want.may != nil && *want.may == this:
	case want.refuse != nil && *want.refuse == this, slices.Contains(want.Rejected, this):
		require.NotEmpty(a.t, faults, "%v is to be refused", this)
	default:
		require.Empty(a.t, faults, "%v is to be accepted", this)
	}
	for _, fault := range faults {
		require.NotEmpty(a.t, fault.Field, "%v", fault)
	}
}

// compareDefaults compares the services that were accepted with those that were stored.
func (a *admission) compareDefaults(want recorded) {
	for _, object := range want.Objects {
		metadata, _ := object["metadata"].(map[string]any)
		service := a.services[fmt.Sprint(metadata["name"])]
		if object["kind"] != v1beta1.InferenceServiceKind || service == nil {
			continue
		}
		data, err := json.Marshal(service)
		require.NoError(a.t, err)
		var got map[string]any
		require.NoError(a.t, json.Unmarshal(data, &got))
		data, err = json.Marshal(object)
		require.NoError(a.t, err)
		var wanted map[string]any
		require.NoError(a.t, json.Unmarshal(data, &wanted))
		gotMetadata, _ := got["metadata"].(map[string]any)
		wantedMetadata, _ := wanted["metadata"].(map[string]any)
		require.Empty(a.t, slices.DeleteFunc(differences("spec", wanted["spec"], got["spec"]), func(difference string) bool {
			return strings.HasSuffix(difference, ".protocol: want TCP, got <nil>") // the API server's own default
		}))
		require.Empty(a.t, differences("annotations", wantedMetadata["annotations"], gotMetadata["annotations"]))
		require.Empty(a.t, differences("labels", wantedMetadata["labels"], gotMetadata["labels"]))
	}
}

func steps(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "steps", "*.yaml"))
	require.NoError(t, err)
	return names
}
