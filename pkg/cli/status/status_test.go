// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/fakeapi"
	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

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
	failing  = `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "m", "namespace": "team", "uid": "m2", "generation": 2}, "status": {
		"observedGeneration": 2, "deploymentMode": "Standard", "clusterServingRuntimeName": "kserve-sklearnserver", "url": "http://m-team.example.com",
		"modelStatus": {"transitionStatus": "BlockedByFailedLoad", "states": {"activeModelState": "", "targetModelState": "FailedToLoad"}, "copies": {"failedCopies": 1}},
		"conditions": [
			{"type": "IngressReady", "status": "False", "reason": "Predictor ingress not created", "message": "the predictor is not ready"},
			{"type": "PredictorReady", "status": "False", "reason": "ModelLoadFailed", "message": "no such object\u001b[31m. Correct the storage URI"},
			{"type": "Ready", "status": "False", "reason": "ModelLoadFailed", "message": "no such object\u001b[31m. Correct the storage URI"},
			{"type": "Stopped", "status": "False", "severity": "Info"}]}}`
	pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "m-1", "namespace": "team", "uid": "p2", "labels": {"serving.kserve.io/inferenceservice": "m"}}, "spec": {"nodeName": "n1"}, "status": {"phase": "Pending",
		"initContainerStatuses": [{"name": "storage-initializer", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}],
		"containerStatuses": [{"name": "kserve-container", "state": {"waiting": {"reason": "PodInitializing"}}}]}}`
	events = `{apiVersion: v1, kind: Event, type: Warning, metadata: {name: a, namespace: team}, involvedObject: {kind: Pod, name: m-1, uid: p2}, message: Back-off restarting, lastTimestamp: "2026-01-01T00:00:00Z"}
---
{apiVersion: v1, kind: Event, type: Warning, metadata: {name: b, namespace: team}, involvedObject: {kind: Pod, name: other}, message: not ours, lastTimestamp: "2026-01-01T00:00:01Z"}
---
{apiVersion: v1, kind: Event, type: Warning, metadata: {name: c, namespace: team}, involvedObject: {kind: InferenceService, name: m, uid: m1}, message: of a namesake that is gone, lastTimestamp: "2026-01-01T00:00:02Z"}`
)

// cluster has a service that fails, its pod, what that logged, and events.
func cluster(t *testing.T) *fakeapi.Server {
	t.Helper()
	s := fakeapi.New(t, failing, pod, events)
	s.Log("team/m-1", "fetching\nnot there\x1b[2J\n")
	return s
}

func TestOneServiceInOneScreen(t *testing.T) {
	kubeconfig := cluster(t).Kubeconfig()
	out, err := call(t, "m", "--kubeconfig", kubeconfig)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Empty(t, exit.Message(err), "all is said")
	golden.File(t, "testdata/failing.txt", regexp.MustCompile(`(?m)^  \d+d `).ReplaceAll([]byte(out), []byte("  AGE ")))

	out, err = call(t, "m", "--kubeconfig", kubeconfig, "-o", "json")
	require.Equal(t, exit.Failed, exit.Code(err))
	var s Service
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	require.Equal(t, []string{"fetching", "not there\x1b[2J"}, s.Pods[0].Log)
}

func TestWhatMayNotBeReadHidesNothingElse(t *testing.T) {
	api := cluster(t)
	api.Refuse(http.StatusForbidden, fakeapi.Path("/team/pods"))
	api.Refuse(http.StatusForbidden, fakeapi.Path("/team/events"))
	kubeconfig := api.Kubeconfig()
	out, err := call(t, "m", "--kubeconfig", kubeconfig)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "no such object[31m. Correct the storage URI")
	require.Contains(t, out, "not shown\n  list pods: no[2J\n  list events: no[2J\n")
	api.Refuse(http.StatusForbidden, fakeapi.Path("inferenceservices"))
	_, err = call(t, "m", "--kubeconfig", kubeconfig)
	require.Equal(t, exit.Failed, exit.Code(err), "a server that answers is no server that cannot be reached")
}

func TestNothingOfAStatusIsObeyedByATerminal(t *testing.T) {
	kubeconfig := fakeapi.New(t, strings.NewReplacer("ModelLoadFailed", `Bad\u001b]0;x\u0007\u202e`, "http://m-team", `http://\u001b[2Jm`, "PredictorReady", `Predictor\u001bReady`,
		`"modelStatus": {`, `"canaryStatuses": [{"name": "v\u001b2", "reason": "R\u001b", "message": "\u202em"}], "modelStatus": {`).Replace(failing)).Kubeconfig()
	for _, args := range [][]string{{"m"}, {}} {
		out, err := call(t, append(args, "--kubeconfig", kubeconfig)...)
		require.Equal(t, exit.Failed, exit.Code(err))
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, out, "\u202e")
		require.Contains(t, out, "Bad]0;x")
		require.Contains(t, out, "v2")
	}
}

