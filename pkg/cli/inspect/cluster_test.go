// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/fakeapi"
)

const (
	iris = `
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: iris}
spec: {predictor: {serviceAccountName: robot, model: {modelFormat: {name: sklearn}, storageUri: "s3://b/m"}}}
`
	standardSettings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: inferenceservice-config, namespace: kserve}
data: {deploy: '{"defaultDeploymentMode": "Standard"}'}
`
	robot = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: team}, secrets: [{name: keys}]}`
	keys  = `{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: team}}`
)

func sklearnRuntime(kind, name string) string {
	namespace := ""
	if kind == "ServingRuntime" {
		namespace = ", namespace: team"
	}
	return "{apiVersion: serving.kserve.io/v1alpha1, kind: " + kind + ", metadata: {name: " + name + namespace +
		"}, spec: {protocolVersions: [v1], supportedModelFormats: [{name: sklearn, autoSelect: true}], containers: [{name: kserve-container, image: i}]}}"
}

// explained is what explain says for a program, and on stderr.
func explained(t *testing.T, api *fakeapi.Server, in string, args ...string) (Explanation, string, error) {
	t.Helper()
	stdout, stderr, err := call(ExplainCommand, in, append(args, "-f", "-", "-o", "json", "--kubeconfig", api.Kubeconfig())...)
	var all []Explanation
	if stdout != "" {
		require.NoError(t, json.Unmarshal([]byte(stdout), &all))
		require.Len(t, all, 1, stdout)
		return all[0], stderr, err
	}
	return Explanation{}, stderr, err
}

func (e *Explanation) chosen(subject string) string {
	for _, d := range e.Decisions {
		if d.Subject == subject {
			return d.Chosen
		}
	}
	return ""
}

func TestAClusterTellsWhatItsControllerWouldDecide(t *testing.T) {
	api := fakeapi.New(t, standardSettings, robot, keys, sklearnRuntime("ServingRuntime", "mine"), sklearnRuntime("ClusterServingRuntime", "theirs"))
	e, stderr, err := explained(t, api, iris)
	require.NoError(t, err, stderr)
	require.Equal(t, "team/iris", e.Name, "the namespace of the kubeconfig's context")
	require.Equal(t, "Standard", e.chosen("mode"))
	require.Equal(t, "ServingRuntime mine", e.chosen("runtime"))
	require.Equal(t, "secrets keys", e.chosen("credentials"))
	require.Empty(t, e.Notes)
	require.Contains(t, stderr, "settings: ConfigMap kserve/inferenceservice-config of http://127.0.0.1:")
	require.NotContains(t, stderr, "assumed")

	stdout, stderr, err := call(RenderCommand, iris, "-f", "-", "-o", "table", "--kubeconfig", api.Kubeconfig())
	require.NoError(t, err, stderr)
	require.Regexp(t, `Deployment +team +iris-predictor`, stdout)

	stdout, stderr, err = call(ValidateCommand, strings.Replace(iris, "sklearn", "onnx", 1), "-f", "-", "--kubeconfig", api.Kubeconfig())
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "of the files and the cluster's runtimes")
	require.Contains(t, stdout, "1 object is valid")

	api.Put(`{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: iris, namespace: team}, spec: {predictor: {}}, status: {deploymentMode: Knative}}`)
	e, _, _ = explained(t, api, iris)
	require.Equal(t, "Knative", e.chosen("mode"), "a mode is fixed once a service exists")
}

