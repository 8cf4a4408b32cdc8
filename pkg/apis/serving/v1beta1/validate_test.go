// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// Parts of services that the rows below are made of.
const (
	model    = "model: {modelFormat: {name: a}, storageUri: s3://a/b}"
	standard = "metadata: {annotations: {serving.kserve.io/deploymentMode: Standard}}, "
	keda     = "metadata: {annotations: {serving.kserve.io/deploymentMode: Standard, serving.kserve.io/autoscalerClass: keda}}, "
	single   = "metadata: {annotations: {serving.kserve.io/deploymentMode: Standard, serving.kserve.io/autoscalerClass: none}}, "
)

// predictor is a service with a model and further fields of its predictor.
func predictor(head, fields string) string {
	return "{" + head + "spec: {predictor: {" + model + ", " + fields + "}}}"
}

func metrics(metric string) string { return predictor(keda, "autoScaling: {metrics: ["+metric+"]}") }

func annotated(key, value string) string {
	return "{metadata: {annotations: {" + key + ": '" + value + "'}}, spec: {predictor: {" + model + "}}}"
}

func annotatedStandard(key, value string) string {
	return "{metadata: {annotations: {serving.kserve.io/deploymentMode: Standard, " + key + ": '" + value + "'}}, spec: {predictor: {" + model + "}}}"
}

func canary(fields, percent string) string {
	return "{" + standard + "spec: {predictor: {" + model + ", name: v1}, canary: [{trafficPercent: " + percent + ", predictor: {name: v2, " + model + fields + "}}]}}"
}

func multiNode(head, modelFields, worker string) string {
	return "{" + head + "spec: {predictor: {model: {modelFormat: {name: a}, " + modelFields + "}, workerSpec: {" + worker + "}}}}"
}

// ownMount is a component of an own container that mounts a volume.
func ownMount(component, volume, fields string) string {
	own := component + ": {containers: [{name: kserve-container, image: i, volumeMounts: [{name: " + volume + ", mountPath: /look}]}], " + fields + "}"
	if component != "predictor" {
		own = "predictor: {" + model + "}, " + own
	}
	return "{" + standard + "spec: {" + own + "}}"
}

func uris(list string) string {
	return "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: [" + list + "]}}"
}

// rule is a sentence's two sides, the field that the refusal names and a part of what it says.
type rule struct{ refused, accepted, field, says string }