func TestAStatusOfAnEarlierVersionIsNotReady(t *testing.T) {
	api := fakeapi.New(t, `{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: m, namespace: team, generation: 3},
		status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`)
	out, err := call(t, "--kubeconfig", api.Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "its latest change is not looked at yet")
}

func TestALineForEachService(t *testing.T) {
	out, err := call(t, "--kubeconfig", cluster(t).Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	golden.File(t, "testdata/list.txt", []byte(out))

	out, err = call(t, "--kubeconfig", fakeapi.New(t).Kubeconfig())
	require.NoError(t, err)
	require.Equal(t, "no InferenceService\n", out)
}

func TestCanariesAreShownWithWhatTheyGet(t *testing.T) {
	api := fakeapi.New(t, `
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m, namespace: team}
status:
  conditions:
  - {type: Ready, status: "True"}
  - {type: CanaryPredictorReady, status: "False", severity: Info, reason: CanaryRolledBack, message: "canary predictor v2: rolled back"}
  canaryStatuses:
  - name: v2
    ready: true
    trafficPercent: 20
    weight: 0
    reason: CanaryRolledBack
    message: "rolled back after 3 failed looks in a row: success-rate is 93.1%"
    analysis:
      verdict: RolledBack
      failures: 3
      message: "rolled back after 3 failed looks in a row: success-rate is 93.1%"
      measurements: [{name: success-rate, value: "93.1", wanted: at least 99%}, {name: latency, value: 12ms, wanted: at most 300ms, passed: true}]
  - {name: v3, ready: true, trafficPercent: 10, weight: 4, analysis: {verdict: Failing, failures: 2}}
  - {name: dark, shadowPercent: 100, modelStatus: {lastFailureInfo: {reason: ModelLoadFailed, message: no bucket}}}
`)
	kubeconfig := api.Kubeconfig()
	out, err := call(t, "m", "--kubeconfig", kubeconfig)
	require.NoError(t, err, "nothing about a canary makes the service unready")
	golden.File(t, "testdata/canaries.txt", []byte(out))
	out, err = call(t, "--kubeconfig", kubeconfig)
	require.NoError(t, err)
	golden.File(t, "testdata/canaries-list.txt", []byte(out))
}

func TestAStrangeStatusIsShownAsFarAsItIsKnown(t *testing.T) {
	api := fakeapi.New(t, `{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: m, namespace: team}, status: {conditions: [{type: Ready, status: "False", reason: 7, message: no bucket}]}}`)
	out, err := call(t, "m", "--kubeconfig", api.Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "no bucket")
	require.Contains(t, out, "not shown\n  the status in full")
}

func TestAHugeStatusFillsNoScreen(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	api := fakeapi.New(t, fmt.Sprintf(`{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "m", "namespace": "team"}, "status": {"url": %q,
		"canaryStatuses": [{"name": "c", "reason": "R", "message": %q}],
		"conditions": [{"type": "PredictorReady", "status": "False", "reason": "A", "message": %q}, {"type": "Ready", "status": "False", "reason": %q}]}}`, huge, huge, huge, huge))
	for _, args := range [][]string{{"m"}, {}} {
		out, err := call(t, append(args, "--kubeconfig", api.Kubeconfig())...)
		require.Equal(t, exit.Failed, exit.Code(err))
		require.Less(t, len(out), 16<<10)
		require.Contains(t, out, "bytes more)")
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	api := fakeapi.New(t)
	api.Lacks("inferenceservices")
	kubeconfig := api.Kubeconfig()
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"no such service": {[]string{"m"}, exit.Failed, "namespace team has no InferenceService m"},
		"no such kind":    {nil, exit.Failed, "does not know the kind InferenceService"},
		"a name and all":  {[]string{"m", "-A"}, exit.Usage, "leave out the name"},
		"negative lines":  {[]string{"m", "--lines=-1"}, exit.Usage, "must not be negative"},
		"no such file":    {[]string{"m", "--kubeconfig", "/nowhere"}, exit.Usage, "/nowhere"},
		"no such context": {[]string{"m", "--context", "none"}, exit.Usage, `"none"`},
		"another context": {[]string{"m", "--context", "away"}, exit.Unreachable, "127.0.0.1:1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := call(t, append([]string{"--kubeconfig", kubeconfig}, c.args...)...)
			require.Equal(t, c.code, exit.Code(err))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// written is what a command prints, each piece as it comes.
type written chan string

func (w written) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// until waits for a piece that holds a text.
func (w written) until(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case got := <-w:
			if strings.Contains(got, text) {
				return
			}
		case <-deadline:
			t.Fatalf("%q was not printed", text)
		}
	}
}

// follows runs status -w; end ends it.
func follows(t *testing.T, args ...string) (out, errs written, end func()) {
	t.Helper()
	out, errs = make(written, 100), make(written, 100)
	cmd := Command(output.Streams{In: &bytes.Buffer{}, Out: out, Err: errs})
	cmd.SetArgs(append(args, "-w"))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	return out, errs, func() {
		t.Helper()
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatal("it goes on")
		}
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	out, _, end := follows(t, "m", "--kubeconfig", cluster(t).Kubeconfig())
	out.until(t, "InferenceService team/m: not ready")
	end()
}

func TestFollowingOutlivesTheDeathOfTheAPIServer(t *testing.T) {
	for name, args := range map[string][]string{"one service": {"m"}, "all services": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := cluster(t)
			out, errs, end := follows(t, append(args, "--kubeconfig", api.Kubeconfig())...)
			out.until(t, "ModelLoadFailed")
			api.Stop()
			errs.until(t, "connection refused; still looking")
			api.Put(strings.ReplaceAll(failing, "no such object", "no such bucket"))
			api.Start()
			out.until(t, "no such bucket")
			api.Put(strings.ReplaceAll(failing, "no such object", "no such key"))
			out.until(t, "no such key")
			require.Empty(t, errs, "one death is told once")

			api.Stop()
			errs.until(t, "still looking")
			api.Start()
			errs.until(t, "answers again")
			end()
			require.Empty(t, out, "what has not changed is not printed again")
		})
	}
}

