// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func runtimes(t *testing.T) []servingv1alpha1.ClusterServingRuntime {
	t.Helper()
	docs := deploy.Runtimes()
	optional, err := filepath.Glob("runtimes/optional/*.yaml")
	require.NoError(t, err)
	for _, path := range optional {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		docs = append(docs, raw)
	}
	all := make([]servingv1alpha1.ClusterServingRuntime, 0, len(docs))
	for _, raw := range docs {
		var rt servingv1alpha1.ClusterServingRuntime
		require.NoError(t, yaml.UnmarshalStrict(raw, &rt), string(raw))
		all = append(all, rt)
	}
	return all
}

func TestRuntimesKeepTheirNames(t *testing.T) {
	var names []string
	for _, rt := range runtimes(t) {
		require.Equal(t, "ClusterServingRuntime", rt.Kind)
		names = append(names, rt.Name)
	}
	require.ElementsMatch(t, []string{
		"kserve-autogluonserver", "kserve-huggingfaceserver", "kserve-huggingfaceserver-multinode", "kserve-lgbserver", "kserve-mlserver", "kserve-onnxserver",
		"kserve-openvino", "kserve-paddleserver", "kserve-pmmlserver", "kserve-predictiveserver", "kserve-sklearnserver", "kserve-tensorflow-serving",
		"kserve-torchserve", "kserve-tritonserver", "kserve-vllmserver", "kserve-xgbserver",
	}, names)
}

func TestKustomizationsListEveryFile(t *testing.T) {
	for _, dir := range []string{"base", "base/manager", "base/rbac", "base/webhook", "config", "crd", "runtimes", "overlays/cert-manager", "overlays/local", "overlays/local-gateway"} {
		raw, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
		require.NoError(t, err)
		var k struct {
			Resources []string
			Patches   []struct{ Path string }
		}
		require.NoError(t, yaml.Unmarshal(raw, &k))
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		require.NoError(t, err)
		var listed []string
		for _, r := range k.Resources {
			if filepath.Ext(r) == ".yaml" {
				listed = append(listed, r)
			}
		}
		for _, p := range k.Patches {
			listed = append(listed, p.Path)
		}
		var names []string
		for _, f := range files {
			if base := filepath.Base(f); base != "kustomization.yaml" {
				names = append(names, base)
			}
		}
		require.ElementsMatch(t, names, listed, dir)
	}
}

func TestStorageContainerIsRead(t *testing.T) {
	var c servingv1alpha1.ClusterStorageContainer
	require.NoError(t, yaml.UnmarshalStrict(deploy.StorageContainer(), &c))
	require.Equal(t, settings.Defaults().Storage.Image, c.Spec.Container.Image, "the container brings the same image as the settings")
}

// TestOurServerStandsBehindItsFormats pins which formats our own server takes, and that a service without a protocol finds it.
func TestOurServerStandsBehindItsFormats(t *testing.T) {
	all := runtimes(t)
	for format, image := range map[string]string{
		"sklearn": "kserve-go/model-server:latest", "xgboost": "kserve-go/model-server:latest", "lightgbm": "kserve-go/model-server:latest",
		"pmml": "kserve-go/model-server:latest", "onnx": "kserve-go/model-server-onnx:latest",
	} {
		for _, protocol := range []serving.ProtocolVersion{"", serving.ProtocolV1} {
			p := rendered(t, service(format, nil, protocol, ""), all)
			require.Equal(t, image, p.Component(serving.Predictor).Pod.Containers[0].Image, "%s %s", format, protocol)
		}
	}
	p := rendered(t, service("onnx", nil, serving.ProtocolV2, ""), all)
	require.Equal(t, "kserve-onnxserver", p.Component(serving.Predictor).Runtime.Name)
	p = rendered(t, service("sklearn", nil, serving.ProtocolV2, ""), all)
	require.Equal(t, "kserve-mlserver", p.Component(serving.Predictor).Runtime.Name, "existing services that ask for v2 keep their server")
}

// TestEveryRuntimeRenders renders each format of each runtime, named by the service, and finds no placeholder left.
func TestEveryRuntimeRenders(t *testing.T) {
	all := runtimes(t)
	for _, rt := range all {
		for i := range rt.Spec.SupportedModelFormats {
			f := &rt.Spec.SupportedModelFormats[i]
			t.Run(fmt.Sprintf("%s/%s-%v", rt.Name, f.Name, i), func(t *testing.T) {
				svc := service(f.Name, f.Version, "", rt.Name)
				if rt.Spec.WorkerSpec != nil {
					svc.Spec.Predictor.WorkerSpec = &servingv1beta1.WorkerSpec{}
					svc.Annotations[serving.AnnotationAutoscalerClass] = string(serving.AutoscalerNone)
				}
				p := rendered(t, svc, all)
				c := p.Component(serving.Predictor)
				require.Equal(t, rt.Name, c.Runtime.Name)
				raw, err := yaml.Marshal(c.Pod)
				require.NoError(t, err)
				require.NotContains(t, string(raw), "{{")
				require.Equal(t, "/metrics", c.Annotations[serving.AnnotationContainerPrometheusPath])
				objects, err := render.Objects(p, settings.Defaults())
				require.NoError(t, err)
				require.GreaterOrEqual(t, len(objects), 3)
			})
		}
	}
}

func service(format string, version *string, protocol serving.ProtocolVersion, runtime string) *servingv1beta1.InferenceService {
	uri := "pvc://claim/model"
	model := &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: format, Version: version}}
	model.StorageURI = &uri
	if protocol != "" {
		model.ProtocolVersion = &protocol
	}
	if runtime != "" {
		model.Runtime = &runtime
	}
	svc := &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{
		Name: "m", Namespace: "default", Annotations: map[string]string{
			serving.AnnotationDeploymentMode: string(serving.Standard), serving.AnnotationModelFormat: format,
		},
	}}
	svc.Spec.Predictor.Model = model
	return svc
}

func rendered(t *testing.T, svc *servingv1beta1.InferenceService, all []servingv1alpha1.ClusterServingRuntime) *plan.Plan {
	t.Helper()
	p, err := resolve.Service(&plan.Snapshot{Service: svc, ClusterRuntimes: all}, settings.Defaults())
	require.NoError(t, err)
	return p
}