// rules are those of a service, by a sentence that says what is right. The page docs/admission-rules.md is made of them.
func rules() map[string]rule {
	all := map[string]rule{
		"a name starts with a letter":      {"{metadata: {name: 1foo}, spec: {predictor: {" + model + "}}}", "{metadata: {name: foo-1}, spec: {predictor: {" + model + "}}}", "metadata.name", "must start with a letter"},
		"a name has no capital letters":    {"{metadata: {name: Foo}, spec: {predictor: {" + model + "}}}", "{metadata: {name: foo}, spec: {predictor: {" + model + "}}}", "metadata.name", "lower-case"},
		"a name has no dots":               {"{metadata: {name: foo.bar}, spec: {predictor: {" + model + "}}}", "{metadata: {name: foo-bar}, spec: {predictor: {" + model + "}}}", "metadata.name", "choose a name"},
		"a predictor's Service has a name": {"{metadata: {name: " + strings.Repeat("a", 54) + "}, spec: {predictor: {" + model + "}}}", "{metadata: {name: " + strings.Repeat("a", 53) + "}, spec: {predictor: {" + model + "}}}", "metadata.name", "64 characters"},
		"a label holds the name in Standard mode": {
			"{metadata: {name: " + strings.Repeat("a", 49) + ", annotations: {serving.kserve.io/deploymentMode: Standard}}, spec: {predictor: {" + model + "}}}",
			"{metadata: {name: " + strings.Repeat("a", 48) + ", annotations: {serving.kserve.io/deploymentMode: Standard}}, spec: {predictor: {" + model + "}}}",
			"metadata.name", "label app",
		},
		"a predictor's own name counts": {
			"{metadata: {name: " + strings.Repeat("a", 51) + "}, spec: {predictor: {" + model + ", name: v2}}}",
			"{metadata: {name: " + strings.Repeat("a", 50) + "}, spec: {predictor: {" + model + ", name: v2}}}", "metadata.name", "shorten metadata.name by 1",
		},
		"a mode is one of three":             {annotated("serving.kserve.io/deploymentMode", "Other"), annotated("serving.kserve.io/deploymentMode", "Serverless"), "metadata.annotations[serving.kserve.io/deploymentMode]", "Standard"},
		"an autoscaler class is one of four": {annotatedStandard("serving.kserve.io/autoscalerClass", "kpa"), annotatedStandard("serving.kserve.io/autoscalerClass", "external"), "metadata.annotations[serving.kserve.io/autoscalerClass]", "hpa"},
		"GPU types are an array":             {annotated("serving.kserve.io/gpu-resource-types", "a"), annotated("serving.kserve.io/gpu-resource-types", `["a"]`), "metadata.annotations[serving.kserve.io/gpu-resource-types]", "JSON array"},
		"a predictor serves something":       {"spec: {predictor: {}}", "spec: {predictor: {" + model + "}}", "spec.predictor", "exactly one of model"},
		"a predictor serves one thing":       {predictor("", "containers: [{name: kserve-container, image: a}]"), predictor("", "containers: [{name: side, image: a}]"), "spec.predictor", "exactly one"},
		"an older field counts as well":      {"spec: {predictor: {sklearn: {}, xgboost: {}}}", "spec: {predictor: {sklearn: {}}}", "spec.predictor", "keep one"},
		"an older field and a model are two": {predictor("", "sklearn: {}"), predictor("", "name: v1"), "spec.predictor", "keep one"},
		"a model has a format":               {"spec: {predictor: {model: {modelFormat: {name: ''}}}}", "spec: {predictor: {model: {modelFormat: {name: a}}}}", "spec.predictor.model.modelFormat.name", "format"},
		"a transformer has a container":      {"spec: {predictor: {" + model + "}, transformer: {}}", "spec: {predictor: {" + model + "}, transformer: {containers: [{image: a}]}}", "spec.transformer.containers", "container of your own"},
		"an explainer explains one way": {
			"spec: {predictor: {" + model + "}, explainer: {art: {type: SquareAttack}, containers: [{name: kserve-container, image: i}]}}",
			"spec: {predictor: {" + model + "}, explainer: {art: {type: SquareAttack}, containers: [{name: side, image: i}]}}", "spec.explainer", "exactly one of art",
		},
		"an explainer explains": {"spec: {predictor: {" + model + "}, explainer: {}}", "spec: {predictor: {" + model + "}, explainer: {containers: [{image: a}]}}", "spec.explainer", "set one"},
		"no container sets PYTHONPATH": {
			predictor("", "containers: [{name: side, image: i, env: [{name: PYTHONPATH, value: a}]}]"), predictor("", "containers: [{name: side, image: i, env: [{name: PATH, value: a}]}]"),
			"spec.predictor.containers[0].env[0].name", "remove it",
		},
		"no init container sets PYTHONPATH": {
			predictor("", "initContainers: [{name: side, image: i, env: [{name: PYTHONPATH}]}]"), predictor("", "initContainers: [{name: side, image: i}]"),
			"spec.predictor.initContainers[0].env[0].name", "remove it",
		},
		"no model sets PYTHONPATH": {
			"spec: {predictor: {model: {modelFormat: {name: a}, env: [{name: PYTHONPATH}]}}}", "spec: {predictor: {model: {modelFormat: {name: a}, env: [{name: A}]}}}",
			"spec.predictor.model.env[0].name", "remove it",
		},
		"no explainer sets PYTHONPATH": {
			"spec: {predictor: {" + model + "}, explainer: {art: {type: a, env: [{name: PYTHONPATH}]}}}", "spec: {predictor: {" + model + "}, explainer: {art: {type: a}}}",
			"spec.explainer.art.env[0].name", "remove it",
		},
		"containers have different names":       {predictor("", "containers: [{name: side, image: i}, {name: side, image: i}]"), predictor("", "containers: [{name: side, image: i}, {name: other, image: i}]"), "spec.predictor.containers[1].name", "Duplicate"},
		"a model's container has no name":       {"spec: {predictor: {model: {modelFormat: {name: a}, name: x}}}", "spec: {predictor: {model: {modelFormat: {name: a}, name: ''}}}", "spec.predictor.model.name", "remove it"},
		"a protocol is one of four":             {"spec: {predictor: {model: {modelFormat: {name: a}, protocolVersion: v9}}}", "spec: {predictor: {model: {modelFormat: {name: a}, protocolVersion: grpc-v1}}}", "spec.predictor.model.protocolVersion", "grpc-v2"},
		"a custom predictor speaks v1 or v2":    {"spec: {predictor: {containers: [{name: kserve-container, image: i, env: [{name: PROTOCOL, value: grpc-v2}]}]}}", "spec: {predictor: {containers: [{name: kserve-container, image: i, env: [{name: PROTOCOL, value: v2}]}]}}", "spec.predictor.containers[0].env[0].value", "v1"},
		"a transformer beside has no source":    {predictor("", "containers: [{name: transformer-container, image: i, env: [{name: STORAGE_URI, value: a}]}]"), predictor("", "containers: [{name: transformer-container, image: i}]"), "spec.predictor.containers[0].env[0].name", "STORAGE_URI"},
		"a scheme is fetched by somebody":       {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: abfs://c@a.dfs.core.windows.net/x}}}", "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: https://a.blob.core.windows.net/c/x}}}", "spec.predictor.model.storageUri", "ClusterStorageContainer"},
		"a scheme is in small letters":          {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: 'S3://x/y'}}}", "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://X/Y}}}", "spec.predictor.model.storageUri", "write s3://"},
		"a scheme is known":                     {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: foo://x/y}}}", "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: bar://x/y}}}", "spec.predictor.model.storageUri", "hf, pvc"},
		"a source is well formed":               {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: hf://o/}}}", "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: hf://o/m}}}", "spec.predictor.model.storageUri", "hf://owner/model"},
		"a custom container's source as well":   {"spec: {predictor: {containers: [{name: kserve-container, image: i, env: [{name: STORAGE_URI, value: s3://}]}]}}", "spec: {predictor: {containers: [{name: kserve-container, image: i, env: [{name: STORAGE_URI, value: s3://a}]}]}}", "spec.predictor.containers[0].env[0].value", "s3://bucket/path"},
		"a source is named once":                {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, storage: {path: b}}}}", "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, storage: {key: b}}}}", "spec.predictor.model.storage.path", "remove one"},
		"a source is not in a list too":         {predictor("", "storageUris: [{uri: s3://a/b}]"), uris("{uri: s3://a/b}"), "spec.predictor.model.storageUri", "together"},
		"a container's source is not in a list": {"spec: {predictor: {containers: [{name: kserve-container, image: i, env: [{name: STORAGE_URI, value: s3://a}]}], storageUris: [{uri: s3://b}]}}", "spec: {predictor: {containers: [{name: kserve-container, image: i}], storageUris: [{uri: s3://b}]}}", "spec.predictor.containers[0].env[0].value", "together"},
		"a list's entry has a source":           {uris("{uri: ''}"), uris("{uri: s3://a}"), "spec.predictor.storageUris[0].uri", "needs a source"},
		"a mount path is not the root":          {uris("{uri: s3://a, mountPath: /}"), uris("{uri: s3://a, mountPath: /a}"), "spec.predictor.storageUris[0].mountPath", "root"},
		"a mount path is absolute":              {uris("{uri: s3://a, mountPath: models}"), uris("{uri: s3://a, mountPath: /models}"), "spec.predictor.storageUris[0].mountPath", "absolute"},
		"a mount path does not climb":           {uris("{uri: s3://a, mountPath: /mnt/../etc}"), uris("{uri: s3://a, mountPath: /mnt/.etc}"), "spec.predictor.storageUris[0].mountPath", "'..'"},
		"mount paths have a directory in common": {
			uris("{uri: s3://a, mountPath: /a/x}, {uri: s3://b, mountPath: /b/y}"), uris("{uri: s3://a, mountPath: /mnt/models/a}, {uri: s3://b, mountPath: /mnt/models/b}"),
			"spec.predictor.storageUris", "in common",
		},
		"a claim needs no directory in common": {uris("{uri: 'pvc://a', mountPath: /a}, {uri: 'pvc://b', mountPath: /a}"), uris("{uri: s3://a, mountPath: /a}, {uri: 'pvc://b', mountPath: /b}"), "spec.predictor.storageUris[1].mountPath", "Duplicate"},
		"a claim does not hide a download":     {uris("{uri: s3://a, mountPath: /a}, {uri: 'pvc://b', mountPath: /a/}"), uris("{uri: s3://a, mountPath: /a}, {uri: 'pvc://b', mountPath: /a/b}"), "spec.predictor.storageUris[1].mountPath", "hide"},
		"images have paths of their own":       {uris("{uri: oci://a, mountPath: /a}, {uri: oci://b, mountPath: /a}"), uris("{uri: oci://a, mountPath: /a}, {uri: oci://b, mountPath: /b}"), "spec.predictor.storageUris[1].mountPath", "Duplicate"},
		"a pod takes ten images":               {uris(images(11)), uris(images(10)), "spec.predictor.storageUris", "at most 10"},
		"an encrypted model has a source":      {"spec: {predictor: {model: {modelFormat: {name: a}, confidential: {enabled: true}}}}", "spec: {predictor: {model: {modelFormat: {name: a}, confidential: {enabled: false}}}}", "spec.predictor.model.storageUri", "encrypted"},
		"an encrypted model has a key": {
			"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, confidential: {enabled: true, resourceId: 'kbs://r/t'}}}}",
			"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: oci://a, confidential: {enabled: true, resourceId: 'kbs:///r/t/tag'}}}}", "spec.predictor.model.confidential.resourceId", "kbs:///",
		},
		"an explainer's source fits its store": {
			"spec: {predictor: {" + model + "}, explainer: {art: {type: a, storageUri: gs://a, storage: {key: k}}}}",
			"spec: {predictor: {" + model + "}, explainer: {art: {type: a, storageUri: s3://a, storage: {key: k}}}}", "spec.explainer.art.storageUri", "webhdfs",
		},
		"an explainer's store is known": {
			"spec: {predictor: {" + model + "}, explainer: {art: {type: a, storage: {parameters: {type: gs}}}}}",
			"spec: {predictor: {" + model + "}, explainer: {art: {type: a, storage: {parameters: {type: s3}}}}}", "spec.explainer.art.storage.parameters[type]", "hdfs",
		},

		"a model on several nodes is shared":    {multiNode(single, "storageUri: s3://a/b", ""), multiNode(single, "storageUri: oci+native://a/b", ""), "spec.predictor.model.storageUri", "pvc:// or oci://"},
		"a model on several nodes has a source": {multiNode(single, "args: []", ""), multiNode(single, "storageUri: 'pvc://a'", ""), "spec.predictor.model.storageUri", "every node"},
		"several nodes are not scaled":          {multiNode(standard, "storageUri: 'pvc://a'", ""), multiNode(single, "storageUri: 'pvc://a'", ""), "metadata.annotations[serving.kserve.io/autoscalerClass]", "none"},
		"a pipeline has nodes":                  {multiNode(single, "storageUri: 'pvc://a'", "pipelineParallelSize: 0"), multiNode(single, "storageUri: 'pvc://a'", "pipelineParallelSize: 1"), "spec.predictor.workerSpec.pipelineParallelSize", "at least 1"},
		"a node has GPUs":                       {multiNode(single, "storageUri: 'pvc://a'", "tensorParallelSize: -1"), multiNode(single, "storageUri: 'pvc://a'", "tensorParallelSize: 2"), "spec.predictor.workerSpec.tensorParallelSize", "at least 1"},
		"a worker has one container":            {multiNode(single, "storageUri: 'pvc://a'", "containers: [{name: a, image: i}, {name: b, image: i}]"), multiNode(single, "storageUri: 'pvc://a'", "containers: [{name: a, image: i}]"), "spec.predictor.workerSpec.containers", "at most 1"},
		"a worker does not set PYTHONPATH":      {multiNode(single, "storageUri: 'pvc://a'", "containers: [{name: a, env: [{name: PYTHONPATH}]}]"), multiNode(single, "storageUri: 'pvc://a'", "containers: [{name: a, image: i}]"), "spec.predictor.workerSpec.containers[0].env[0].name", "remove"},
		"a size is not set by a variable":       {multiNode(single, "storageUri: 'pvc://a', env: [{name: TENSOR_PARALLEL_SIZE}]", ""), multiNode(single, "storageUri: 'pvc://a', env: [{name: A}]", ""), "spec.predictor.model.env[0].name", "workerSpec"},
		"a resource of several nodes is known":  {multiNode(single, "storageUri: 'pvc://a', resources: {limits: {unknown.com/gpu: 1}}", ""), multiNode(single, "storageUri: 'pvc://a', resources: {limits: {nvidia.com/gpu: 1, cpu: 1}}", ""), "spec.predictor.model.resources.limits[unknown.com/gpu]", "nvidia.com/gpu"},
		"a worker's resource is known":          {multiNode(single, "storageUri: 'pvc://a'", "containers: [{name: a, resources: {requests: {unknown.com/gpu: 1}}}]"), multiNode(single, "storageUri: 'pvc://a'", "containers: [{name: a, resources: {requests: {own.test/gpu: 1}}}]"), "spec.predictor.workerSpec.containers[0].resources.requests[unknown.com/gpu]", "amd.com/gpu"},
		"an annotation makes a resource known":  {multiNode(single, "storageUri: 'pvc://a', resources: {limits: {other.com/gpu: 1}}", ""), multiNode("metadata: {annotations: {serving.kserve.io/gpu-resource-types: '[\"other.com/gpu\"]', serving.kserve.io/autoscalerClass: none}}, ", "storageUri: 'pvc://a', resources: {limits: {other.com/gpu: 1}}", ""), "spec.predictor.model.resources.limits[other.com/gpu]", "own.test/gpu"},
		"a worker has no ephemeral containers":  {multiNode(single, "storageUri: 'pvc://a'", "ephemeralContainers: [{name: a}]"), multiNode(single, "storageUri: 'pvc://a'", "ephemeralContainers: []"), "spec.predictor.workerSpec.ephemeralContainers", "remove"},

		"replicas are ordered":                 {predictor("", "minReplicas: 3, maxReplicas: 2"), predictor("", "minReplicas: 3, maxReplicas: 0"), "spec.predictor.minReplicas", "maxReplicas, which is 2"},
		"replicas are not negative":            {predictor("", "minReplicas: -1"), predictor("", "minReplicas: 0"), "spec.predictor.minReplicas", "less than 0"},
		"greatest replicas are not negative":   {predictor("", "maxReplicas: -1"), predictor("", "maxReplicas: 1"), "spec.predictor.maxReplicas", "less than 0"},
		"a transformer's replicas are ordered": {"spec: {predictor: {" + model + "}, transformer: {containers: [{image: a}], minReplicas: 3, maxReplicas: 2}}", "spec: {predictor: {" + model + "}, transformer: {containers: [{image: a}], minReplicas: 2, maxReplicas: 2}}", "spec.transformer.minReplicas", "lower it"},
		"an explainer's replicas are ordered":  {"spec: {predictor: {" + model + "}, explainer: {containers: [{image: a}], minReplicas: 3, maxReplicas: 2}}", "spec: {predictor: {" + model + "}, explainer: {containers: [{image: a}], minReplicas: 2, maxReplicas: 2}}", "spec.explainer.minReplicas", "lower it"},
		"concurrency is not negative":          {predictor("", "containerConcurrency: -1"), predictor("", "containerConcurrency: 0"), "spec.predictor.containerConcurrency", "less than 0"},
		"a timeout is not negative":            {predictor("", "timeout: -1"), predictor("", "timeout: 1"), "spec.predictor.timeout", "seconds"},
		"a canary share is a percentage":       {predictor("", "canaryTrafficPercent: 101"), predictor("", "canaryTrafficPercent: 100"), "spec.predictor.canaryTrafficPercent", "between 0 and 100"},
		"a logger has a mode":                  {predictor("", "logger: {url: 'http://x'}"), predictor("", "logger: {url: 'http://x', mode: all}"), "spec.predictor.logger.mode", "all, request or response"},
		"a logger's mode is known":             {predictor("", "logger: {mode: some}"), predictor("", "logger: {mode: response}"), "spec.predictor.logger.mode", "request"},
		"a logger's store is complete":         {predictor("", "logger: {mode: all, storage: {path: p, key: k}}"), predictor("", "logger: {mode: all, storage: {path: p, key: k, parameters: {a: b}}}"), "spec.predictor.logger.storage.parameters", "needs path"},
		"a logger writes something":            {predictor("", "logger: {mode: all, batchSize: 0}"), predictor("", "logger: {mode: all, batchSize: 1}"), "spec.predictor.logger.batchSize", "at least 1"},
		"a batch holds something":              {predictor("", "batcher: {maxBatchSize: 0}"), predictor("", "batcher: {maxBatchSize: 1}"), "spec.predictor.batcher.maxBatchSize", "at least 1"},
		"a batch takes time":                   {predictor("", "batcher: {maxLatency: 0}"), predictor("", "batcher: {maxLatency: 1}"), "spec.predictor.batcher.maxLatency", "at least 1"},

		"hpa scales on cpu or memory":            {predictor(standard, "scaleMetric: rps"), predictor(standard, "scaleMetric: memory, scaleTarget: 50"), "spec.predictor.scaleMetric", "cpu"},
		"hpa has a target":                       {predictor(standard, "scaleMetric: cpu, scaleTarget: 0"), predictor(standard, "scaleMetric: cpu, scaleTarget: 1"), "spec.predictor.scaleTarget", "between 1 and 100"},
		"hpa has a percentage as target":         {predictor(standard, "scaleTarget: 101"), predictor(standard, "scaleTarget: 100"), "spec.predictor.scaleTarget", "percentage"},
		"hpa has a percentage for memory":        {predictor(standard, "scaleMetric: memory, scaleTarget: 512"), predictor(single, "scaleMetric: memory, scaleTarget: 512"), "spec.predictor.scaleTarget", "autoScaling.metrics"},
		"hpa takes no quantity as target":        {predictor(standard, "scaleMetric: memory, scaleTarget: 2, scaleMetricType: AverageValue"), predictor(standard, "scaleMetric: memory, scaleTarget: 2, scaleMetricType: Utilization"), "spec.predictor.scaleMetricType", "autoScaling.metrics"},
		"hpa does not scale to zero":             {predictor(standard, "minReplicas: 0"), predictor(single, "minReplicas: 0"), "spec.predictor.minReplicas", "keda"},
		"hpa takes resources only":               {predictor(standard, "autoScaling: {metrics: [{type: External, external: {metric: {backend: prometheus, query: q}, target: {value: 1}}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu}}]}"), "spec.predictor.autoScaling.metrics[0].type", "keda"},
		"an annotated metric fits the hpa":       {annotatedStandard("serving.kserve.io/metric", "rps"), annotatedStandard("serving.kserve.io/metric", "cpu"), "metadata.annotations[serving.kserve.io/metric]", "cpu"},
		"an annotated target is a percentage":    {annotatedStandard("serving.kserve.io/targetUtilizationPercentage", "many"), annotatedStandard("serving.kserve.io/targetUtilizationPercentage", "55"), "metadata.annotations[serving.kserve.io/targetUtilizationPercentage]", "between 1 and 100"},
		"a metric has the field of its type":     {predictor(standard, "autoScaling: {metrics: [{type: Resource}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu}}]}"), "spec.predictor.autoScaling.metrics[0].resource", "set resource"},
		"a metric has a type":                    {metrics("{type: Other}"), metrics("{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5}}}"), "spec.predictor.autoScaling.metrics[0].type", "PodMetric"},
		"knative scales on its own metrics":      {predictor("", "scaleMetric: cpu"), predictor("", "scaleMetric: concurrency"), "spec.predictor.scaleMetric", "rps"},
		"knative's hpa scales on cpu":            {predictor("metadata: {annotations: {autoscaling.knative.dev/class: hpa.autoscaling.knative.dev}}, ", "scaleMetric: rps"), predictor("metadata: {annotations: {autoscaling.knative.dev/class: hpa.autoscaling.knative.dev}}, ", "scaleMetric: cpu, minReplicas: 0"), "spec.predictor.scaleMetric", "memory"},
		"knative's hpa takes resources only":     {predictor("metadata: {annotations: {autoscaling.knative.dev/class: hpa.autoscaling.knative.dev}}, ", "autoScaling: {metrics: [{type: PodMetric, podmetric: {metric: {query: q}}}]}"), predictor("metadata: {annotations: {autoscaling.knative.dev/class: hpa.autoscaling.knative.dev}}, ", "autoScaling: {metrics: [{type: Resource, resource: {name: cpu}}]}"), "spec.predictor.autoScaling.metrics[0].type", "Knative"},
		"knative has a target of requests":       {predictor("", "scaleMetric: rps, scaleTarget: 0"), predictor("", "scaleMetric: rps, scaleTarget: 1"), "spec.predictor.scaleTarget", "at least 1"},
		"knative replaces pods itself":           {predictor("", "deploymentStrategy: {type: Recreate}"), predictor(standard, "deploymentStrategy: {type: Recreate}"), "spec.predictor.deploymentStrategy", "Standard"},
		"knative's annotated target is a number": {annotated("autoscaling.knative.dev/target", "many"), annotated("autoscaling.knative.dev/target", "0.5"), "metadata.annotations[autoscaling.knative.dev/target]", "greater than 0"},
		"keda has no scale metric":               {predictor(keda, "scaleMetric: cpu"), predictor(keda, "minReplicas: 1"), "spec.predictor.scaleMetric", "autoScaling.metrics"},
		"keda's cpu is a utilization":            {metrics("{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}"), metrics("{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}"), "spec.predictor.autoScaling.metrics[0].resource.target.type", "Utilization"},
		"keda's utilization is a percentage":     {metrics("{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 120}}}"), metrics("{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 100}}}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageUtilization", "between 1 and 100"},
		"keda's memory is not tiny":              {metrics("{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Ki}}}"), metrics("{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Mi}}}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageValue", "1Mi"},
		"keda's memory has an amount":            {metrics("{type: Resource, resource: {name: memory, target: {type: AverageValue}}}"), metrics("{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 2Gi}}}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageValue", "averageValue"},
		"keda's memory is no sum":                {metrics("{type: Resource, resource: {name: memory, target: {type: Value, value: 1Gi}}}"), metrics("{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 2Gi}}}"), "spec.predictor.autoScaling.metrics[0].resource.target.type", "AverageValue"},
		"keda's query is there":                  {metrics("{type: External, external: {metric: {backend: prometheus}, target: {value: 1}}}"), metrics("{type: External, external: {metric: {backend: prometheus, query: q}, target: {value: 1}}}"), "spec.predictor.autoScaling.metrics[0].external.metric.query", "query"},
		"keda's query has a target":              {metrics("{type: PodMetric, podmetric: {metric: {backend: opentelemetry, query: q}}}"), metrics("{type: PodMetric, podmetric: {metric: {backend: opentelemetry, query: q}, target: {type: Value, value: 1}}}"), "spec.predictor.autoScaling.metrics[0].podmetric.target.value", "number"},
		"keda's target has its field":            {metrics("{type: External, external: {metric: {backend: prometheus, query: q}, target: {type: AverageValue, value: 1}}}"), metrics("{type: External, external: {metric: {backend: prometheus, query: q}, target: {type: AverageValue, value: 1, averageValue: 1}}}"), "spec.predictor.autoScaling.metrics[0].external.target.averageValue", "set it"},

		"a canary needs Standard mode":                {"spec: {predictor: {" + model + "}, canary: [{trafficPercent: 1, predictor: {name: v2, " + model + "}}]}", canary("", "1"), "spec.canary", "Standard"},
		"a canary has a name":                         {"{" + standard + "spec: {predictor: {" + model + "}, canary: [{trafficPercent: 1, predictor: {" + model + "}}]}}", canary("", "1"), "spec.canary[0].predictor.name", "v2"},
		"a canary has a name of its own":              {"{" + standard + "spec: {predictor: {" + model + ", name: v2}, canary: [{trafficPercent: 1, predictor: {name: v2, " + model + "}}]}}", canary("", "1"), "spec.canary[0].predictor.name", "stable predictor"},
		"two canaries have two names":                 {"{" + standard + "spec: {predictor: {" + model + "}, canary: [{trafficPercent: 1, predictor: {name: v2, " + model + "}}, {trafficPercent: 1, predictor: {name: v2, " + model + "}}]}}", canary("", "1"), "spec.canary[1].predictor.name", "Duplicate"},
		"a canary's share is not negative":            {canary("", "-1"), canary("", "0"), "spec.canary[0].trafficPercent", "between 0 and 100"},
		"all canaries share less than all":            {"{" + standard + "spec: {predictor: {" + model + "}, canary: [{trafficPercent: 60, predictor: {name: v2, " + model + "}}, {trafficPercent: 50, predictor: {name: v3, " + model + "}}]}}", canary("", "100"), "spec.canary", "more than 100"},
		"a canary is on one node":                     {canary(", workerSpec: {}", "1"), canary("", "1"), "spec.canary[0].predictor.workerSpec", "several nodes"},
		"several nodes have no canary":                {"{" + single + "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: 'pvc://a'}, workerSpec: {}}, canary: [{trafficPercent: 1, predictor: {name: v2, " + model + "}}]}}", canary("", "1"), "spec.canary", "a service of its own"},
		"a canary has no greatest replicas":           {canary(", maxReplicas: 2", "1"), canary(", minReplicas: 1", "1"), "spec.canary[0].predictor.maxReplicas", "minReplicas"},
		"a canary has no target":                      {canary(", scaleTarget: 2", "1"), canary("", "1"), "spec.canary[0].predictor.scaleTarget", "remove it"},
		"a canary's autoscaler class is one of four":  {canary(", annotations: {serving.kserve.io/autoscalerClass: kpa}", "1"), canary(", annotations: {serving.kserve.io/autoscalerClass: keda}", "1"), "spec.canary[0].predictor.annotations[serving.kserve.io/autoscalerClass]", "hpa"},
		"a canary's annotated target is a percentage": {canary(", annotations: {serving.kserve.io/targetUtilizationPercentage: '500'}", "1"), canary(", annotations: {serving.kserve.io/targetUtilizationPercentage: '50'}", "1"), "spec.canary[0].predictor.annotations[serving.kserve.io/targetUtilizationPercentage]", "between 1 and 100"},
		"a canary's annotated metric fits the hpa":    {canary(", annotations: {serving.kserve.io/metrics: rps}", "1"), canary(", annotations: {serving.kserve.io/metrics: cpu}", "1"), "spec.canary[0].predictor.annotations[serving.kserve.io/metrics]", "cpu"},
		"a canary's scrape port is a port":            {canary(", annotations: {prometheus.kserve.io/port: http}", "1"), canary(", annotations: {prometheus.kserve.io/port: '80'}", "1"), "spec.canary[0].predictor.annotations[prometheus.kserve.io/port]", "65535"},
		"a canary has no metric":                      {canary(", scaleMetric: cpu", "1"), canary("", "1"), "spec.canary[0].predictor.scaleMetric", "remove it"},
		"a canary has no metrics":                     {canary(", autoScaling: {}", "1"), canary("", "1"), "spec.canary[0].predictor.autoScaling", "remove it"},
		"a canary has no more replicas":               {canary(", minReplicas: 2", "1"), canary(", minReplicas: 0", "1"), "spec.canary[0].predictor.minReplicas", "which is 1"},
		"a canary serves something":                   {"{" + standard + "spec: {predictor: {" + model + "}, canary: [{trafficPercent: 1, predictor: {name: v2}}]}}", canary("", "1"), "spec.canary[0].predictor", "exactly one"},
		"a canary stands beside a model":              {"{" + standard + "spec: {predictor: {containers: [{name: kserve-container, image: i}]}, canary: [{trafficPercent: 1, predictor: {name: v2, " + model + "}}]}}", canary("", "1"), "spec.canary", "set spec.predictor.model"},

		"an hpa's memory has a target":       {predictor(standard, "scaleMetric: memory"), predictor(standard, "scaleMetric: memory, scaleTarget: 75"), "spec.predictor.scaleTarget", "such as 75"},
		"an annotated memory has a target":   {annotatedStandard("serving.kserve.io/metrics", "memory"), "{metadata: {annotations: {serving.kserve.io/deploymentMode: Standard, serving.kserve.io/metrics: memory, serving.kserve.io/targetUtilizationPercentage: '70'}}, spec: {predictor: {" + model + "}}}", "spec.predictor.scaleTarget", "such as 75"},
		"a listed memory has a target":       {predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: memory}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: memory, target: {averageUtilization: 150}}}]}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageUtilization", "such as 75"},
		"a listed percentage is positive":    {predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 0}}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageUtilization", "at least 1"},
		"a listed quantity is there":         {predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue}}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageValue", "per pod"},
		"a listed quantity is positive":      {predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 0}}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1m}}}]}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageValue", "greater than 0"},
		"a listed percentage is no quantity": {predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {averageValue: 500m}}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]}"), "spec.predictor.autoScaling.metrics[0].resource.target.averageUtilization", "AverageValue for a quantity per pod"},
		"a listed target is no sum":          {predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Value, value: 1}}}]}"), predictor(standard, "autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {averageUtilization: 1}}}]}"), "spec.predictor.autoScaling.metrics[0].resource.target.type", "AverageValue"},
		"zero pods are not woken by nothing": {predictor(keda, "minReplicas: 0"), predictor(keda, "minReplicas: 1"), "spec.predictor.minReplicas", "start one again"},
		"keda has a percentage as target":    {predictor(keda, "scaleTarget: 500"), predictor(keda, "scaleTarget: 50"), "spec.predictor.scaleTarget", "percentage"},
		"zero pods are woken by a request":   {predictor(keda, "minReplicas: 0, autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5}}}]}"), predictor(keda, "minReplicas: 0, autoScaling: {metrics: [{type: External, external: {metric: {backend: prometheus, query: q}, target: {value: 1}}}]}"), "spec.predictor.minReplicas", "start one again"},
		"stop is true or false":              {annotated("serving.kserve.io/stop", "yes"), annotated("serving.kserve.io/stop", "TRUE"), "metadata.annotations[serving.kserve.io/stop]", "false"},
		"auto-update is on or off":           {annotated("serving.kserve.io/disable-auto-update", "on"), annotated("serving.kserve.io/disable-auto-update", "true"), "metadata.annotations[serving.kserve.io/disable-auto-update]", "false"},
		"scraping is on or off":              {annotated("serving.kserve.io/enable-prometheus-scraping", "1"), annotated("serving.kserve.io/enable-prometheus-scraping", "false"), "metadata.annotations[serving.kserve.io/enable-prometheus-scraping]", "true"},
		"aggregation is on or off":           {predictor("", "annotations: {serving.kserve.io/enable-metric-aggregation: ''}"), predictor("", "annotations: {serving.kserve.io/enable-metric-aggregation: 'true'}"), "spec.predictor.annotations[serving.kserve.io/enable-metric-aggregation]", "true"},
		"tags are on or off":                 {annotated("serving.kserve.io/enable-tag-routing", "no"), annotated("serving.kserve.io/enable-tag-routing", "true"), "metadata.annotations[serving.kserve.io/enable-tag-routing]", "false"},
		"a model is read-only or not":        {annotated("storage.kserve.io/readonly", "no"), annotated("storage.kserve.io/readonly", "false"), "metadata.annotations[storage.kserve.io/readonly]", "true"},
		"an initializer's user is a number":  {annotated("serving.kserve.io/storage-initializer-uid", "root"), annotated("serving.kserve.io/storage-initializer-uid", "0"), "metadata.annotations[serving.kserve.io/storage-initializer-uid]", "whole number"},
		"a storage secret has a name":        {annotated("serving.kserve.io/storageSecretName", "My Secret"), annotated("serving.kserve.io/storageSecretName", "my.secret"), "metadata.annotations[serving.kserve.io/storageSecretName]", "name of a Secret"},
		"a scrape port is a port":            {annotated("prometheus.kserve.io/port", "http"), annotated("prometheus.kserve.io/port", "8080"), "metadata.annotations[prometheus.kserve.io/port]", "65535"},
		"a logger waits for some time":       {predictor("", "logger: {mode: all, batchInterval: '5'}"), predictor("", "logger: {mode: all, batchInterval: 5s}"), "spec.predictor.logger.batchInterval", "for instance 5s"},
		"a single model's volume is not the template's": {
			ownMount("transformer", "kserve-provision-location", ""), ownMount("transformer", "kserve-provision-location", "volumes: [{name: kserve-provision-location}]"),
			"spec.transformer.containers[0].volumeMounts[0].name", "add it to volumes",
		},
		"a list's volume has the name of its path": {
			ownMount("predictor", "mnt-models-c", "storageUris: [{uri: s3://a, mountPath: /mnt/models/a}, {uri: s3://b, mountPath: /mnt/models/b}]"),
			ownMount("predictor", "mnt-models", "storageUris: [{uri: s3://a, mountPath: /mnt/models/a}, {uri: s3://b, mountPath: /mnt/models/b}]"),
			"spec.predictor.containers[0].volumeMounts[0].name", "add it to volumes",
		},
		"init containers have names of their own": {predictor("", "containers: [{name: side, image: i}], initContainers: [{name: side, image: i}]"), predictor("", "containers: [{name: side, image: i}], initContainers: [{name: other, image: i}]"), "spec.predictor.initContainers[0].name", "Duplicate"},
	}
	for _, c := range childRules() {
		head := model + ", "
		if c.Custom {
			head = ""
		}
		all[c.Rule] = rule{
			"{" + standard + "spec: {predictor: {" + head + c.Refused + "}}}", "{" + standard + "spec: {predictor: {" + head + c.Accepted + "}}}", c.Field, c.Says,
		}
	}
	return all
}

