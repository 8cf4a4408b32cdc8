// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// asks counts what an API server was asked.
type asks struct {
	mu    sync.Mutex
	lists map[string]int
}

// cluster answers as an API server would that has services and nothing else; status is what it answers to writes and to the paths of deny. It is a
// stand-in, for a real one does not refuse at will and does not tell what it was asked; test/apiserver has the real one.
func cluster(t *testing.T, services int, status int, deny string) (kubeconfig string, a *asks) {
	t.Helper()
	a = &asks{lists: map[string]int{}}
	items := make([]string, 0, services)
	for i := range services {
		items = append(items, fmt.Sprintf(`{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "m%d", "namespace": "team", "uid": "u%d",
			"annotations": {"serving.kserve.io/deploymentMode": "Standard"}}, "spec": {"predictor": {"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://b/m"}}}}`, i, i))
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		code, body := http.StatusOK, `{"apiVersion": "v1", "kind": "List", "items": []}`
		switch last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
		case r.Method != http.MethodGet || deny != "" && strings.Contains(r.URL.Path, deny):
			code, body = status, fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "message": "no\u001b[2J\u202e", "code": %d}`,
				strings.ReplaceAll(http.StatusText(status), " ", ""), status)
		case last == "inferenceservices":
			body = `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceServiceList", "items": [` + strings.Join(items, ",") + `]}`
		case last == "clusterservingruntimes":
			body = `{"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ClusterServingRuntimeList", "items": [{"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ClusterServingRuntime",
				"metadata": {"name": "sk"}, "spec": {"supportedModelFormats": [{"name": "sklearn", "autoSelect": true}], "containers": [{"name": "kserve-container", "image": "i"}]}}]}`
		case !strings.HasSuffix(last, "s"):
			code, body = http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		default:
			a.mu.Lock()
			a.lists[r.URL.Path]++
			a.mu.Unlock()
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(api.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "team"}}]}`, api.URL)
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	return kubeconfig, a
}

func call(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command(output.Streams{In: &bytes.Buffer{}, Out: &out, Err: &bytes.Buffer{}})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestANamespaceIsReadOnceForAllItsServices(t *testing.T) {
	kubeconfig, a := cluster(t, 40, http.StatusForbidden, "")
	out, err := call(t, "--kubeconfig", kubeconfig)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "40 compared")
	require.NotEmpty(t, a.lists["/apis/apps/v1/namespaces/team/deployments"])
	for path, n := range a.lists {
		require.Equal(t, 1, n, path)
	}
}

func TestNothingThatAServerSaysIsObeyedByATerminal(t *testing.T) {
	kubeconfig, _ := cluster(t, 1, http.StatusForbidden, "")
	out, err := call(t, "--kubeconfig", kubeconfig)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "fail Deployment m0-predictor: no[2J")
	require.NotContains(t, out, "\x1b")
	require.NotContains(t, out, "\u202e")
}

func TestAnAnswerIsToldFromNone(t *testing.T) {
	cases := map[string]struct {
		status int
		deny   string
		code   int
	}{
		"no right to read services":    {http.StatusForbidden, "inferenceservices", exit.Failed},
		"no right to read settings":    {http.StatusForbidden, "configmaps", exit.Failed},
		"no right to read deployments": {http.StatusForbidden, "deployments", exit.Failed},
		"nobody is logged in":          {http.StatusUnauthorized, "inferenceservices", exit.Failed},
		"a server in trouble":          {http.StatusServiceUnavailable, "deployments", exit.Unreachable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kubeconfig, _ := cluster(t, 1, c.status, c.deny)
			_, err := call(t, "--kubeconfig", kubeconfig)
			require.Equal(t, c.code, exit.Code(err), "%v", err)
		})
	}
}
