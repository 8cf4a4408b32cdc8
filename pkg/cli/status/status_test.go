// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

// cluster is an API server that answers a few paths. The real one is asked in test/apiserver and test/cluster; here are the forms of answers
// that are hard to bring about there.
func cluster(t *testing.T, answers map[string]string) (kubeconfig string) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if answer == forbidden {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
		}
		if strings.HasSuffix(r.URL.Path, "/log") {
			fmt.Fprint(w, answer)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		default:
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(api.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "team"}}]}`, api.URL)
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	return kubeconfig
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

const (
	services = "/apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices"
	failing  = `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "m", "namespace": "team", "generation": 2}, "status": {
		"observedGeneration": 2, "deploymentMode": "Standard", "clusterServingRuntimeName": "kserve-sklearnserver", "url": "http://m-team.example.com",
		"modelStatus": {"transitionStatus": "BlockedByFailedLoad", "states": {"activeModelState": "", "targetModelState": "FailedToLoad"}, "copies": {"failedCopies": 1}},
		"conditions": [
			{"type": "IngressReady", "status": "False", "reason": "Predictor ingress not created"},
			{"type": "PredictorReady", "status": "False", "reason": "ModelLoadFailed", "message": "no such object\u001b[31m. Correct the storage URI"},
			{"type": "Ready", "status": "False", "reason": "ModelLoadFailed", "message": "no such object\u001b[31m. Correct the storage URI"},
			{"type": "Stopped", "status": "False", "severity": "Info"}]}}`
	pods = `{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "m-1", "namespace": "team"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Pending",
		"initContainerStatuses": [{"name": "storage-initializer", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}],
		"containerStatuses": [{"name": "kserve-container", "state": {"waiting": {"reason": "PodInitializing"}}}]}}]}`
	events = `{"apiVersion": "v1", "kind": "EventList", "items": [
		{"metadata": {"name": "a"}, "involvedObject": {"kind": "Pod", "name": "m-1"}, "message": "Back-off restarting", "lastTimestamp": "2026-01-01T00:00:00Z"},
		{"metadata": {"name": "b"}, "involvedObject": {"kind": "Pod", "name": "other"}, "message": "not ours", "lastTimestamp": "2026-01-01T00:00:01Z"}]}`
)

// forbidden is the answer to who has no right.
const forbidden = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "you \u001b[31mmay not", "code": 403}`

func answers() map[string]string {
	return map[string]string{
		services + "/m":                        failing,
		services:                               `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceServiceList", "items": [` + failing + `]}`,
		"/api/v1/namespaces/team/pods":         pods,
		"/api/v1/namespaces/team/events":       events,
		"/api/v1/namespaces/team/pods/m-1/log": "fetching\nnot there\x1b[2J\n",
	}
}

func TestOneServiceInOneScreen(t *testing.T) {
	kubeconfig := cluster(t, answers())
	out, err := call(t, "m", "--kubeconfig", kubeconfig)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Empty(t, exit.Message(err), "all is said")
	golden.File(t, "testdata/failing.txt", []byte(out))

	out, err = call(t, "m", "--kubeconfig", kubeconfig, "-o", "json")
	require.Equal(t, exit.Failed, exit.Code(err))
	var s Service
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Equal(t, []string{"fetching", "not there\x1b[2J"}, s.Pods[0].Log)
}

func TestWhatMayNotBeReadHidesNothingElse(t *testing.T) {
	few := answers()
	few["/api/v1/namespaces/team/pods"], few["/api/v1/namespaces/team/events"] = forbidden, forbidden
	out, err := call(t, "m", "--kubeconfig", cluster(t, few))
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "no such object[31m. Correct the storage URI")
	require.Contains(t, out, "not shown, for lack of a right\n  list pods: you [31mmay not\n  list events: you [31mmay not\n")
	few[services+"/m"] = forbidden
	_, err = call(t, "m", "--kubeconfig", cluster(t, few))
	require.Equal(t, exit.Failed, exit.Code(err), "a server that answers is no server that cannot be reached")
}

func TestNothingOfAStatusIsObeyedByATerminal(t *testing.T) {
	hostile := answers()
	text := strings.NewReplacer("ModelLoadFailed", `Bad\u001b]0;x\u0007\u202e`, "http://m-team", `http://\u001b[2Jm`, "PredictorReady", `Predictor\u001bReady`).Replace(failing)
	hostile[services+"/m"] = text
	hostile[services] = `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceServiceList", "items": [` + text + `]}`
	kubeconfig := cluster(t, hostile)
	for _, args := range [][]string{{"m"}, {}} {
		out, err := call(t, append(args, "--kubeconfig", kubeconfig)...)
		require.Equal(t, exit.Failed, exit.Code(err))
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, out, "\u202e")
		require.Contains(t, out, "Bad]0;x")
	}
}

func TestAStatusOfAnEarlierVersionIsNotReady(t *testing.T) {
	old := answers()
	old[services] = `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceServiceList", "items": [{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService",
		"metadata": {"name": "m", "namespace": "team", "generation": 3}, "status": {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}]}}]}`
	out, err := call(t, "--kubeconfig", cluster(t, old))
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "its latest change is not looked at yet")
}

func TestALineForEachService(t *testing.T) {
	out, err := call(t, "--kubeconfig", cluster(t, answers()))
	require.Equal(t, exit.Failed, exit.Code(err))
	golden.File(t, "testdata/list.txt", []byte(out))

	none := answers()
	none[services] = `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceServiceList", "items": []}`
	out, err = call(t, "--kubeconfig", cluster(t, none))
	require.NoError(t, err)
	require.Equal(t, "no InferenceService\n", out)
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	kubeconfig := cluster(t, map[string]string{})
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"no such service": {[]string{"m"}, exit.Failed, "namespace team has no InferenceService m"},
		"no such kind":    {nil, exit.Failed, "does not know the kind InferenceService"},
		"a name and all":  {[]string{"m", "-A"}, exit.Usage, "leave out the name"},
		"negative lines":  {[]string{"m", "--lines=-1"}, exit.Usage, "must not be negative"},
		"no such file":    {[]string{"m", "--kubeconfig", "/nowhere"}, exit.Usage, "read the kubeconfig"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := call(t, append([]string{"--kubeconfig", kubeconfig}, c.args...)...)
			require.Equal(t, c.code, exit.Code(err))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// counting counts what is written.
type counting struct {
	bytes.Buffer
	writes atomic.Int32
	wrote  chan struct{}
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes.Add(1)
	defer func() { c.wrote <- struct{}{} }()
	return c.Buffer.Write(p)
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	out := &counting{wrote: make(chan struct{}, 10)}
	cmd := Command(output.Streams{In: &bytes.Buffer{}, Out: out, Err: &bytes.Buffer{}})
	cmd.SetArgs([]string{"m", "-w", "--kubeconfig", cluster(t, answers())})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	<-out.wrote
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	require.Contains(t, out.String(), "InferenceService team/m: not ready")
}
