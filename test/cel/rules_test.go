// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const model = "model: {modelFormat: {name: a}, storageUri: s3://a/b}"

func predictor(fields string) string { return "spec: {predictor: {" + model + ", " + fields + "}}" }

func canaries(list string) string {
	return "spec: {predictor: {" + model + ", name: v1}, canary: [" + list + "]}"
}

func canary(name, percent, fields string) string {
	return "{trafficPercent: " + percent + ", predictor: {name: " + name + ", " + model + fields + "}}"
}

func metric(text string) string { return predictor("autoScaling: {metrics: [" + text + "]}") }

func graph(nodes string) string { return "spec: {nodes: {" + nodes + "}}" }

func trained(uri, memory string) string {
	return "spec: {inferenceService: s, model: {storageUri: '" + uri + "', framework: a, memory: " + memory + "}}"
}

func runtime(fields string) string {
	return "spec: {containers: [{name: kserve-container}], " + fields + "}"
}

// row is one rule of a CRD and both of its sides. The objects are called m unless they say otherwise.
type row struct {
	refused, accepted string
	// old is the stored object for a rule about changes.
	old   string
	field string
	says  string
}

func serviceRows() map[string]row {
	return map[string]row{
		"name: form":                   {refused: "{metadata: {name: 1a}, spec: {predictor: {" + model + "}}}", accepted: predictor("minReplicas: 1"), field: "", says: "start with a letter"},
		"name: length":                 {refused: "{metadata: {name: " + strings.Repeat("a", 54) + "}, spec: {predictor: {" + model + "}}}", accepted: "{metadata: {name: " + strings.Repeat("a", 53) + "}, spec: {predictor: {" + model + "}}}", says: "53 characters"},
		"predictor: required":          {refused: "spec: {}", accepted: predictor("name: v1"), field: "spec.predictor", says: "Required"},
		"predictor: something":         {refused: "spec: {predictor: {}}", accepted: "spec: {predictor: {sklearn: {}}}", field: "spec.predictor", says: "exactly one of model"},
		"predictor: one thing":         {refused: predictor("containers: [{name: kserve-container}]"), accepted: predictor("containers: [{name: side}]"), field: "spec.predictor", says: "exactly one of model"},
		"predictor: two formats":       {refused: "spec: {predictor: {sklearn: {}, onnx: {}}}", accepted: "spec: {predictor: {containers: [{name: a}]}}", field: "spec.predictor", says: "exactly one of model"},
		"predictor: name form":         {refused: predictor("name: V1"), accepted: predictor("name: v1"), field: "spec.predictor.name", says: "should match"},
		"predictor: unknown field":     {refused: predictor("storageUri: a"), accepted: predictor("storageContainerName: a"), field: "spec.predictor.storageUri", says: "unknown field"},
		"predictor: no ephemeral":      {refused: predictor("ephemeralContainers: []"), accepted: predictor("workerSpec: {ephemeralContainers: []}, model: {modelFormat: {name: a}, storageUri: 'pvc://a'}"), field: "spec.predictor.ephemeralContainers", says: "unknown field"},
		"containers: names":            {refused: predictor("containers: [{image: a}]"), accepted: predictor("containers: [{name: a}]"), field: "spec.predictor.containers[0].name", says: "Required"},
		"containers: unique":           {refused: predictor("containers: [{name: a}, {name: a}]"), accepted: predictor("containers: [{name: a}, {name: b}]"), field: "spec.predictor.containers[1]", says: "Duplicate"},
		"containers: count":            {refused: predictor("containers: [" + many(65) + "]"), accepted: predictor("containers: [" + many(64) + "]"), field: "spec.predictor.containers", says: "at most 64"},
		"model: format":                {refused: "spec: {predictor: {model: {storageUri: s3://a}}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}}}}", field: "spec.predictor.model.modelFormat", says: "Required"},
		"model: no container name":     {refused: "spec: {predictor: {model: {modelFormat: {name: a}, name: x}}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}, name: ''}}}", field: "spec.predictor.model.name", says: "remove it"},
		"model: protocol":              {refused: "spec: {predictor: {model: {modelFormat: {name: a}, protocolVersion: v9}}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}, protocolVersion: grpc-v2}}}", field: "spec.predictor.model.protocolVersion", says: "grpc-v1"},
		"model: one source":            {refused: "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, storage: {path: b}}}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, storage: {key: b}}}}", field: "spec.predictor.model.storage", says: "remove one"},
		"model: encrypted source":      {refused: "spec: {predictor: {model: {modelFormat: {name: a}, confidential: {enabled: true}}}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}, confidential: {enabled: false}}}}", field: "spec.predictor.model.confidential", says: "storageUri"},
		"model: encrypted key":         {refused: "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, confidential: {enabled: true, resourceId: a}}}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: s3://a, confidential: {enabled: true, resourceId: 'kbs:///a/b/c'}}}}", field: "spec.predictor.model.confidential.resourceId", says: "kbs:///"},
		"framework: no container name": {refused: "spec: {predictor: {sklearn: {name: x}}}", accepted: "spec: {predictor: {sklearn: {name: ''}}}", field: "spec.predictor.sklearn.name", says: "remove it"},
		"storageUris: not with uri":    {refused: predictor("storageUris: [{uri: s3://a}]"), accepted: "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: [{uri: s3://a}]}}", field: "spec.predictor.storageUris", says: "together"},
		"storageUris: not empty":       {refused: "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: []}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: [{uri: s3://a}]}}", field: "spec.predictor.storageUris", says: "at least 1"},
		"storageUris: source":          {refused: "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: [{uri: ''}]}}", accepted: "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: [{uri: a}]}}", field: "spec.predictor.storageUris[0].uri", says: "at least 1"},
		"storageUris: absolute path":   {refused: uri("relative"), accepted: uri("/mnt/models"), field: "spec.predictor.storageUris[0].mountPath", says: "should match"},
		"storageUris: not the root":    {refused: uri("/"), accepted: uri("/a"), field: "spec.predictor.storageUris[0].mountPath", says: "should match"},
		"storageUris: no climbing":     {refused: uri("/mnt/../etc"), accepted: uri("/mnt/.a.b/c."), field: "spec.predictor.storageUris[0].mountPath", says: "should match"},
		"storageUris: path length":     {refused: uri("/" + strings.Repeat("a", 255)), accepted: uri("/" + strings.Repeat("a", 254)), field: "spec.predictor.storageUris[0].mountPath", says: "255"},
		"workers: source":              {refused: predictor("workerSpec: {}"), accepted: "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: oci+native://a}, workerSpec: {}}}", field: "spec.predictor.workerSpec", says: "pvc:// or oci://"},
		"workers: one container":       {refused: workers("containers: [{name: a}, {name: b}]"), accepted: workers("containers: [{name: a}]"), field: "spec.predictor.workerSpec.containers", says: "one container"},
		"workers: pipeline size":       {refused: workers("pipelineParallelSize: 0"), accepted: workers("pipelineParallelSize: 1"), field: "spec.predictor.workerSpec.pipelineParallelSize", says: "greater than or equal to 1"},
		"workers: tensor size":         {refused: workers("tensorParallelSize: 0"), accepted: workers("tensorParallelSize: 1"), field: "spec.predictor.workerSpec.tensorParallelSize", says: "greater than or equal to 1"},
		"transformer: container":       {refused: "spec: {predictor: {" + model + "}, transformer: {}}", accepted: "spec: {predictor: {" + model + "}, transformer: {containers: [{name: a}]}}", field: "spec.transformer", says: "needs a container"},
		"transformer: replicas":        {refused: "spec: {predictor: {" + model + "}, transformer: {containers: [{name: a}], minReplicas: 2, maxReplicas: 1}}", accepted: "spec: {predictor: {" + model + "}, transformer: {containers: [{name: a}], minReplicas: 2, maxReplicas: 2}}", field: "spec.transformer", says: "greater than maxReplicas"},
		"explainer: one way":           {refused: "spec: {predictor: {" + model + "}, explainer: {art: {type: a}, containers: [{name: kserve-container}]}}", accepted: "spec: {predictor: {" + model + "}, explainer: {art: {type: a}, containers: [{name: a}]}}", field: "spec.explainer", says: "exactly one of art"},
		"explainer: some way":          {refused: "spec: {predictor: {" + model + "}, explainer: {}}", accepted: "spec: {predictor: {" + model + "}, explainer: {containers: [{name: a}]}}", field: "spec.explainer", says: "exactly one of art"},
		"explainer: attack":            {refused: "spec: {predictor: {" + model + "}, explainer: {art: {}}}", accepted: "spec: {predictor: {" + model + "}, explainer: {art: {type: SquareAttack}}}", field: "spec.explainer.art.type", says: "Required"},
		"replicas: order":              {refused: predictor("minReplicas: 3, maxReplicas: 2"), accepted: predictor("minReplicas: 3, maxReplicas: 0"), field: "spec.predictor", says: "greater than maxReplicas"},
		"replicas: least":              {refused: predictor("minReplicas: -1"), accepted: predictor("minReplicas: 0"), field: "spec.predictor.minReplicas", says: "greater than or equal to 0"},
		"replicas: greatest":           {refused: predictor("maxReplicas: -1"), accepted: predictor("maxReplicas: 1"), field: "spec.predictor.maxReplicas", says: "greater than or equal to 0"},
		"concurrency":                  {refused: predictor("containerConcurrency: -1"), accepted: predictor("containerConcurrency: 0"), field: "spec.predictor.containerConcurrency", says: "greater than or equal to 0"},
		"timeout":                      {refused: predictor("timeout: -1"), accepted: predictor("timeout: 0"), field: "spec.predictor.timeout", says: "greater than or equal to 0"},
		"canaryTrafficPercent: least":  {refused: predictor("canaryTrafficPercent: -1"), accepted: predictor("canaryTrafficPercent: 0"), field: "spec.predictor.canaryTrafficPercent", says: "greater than or equal to 0"},
		"canaryTrafficPercent: most":   {refused: predictor("canaryTrafficPercent: 101"), accepted: predictor("canaryTrafficPercent: 100"), field: "spec.predictor.canaryTrafficPercent", says: "less than or equal to 100"},
		"scaleMetric":                  {refused: predictor("scaleMetric: disk"), accepted: predictor("scaleMetric: rps"), field: "spec.predictor.scaleMetric", says: "concurrency"},
		"scaleMetricType":              {refused: predictor("scaleMetricType: Sum"), accepted: predictor("scaleMetricType: Value"), field: "spec.predictor.scaleMetricType", says: "AverageValue"},
		"logger: mode":                 {refused: predictor("logger: {url: a}"), accepted: predictor("logger: {mode: all}"), field: "spec.predictor.logger.mode", says: "needs a mode"},
		"logger: known mode":           {refused: predictor("logger: {mode: some}"), accepted: predictor("logger: {mode: request}"), field: "spec.predictor.logger.mode", says: "response"},
		"logger: store":                {refused: predictor("logger: {mode: all, storage: {path: a, key: b}}"), accepted: predictor("logger: {mode: all, storage: {path: a, key: b, parameters: {}}}"), field: "spec.predictor.logger.storage", says: "path, key and parameters"},
		"logger: headers":              {refused: predictor("logger: {mode: all, metadataHeaders: [a, a]}"), accepted: predictor("logger: {mode: all, metadataHeaders: [a, b]}"), field: "spec.predictor.logger.metadataHeaders[1]", says: "Duplicate"},
		"batcher: size":                {refused: predictor("batcher: {maxBatchSize: 0}"), accepted: predictor("batcher: {maxBatchSize: 1}"), field: "spec.predictor.batcher.maxBatchSize", says: "greater than or equal to 1"},
		"batcher: latency":             {refused: predictor("batcher: {maxLatency: 0}"), accepted: predictor("batcher: {maxLatency: 1}"), field: "spec.predictor.batcher.maxLatency", says: "greater than or equal to 1"},
		"metrics: type":                {refused: metric("{type: Other}"), accepted: metric("{type: Resource, resource: {name: cpu}}"), field: "spec.predictor.autoScaling.metrics[0].type", says: "PodMetric"},
		"metrics: field of resource":   {refused: metric("{type: Resource}"), accepted: metric("{type: Resource, resource: {name: cpu}}"), field: "spec.predictor.autoScaling.metrics[0]", says: "must be set"},
		"metrics: field of external":   {refused: metric("{type: External, resource: {name: cpu}}"), accepted: metric("{type: External, external: {metric: {backend: graphite}}}"), field: "spec.predictor.autoScaling.metrics[0]", says: "must be set"},
		"metrics: field of podmetric":  {refused: metric("{type: PodMetric}"), accepted: metric("{type: PodMetric, podmetric: {metric: {backend: opentelemetry}}}"), field: "spec.predictor.autoScaling.metrics[0]", says: "must be set"},
		"metrics: resource":            {refused: metric("{type: Resource, resource: {name: disk}}"), accepted: metric("{type: Resource, resource: {name: cpu}}"), field: "spec.predictor.autoScaling.metrics[0].resource.name", says: "memory"},
		"metrics: per pod":             {refused: metric("{type: Resource, resource: {name: cpu, target: {type: Value, value: 1}}}"), accepted: metric("{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}"), field: "spec.predictor.autoScaling.metrics[0].resource.target.type", says: "measured per pod"},
		"metrics: memory's target":     {refused: metric("{type: Resource, resource: {name: memory}}"), accepted: metric("{type: Resource, resource: {name: memory, target: {averageUtilization: 75}}}"), field: "spec.predictor.autoScaling.metrics[0].resource.target", says: "no target of its own"},
		"metrics: percentage":          {refused: metric("{type: Resource, resource: {name: cpu, target: {averageUtilization: 0}}}"), accepted: metric("{type: Resource, resource: {name: cpu, target: {averageUtilization: 1}}}"), field: "spec.predictor.autoScaling.metrics[0].resource.target.averageUtilization", says: "greater than or equal to 1"},
		"logger: batch":                {refused: predictor("logger: {mode: all, batchSize: 0}"), accepted: predictor("logger: {mode: all, batchSize: 1}"), field: "spec.predictor.logger.batchSize", says: "greater than or equal to 1"},
		"storageUris: not with older":  {refused: "spec: {predictor: {onnx: {storageUri: s3://a}, storageUris: [{uri: s3://a}]}}", accepted: "spec: {predictor: {onnx: {}, storageUris: [{uri: s3://a}]}}", field: "spec.predictor.storageUris", says: "together"},
		"storageUris: not with art":    {refused: "spec: {predictor: {" + model + "}, explainer: {art: {type: a, storageUri: s3://a}, storageUris: [{uri: s3://a}]}}", accepted: "spec: {predictor: {" + model + "}, explainer: {art: {type: a}, storageUris: [{uri: s3://a}]}}", field: "spec.explainer.storageUris", says: "together"},
		"metrics: backend":             {refused: metric("{type: External, external: {metric: {backend: other}}}"), accepted: metric("{type: External, external: {metric: {backend: prometheus}}}"), field: "spec.predictor.autoScaling.metrics[0].external.metric.backend", says: "graphite"},
		"metrics: quantity":            {refused: metric("{type: Resource, resource: {name: cpu, target: {value: much}}}"), accepted: metric("{type: Resource, resource: {name: cpu, target: {value: 1500m, averageValue: 3}}}"), field: "spec.predictor.autoScaling.metrics[0].resource.target.value", says: "should match"},
		"metrics: exponent":            {refused: metric("{type: Resource, resource: {name: cpu, target: {value: '1e999999999'}}}"), accepted: metric("{type: Resource, resource: {name: cpu, target: {value: '1e+9'}}}"), field: "spec.predictor.autoScaling.metrics[0].resource.target.value", says: "should match"},
		"metrics: target":              {refused: metric("{type: Resource, resource: {name: cpu, target: {type: Other}}}"), accepted: metric("{type: Resource, resource: {name: cpu, target: {type: Utilization}}}"), field: "spec.predictor.autoScaling.metrics[0].resource.target.type", says: "Utilization"},
		"canary: name":                 {refused: canaries("{trafficPercent: 1, predictor: {" + model + "}}"), accepted: canaries(canary("v2", "1", "")), field: "spec.canary[0].predictor", says: "name of its own"},
		"canary: own name":             {refused: canaries(canary("v1", "1", "")), accepted: canaries(canary("v2", "1", "")), field: "spec.canary", says: "stable predictor"},
		"canary: unique names":         {refused: canaries(canary("v2", "1", "") + ", " + canary("v2", "1", "")), accepted: canaries(canary("v2", "1", "") + ", " + canary("v3", "1", "")), field: "spec.canary", says: "name of its own"},
		"canary: share":                {refused: canaries(canary("v2", "-1", "")), accepted: canaries(canary("v2", "0", "")), field: "spec.canary[0].trafficPercent", says: "greater than or equal to 0"},
		"canary: greatest share":       {refused: canaries(canary("v2", "101", "")), accepted: canaries(canary("v2", "100", "")), field: "spec.canary[0].trafficPercent", says: "less than or equal to 100"},
		"canary: all shares":           {refused: canaries(canary("v2", "60", "") + ", " + canary("v3", "50", "")), accepted: canaries(canary("v2", "60", "") + ", " + canary("v3", "40", "")), field: "spec.canary", says: "more than 100"},
		"canary: one node":             {refused: canaries(canary("v2", "1", ", workerSpec: {}")), accepted: canaries(canary("v2", "1", "")), field: "spec.canary[0].predictor", says: "several nodes"},
		"canary: not scaled":           {refused: canaries(canary("v2", "1", ", maxReplicas: 2")), accepted: canaries(canary("v2", "1", ", maxReplicas: 0")), field: "spec.canary[0].predictor", says: "not scaled"},
		"canary: replicas":             {refused: canaries(canary("v2", "1", ", minReplicas: 2")), accepted: canaries(canary("v2", "1", ", minReplicas: 1")), field: "spec.canary", says: "minReplicas than"},
		"canary: serves":               {refused: canaries("{trafficPercent: 1, predictor: {name: v2}}"), accepted: canaries(canary("v2", "1", "")), field: "spec.canary[0].predictor", says: "exactly one of model"},
		"status: any field":            {refused: "{spec: {}, status: {later: {a: b}}}", accepted: "{spec: {predictor: {" + model + "}}, status: {later: {a: b}}}", field: "spec.predictor", says: "Required"},
	}
}

