// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), object))
	return object
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

// rule is a sentence's two sides, the field that the refusal names and a part of what it says.
type rule struct{ refused, accepted, field, says string }

const main = "containers: [{name: kserve-container}]"

func runtime(fields string) string {
	return "{metadata: {name: r}, spec: {" + main + ", " + fields + "}}"
}

// runtimeRules are those of a runtime by itself.
func runtimeRules() map[string]rule {
	return map[string]rule{
		"a format has a name":         {runtime("supportedModelFormats: [{name: ''}]"), runtime("supportedModelFormats: [{name: a}]"), "spec.supportedModelFormats[0].name", "name"},
		"a priority is positive":      {runtime("supportedModelFormats: [{name: a, priority: 0}]"), runtime("supportedModelFormats: [{name: a, priority: 1}]"), "spec.supportedModelFormats[0].priority", "at least 1"},
		"a format has one priority":   {runtime("supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}, {name: a, version: '0', autoSelect: true, priority: 2}]"), runtime("supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}, {name: a, version: '0', priority: 2}]"), "spec.supportedModelFormats[1].priority", "make them equal"},
		"no container sets the path":  {"{metadata: {name: r}, spec: {containers: [{name: kserve-container, env: [{name: PYTHONPATH}]}]}}", runtime("labels: {a: b}"), "spec.containers[0].env[0].name", "remove it"},
		"a worker has one container":  {runtime("workerSpec: {containers: [{name: a}, {name: b}]}"), runtime("workerSpec: {containers: [{name: a}]}"), "spec.workerSpec.containers", "at most 1"},
		"a worker sets no path":       {runtime("workerSpec: {containers: [{name: a, env: [{name: PYTHONPATH}]}]}"), runtime("workerSpec: {containers: []}"), "spec.workerSpec.containers[0].env[0].name", "remove it"},
		"a pipeline has nodes":        {runtime("workerSpec: {containers: [], pipelineParallelSize: 0}"), runtime("workerSpec: {containers: [], pipelineParallelSize: 1, tensorParallelSize: 1}"), "spec.workerSpec.pipelineParallelSize", "at least 1"},
		"pods have right labels":      {runtime("labels: {a: 'b c'}"), runtime("labels: {a: b}"), "spec.labels[a]", "shorten it"},
		"pods tolerate known effects": {runtime("tolerations: [{key: a, operator: Exists, effect: Never}]"), runtime("tolerations: [{key: a, operator: Exists}]"), "spec.tolerations[0].effect", "NoExecute"},
		"a probe may be half a one": {
			"{metadata: {name: r}, spec: {containers: [{name: kserve-container, readinessProbe: {exec: {command: [a]}, tcpSocket: {port: 80}}}]}}",
			"{metadata: {name: r}, spec: {containers: [{name: kserve-container, readinessProbe: {periodSeconds: 5}, volumeMounts: [{name: of-a-service, mountPath: /a}]}]}}", "spec.containers[0].readinessProbe.tcpSocket", "remove one",
		},
		"a placeholder is no fault": {
			"{metadata: {name: r}, spec: {containers: [{name: kserve-container, imagePullPolicy: Perhaps}]}}",
			"{metadata: {name: r}, spec: {containers: [{name: kserve-container, env: [{name: 'A{{.Name}}', value: '{{.Labels.x}}'}], imagePullPolicy: '{{.Annotations.p}}'}]}}", "spec.containers[0].imagePullPolicy", "Always",
		},
		"a worker's pods are right": {
			runtime("workerSpec: {containers: [{name: a, ports: [{containerPort: 0}]}]}"), runtime("workerSpec: {containers: [{name: a, ports: [{containerPort: 1}]}]}"), "spec.workerSpec.containers[0].ports[0].containerPort", "65535",
		},
		"a node has GPUs": {runtime("workerSpec: {containers: [], tensorParallelSize: 0}"), runtime("workerSpec: {containers: [], tensorParallelSize: 1}"), "spec.workerSpec.tensorParallelSize", "at least 1"},
		"a size is a field": {
			"{metadata: {name: r}, spec: {workerSpec: {containers: []}, containers: [{name: kserve-container, env: [{name: PIPELINE_PARALLEL_SIZE}]}]}}",
			"{metadata: {name: r}, spec: {workerSpec: {containers: []}, containers: [{name: side, env: [{name: PIPELINE_PARALLEL_SIZE}]}]}}", "spec.containers[0].env[0].name", "workerSpec",
		},
		"a worker's resource is known":    {runtime("workerSpec: {containers: [{name: a, resources: {limits: {other.test/gpu: 1}}}]}"), runtime("workerSpec: {containers: [{name: a, resources: {limits: {own.test/gpu: 1, intel.com/gpu: 1}}}]}"), "spec.workerSpec.containers[0].resources.limits[other.test/gpu]", "nvidia.com/gpu"},
		"containers have different names": {"{metadata: {name: r}, spec: {containers: [{name: kserve-container}, {name: kserve-container}]}}", runtime("labels: {a: b}"), "spec.containers[1].name", "choose another"},
		"scraping is on or off":           {runtime("annotations: {serving.kserve.io/enable-prometheus-scraping: 'yes'}"), runtime("annotations: {serving.kserve.io/enable-prometheus-scraping: 'true'}"), "spec.annotations[serving.kserve.io/enable-prometheus-scraping]", "true"},
		"a scrape port is a port":         {runtime("annotations: {prometheus.kserve.io/port: '0'}"), runtime("annotations: {prometheus.kserve.io/port: '8080'}"), "spec.annotations[prometheus.kserve.io/port]", "65535"},
		"an annotation makes it known":    {runtime("annotations: {serving.kserve.io/gpu-resource-types: '[]'}, workerSpec: {containers: []}"), runtime("annotations: {serving.kserve.io/gpu-resource-types: '[\"other.test/gpu\"]'}, workerSpec: {containers: [{name: a, resources: {limits: {other.test/gpu: 1}}}]}"), "spec.annotations[serving.kserve.io/gpu-resource-types]", "JSON array"},
	}
}