func TestOneSentenceOfAKubeletIsToldOnce(t *testing.T) {
	const pull = `image "x:dev": no such image here; load it with the command that loads images and look at the list of those that there are`
	s := &Service{Namespace: "team", Name: "m", Status: &servingv1beta1.InferenceServiceStatus{}}
	s.Causes = []live.Cause{{Reason: "ImagePullBackOff", Message: `image "x:dev" of container c cannot be pulled: ` + pull + ". The pull is tried again; check the image's name"}}
	s.Pods = []Pod{
		{Pod: live.Pod{Name: "m-1", State: `ImagePullBackOff: Back-off pulling image "x:dev": ErrImagePull: ` + pull}},
		{Pod: live.Pod{Name: "m-2", State: "Unschedulable: no node has room for one more pod"}},
		{Pod: live.Pod{Name: "m-3", State: "Unschedulable: no node has room for one more pod"}},
	}
	s.Warnings = []live.Warning{
		{About: "Pod m-1", Message: `Failed to pull image "x:dev": ` + pull},
		{About: "Pod m-1", Message: "Back-off restarting failed container c"},
		{About: "InferenceService m", Message: "predictor: " + s.Causes[0].Message},
		{About: "Pod m-2", Message: "Readiness probe failed: HTTP probe failed with statuscode: 503"},
		{About: "Pod m-3", Message: "Liveness probe failed: HTTP probe failed with statuscode: 503"},
		{About: "InferenceService m", Message: "predictor: Liveness probe failed: HTTP probe failed with statuscode: 503"},
	}
	out, err := s.text(output.Paint{})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "no such image"), out)
	require.Equal(t, 1, strings.Count(out, "no node has room"), out)
	require.Equal(t, 1, strings.Count(out, "Readiness probe"), out)
	require.Equal(t, 1, strings.Count(out, "Liveness probe"), "it is another thing, in nearly the same words: %s", out)
	for _, line := range []string{`m-1 +no +0 +- +ImagePullBackOff\n`, `m-3 +no +0 +- +Unschedulable\n`, `Pod m-1: Back-off restarting failed container c\n`} {
		require.Regexp(t, line, out)
	}
}