func TestNoMoreIsReadThanIsNeeded(t *testing.T) {
	api := fakeapi.New(t, standardSettings, robot, keys, sklearnRuntime("ServingRuntime", "mine"), sklearnRuntime("ClusterServingRuntime", "theirs"))
	named := strings.Replace(iris, "modelFormat", "runtime: theirs, modelFormat", 1)
	e, _, err := explained(t, api, named)
	require.NoError(t, err)
	require.Equal(t, "ClusterServingRuntime theirs", e.chosen("runtime"))
	require.Equal(t, map[string]int{
		"GET /api/v1/namespaces/kserve/configmaps/inferenceservice-config":            1,
		"GET /apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices/iris":  1,
		"GET /apis/serving.kserve.io/v1alpha1/namespaces/team/servingruntimes/theirs": 1,
		"GET /apis/serving.kserve.io/v1alpha1/clusterservingruntimes/theirs":          1,
		"GET /apis/serving.kserve.io/v1alpha1/clusterstoragecontainers":               1,
		"GET /api/v1/namespaces/team/serviceaccounts/robot":                           1,
		"GET /api/v1/namespaces/team/secrets/keys":                                    1,
	}, api.Asked())
}

func TestWhatMayNotBeReadIsToldAndFatalOnlyWhereTheAnswerHangsOnIt(t *testing.T) {
	api := fakeapi.New(t, standardSettings, robot, keys, sklearnRuntime("ServingRuntime", "mine"))
	for _, resource := range []string{"configmaps", "clusterservingruntimes", "clusterstoragecontainers", "secrets", "inferenceservices"} {
		api.Refuse(http.StatusForbidden, fakeapi.Path("/"+resource))
	}
	e, stderr, err := explained(t, api, iris, "-n", "team")
	require.NoError(t, err, stderr)
	require.Equal(t, "ServingRuntime mine", e.chosen("runtime"))
	require.Empty(t, e.Notes, "what may not be read may be there")
	for _, want := range []string{"assumed: the shipped settings", "assumed: that there are no others", "assumed: that those that are named exist", "assumed: that the service does not exist yet"} {
		require.Contains(t, stderr, "not read, for lack of a right: ")
		require.Contains(t, stderr, want)
	}
	require.NotContains(t, stderr, "\x1b[2J")

	other := strings.Replace(iris, "sklearn", "onnx", 1)
	e, _, err = explained(t, api, other)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Equal(t, reasonUnread, e.Blocked.Reason)
	require.Contains(t, e.Blocked.Message, "which runtime serves it cannot be told, for lack of a right")
	_, stderr, err = call(RenderCommand, other, "-f", "-", "--kubeconfig", api.Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, stderr, "which runtime serves it cannot be told")
	stdout, _, err := call(ValidateCommand, other, "-f", "-", "--kubeconfig", api.Kubeconfig())
	require.NoError(t, err, "the object is valid all the same")
	require.Contains(t, stdout, "which runtime serves it cannot be told")
}

func TestWhatTheClusterDoesNotHaveIsTold(t *testing.T) {
	gateway := strings.Replace(standardSettings, "\ndata: {", "\n"+`data: {ingress: '{"enableGatewayApi": true, "kserveIngressGateway": "kserve/gw", "ingressGateway": "knative-serving/knative-ingress-gateway", "ingressDomain": "example.com"}', `, 1)
	api := fakeapi.New(t, gateway, robot, sklearnRuntime("ServingRuntime", "mine"))
	api.Lacks("httproutes")
	e, _, err := explained(t, api, iris)
	require.Equal(t, exit.Invalid, exit.Code(err), "%v", err)
	require.Equal(t, "KindMissing", e.Blocked.Reason)
	require.Contains(t, e.Blocked.Message, "httproutes.gateway.networking.k8s.io")
	require.Contains(t, e.Notes, "Secret team/keys, which service account robot names, does not exist")

	e, _, _ = explained(t, api, strings.Replace(iris, "robot", "nobody", 1))
	require.Contains(t, e.Notes, "ServiceAccount team/nobody, which the service names, does not exist")
	stdout, _, err := call(ValidateCommand, iris, "-f", "-", "--kubeconfig", api.Kubeconfig())
	require.NoError(t, err)
	require.Contains(t, stdout, "Secret team/keys, which service account robot names, does not exist")

	_, stderr, _ := explained(t, fakeapi.New(t, sklearnRuntime("ServingRuntime", "mine")), iris)
	require.Contains(t, stderr, "assumed: the shipped settings, for there is no ConfigMap kserve/inferenceservice-config in the cluster")
}