// childRule is what an API server says about the children of a service; test/apiserver asks it.
type childRule struct {
	Rule, Field, Says, Schema, Refused, Accepted string
	Custom                                       bool
}

func childRules() []childRule {
	text, err := os.ReadFile("testdata/children.yaml")
	if err != nil {
		panic(err)
	}
	var all []childRule
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		panic(err)
	}
	return all
}

// operator is what an operator has set where the rules are tried.
func operator() v1beta1.Rules {
	return v1beta1.Rules{
		Mode: serving.Knative, GPUResources: []string{"own.test/gpu"},
		StorageFormats: []v1alpha1.SupportedURIFormat{{Prefix: "bar://"}, {Regex: "^baz:"}},
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, test := range rules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, _ := service(t, test.accepted).Validate(operator())
			require.Empty(t, faults, "to be accepted")
			faults, _ = service(t, test.refused).Validate(operator())
			requireFault(t, faults, test.field, test.says)
		})
	}
}

func images(count int) string {
	var list []string
	for i := range count {
		list = append(list, "{uri: oci://a, mountPath: /a/"+strings.Repeat("x", i+1)+"}")
	}
	return strings.Join(list, ", ")
}

func requireFault(t *testing.T, faults field.ErrorList, path, says string) {
	t.Helper()
	for _, fault := range faults {
		if fault.Field == path && strings.Contains(fault.Error(), says) {
			return
		}
	}
	require.Fail(t, "no such fault", "want %s: … %s …\ngot %v", path, says, faults)
}