func otherRows() map[string]map[string]row {
	return map[string]map[string]row{
		"ServingRuntime": {
			"containers":             {refused: "spec: {}", accepted: "spec: {containers: []}", field: "spec.containers", says: "Required"},
			"formats: name":          {refused: runtime("supportedModelFormats: [{}]"), accepted: runtime("supportedModelFormats: [{name: a}]"), field: "spec.supportedModelFormats[0].name", says: "Required"},
			"formats: priority":      {refused: runtime("supportedModelFormats: [{name: a, priority: 0}]"), accepted: runtime("supportedModelFormats: [{name: a, priority: 1}]"), field: "spec.supportedModelFormats[0].priority", says: "greater than or equal to 1"},
			"unknown field":          {refused: runtime("dnsPolicy: Default"), accepted: runtime("hostIPC: true"), field: "spec.dnsPolicy", says: "unknown field"},
			"workers: containers":    {refused: runtime("workerSpec: {}"), accepted: runtime("workerSpec: {containers: []}"), field: "spec.workerSpec.containers", says: "Required"},
			"workers: one container": {refused: runtime("workerSpec: {containers: [{name: a}, {name: b}]}"), accepted: runtime("workerSpec: {containers: [{name: a}]}"), field: "spec.workerSpec.containers", says: "one container"},
			"workers: pipeline size": {refused: runtime("workerSpec: {containers: [], pipelineParallelSize: 0}"), accepted: runtime("workerSpec: {containers: [], pipelineParallelSize: 1}"), field: "spec.workerSpec.pipelineParallelSize", says: "greater than or equal to 1"},
			"workers: tensor size":   {refused: runtime("workerSpec: {containers: [], tensorParallelSize: 0}"), accepted: runtime("workerSpec: {containers: [], tensorParallelSize: 1}"), field: "spec.workerSpec.tensorParallelSize", says: "greater than or equal to 1"},
			"workers: go":            {refused: runtime("disabled: false"), accepted: runtime("disabled: true"), old: runtime("workerSpec: {containers: []}"), field: "spec.workerSpec", says: "make a new runtime"},
			"workers: stay":          {refused: runtime("hostIPC: true"), accepted: runtime("workerSpec: {containers: [{name: a}]}"), old: runtime("workerSpec: {containers: []}"), field: "spec.workerSpec", says: "make a new runtime"},
		},
		"ClusterServingRuntime": {
			"workers: stay": {refused: runtime("hostIPC: true"), accepted: runtime("workerSpec: {containers: [{name: a}]}"), old: runtime("workerSpec: {containers: []}"), field: "spec.workerSpec", says: "make a new runtime"},
		},
		"InferenceGraph": {
			"name: form":         {refused: "{metadata: {name: a.b}, spec: {nodes: {root: {routerType: Sequence}}}}", accepted: graph("root: {routerType: Sequence}"), says: "start with a letter"},
			"name: length":       {refused: "{metadata: {name: " + strings.Repeat("a", 64) + "}, spec: {nodes: {root: {routerType: Sequence}}}}", accepted: "{metadata: {name: " + strings.Repeat("a", 58) + "}, spec: {nodes: {root: {routerType: Sequence}}}}", says: "characters"},
			"nodes":              {refused: "spec: {}", accepted: graph("root: {routerType: Sequence}"), field: "spec.nodes", says: "Required"},
			"nodes: root":        {refused: graph("first: {routerType: Sequence}"), accepted: graph("root: {routerType: Sequence}"), field: "spec.nodes", says: "node root"},
			"nodes: type":        {refused: graph("root: {routerType: Loop}"), accepted: graph("root: {routerType: Switch}"), field: "spec.nodes.root.routerType", says: "Ensemble"},
			"nodes: known":       {refused: graph("root: {routerType: Sequence, steps: [{nodeName: ghost}]}"), accepted: graph("root: {routerType: Sequence, steps: [{nodeName: a}]}, a: {routerType: Ensemble}"), field: "spec.nodes", says: "key of nodes"},
			"steps: some target": {refused: graph("root: {routerType: Sequence, steps: [{name: a}]}"), accepted: graph("root: {routerType: Sequence, steps: [{serviceName: a}]}"), field: "spec.nodes[root].steps[0]", says: "exactly one of nodeName"},
			"steps: one target":  {refused: graph("root: {routerType: Sequence, steps: [{serviceUrl: 'http://a', serviceName: a}]}"), accepted: graph("root: {routerType: Sequence, steps: [{serviceUrl: 'http://a', serviceName: ''}]}"), field: "spec.nodes[root].steps[0]", says: "exactly one of nodeName"},
			"steps: dependency":  {refused: graph("root: {routerType: Sequence, steps: [{serviceName: a, dependency: Firm}]}"), accepted: graph("root: {routerType: Sequence, steps: [{serviceName: a, dependency: Hard}]}"), field: "spec.nodes.root.steps[0].dependency", says: "Soft"},
			"splitter: weight":   {refused: graph("root: {routerType: Splitter, steps: [{serviceName: a, weight: 100}, {serviceName: b}]}"), accepted: graph("root: {routerType: Splitter, steps: [{serviceName: a, weight: 100}, {serviceName: b, weight: 0}]}"), field: "spec.nodes[root].steps", says: "sum up to 100"},
			"splitter: weights":  {refused: graph("root: {routerType: Splitter, steps: [{serviceName: a, weight: 80}, {serviceName: b, weight: 30}]}"), accepted: graph("root: {routerType: Splitter, steps: [{serviceName: a, weight: 70}, {serviceName: b, weight: 30}]}"), field: "spec.nodes[root].steps", says: "sum up to 100"},
			"splitter: steps":    {refused: graph("root: {routerType: Splitter}"), accepted: graph("root: {routerType: Sequence}"), field: "spec.nodes[root].steps", says: "sum up to 100"},
			"replicas: order":    {refused: "spec: {minReplicas: 2, maxReplicas: 1, nodes: {root: {routerType: Sequence}}}", accepted: "spec: {minReplicas: 2, maxReplicas: 2, nodes: {root: {routerType: Sequence}}}", field: "spec", says: "greater than maxReplicas"},
			"scaleMetric":        {refused: "spec: {scaleMetric: disk, nodes: {root: {routerType: Sequence}}}", accepted: "spec: {scaleMetric: memory, nodes: {root: {routerType: Sequence}}}", field: "spec.scaleMetric", says: "concurrency"},
		},
		"TrainedModel": {
			"name":     {refused: "{metadata: {name: a.b}, " + trained("s3://a/b", "1Gi") + "}", accepted: trained("s3://a/b", "1Gi"), says: "letters, digits"},
			"source":   {refused: trained("hf://a/b", "1Gi"), accepted: trained("gs://a/b", "1Gi"), field: "spec.model.storageUri", says: "should match"},
			"required": {refused: "spec: {inferenceService: a}", accepted: trained("http://a/b", "1"), field: "spec.model", says: "Required"},
			"quantity": {refused: trained("s3://a", "much"), accepted: trained("s3://a", "1Gi"), field: "spec.model.memory", says: "should match"},
			"memory":   {refused: trained("s3://a", "2Gi"), accepted: trained("s3://b", "1024Mi"), old: trained("s3://a", "1Gi"), field: "spec.model.memory", says: "cannot be changed"},
			"number":   {refused: trained("s3://a", "1Gi"), accepted: trained("s3://b", "'1000'"), old: trained("s3://a", "1000"), field: "spec.model.memory", says: "cannot be changed"},
		},
		"ClusterStorageContainer": {
			"container":     {refused: "spec: {supportedUriFormats: []}", accepted: "spec: {container: {name: a}, supportedUriFormats: []}", field: "spec.container", says: "Required"},
			"formats":       {refused: "spec: {container: {name: a}}", accepted: "spec: {container: {name: a}, supportedUriFormats: [{prefix: a}]}", field: "spec.supportedUriFormats", says: "Required"},
			"formats: some": {refused: "spec: {container: {name: a}, supportedUriFormats: [{}]}", accepted: "spec: {container: {name: a}, supportedUriFormats: [{regex: a}]}", field: "spec.supportedUriFormats[0]", says: "prefix and regex"},
			"workload type": {refused: "spec: {container: {name: a}, supportedUriFormats: [], workloadType: other}", accepted: "{spec: {container: {name: a}, supportedUriFormats: [], workloadType: localModelDownloadJob}, disabled: true}", field: "spec.workloadType", says: "initContainer"},
		},
	}
}

