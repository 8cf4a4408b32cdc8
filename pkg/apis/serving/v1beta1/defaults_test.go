// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// service reads a service from YAML; it is called m unless the YAML says otherwise.
func service(t *testing.T, text string) *v1beta1.InferenceService {
	t.Helper()
	s := &v1beta1.InferenceService{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), s))
	if s.Name == "" {
		s.Name = "m"
	}
	return s
}

func operatorDefaults() v1beta1.Defaults {
	amounts := func() corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi")}
	}
	return v1beta1.Defaults{
		Mode:       serving.Knative,
		Resources:  corev1.ResourceRequirements{Requests: amounts(), Limits: amounts()},
		ARTVersion: "latest",
	}
}

func TestSetDefaults(t *testing.T) {
	t.Parallel()
	const amounts = "{requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}"
	tests := map[string]struct {
		defaults func(*v1beta1.Defaults)
		in, want string
	}{
		"an older field becomes a model": {
			in:   "spec: {predictor: {sklearn: {storageUri: s3://b/m}}}",
			want: "{metadata: {annotations: {modelFormat: sklearn}}, spec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: s3://b/m}}}}",
		},
		"onnx speaks v2": {
			in:   "spec: {predictor: {onnx: {storageUri: s3://b/m}}}",
			want: "{metadata: {annotations: {modelFormat: onnx}}, spec: {predictor: {model: {modelFormat: {name: onnx}, protocolVersion: v2, storageUri: s3://b/m}}}}",
		},
		"a protocol that is given stays": {
			in:   "spec: {predictor: {triton: {protocolVersion: grpc-v2}}}",
			want: "{metadata: {annotations: {modelFormat: triton}}, spec: {predictor: {model: {modelFormat: {name: triton}, protocolVersion: grpc-v2}}}}",
		},
		"pytorch gets no protocol": {
			in:   "spec: {predictor: {pytorch: {}}}",
			want: "{metadata: {annotations: {modelFormat: pytorch}}, spec: {predictor: {model: {modelFormat: {name: pytorch}}}}}",
		},
		"a vLLM model speaks v2": {
			in:   "spec: {predictor: {model: {modelFormat: {name: vLLM}}}}",
			want: "{metadata: {annotations: {modelFormat: vLLM}}, spec: {predictor: {model: {modelFormat: {name: vLLM}, protocolVersion: v2}}}}",
		},
		"a huggingface model does not": {
			in:   "spec: {predictor: {model: {modelFormat: {name: huggingface}}}}",
			want: "{metadata: {annotations: {modelFormat: huggingface}}, spec: {predictor: {model: {modelFormat: {name: huggingface}}}}}",
		},
		"two models stay for validation to name": {
			in:   "spec: {predictor: {sklearn: {}, model: {modelFormat: {name: xgboost}}}}",
			want: "{metadata: {annotations: {modelFormat: xgboost}}, spec: {predictor: {sklearn: {}, model: {modelFormat: {name: xgboost}}}}}",
		},
		"ModelMesh keeps older fields": {
			in:   "{metadata: {annotations: {serving.kserve.io/deploymentMode: ModelMesh}}, spec: {predictor: {sklearn: {}}}}",
			want: "{metadata: {annotations: {serving.kserve.io/deploymentMode: ModelMesh}}, spec: {predictor: {sklearn: {}}}}",
		},
		"the one container of a predictor gets name and resources": {
			in:   "spec: {predictor: {containers: [{image: a}]}}",
			want: "spec: {predictor: {containers: [{name: kserve-container, image: a, resources: " + amounts + "}]}}",
		},
		"resources that are given stay": {
			in:   "spec: {predictor: {containers: [{image: a, resources: {limits: {cpu: 2}}}]}}",
			want: "spec: {predictor: {containers: [{name: kserve-container, image: a, resources: {requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 2, memory: 2Gi}}}]}}",
		},
		"of two named containers the first gets resources": {
			in:   "spec: {predictor: {containers: [{name: kserve-container}, {name: transformer-container}]}}",
			want: "spec: {predictor: {containers: [{name: kserve-container, resources: " + amounts + "}, {name: transformer-container}]}}",
		},
		"sidecars of a model stay as they are": {
			in:   "spec: {predictor: {model: {modelFormat: {name: a}}, containers: [{name: side}]}}",
			want: "{metadata: {annotations: {modelFormat: a}}, spec: {predictor: {model: {modelFormat: {name: a}}, containers: [{name: side}]}}}",
		},
		"a transformer's container is renamed": {
			in:   "spec: {predictor: {}, transformer: {containers: [{name: mine}]}}",
			want: "spec: {predictor: {}, transformer: {containers: [{name: kserve-container, resources: " + amounts + "}]}}",
		},
		"a transformer's sidecar before the main container is not": {
			in:   "spec: {predictor: {}, transformer: {containers: [{name: side}, {name: kserve-container}]}}",
			want: "spec: {predictor: {}, transformer: {containers: [{name: side}, {name: kserve-container, resources: " + amounts + "}]}}",
		},
		"the ART explainer gets name, version and resources": {
			in:   "spec: {predictor: {}, explainer: {art: {type: SquareAttack}}}",
			want: "spec: {predictor: {}, explainer: {art: {type: SquareAttack, name: kserve-container, runtimeVersion: latest, resources: " + amounts + "}}}",
		},
		"a predictor with nothing stays for validation to name": {
			in: "spec: {predictor: {}}", want: "spec: {predictor: {}}",
		},
		"an operator's default of Standard is written down": {
			defaults: func(d *v1beta1.Defaults) { d.Mode = serving.Standard },
			in:       "spec: {predictor: {}}",
			want:     "{metadata: {annotations: {serving.kserve.io/deploymentMode: Standard}}, spec: {predictor: {}}}",
		},
		"an older spelling of a mode becomes the new one": {
			in:   "{metadata: {annotations: {serving.kserve.io/deploymentMode: RawDeployment}}, spec: {predictor: {}}}",
			want: "{metadata: {annotations: {serving.kserve.io/deploymentMode: Standard}}, spec: {predictor: {}}}",
		},
		"a mode that is not known stays for validation to name": {
			in:   "{metadata: {annotations: {serving.kserve.io/deploymentMode: Other}}, spec: {predictor: {}}}",
			want: "{metadata: {annotations: {serving.kserve.io/deploymentMode: Other}}, spec: {predictor: {}}}",
		},
		"a deployed service keeps its mode when the operator's default changes": {
			defaults: func(d *v1beta1.Defaults) { d.Mode = serving.Standard },
			in:       "{spec: {predictor: {}}, status: {deploymentMode: Serverless}}",
			want:     "{spec: {predictor: {}}, status: {deploymentMode: Serverless}}",
		},
		"tokens are kept out of pods that do not ask for them": {
			defaults: func(d *v1beta1.Defaults) { d.NoServiceAccountToken = true },
			in:       "spec: {predictor: {automountServiceAccountToken: true}, transformer: {}, explainer: {}}",
			want:     "spec: {predictor: {automountServiceAccountToken: true}, transformer: {automountServiceAccountToken: false}, explainer: {automountServiceAccountToken: false}}",
		},
		"a source without a path goes to the model directory": {
			in:   "spec: {predictor: {storageUris: [{uri: s3://a/b}]}}",
			want: "spec: {predictor: {storageUris: [{uri: s3://a/b, mountPath: /mnt/models}]}}",
		},
		"a canary's older field becomes a model too": {
			in:   "spec: {predictor: {}, canary: [{trafficPercent: 1, predictor: {name: b, onnx: {}}}]}",
			want: "spec: {predictor: {}, canary: [{trafficPercent: 1, predictor: {name: b, model: {modelFormat: {name: onnx}, protocolVersion: v2}}}]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := operatorDefaults()
			if test.defaults != nil {
				test.defaults(&d)
			}
			got, want := service(t, test.in), service(t, test.want)
			got.SetDefaults(d)
			require.Equal(t, marshal(t, want), marshal(t, got))
			again := got.DeepCopy()
			again.SetDefaults(d)
			require.Equal(t, got, again, "a second time changes nothing")
		})
	}
}