func TestValidateSettings(t *testing.T) {
	t.Parallel()
	s := service(t, "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: oci+fetch://a/b}}}")
	faults, _ := s.Validate(v1beta1.Rules{Mode: serving.Knative})
	require.Empty(t, faults)
	faults, _ = s.Validate(v1beta1.Rules{Mode: serving.Knative, NoOCI: true})
	requireFault(t, faults, "spec.predictor.model.storageUri", "switched off")
	faults, _ = s.Validate(v1beta1.Rules{Mode: serving.Knative, Hosts: v1beta1.Hosts{Names: []string{"m." + strings.Repeat("a", 64) + ".test"}}})
	requireFault(t, faults, "metadata.name", "host name")
	faults, _ = s.Validate(v1beta1.Rules{Mode: serving.Knative, Hosts: v1beta1.Hosts{Names: []string{"m.example.test"}}})
	require.Empty(t, faults)
}

func TestValidateAcceptsWhatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	s := service(t, "spec: {predictor: {}}")
	s.DeletionTimestamp = &metav1.Time{}
	faults, warnings := s.Validate(v1beta1.Rules{})
	require.Empty(t, faults)
	require.Empty(t, warnings)
	faults, _ = s.ValidateUpdate(service(t, "spec: {predictor: {}}"), v1beta1.Rules{})
	require.Empty(t, faults)
}