func many(count int) string {
	var list []string
	for i := range count {
		list = append(list, "{name: c"+strings.Repeat("x", i)+"}")
	}
	return strings.Join(list, ", ")
}

func uri(mountPath string) string {
	return "spec: {predictor: {model: {modelFormat: {name: a}}, storageUris: [{uri: s3://a, mountPath: " + mountPath + "}]}}"
}

func workers(fields string) string {
	return "spec: {predictor: {model: {modelFormat: {name: a}, storageUri: 'pvc://a'}, workerSpec: {" + fields + "}}}"
}

func TestRules(t *testing.T) {
	t.Parallel()
	crds := loadCRDs(t)
	all := otherRows()
	all["InferenceService"] = serviceRows()
	for kind, rows := range all {
		for name, test := range rows {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				c := crds[kind]
				old := object(t, c, test.old)
				require.Empty(t, c.admit(t.Context(), object(t, c, test.accepted), old), "to be accepted")
				faults := c.admit(t.Context(), object(t, c, test.refused), old)
				requireFault(t, faults, test.field, test.says)
			})
		}
	}
}

// inCoreTypes are rules about what is inside fields of other types, which the minimal CRDs do not look at. Fields that they do not know
// they keep.
func inCoreTypes(name string, test row) bool {
	return strings.Contains(test.says, "unknown field") || name == "predictor: no ephemeral"
}