func TestValidateRuntime(t *testing.T) {
	t.Parallel()
	for name, test := range runtimeRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := v1alpha1.RuntimeRules{GPUResources: []string{"own.test/gpu"}}
			faults, _ := read[v1alpha1.ServingRuntime](t, test.accepted).Validate(rules)
			require.Empty(t, faults, "to be accepted")
			faults, _ = read[v1alpha1.ServingRuntime](t, test.refused).Validate(rules)
			requireFault(t, faults, test.field, test.says)
			faults, _ = read[v1alpha1.ClusterServingRuntime](t, test.refused).Validate(rules)
			requireFault(t, faults, test.field, test.says)
			disabled := read[v1alpha1.ServingRuntime](t, test.refused)
			disabled.Spec.Disabled = new(true)
			faults, _ = disabled.Validate(rules)
			require.Empty(t, faults, "a disabled runtime is right")
		})
	}
}

func TestValidateRuntimeAmongOthers(t *testing.T) {
	t.Parallel()
	format := func(name, version, more string) string {
		return runtime("protocolVersions: [v2], supportedModelFormats: [{name: " + name + ", version: '" + version + "', autoSelect: true, " + more + "}]")
	}
	tests := map[string]struct {
		other   string
		refused bool
	}{
		"the same priority":                      {format("a", "1", "priority: 1"), true},
		"a name in other letters":                {format("A", "1", "priority: 1"), true},
		"a runtime that speaks everything":       {runtime("supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}]"), true},
		"another priority":                       {format("a", "1", "priority: 2"), false},
		"no priority":                            {format("a", "1", ""), false},
		"another version":                        {format("a", "2", "priority: 1"), false},
		"another format":                         {format("b", "1", "priority: 1"), false},
		"another protocol":                       {runtime("protocolVersions: [v1], supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}]"), false},
		"a runtime that is not chosen by itself": {runtime("supportedModelFormats: [{name: a, version: '1', priority: 1}]"), false},
		"a disabled runtime":                     {runtime("disabled: true, supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}]"), false},
		"a runtime for many models":              {runtime("multiModel: true, supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}]"), false},
		"a runtime with workers":                 {runtime("workerSpec: {containers: []}, supportedModelFormats: [{name: a, version: '1', autoSelect: true, priority: 1}]"), false},
		"a runtime without a version":            {runtime("supportedModelFormats: [{name: a, autoSelect: true, priority: 1}]"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			this := read[v1alpha1.ServingRuntime](t, format("a", "1", "priority: 1"))
			other := read[v1alpha1.ServingRuntime](t, test.other).Spec
			faults, _ := this.Validate(v1alpha1.RuntimeRules{Others: map[string]v1alpha1.ServingRuntimeSpec{"other": other}})
			if test.refused {
				requireFault(t, faults, "spec.supportedModelFormats[0].priority", "the runtime other")
			} else {
				require.Empty(t, faults)
			}
			faults, _ = this.Validate(v1alpha1.RuntimeRules{Others: map[string]v1alpha1.ServingRuntimeSpec{"r": other}})
			require.Empty(t, faults, "a runtime does not clash with itself")
		})
	}
}