// oddity is what a person should know about a service that is accepted.
type oddity struct{ in, field, says string }

// oddities are the warnings, by what they are about.
func oddities() map[string]oddity {
	annotatedKnative := func(key, value string) string {
		return "{metadata: {annotations: {" + key + ": '" + value + "'}}, spec: {predictor: {" + model + "}}}"
	}
	labelled := func(mode, key, value string) string {
		return "{metadata: {annotations: {serving.kserve.io/deploymentMode: " + mode + "}, labels: {" + key + ": '" + value + "'}}, spec: {predictor: {" + model + "}}}"
	}
	return map[string]oddity{
		"a canary share in Standard mode":       {predictor(standard, "canaryTrafficPercent: 20"), "spec.predictor.canaryTrafficPercent", "spec.canary"},
		"a canary's annotated target":           {canary(", annotations: {serving.kserve.io/targetUtilizationPercentage: '50'}", "1"), "spec.canary[0].predictor.annotations[serving.kserve.io/targetUtilizationPercentage]", "fixed number"},
		"an annotated metric":                   {annotatedStandard("serving.kserve.io/metric", "cpu"), "metadata.annotations[serving.kserve.io/metric]", "scaleMetric"},
		"an annotated target":                   {annotatedStandard("serving.kserve.io/targetUtilizationPercentage", "50"), "metadata.annotations[serving.kserve.io/targetUtilizationPercentage]", "scaleTarget"},
		"a batcher's timeout":                   {predictor("", "batcher: {timeout: 1}"), "spec.predictor.batcher.timeout", "maxLatency"},
		"an empty source":                       {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: ''}}}", "spec.predictor.model.storageUri", "absent"},
		"a relative path":                       {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: a/b}}}", "spec.predictor.model.storageUri", "relative"},
		"an encrypted model without a key":      {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, confidential: {enabled: true}}}}", "spec.predictor.model.confidential.resourceId", "kbs:///"},
		"an encrypted model that is mounted":    {"spec: {predictor: {model: {modelFormat: {name: a}, storageUri: 'pvc://a', confidential: {enabled: true, resourceId: 'kbs:///a/b/c'}}}}", "spec.predictor.model.storageUri", "not decrypted"},
		"a greatest number without a scaler":    {predictor(single, "maxReplicas: 3"), "spec.predictor.maxReplicas", "autoscaler class is none"},
		"a target without a scaler":             {predictor(single, "scaleTarget: 3"), "spec.predictor.scaleTarget", "autoscaler class is none"},
		"a metric without a scaler":             {predictor("metadata: {annotations: {serving.kserve.io/deploymentMode: Standard, serving.kserve.io/autoscalerClass: external}}, ", "scaleMetric: cpu"), "spec.predictor.scaleMetric", "autoscaler class is external"},
		"metrics without a scaler":              {predictor(single, "autoScaling: {}"), "spec.predictor.autoScaling", "autoscaler class is none"},
		"keda's target at the wrong place":      {predictor(keda, "scaleTarget: 5, autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5}}}]}"), "spec.predictor.scaleTarget", "autoScaling.metrics"},
		"a metric that is said twice":           {predictor(standard, "scaleMetric: cpu, autoScaling: {metrics: [{type: Resource, resource: {name: cpu}}]}"), "spec.predictor.scaleMetric", "keep one"},
		"a metric type without a target":        {predictor(standard, "scaleMetricType: Utilization"), "spec.predictor.scaleMetricType", "no scaleTarget"},
		"an annotated target beside a field":    {predictor("metadata: {annotations: {serving.kserve.io/deploymentMode: Standard, serving.kserve.io/targetUtilizationPercentage: '50'}}, ", "scaleTarget: 60"), "metadata.annotations[serving.kserve.io/targetUtilizationPercentage]", "remove it"},
		"Knative's scaling in Standard mode":    {annotatedStandard("autoscaling.knative.dev/min-scale", "2"), "metadata.annotations[autoscaling.knative.dev/min-scale]", "Standard mode"},
		"tags in Standard mode":                 {annotatedStandard("serving.kserve.io/enable-tag-routing", "true"), "metadata.annotations[serving.kserve.io/enable-tag-routing]", "Standard mode"},
		"an autoscaler class in Knative mode":   {annotatedKnative("serving.kserve.io/autoscalerClass", "hpa"), "metadata.annotations[serving.kserve.io/autoscalerClass]", "Knative mode"},
		"metrics in Knative mode":               {predictor("", "autoScaling: {}"), "spec.predictor.autoScaling", "Knative scales"},
		"a strategy for Knative's hpa":          {predictor("metadata: {annotations: {autoscaling.knative.dev/class: hpa.autoscaling.knative.dev}}, ", "deploymentStrategy: {type: Recreate}"), "spec.predictor.deploymentStrategy", "Knative scales and replaces"},
		"a name in other letters":               {annotatedKnative("serving.kserve.io/deploymentmode", "Standard"), "metadata.annotations[serving.kserve.io/deploymentmode]", "did you mean \"serving.kserve.io/deploymentMode\"?"},
		"a name with other joints":              {annotatedKnative("serving.kserve.io/autoscaler-class", "none"), "metadata.annotations[serving.kserve.io/autoscaler-class]", "did you mean \"serving.kserve.io/autoscalerClass\"?"},
		"a name with a slip":                    {annotatedKnative("serving.kserve.io/enable-prometeus-scraping", "true"), "metadata.annotations[serving.kserve.io/enable-prometeus-scraping]", "enable-prometheus-scraping"},
		"a name without its prefix":             {annotatedKnative("deploymentMode", "Standard"), "metadata.annotations[deploymentMode]", "did you mean \"serving.kserve.io/deploymentMode\"?"},
		"a name with an older prefix":           {annotatedKnative("serving.kubeflow.org/deploymentMode", "Standard"), "metadata.annotations[serving.kubeflow.org/deploymentMode]", "did you mean \"serving.kserve.io/deploymentMode\"?"},
		"a name of our own that is not known":   {annotatedKnative("kserve-go.dev/something", "x"), "metadata.annotations[kserve-go.dev/something]", "known are"},
		"a component's name with a slip":        {predictor("", "annotations: {storage.kserve.io/readOnly: 'false'}"), "spec.predictor.annotations[storage.kserve.io/readOnly]", "did you mean \"storage.kserve.io/readonly\"?"},
		"a service's annotation on a component": {predictor("", "annotations: {serving.kserve.io/stop: 'true'}"), "spec.predictor.annotations[serving.kserve.io/stop]", "metadata.annotations of an InferenceService"},
		"credentials on a service":              {annotatedKnative("serving.kserve.io/s3-endpoint", "minio:9000"), "metadata.annotations[serving.kserve.io/s3-endpoint]", "a Secret or ServiceAccount"},
		"a server type on a service":            {annotatedKnative("serving.kserve.io/server-type", "mlserver"), "metadata.annotations[serving.kserve.io/server-type]", "of a runtime"},
		"true in other letters":                 {annotatedKnative("serving.kserve.io/enable-prometheus-scraping", "True"), "metadata.annotations[serving.kserve.io/enable-prometheus-scraping]", "write \"true\""},
		"a cache that is not kept out":          {annotatedKnative("serving.kserve.io/disable-localmodel", "false"), "metadata.annotations[serving.kserve.io/disable-localmodel]", "whatever its value"},
		"an annotation without effect":          {annotatedKnative("serving.kserve.io/logger-secret-name", "a"), "metadata.annotations[serving.kserve.io/logger-secret-name]", "no effect"},
		"a label among the annotations":         {annotatedStandard("networking.kserve.io/visibility", "cluster-local"), "metadata.annotations[networking.kserve.io/visibility]", "metadata.labels"},
		"an annotation among the labels":        {labelled("Standard", "serving.kserve.io/autoscalerClass", "none"), "metadata.labels[serving.kserve.io/autoscalerClass]", "metadata.annotations"},
		"a visibility that is almost right":     {labelled("Standard", "networking.kserve.io/visibility", "clusterLocal"), "metadata.labels[networking.kserve.io/visibility]", "did you mean \"cluster-local\"?"},
		"Knative's visibility in Standard mode": {labelled("Standard", "networking.knative.dev/visibility", "cluster-local"), "metadata.labels[networking.knative.dev/visibility]", "networking.kserve.io/visibility"},
		"our visibility in Knative mode":        {labelled("Knative", "networking.kserve.io/visibility", "cluster-local"), "metadata.labels[networking.kserve.io/visibility]", "networking.knative.dev/visibility"},
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for name, test := range oddities() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, warnings := service(t, test.in).Validate(v1beta1.Rules{Mode: serving.Knative})
			require.Empty(t, faults)
			require.Len(t, warnings, 1)
			require.Equal(t, test.field, warnings[0].Field)
			require.Contains(t, warnings[0].String(), test.says)
		})
	}
}

