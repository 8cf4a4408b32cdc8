// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/testkit/fakeapi"
)

func isvc(name, status string) string {
	return fmt.Sprintf("{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: %s, namespace: team}, status: %s}", name, status)
}

func TestStatusSaysOfAServiceWhatKserveStatusSays(t *testing.T) {
	bad := `{conditions: [{type: IngressReady, status: "False", reason: Waits, message: the predictor is not ready}, {type: PredictorReady, status: "False", reason: Bad, message: no bucket}, {type: Ready, status: "False", reason: Bad, message: no bucket}]}`
	api := fakeapi.New(t, isvc("iris", bad), isvc("good", `{conditions: [{type: Ready, status: "True"}], canaryStatuses: [{name: v2, trafficPercent: 20, weight: 5, ready: true}]}`),
		`{apiVersion: v1, kind: Pod, metadata: {name: iris-1, namespace: team, labels: {serving.kserve.io/inferenceservice: iris}},
			status: {containerStatuses: [{name: kserve-container, state: {terminated: {exitCode: 1}}}]}}`)
	api.Log("team/iris-1", "no key\n")
	root := t.TempDir()
	api.AsLocal(root, "mine", "")
	out, _, err := kserve(t, "status", "--state="+root, "--name=mine")
	require.NoError(t, err)
	for _, want := range []string{"InferenceService team/iris: not ready", "  Bad: no bucket", "last lines of iris-1, container kserve-container", "  no key", "v2 5% of 20%"} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "the predictor is not ready")
	require.Equal(t, 1, strings.Count(out, "no bucket"), "a table has the reason of what is told in full below: %s", out)

	out, _, err = kserve(t, "status", "--state="+root, "--name=mine", "-o", "json")
	require.NoError(t, err)
	var s Status
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Equal(t, "Bad", s.Services[1].Reason)
	require.Equal(t, "no bucket", s.Services[1].Message)

	api.Put(isvc("b", bad), isvc("c", bad), isvc("d", bad))
	out, _, err = kserve(t, "status", "--state="+root, "--name=mine")
	require.NoError(t, err)
	require.Equal(t, shownInFull, strings.Count(out, ": not ready"))
	require.Contains(t, out, "of the others that are not ready: kserve status NAME -n NAMESPACE --kubeconfig "+root)
}

func TestLogsOfAServiceWithoutPodsSayWhyThereAreNone(t *testing.T) {
	api := fakeapi.New(t, isvc("stopped", `{conditions: [{type: Ready, status: "False", reason: Stopped, message: the service is stopped}]}`), isvc("idle", `{conditions: [{type: Ready, status: "True"}]}`))
	root := t.TempDir()
	api.AsLocal(root, "mine", "")
	_, _, err := kserve(t, "logs", "contoller", "-n", "team", "--state="+root, "--name=mine")
	require.Equal(t, exit.Failed, exit.Code(err))
	require.ErrorContains(t, err, `namespace team has no pod and no InferenceService contoller; did you mean "controller"?`)
	for name, why := range map[string]string{"stopped": "Stopped: the service is stopped", "idle": "scaled to zero"} {
		_, _, err := kserve(t, "logs", name, "-n", "team", "--state="+root, "--name=mine")
		require.Equal(t, exit.Failed, exit.Code(err))
		require.ErrorContains(t, err, "InferenceService team/"+name+" has no pod, so there is no log: ")
		require.ErrorContains(t, err, why)
	}
}

func TestWhosePodALogIsReadOf(t *testing.T) {
	pod := func(name, service string, ready bool) live.Pod {
		return live.Pod{Name: name, Ready: ready, Labels: map[string]string{serviceLabel: service}}
	}
	pods := []live.Pod{pod("iris-1", "iris", true), pod("iris-2", "iris", false), pod("iris-3", "iris", false), pod("wine-1", "wine", true), pod("plain", "", true)}
	cases := map[string]struct{ name, want string }{
		"a pod":                           {"iris-1", "iris-1"},
		"a pod of nobody":                 {"plain", "plain"},
		"a service whose pods serve":      {"wine", "wine-1"},
		"a service with a pod that waits": {"iris", "iris-2"},
		"neither":                         {"rose", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, ok := podFor(pods, c.name)
			require.Equal(t, c.want, found.Name)
			require.Equal(t, c.want != "", ok)
		})
	}
}