func TestValidateRuntimeUpdate(t *testing.T) {
	t.Parallel()
	multi, plain := runtime("workerSpec: {containers: []}"), runtime("labels: {a: b}")
	faults, _ := read[v1alpha1.ServingRuntime](t, plain).ValidateUpdate(read[v1alpha1.ServingRuntime](t, multi), v1alpha1.RuntimeRules{})
	requireFault(t, faults, "spec.workerSpec", "make a new runtime")
	faults, _ = read[v1alpha1.ClusterServingRuntime](t, plain).ValidateUpdate(read[v1alpha1.ClusterServingRuntime](t, multi), v1alpha1.RuntimeRules{})
	requireFault(t, faults, "spec.workerSpec", "make a new runtime")
	faults, _ = read[v1alpha1.ServingRuntime](t, multi).ValidateUpdate(read[v1alpha1.ServingRuntime](t, plain), v1alpha1.RuntimeRules{})
	require.Empty(t, faults)
}

func TestRuntimeWithoutMainContainerIsOdd(t *testing.T) {
	t.Parallel()
	faults, warnings := read[v1alpha1.ServingRuntime](t, "{spec: {containers: [{name: a}]}}").Validate(v1alpha1.RuntimeRules{})
	require.Empty(t, faults)
	require.Len(t, warnings, 1)
	_, warnings = read[v1alpha1.ServingRuntime](t, "{spec: {grpcEndpoint: a, containers: [{name: a}]}}").Validate(v1alpha1.RuntimeRules{})
	require.Empty(t, warnings, "ModelMesh has names of its own")
}

func graph(nodes string) string { return "{metadata: {name: g}, spec: {nodes: {" + nodes + "}}}" }

// doubling is a graph of n ensembles, each of which calls the next one twice.
func doubling(n int) string {
	nodes := "root: {routerType: Ensemble, steps: [{nodeName: n1}, {nodeName: n1}]}"
	for i := 1; i < n; i++ {
		nodes += fmt.Sprintf(", n%d: {routerType: Ensemble, steps: [{nodeName: n%d}, {nodeName: n%d}]}", i, i+1, i+1)
	}
	return nodes + fmt.Sprintf(", n%d: {routerType: Sequence, steps: [{serviceName: s}]}", n)
}