func TestWarningsHaveAgesAndEarlierOnesAreToldApart(t *testing.T) {
	now := time.Now()
	s := &Service{Namespace: "team", Name: "m", Status: &servingv1beta1.InferenceServiceStatus{}, now: now}
	s.Status.Conditions = []serving.Condition{{Type: serving.ConditionReady, Status: "False", LastTransitionTime: metav1.NewTime(now.Add(-10 * time.Minute))}}
	s.Warnings = []live.Warning{
		{Time: now.Add(-3 * time.Minute), About: "Pod m-1", Message: "goes on"},
		{Time: now.Add(-10*time.Minute - time.Second), About: "Pod m-1", Message: "began it"},
		{Time: now.Add(-30 * time.Minute), About: "Pod m-1", Message: "was settled"},
	}
	out, err := s.text(output.Paint{})
	require.NoError(t, err)
	require.Regexp(t, `latest warnings\n  3m +Pod m-1: goes on\n  10m +Pod m-1: began it\n\nearlier warnings, from before its readiness changed\n  30m +Pod m-1: was settled\n$`, out)
}

func TestAServiceWithoutAControllerIsToldSo(t *testing.T) {
	const service = `{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: m, namespace: team}, status: {conditions: [{type: Ready, status: "False", message: being started}]}}`
	controller := func(status string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: kserve-controller-manager, namespace: kserve}, spec: {replicas: 2}, status: ` + status + `}`
	}
	const down = "why\n  the controller does not run (Deployment kserve/kserve-controller-manager: 0 of 2 pods are ready)"
	out, err := call(t, "m", "--kubeconfig", fakeapi.New(t, service, controller("{}")).Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, down)
	require.Contains(t, out, "being started")
	for name, objects := range map[string][]string{
		"it runs":                      {service, controller("{readyReplicas: 1}")},
		"it is somewhere else":         {service},
		"the service has what it asks": {strings.Replace(service, `"False"`, `"True"`, 1), controller("{}")},
	} {
		out, _ := call(t, "m", "--kubeconfig", fakeapi.New(t, objects...).Kubeconfig())
		require.NotContains(t, out, "controller", name)
	}
	hidden := fakeapi.New(t, service, controller("{}"))
	hidden.Refuse(http.StatusForbidden, fakeapi.Path("/kserve/deployments"))
	out, _ = call(t, "m", "--kubeconfig", hidden.Kubeconfig())
	require.Contains(t, out, "being started")
	require.NotContains(t, out, "controller")
}

func TestAGraphOfTheNameIsSeen(t *testing.T) {
	api := fakeapi.New(t, `{apiVersion: serving.kserve.io/v1alpha1, kind: InferenceGraph, metadata: {name: g, namespace: team}}`,
		`{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: there, namespace: other}}`,
		`{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: here, namespace: team}}`)
	for name, want := range map[string]string{
		"g":     "namespace team has no InferenceService g, but an InferenceGraph of that name: InferenceGraphs are not served in a cluster by this version",
		"there": "namespace team has no InferenceService there; there is one in other (-n other)",
		"none":  "namespace team has no InferenceService none; there: here",
	} {
		_, err := call(t, name, "--kubeconfig", api.Kubeconfig())
		require.Equal(t, exit.Failed, exit.Code(err))
		require.ErrorContains(t, err, want)
	}
}

func TestTheMerePassingOfTimeIsNoChange(t *testing.T) {
	hour := time.Now().Add(-time.Hour)
	s := &Service{now: hour.Add(time.Minute), Status: &servingv1beta1.InferenceServiceStatus{}}
	s.Status.Conditions = []serving.Condition{{Type: serving.ConditionReady, LastTransitionTime: metav1.NewTime(hour)}}
	before, err := s.ageless().text(output.Paint{})
	require.NoError(t, err)
	s.now = s.now.Add(time.Minute)
	after, err := s.ageless().text(output.Paint{})
	require.NoError(t, err)
	require.Equal(t, before, after)
	l := Lines{{Age: "5s"}}
	require.Equal(t, Lines{{}}, l.ageless())
	require.Equal(t, "5s", l[0].Age)
}
