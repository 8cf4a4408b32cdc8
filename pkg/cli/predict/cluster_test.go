// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// cluster is an API server with two services and a graph, and its kubeconfig in a folder of its own.
func cluster(t *testing.T) (kubeconfig string) {
	t.Helper()
	status := func(url, ready, message string) string {
		return fmt.Sprintf(`{"url": %q, "conditions": [{"type": "Ready", "status": %q, "message": %q}]}`, url, ready, message)
	}
	objects := map[string]string{
		"v1beta1/namespaces/default/inferenceservices/iris":  status("http://iris-default.localhost", "True", ""),
		"v1beta1/namespaces/team/inferenceservices/iris":     status("http://example.com/serving/team/iris", "True", ""),
		"v1beta1/namespaces/default/inferenceservices/ill":   status("http://ill-default.localhost", "False", "the bucket is empty"),
		"v1beta1/namespaces/default/inferenceservices/young": status("", "False", "waiting for a pod"),
		"v1alpha1/namespaces/team/inferencegraphs/pipe":      status("http://pipe-team.localhost", "True", ""),
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status, ok := objects[r.URL.Path[len("/apis/serving.kserve.io/"):]]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "x"}, "status": %s}`, status)
	}))
	t.Cleanup(api.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c"}}]}`, api.URL)
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	return kubeconfig
}

// withGateway makes the kubeconfig that of a local cluster.
func withGateway(t *testing.T, kubeconfig, url string) {
	t.Helper()
	config, _, err := live.Config(kubeconfig)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"kubeconfig": kubeconfig, "apiServer": config.Host, "gateway": url, "pid": 1})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(kubeconfig), "ready.json"), raw, 0o600))
}

const row1 = `{"instances": [[1]]}`

func TestAServiceIsAskedWhereItsStatusSays(t *testing.T) {
	got, url := restServer(t, 200, `{"predictions":[1]}`)
	kubeconfig := cluster(t)
	t.Setenv("KUBECONFIG", kubeconfig)
	withGateway(t, kubeconfig, url)

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
	require.Contains(t, stderr, "InferenceService default/ill is not ready: the bucket is empty")

	t.Setenv("KUBECONFIG", "/no/such/file"+string(filepath.ListSeparator)+kubeconfig)
	_, _, err = call(t, "", "iris", "-n", "team", "-d", row1)
	require.NoError(t, err)
	require.Equal(t, "/serving/team/iris/v1/models/iris:predict", got.path, "one of several kubeconfigs")

	_, other := restServer(t, 200, `{}`)
	withGateway(t, kubeconfig, "http://127.0.0.1:1")
	_, stderr, err = call(t, "", "iris", "-n", "default", "--url", other, "-d", row1)
	require.NoError(t, err)
	require.Contains(t, stderr, other, "what a person gives counts")
}

func TestWhatIsWrongWithAClusterIsSaid(t *testing.T) {
	kubeconfig := cluster(t)
	withGateway(t, kubeconfig, "http://127.0.0.1:1")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	state := t.TempDir()
	cases := map[string]struct {
		args []string
		code int
		say  string
	}{
		"no such service":       {[]string{"none", "-n", "default", "--kubeconfig", kubeconfig}, exit.Failed, "the cluster has no InferenceService none in namespace default"},
		"no such graph":         {[]string{"iris", "--graph", "--kubeconfig", kubeconfig}, exit.Failed, "the cluster has no InferenceGraph iris in namespace default"},
		"no URL yet":            {[]string{"young", "--kubeconfig", kubeconfig}, exit.Failed, "InferenceService default/young has no URL yet: waiting for a pod"},
		"no kubeconfig":         {[]string{"iris", "--kubeconfig", "/nonexistent"}, exit.Usage, "/nonexistent"},
		"no local cluster":      {[]string{"iris", "-n", "default"}, exit.Unreachable, "kserve local up"},
		"another local cluster": {[]string{"iris", "--cluster", "mine", "--state", state}, exit.Unreachable, "kserve local up --name=mine --state=" + state},
		"a name that cannot be": {[]string{"iris", "--cluster", "A B"}, exit.Usage, "cluster name"},
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
	kubeconfig := cluster(t)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("KUBECONFIG", "")
	o := Options{Model: "iris", URL: "http://127.0.0.1:1", GRPCAddr: "127.0.0.1:1", Data: row1, Timeout: time.Minute, Output: "table"}
	streams := output.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	require.Equal(t, exit.Unreachable, exit.Code(Run(t.Context(), o, streams)), "no cluster runs")

	// A cluster runs while a process holds its lock.
	dir := filepath.Join(state, "kserve", "clusters", "default")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	own := filepath.Join(dir, "kubeconfig")
	raw, err := os.ReadFile(kubeconfig)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, raw, 0o600))
	withGateway(t, own, url)
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	_, err = lock.WriteString("1\n")
	require.NoError(t, err)

	require.NoError(t, Run(t.Context(), o, streams))
	require.Equal(t, "iris-default.localhost", got.host)

	server, serverURL := restServer(t, 200, `{"predictions":[1]}`)
	o.URL = serverURL
	require.NoError(t, Run(t.Context(), o, streams))
	require.Equal(t, "/v1/models/iris:predict", server.path, "a server that listens comes first")
}