// graphRules are those of a graph.
func graphRules() map[string]rule {
	const right = "root: {routerType: Sequence, steps: [{serviceName: a}]}"
	splitter := func(a, b string) string {
		return graph("root: {routerType: Splitter, steps: [{serviceName: a" + a + "}, {serviceName: b" + b + "}]}")
	}
	return map[string]rule{
		"a name starts with a letter":   {"{metadata: {name: 1g}, spec: {nodes: {" + right + "}}}", graph(right), "metadata.name", "letter"},
		"a name fits into a label":      {"{metadata: {name: " + strings.Repeat("a", 59) + "}, spec: {nodes: {" + right + "}}}", "{metadata: {name: " + strings.Repeat("a", 58) + "}, spec: {nodes: {" + right + "}}}", "metadata.name", "shorten"},
		"a mode is known":               {"{metadata: {name: g, annotations: {serving.kserve.io/deploymentMode: Other}}, spec: {nodes: {" + right + "}}}", "{metadata: {name: g, annotations: {serving.kserve.io/deploymentMode: RawDeployment}}, spec: {nodes: {" + right + "}}}", "metadata.annotations[serving.kserve.io/deploymentMode]", "Knative"},
		"stop is true or false":         {"{metadata: {name: g, annotations: {serving.kserve.io/stop: 'yes'}}, spec: {nodes: {" + right + "}}}", "{metadata: {name: g, annotations: {serving.kserve.io/stop: 'True'}}, spec: {nodes: {" + right + "}}}", "metadata.annotations[serving.kserve.io/stop]", "false"},
		"a graph has a root":            {graph("first: {routerType: Sequence, steps: [{serviceName: a}]}"), graph(right), "spec.nodes[root]", "add it"},
		"a router type is known":        {graph("root: {routerType: Loop, steps: [{serviceName: a}]}"), graph("root: {routerType: Ensemble, steps: [{serviceName: a}]}"), "spec.nodes[root].routerType", "Switch"},
		"a node has a step":             {graph("root: {routerType: Sequence}"), graph(right), "spec.nodes[root].steps", "at least one step"},
		"a step calls something":        {graph("root: {routerType: Sequence, steps: [{name: a}]}"), graph(right), "spec.nodes[root].steps[0]", "name what"},
		"a step calls one thing":        {graph("root: {routerType: Sequence, steps: [{serviceName: a, serviceUrl: 'http://a'}]}"), graph(right), "spec.nodes[root].steps[0]", "keep one"},
		"a step calls a node there is":  {graph("root: {routerType: Sequence, steps: [{nodeName: ghost}]}"), graph("root: {routerType: Sequence, steps: [{nodeName: b}]}, b: {routerType: Sequence, steps: [{serviceName: s}]}"), "spec.nodes[root].steps[0].nodeName", "ghost"},
		"a step calls over HTTP":        {graph("root: {routerType: Sequence, steps: [{serviceUrl: 'grpc://a'}]}"), graph("root: {routerType: Sequence, steps: [{serviceUrl: 'https://a'}]}"), "spec.nodes[root].steps[0].serviceUrl", "http or https"},
		"a step calls a web address":    {graph("root: {routerType: Sequence, steps: [{serviceUrl: a}]}"), graph("root: {routerType: Sequence, steps: [{serviceUrl: 'http://a'}]}"), "spec.nodes[root].steps[0].serviceUrl", "web address"},
		"a dependency is soft or hard":  {graph("root: {routerType: Sequence, steps: [{serviceName: a, dependency: Firm}]}"), graph("root: {routerType: Sequence, steps: [{serviceName: a, dependency: Soft}]}"), "spec.nodes[root].steps[0].dependency", "Hard"},
		"steps have different names":    {graph("root: {routerType: Sequence, steps: [{name: x, serviceName: a}, {name: x, serviceName: b}]}"), graph("root: {routerType: Sequence, steps: [{serviceName: a}, {serviceName: b}]}"), "spec.nodes[root].steps[1].name", "Duplicate"},
		"a splitter's step has a share": {splitter(", weight: 100", ""), splitter(", weight: 100", ", weight: 0"), "spec.nodes[root].steps[1].weight", "share"},
		"a share is not negative":       {splitter(", weight: 110", ", weight: -10"), splitter(", weight: 90", ", weight: 10"), "spec.nodes[root].steps[1].weight", "between 0 and 100"},
		"shares are all of it":          {splitter(", weight: 80", ", weight: 30"), splitter(", weight: 70", ", weight: 30"), "spec.nodes[root].steps", "sum up to 100"},
		"a graph does not go round":     {graph("root: {routerType: Sequence, steps: [{nodeName: a}]}, a: {routerType: Sequence, steps: [{nodeName: b}]}, b: {routerType: Sequence, steps: [{serviceName: s}, {nodeName: a}]}"), graph("root: {routerType: Sequence, steps: [{nodeName: a}, {nodeName: b}]}, a: {routerType: Sequence, steps: [{nodeName: b}]}, b: {routerType: Sequence, steps: [{serviceName: s}]}"), "spec.nodes[b].steps[1].nodeName", "leads back to a"},
		"a node does not call itself":   {graph("root: {routerType: Sequence, steps: [{nodeName: root}]}"), graph(right), "spec.nodes[root].steps[0].nodeName", "leads back to root"},
		"calls do not double for ever":  {graph(doubling(11)), graph(doubling(9)), "spec.nodes[root]", "more than 1000 times"},
		"an answer's parts have names":  {graph("root: {routerType: Ensemble, steps: [{serviceName: a, name: '1'}, {serviceName: b}]}"), graph("root: {routerType: Ensemble, steps: [{serviceName: a, name: '0x'}, {serviceName: b}, {serviceName: c, name: '2'}]}"), "spec.nodes[root].steps[0].name", "steps[1]"},
		"replicas are ordered":          {"{metadata: {name: g}, spec: {minReplicas: 3, maxReplicas: 2, nodes: {" + right + "}}}", "{metadata: {name: g}, spec: {minReplicas: 3, nodes: {" + right + "}}}", "spec.minReplicas", "lower it"},
	}
}