func TestSetDefaultsLocalModel(t *testing.T) {
	t.Parallel()
	caches := []v1beta1.LocalModelCache{
		{Name: "own", Namespace: "ns", SourceURI: "s3://a/b/", NodeGroups: []string{"cpu"}},
		{Name: "llama", SourceURI: "hf://m/l", NodeGroups: []string{"gpu1", "gpu2"}},
		{Name: "empty", SourceURI: "hf://m/none"},
	}
	tests := map[string]struct {
		uri         string
		annotations map[string]string
		off         bool
		labels      map[string]string
		claim       string
	}{
		"a model in a cache": {uri: "hf://m/l", labels: map[string]string{serving.LabelLocalModel: "llama"}, claim: "llama-gpu1"},
		"a model inside a cache of the namespace": {
			uri:    "s3://a/b/c",
			labels: map[string]string{serving.LabelLocalModel: "own", serving.LabelLocalModelNamespace: "ns"}, claim: "own-cpu",
		},
		"a model beside a cache":         {uri: "s3://a/bc"},
		"a cache without node groups":    {uri: "hf://m/none"},
		"a node group that is chosen":    {uri: "hf://m/l", annotations: map[string]string{serving.AnnotationNodeGroup: "gpu2"}, labels: map[string]string{serving.LabelLocalModel: "llama"}, claim: "llama-gpu2"},
		"a node group without the model": {uri: "hf://m/l", annotations: map[string]string{serving.AnnotationNodeGroup: "cpu"}},
		"a service that wants no cache":  {uri: "hf://m/l", annotations: map[string]string{serving.AnnotationDisableLocalModel: "false"}},
		"a cluster that has caches off":  {uri: "hf://m/l", off: true},
		"a service without a source":     {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t, "spec: {predictor: {model: {modelFormat: {name: a}}}}")
			if test.uri != "" {
				s.Spec.Predictor.Model.StorageURI = &test.uri
			}
			s.Annotations = test.annotations
			// The marks of an earlier cache go.
			s.Labels = map[string]string{serving.LabelLocalModel: "old", serving.LabelLocalModelNamespace: "old"}
			d := operatorDefaults()
			d.LocalModels = v1beta1.LocalModels{Enabled: !test.off, Caches: caches}
			s.SetDefaults(d)
			if test.labels == nil {
				test.labels = map[string]string{}
			}
			require.Equal(t, test.labels, s.Labels)
			require.Equal(t, test.claim, s.Annotations[serving.AnnotationInternalLocalModelPVC])
		})
	}
}

func marshal(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	require.NoError(t, err)
	return string(text)
}