func TestAClusterThatCannotAnswerIsNoFaultOfTheFiles(t *testing.T) {
	dead := fakeapi.New(t)
	dead.Stop()
	bad := fakeapi.New(t, strings.Replace(standardSettings, "Standard", "Nonsense", 1))
	for _, command := range []func(output.Streams) *cobra.Command{ValidateCommand, RenderCommand, ExplainCommand} {
		_, _, err := call(command, iris, "-f", "-", "--kubeconfig", dead.Kubeconfig())
		require.Equal(t, exit.Unreachable, exit.Code(err), "%v", err)
		require.ErrorContains(t, err, "ask the cluster at http://127.0.0.1:")
		_, _, err = call(command, iris, "-f", "-", "--kubeconfig", bad.Kubeconfig())
		require.Equal(t, exit.Failed, exit.Code(err), "%v", err)
		require.ErrorContains(t, err, "the operator's settings have a fault")
		_, _, err = call(command, iris, "-f", "-", "--kubeconfig", bad.Kubeconfig(), "--context", "none")
		require.Equal(t, exit.Usage, exit.Code(err), "%v", err)
	}
}

func TestFaultsOfTheFilesAreToldWithACluster(t *testing.T) {
	api := fakeapi.New(t, standardSettings, `{apiVersion: serving.kserve.io/v1alpha1, kind: ClusterServingRuntime, metadata: {name: odd}, spec: {frob: 1}}`)
	stdout, _, err := call(ValidateCommand, strings.Replace(iris, "predictor: {", "predictor: {minReplicas: -1, frob: 2, ", 1), "-f", "-", "--kubeconfig", api.Kubeconfig())
	require.Equal(t, exit.Invalid, exit.Code(err))
	require.Contains(t, stdout, "team/inferenceservice/iris: spec.predictor.minReplicas")
	require.Contains(t, stdout, "team/inferenceservice/iris: spec.predictor.frob: unknown field")
	require.Contains(t, stdout, "2 faults", "those of the cluster's objects are somebody else's")
}

func TestAGraphIsPlannedWithTheServicesOfTheCluster(t *testing.T) {
	graph := `{apiVersion: serving.kserve.io/v1alpha1, kind: InferenceGraph, metadata: {name: g}, spec: {nodes: {root: {routerType: Sequence, steps: [{serviceName: iris}]}}}}`
	api := fakeapi.New(t, standardSettings, sklearnRuntime("ServingRuntime", "mine"), strings.Replace(iris, "{name: iris}", "{name: iris, namespace: team}", 1))
	e, stderr, err := explained(t, api, graph)
	require.NoError(t, err, stderr)
	require.Equal(t, "InferenceGraph", e.Kind)
	require.NotEmpty(t, e.Objects)
}

func TestWithoutAClusterALineSaysWhatIsAssumed(t *testing.T) {
	for _, command := range []func(output.Streams) *cobra.Command{ValidateCommand, RenderCommand, ExplainCommand} {
		_, stderr, err := call(command, iris, "-f", "-")
		require.NoError(t, err)
		require.Contains(t, stderr, "assumed: the shipped settings and runtimes, beside those of the files")
		_, stderr, err = call(command, iris+"---"+standardSettings, "-f", "-")
		require.NoError(t, err)
		require.Contains(t, stderr, "settings: ConfigMap kserve/inferenceservice-config, stdin:7\nassumed: the shipped runtimes")
	}
	stdout, _, err := call(ValidateCommand, iris, "-f", "-", "-o", "json")
	require.NoError(t, err)
	require.Contains(t, stdout, `"settings": "shipped"`)
}