func TestValidateGraph(t *testing.T) {
	t.Parallel()
	for name, test := range graphRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, bad := read[v1alpha1.InferenceGraph](t, test.accepted), read[v1alpha1.InferenceGraph](t, test.refused)
			faults, _ := good.Validate()
			require.Empty(t, faults, "to be accepted")
			faults, _ = bad.Validate()
			requireFault(t, faults, test.field, test.says)
			faults, _ = bad.ValidateUpdate(good)
			requireFault(t, faults, test.field, test.says)
			faults, warnings := bad.ValidateUpdate(bad.DeepCopy())
			require.Empty(t, faults, "an old fault is a warning")
			require.NotEmpty(t, warnings)
			bad.DeletionTimestamp = &metav1.Time{}
			faults, _ = bad.Validate()
			require.Empty(t, faults, "what is being deleted is right")
		})
	}
}

func TestGraphWeightBesideSplitterIsOdd(t *testing.T) {
	t.Parallel()
	faults, warnings := read[v1alpha1.InferenceGraph](t, graph("root: {routerType: Switch, steps: [{serviceName: a, weight: 1}]}")).Validate()
	require.Empty(t, faults)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0].String(), "Splitter")
}

func TestGraphSetDefaults(t *testing.T) {
	t.Parallel()
	g := read[v1alpha1.InferenceGraph](t, "{metadata: {name: g, annotations: {serving.kserve.io/deploymentMode: Serverless}}}")
	g.SetDefaults()
	require.Equal(t, "Knative", g.Annotations["serving.kserve.io/deploymentMode"])
	g = &v1alpha1.InferenceGraph{}
	g.SetDefaults()
	require.Empty(t, g.Annotations)
}

// trained is a TrainedModel.
func trained(name, service, uri, framework, memory string) string {
	return "{metadata: {name: '" + name + "'}, spec: {inferenceService: '" + service + "', model: {storageUri: '" + uri + "', framework: '" + framework + "', memory: " + memory + "}}}"
}

// modelRules are those of a TrainedModel.
func modelRules() map[string]rule {
	tm, good := trained, trained("a-1", "s", "gs://a/b", "sklearn", "1Gi")
	return map[string]rule{
		"a name has no capital letters": {tm("T_1", "s", "gs://a/b", "sklearn", "1Gi"), good, "metadata.name", "choose a name"},
		"a name has no dots":            {tm("a.b", "s", "gs://a/b", "sklearn", "1Gi"), good, "metadata.name", "choose a name"},
		"a model has a service":         {tm("a", "", "gs://a/b", "sklearn", "1Gi"), good, "spec.inferenceService", "name one"},
		"a model has a format":          {tm("a", "s", "gs://a/b", "", "1Gi"), good, "spec.model.framework", "sklearn"},
		"a source can be pulled":        {tm("a", "s", "hf://a/b", "sklearn", "1Gi"), good, "spec.model.storageUri", "s3://"},
		"a source is well formed":       {tm("a", "s", "s3:///b", "sklearn", "1Gi"), good, "spec.model.storageUri", "s3://bucket/path"},
		"memory is not negative":        {tm("a", "s", "gs://a/b", "sklearn", "-1"), good, "spec.model.memory", "256Mi"},
	}
}

func TestValidateTrainedModel(t *testing.T) {
	t.Parallel()
	tm, good := trained, trained("a-1", "s", "gs://a/b", "sklearn", "1Gi")
	require.Empty(t, read[v1alpha1.TrainedModel](t, good).Validate())
	for name, test := range modelRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireFault(t, read[v1alpha1.TrainedModel](t, test.refused).Validate(), test.field, test.says)
		})
	}
	old := read[v1alpha1.TrainedModel](t, good)
	faults, _ := read[v1alpha1.TrainedModel](t, tm("a-1", "s", "gs://a/b", "sklearn", "2Gi")).ValidateUpdate(old)
	requireFault(t, faults, "spec.model.memory", "from 1Gi")
	faults, _ = read[v1alpha1.TrainedModel](t, tm("a-1", "s", "gs://a/c", "sklearn", "1024Mi")).ValidateUpdate(old)
	require.Empty(t, faults)
}