// change is a service before and after, and the field that a refusal names; none where it is accepted.
type change struct{ old, next, field, says string }

// updates are the rules about changes.
func updates() map[string]change {
	const plain = "spec: {predictor: {" + model + "}}"
	return map[string]change{
		"a mode cannot change": {
			"{spec: {predictor: {" + model + "}}, status: {deploymentMode: Standard}}", annotated("serving.kserve.io/deploymentMode", "Knative"),
			"metadata.annotations[serving.kserve.io/deploymentMode]", "from Standard to Knative",
		},
		"a mode can be chosen before the first deployment": {plain, annotated("serving.kserve.io/deploymentMode", "Standard"), "", ""},
		"a mode can be spelt anew":                         {"{spec: {predictor: {" + model + "}}, status: {deploymentMode: RawDeployment}}", annotated("serving.kserve.io/deploymentMode", "Standard"), "", ""},
		"a predictor's name cannot change alone":           {plain, predictor("", "name: v2"), "spec.predictor.name", "keep the name"},
		"a predictor's name can change with its model":     {plain, "spec: {predictor: {name: v2, model: {modelFormat: {name: a}, storageUri: s3://a/c}}}", "", ""},
		"a predictor's name can change with its list":      {uris("{uri: s3://a, mountPath: /mnt/models}"), "spec: {predictor: {name: v2, model: {modelFormat: {name: a}}, storageUris: [{uri: s3://b, mountPath: /mnt/models}]}}", "", ""},
		"a predictor's name can change with its key":       {"spec: {predictor: {model: {modelFormat: {name: a}, storage: {path: p}}}}", "spec: {predictor: {name: v2, model: {modelFormat: {name: a}, storage: {path: q}}}}", "", ""},
		"a predictor's name cannot change without a model": {"spec: {predictor: {model: {modelFormat: {name: a}}}}", "spec: {predictor: {name: v2, model: {modelFormat: {name: a}}}}", "spec.predictor.name", "keep the name"},
		"a canary brings its name when it is promoted":     {canary("", "10"), "{" + standard + "spec: {predictor: {" + model + ", name: v2}}}", "", ""},
		"a mode that was missed hinders no update":         {"{" + standard + "spec: {predictor: {" + model + "}}, status: {deploymentMode: Knative}}", "{" + standard + "spec: {predictor: {" + model + ", timeout: 9}}}", "", ""},
		"a mode that goes is taken for the stored one":     {"{" + standard + "spec: {predictor: {" + model + "}}, status: {deploymentMode: Standard}}", plain, "", ""},
		"a new fault is refused":                           {plain, predictor("", "minReplicas: -1"), "spec.predictor.minReplicas", "less than 0"},
		"a worse fault is refused":                         {predictor("", "minReplicas: -1"), predictor("", "minReplicas: -2"), "spec.predictor.minReplicas", "less than 0"},
		"an old fault of the pods is not":                  {predictor("", "labels: {a: 'b c'}"), predictor("metadata: {labels: {a: b}}, ", "labels: {a: 'b c'}"), "", ""},
		"a new fault of the pods is refused":               {predictor("", "labels: {a: b}"), predictor("", "labels: {a: b, d: 'e f'}"), "spec.predictor.labels[d]", "shorten it"},
		"an old fault is not":                              {predictor("", "minReplicas: -1"), predictor("metadata: {labels: {a: b}}, ", "minReplicas: -1"), "", ""},
	}
}

