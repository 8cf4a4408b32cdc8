// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/fakeapi"
)

// cluster is an API server with some services and a graph.
func cluster(t *testing.T) *fakeapi.Server {
	t.Helper()
	service := func(namespace, name, url, ready, message, more string) string {
		return fmt.Sprintf(`{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": %q, "namespace": %q},
			"status": {"url": %q, "conditions": [{"type": "PredictorReady", "status": %q, "reason": "R", "message": %q}, {"type": "Ready", "status": %q, "reason": "R", "message": %q}]%s}}`,
			name, namespace, url, ready, message, ready, message, more)
	}
	runtime := func(name, protocols string) string {
		return fmt.Sprintf(`{apiVersion: serving.kserve.io/v1alpha1, kind: ClusterServingRuntime, metadata: {name: %s}, spec: {protocolVersions: [%s]}}`, name, protocols)
	}
	api := fakeapi.New(t,
		service("default", "iris", "http://iris-default.localhost", "True", "", `, "clusterServingRuntimeName": "http-only"`),
		service("default", "both", "http://both-default.localhost", "True", "", `, "clusterServingRuntimeName": "both"`),
		service("default", "inside", "http://inside-default.localhost", "True", "", `, "components": {"predictor": {"grpcUrl": "grpc://inside-predictor.default.svc.cluster.local:8033"}}`),
		service("team", "iris", "http://example.com/serving/team/iris", "True", "", ""),
		service("default", "ill", "http://ill-default.localhost", "False", "the bucket is empty", ""),
		service("default", "young", "", "False", "waiting for a pod", ""),
		`{apiVersion: v1, kind: Pod, metadata: {name: ill-1, namespace: default, labels: {serving.kserve.io/inferenceservice: ill}},
			status: {containerStatuses: [{name: kserve-container, state: {terminated: {exitCode: 1}}}]}}`,
		`{apiVersion: serving.kserve.io/v1alpha1, kind: InferenceGraph, metadata: {name: pipe, namespace: team}, status: {url: "http://pipe-team.localhost", conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: serving.kserve.io/v1alpha1, kind: InferenceGraph, metadata: {name: idle, namespace: team}}`,
		runtime("http-only", "v1, v2"), runtime("both", "v2, grpc-v2"))
	api.Log("default/ill-1", "no such key\n")
	return api
}

const row1 = `{"instances": [[1]]}`

func TestAServiceIsAskedWhereItsStatusSays(t *testing.T) {
	got, url := restServer(t, 200, `{"predictions":[1]}`)
	api := cluster(t)
	kubeconfig := api.AsLocal(t.TempDir(), "mine", url)
	t.Setenv("KUBECONFIG", kubeconfig)

	_, _, err := call(t, "", "iris", "-n", "default", "-d", row1)
	require.NoError(t, err)
	require.Equal(t, "/v1/models/iris:predict", got.path)
	require.Equal(t, "iris-default.localhost", got.host)

	_, _, err = call(t, "", "iris", "--namespace=team", "-p", "v2", "-d", row1)
	require.NoError(t, err)
	require.Equal(t, "/serving/team/iris/v2/models/iris/infer", got.path, "a path in the URL is kept")
	require.Equal(t, "example.com", got.host)

	_, _, err = call(t, "", "team/pipe", "--graph", "--kubeconfig", kubeconfig, "-d", row1)
	require.NoError(t, err)
	require.Equal(t, "/", got.path)
	require.Equal(t, "pipe-team.localhost", got.host)

	_, stderr, err := call(t, "", "ill", "-n", "default", "-d", row1)
	require.NoError(t, err)
	for _, part := range []string{"InferenceService default/ill: not ready", "R: the bucket is empty", "last lines of ill-1, container kserve-container\n  no such key\n"} {
		require.Contains(t, stderr, part, "what kserve status says")
	}
	require.Equal(t, 1, strings.Count(stderr, "the bucket is empty"))

	t.Setenv("KUBECONFIG", "/no/such/file"+string(filepath.ListSeparator)+kubeconfig)
	_, _, err = call(t, "", "iris", "-n", "team", "-d", row1)
	require.NoError(t, err)
	require.Equal(t, "/serving/team/iris/v1/models/iris:predict", got.path, "one of several kubeconfigs")

	_, other := restServer(t, 200, `{}`)
	kubeconfig = api.AsLocal(t.TempDir(), "mine", "http://127.0.0.1:1")
	_, stderr, err = call(t, "", "iris", "-n", "default", "--kubeconfig", kubeconfig, "--url", other, "-d", row1)
	require.NoError(t, err)
	require.Contains(t, stderr, other, "what a person gives counts")
}