// container is a storage container.
func container(fields string) string { return "{spec: {container: {name: c}, " + fields + "}}" }

// containerRules are those of a storage container.
func containerRules() map[string]rule {
	return map[string]rule{
		"a format says something":     {container("supportedUriFormats: [{}]"), container("supportedUriFormats: [{prefix: a}]"), "spec.supportedUriFormats[0]", "prefix and regex"},
		"a regular expression is one": {container("supportedUriFormats: [{regex: '('}]"), container("supportedUriFormats: [{regex: '(.+?)'}]"), "spec.supportedUriFormats[0].regex", "use prefix"},
		"a workload type is known":    {container("supportedUriFormats: [], workloadType: other"), container("supportedUriFormats: [], workloadType: initContainer"), "spec.workloadType", "localModelDownloadJob"},
		"a container asks for what it may have": {
			"{spec: {container: {name: Any Name, resources: {requests: {cpu: '2'}, limits: {cpu: '1'}}}, supportedUriFormats: []}}",
			"{spec: {container: {name: Any Name, resources: {requests: {cpu: '2'}}}, supportedUriFormats: []}}", "spec.container.resources.requests[cpu]", "raise limits.cpu",
		},
		"a container does not set a path": {"{spec: {container: {name: c, env: [{name: PYTHONPATH}]}, supportedUriFormats: []}}", container("supportedUriFormats: []"), "spec.container.env[0].name", "remove it"},
	}
}

func TestStorageContainer(t *testing.T) {
	t.Parallel()
	for name, test := range containerRules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, read[v1alpha1.ClusterStorageContainer](t, test.accepted).Validate())
			requireFault(t, read[v1alpha1.ClusterStorageContainer](t, test.refused).Validate(), test.field, test.says)
		})
	}
	c := read[v1alpha1.ClusterStorageContainer](t, container("supportedUriFormats: []"))
	c.SetDefaults()
	require.Equal(t, v1alpha1.InitContainer, c.Spec.WorkloadType)
	require.False(t, *c.Spec.SupportsMultiModelDownload)
}

func TestURIFormatMatches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		format v1alpha1.SupportedURIFormat
		want   map[string]bool
	}{
		"a prefix":                      {v1alpha1.SupportedURIFormat{Prefix: "s3://"}, map[string]bool{"s3://a": true, "gs://a": false}},
		"an expression anywhere":        {v1alpha1.SupportedURIFormat{Regex: "https?://(.+)/(.+)"}, map[string]bool{"git+https://a/b": true, "https://a": false}},
		"a broken expression":           {v1alpha1.SupportedURIFormat{Regex: "("}, map[string]bool{"(": false}},
		"nothing":                       {v1alpha1.SupportedURIFormat{}, map[string]bool{"": false, "s3://a": false}},
		"a prefix before an expression": {v1alpha1.SupportedURIFormat{Prefix: "a", Regex: "."}, map[string]bool{"ab": true, "b": false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for uri, want := range test.want {
				require.Equal(t, want, test.format.Matches(uri), uri)
			}
		})
	}
}

func TestARuntimeThatNobodyCanAskForIsOdd(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		runtime("protocolVersions: [v2, grpcv2]"):                                                            `spec.protocolVersions[1]: no service can ask for "grpcv2"`,
		"{metadata: {name: r, annotations: {serving.kserve.io/servertype: mlserver}}, spec: {" + main + "}}": `did you mean "serving.kserve.io/server-type"?`,
		"{metadata: {name: r, annotations: {prometheus.kserve.io/port: '80'}}, spec: {" + main + "}}":        "spec.annotations of a runtime",
	} {
		faults, warnings := read[v1alpha1.ServingRuntime](t, text).Validate(v1alpha1.RuntimeRules{})
		require.Empty(t, faults)
		require.Len(t, warnings, 1, text)
		require.Contains(t, warnings[0].String(), says)
	}
}