func TestValidateUpdate(t *testing.T) {
	t.Parallel()
	for name, test := range updates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, warnings := service(t, test.next).ValidateUpdate(service(t, test.old), v1beta1.Rules{Mode: serving.Knative})
			if test.field == "" {
				require.Empty(t, faults)
				return
			}
			requireFault(t, faults, test.field, test.says)
			require.Empty(t, warnings)
		})
	}
	_, warnings := service(t, predictor("", "minReplicas: -1")).ValidateUpdate(service(t, predictor("", "minReplicas: -1")), v1beta1.Rules{Mode: serving.Knative})
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].String(), "less than 0")
}

func TestWhatIsStoredGoesOn(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"an annotation's value":        annotated("serving.kserve.io/stop", "maybe"),
		"a metric of another scaler":   predictor(standard, "scaleMetric: rps"),
		"a target above hundred":       predictor(standard, "scaleTarget: 150"),
		"a label that no pod can have": predictor("", "labels: {a: 'b c'}"),
		"memory without a target":      predictor(standard, "scaleMetric: memory"),
		"a protocol of a own runtime":  "spec: {predictor: {model: {modelFormat: {name: a}, protocolVersion: openai}}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, _ := service(t, in).Validate(v1beta1.Rules{Mode: serving.Knative})
			require.Len(t, faults, 1)
			faults, warnings := service(t, in).Validate(v1beta1.Rules{Mode: serving.Knative, Stored: true})
			require.Empty(t, faults)
			require.NotEmpty(t, warnings)
		})
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	s := service(t, "spec: {predictor: {"+model+"}}")
	for name, test := range map[string]struct {
		hosts v1beta1.Hosts
		says  string
	}{
		"a part that is too long":    {v1beta1.Hosts{Names: []string{"m." + strings.Repeat("a", 64) + ".test"}}, "64 characters, and the limit is 63"},
		"a host that is too long":    {v1beta1.Hosts{Names: []string{strings.Repeat("a123456789.", 23) + "test"}}, "at most 253"},
		"a letter that is none":      {v1beta1.Hosts{Names: []string{"m.Team.test"}}, "lower-case letters"},
		"a host without a domain":    {v1beta1.Hosts{Names: []string{"m"}}, "at least one '.'"},
		"a template that lacks text": {v1beta1.Hosts{Fault: "needs the label team"}, "ingress.domainTemplate needs the label team"},
		"a right host":               {v1beta1.Hosts{Names: []string{"m.example.test"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, _ := s.Validate(v1beta1.Rules{Mode: serving.Standard, Hosts: test.hosts})
			if test.says == "" {
				require.Empty(t, faults)
				return
			}
			requireFault(t, faults, "metadata.name", test.says)
		})
	}
}

func TestATimeLimitThatNobodyKeepsIsTold(t *testing.T) {
	t.Parallel()
	_, warnings := service(t, predictor(standard, "timeout: 5")).Validate(v1beta1.Rules{NoTimeout: "an Ingress has none"})
	require.Equal(t, []serving.Warning{{Field: "spec.predictor.timeout", Detail: "has no effect: an Ingress has none"}}, warnings)
	_, warnings = service(t, predictor("", "timeout: 5")).Validate(v1beta1.Rules{Mode: serving.Knative, NoTimeout: "an Ingress has none"})
	require.Empty(t, warnings)
}