func TestWhatIsWrongWithAClusterIsSaid(t *testing.T) {
	api := cluster(t)
	kubeconfig := api.AsLocal(t.TempDir(), "mine", "http://127.0.0.1:1")
	refusing := cluster(t)
	refusing.Refuse(http.StatusForbidden, fakeapi.Path("inferenceservices"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	state := t.TempDir()
	cases := map[string]struct {
		args []string
		code int
		say  string
	}{
		"no such service":       {[]string{"none", "-n", "default", "--kubeconfig", kubeconfig}, exit.Failed, "namespace default has no InferenceService none; there: both, ill, inside, iris, young"},
		"no such graph":         {[]string{"iris", "--graph", "--kubeconfig", kubeconfig}, exit.Failed, "namespace team has no InferenceGraph iris, but an InferenceService of that name, which is ready; without --graph it is asked"},
		"a graph, no service":   {[]string{"pipe", "-n", "team", "--kubeconfig", kubeconfig}, exit.Failed, "but an InferenceGraph of that name, which is ready; --graph asks it"},
		"another namespace":     {[]string{"both", "-n", "team", "--kubeconfig", kubeconfig}, exit.Failed, "namespace team has no InferenceService both; there is one in default (-n default)"},
		"a graph not served":    {[]string{"idle", "--graph", "-n", "team", "--kubeconfig", kubeconfig}, exit.Failed, "InferenceGraph team/idle has no URL yet: InferenceGraphs are not served in a cluster by this version"},
		"no URL yet":            {[]string{"young", "-n", "default", "--kubeconfig", kubeconfig}, exit.Failed, "InferenceService default/young has no URL yet: R: waiting for a pod"},
		"no kubeconfig":         {[]string{"iris", "--kubeconfig", "/nonexistent"}, exit.Usage, "/nonexistent"},
		"no local cluster":      {[]string{"iris", "-n", "default"}, exit.Unreachable, "kserve local up"},
		"another local cluster": {[]string{"iris", "--cluster", "mine", "--state", state}, exit.Unreachable, "kserve local up --name=mine --state=" + state},
		"a name that cannot be": {[]string{"iris", "--cluster", "A B"}, exit.Usage, "cluster name"},
		"no right":              {[]string{"iris", "--kubeconfig", refusing.Kubeconfig()}, exit.Failed, "read InferenceService iris"},
		"no such context":       {[]string{"iris", "--kubeconfig", kubeconfig, "--context", "none"}, exit.Usage, `"none"`},
		"gRPC of HTTP only": {
			[]string{"iris", "-n", "default", "-p", "grpc", "--kubeconfig", kubeconfig},
			exit.Failed,
			"InferenceService default/iris speaks only HTTP: its runtime, ClusterServingRuntime http-only, lists the protocols v1, v2 and none of gRPC: use --protocol v2 or v1",
		},
		"nobody at the gateway": {[]string{"iris", "-n", "default", "--kubeconfig", kubeconfig}, exit.Unreachable, "--url"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			_, _, err := call(t, "", append(c.args, "-d", row1)...)
			require.Error(t, err)
			require.Equal(t, c.code, exit.Code(err), err.Error())
			require.Contains(t, exit.Message(err), c.say)
		})
	}
}

func TestTheLocalClusterIsAskedWhenNoServerListens(t *testing.T) {
	got, url := restServer(t, 200, `{"predictions":[1]}`)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("KUBECONFIG", "")
	o := Options{Model: "iris", URL: "http://127.0.0.1:1", GRPCAddr: "127.0.0.1:1", Data: row1, Timeout: time.Minute, Output: "table"}
	streams := output.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	require.Equal(t, exit.Unreachable, exit.Code(Run(t.Context(), o, streams)), "no cluster runs")
	cluster(t).AsLocal(filepath.Join(state, "kserve", "clusters"), "default", url)

	require.NoError(t, Run(t.Context(), o, streams))
	require.Equal(t, "example.com", got.host)

	server, serverURL := restServer(t, 200, `{"predictions":[1]}`)
	o.URL = serverURL
	require.NoError(t, Run(t.Context(), o, streams))
	require.Equal(t, "/v1/models/iris:predict", server.path, "a server that listens comes first")
}

func TestWhatRunsIsNamed(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"models":["iris","wine"]}`)
			return
		}
		http.Error(w, `{"error":"no such model"}`, http.StatusNotFound)
	}))
	defer server.Close()
	ask := func(o Options) (said string, err error) {
		var stderr bytes.Buffer
		o.Model, o.GRPCAddr, o.Data, o.Timeout, o.Output = "mien", "127.0.0.1:1", row1, time.Minute, "table"
		err = Run(t.Context(), o, output.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &stderr})
		return stderr.String(), err
	}
	inNamespace := Options{URL: server.URL, Cluster: live.Where{Namespace: "other"}}
	_, err := ask(inNamespace)
	require.Equal(t, exit.Unreachable, exit.Code(err))
	require.ErrorContains(t, err, "a server listens at "+strings.TrimPrefix(server.URL, "http://")+", which is asked without -n and --cluster")

	clusters := filepath.Join(state, "kserve", "clusters")
	cluster(t).AsLocal(clusters, "cc", "http://127.0.0.1:1")
	_, err = ask(Options{URL: "http://127.0.0.1:1"})
	require.Equal(t, exit.Unreachable, exit.Code(err))
	require.ErrorContains(t, err, "kserve run -f FILE; of local clusters there runs cc: --cluster cc asks it")
	_, err = ask(inNamespace)
	require.ErrorContains(t, err, "of local clusters there runs cc: --cluster cc")
	said, err := ask(Options{URL: server.URL})
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, said, " serves iris, wine\n")
	require.Contains(t, said, "--cluster cc asks it")

	cluster(t).AsLocal(clusters, "default", "http://127.0.0.1:1")
	said, err = ask(Options{URL: server.URL})
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, said, "asking the server at "+strings.TrimPrefix(server.URL, "http://")+`; -n NAMESPACE asks the local cluster "default"`)
	require.Contains(t, said, `the local cluster "default" runs: -n NAMESPACE asks it`)
	said, err = ask(Options{URL: "http://127.0.0.1:1"})
	require.ErrorContains(t, err, "namespace team has no InferenceService mien")
	require.Contains(t, said, `asking the local cluster "default", for nothing listens at 127.0.0.1:1`)
}

func TestAFailureOfAServiceThatWasReadyIsExplained(t *testing.T) {
	api := cluster(t)
	ill := `{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: iris, namespace: team}, status: {url: "http://i", conditions: [{type: Ready, status: "False", message: the pod is gone}]}}`
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.Put(ill)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer failing.Close()
	_, stderr, err := call(t, "", "iris", "--kubeconfig", api.AsLocal(t.TempDir(), "mine", failing.URL), "-d", row1)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, stderr, "the pod is gone")

	api = cluster(t)
	_, stderr, err = call(t, "", "iris", "--kubeconfig", api.AsLocal(t.TempDir(), "mine", "http://127.0.0.1:1"), "-d", row1)
	require.Equal(t, exit.Unreachable, exit.Code(err))
	require.Empty(t, stderr, "nothing is wrong with the service")
}

func TestGRPCThatTheGatewayDoesNotCarryIsExplained(t *testing.T) {
	_, url := restServer(t, 200, `{}`) // it speaks HTTP/1 only
	kubeconfig := cluster(t).AsLocal(t.TempDir(), "mine", url)
	for name, want := range map[string]string{
		"inside": "speaks gRPC inside the cluster only, at grpc://inside-predictor.default.svc.cluster.local:8033",
		"both":   "has no gRPC address in its status",
	} {
		_, _, err := call(t, "", name, "-n", "default", "-p", "grpc", "--kubeconfig", kubeconfig, "-d", row1)
		require.Equal(t, exit.Failed, exit.Code(err), "%v", err)
		require.Contains(t, exit.Message(err), want)
		require.Contains(t, exit.Message(err), "--protocol v2")
	}
}