// TestMinimalRules holds that the minimal CRDs accept whatever the complete ones accept, and refuse what they can tell.
func TestMinimalRules(t *testing.T) {
	t.Parallel()
	crds, err := readCRDs(filepath.Join(crdDir, "minimal"))
	require.NoError(t, err)
	all := otherRows()
	all["InferenceService"] = serviceRows()
	for kind, rows := range all {
		for name, test := range rows {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				c := crds[kind]
				old := object(t, c, test.old)
				require.Empty(t, c.admit(t.Context(), object(t, c, test.accepted), old), "to be accepted")
				if faults := c.admit(t.Context(), object(t, c, test.refused), old); !inCoreTypes(name, test) {
					requireFault(t, faults, test.field, test.says)
				}
			})
		}
	}
}

// TestMinimalKeepsUnknownFields holds that a field of another version of the API is kept.
func TestMinimalKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	crds, err := readCRDs(filepath.Join(crdDir, "minimal"))
	require.NoError(t, err)
	c := crds["InferenceService"]
	now := object(t, c, "spec: {later: 1, predictor: {later: {a: b}, "+model+", containers: [{name: a, later: 1}], workerSpec: {later: 1}, logger: {mode: all, later: 1}}}")
	now["spec"].(map[string]any)["predictor"].(map[string]any)["model"].(map[string]any)["storageUri"] = "pvc://a"
	want := kruntime.DeepCopyJSON(now)
	require.Empty(t, c.admit(t.Context(), now, nil))
	require.Equal(t, want, now)
}

// object reads an object of a kind; nothing for no text.
func object(t *testing.T, c *crd, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err, text)
	out := decode(t, data)
	metadata, _ := out["metadata"].(map[string]any)
	if metadata == nil {
		out["metadata"] = map[string]any{"name": "m"}
	}
	out["apiVersion"] = c.definition.Spec.Group + "/" + c.definition.Spec.Versions[0].Name
	out["kind"] = c.definition.Spec.Names.Kind
	return out
}

func requireFault(t *testing.T, faults field.ErrorList, path, says string) {
	t.Helper()
	for _, fault := range faults {
		if (fault.Field == path || path == "" && (fault.Field == "" || fault.Field == "<nil>")) && strings.Contains(fault.Error(), says) {
			return
		}
	}
	require.Fail(t, "no such fault", "want %s: … %s …\ngot %v", path, says, faults)
}
