// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
	"github.com/kserve-go/kserve-go/pkg/testkit/fakeapi"
)

// kserve runs `kserve local` with its streams kept.
func kserve(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := Command(output.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// fakeCluster is a program that behaves like the cluster binary as far as starting goes.
func fakeCluster(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kserve-cluster")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	return path
}

func TestWithoutAClusterEachCommandSaysSo(t *testing.T) {
	state := "--state=" + t.TempDir()
	for _, args := range [][]string{{"status"}, {"kubeconfig"}, {"logs"}, {"forward", "127.0.0.1:0", "10.96.0.1:443"}} {
		_, _, err := kserve(t, append(args, state, "--name=mine")...)
		require.Equal(t, exit.Unreachable, exit.Code(err), args)
		require.Contains(t, exit.Message(err), "kserve local up --name=mine "+state, args)
	}
	_, _, err := kserve(t, "kubectl", state, "get", "pods")
	require.Equal(t, exit.Unreachable, exit.Code(err))
	_, stderr, err := kserve(t, "down", state)
	require.NoError(t, err, "what does not run need not be stopped")
	require.Contains(t, stderr, `no cluster "default" runs`)
	_, _, err = kserve(t, "logs", "cluster", state)
	require.ErrorIs(t, err, errNoLog)
	_, _, err = kserve(t, "status", "--name=A B")
	require.Equal(t, exit.Usage, exit.Code(err))
}

func TestOtherClustersThatRunAreNamed(t *testing.T) {
	state := t.TempDir()
	fakeapi.New(t).AsLocal(state, "cc", "")
	_, _, err := kserve(t, "status", "--state="+state)
	require.Equal(t, exit.Unreachable, exit.Code(err))
	require.ErrorContains(t, err, "of local clusters there runs cc: --name cc")
	_, stderr, err := kserve(t, "down", "--name=nosuch", "--state="+state)
	require.NoError(t, err)
	require.Equal(t, "no cluster \"nosuch\" runs; of local clusters there runs cc: --name cc\n", stderr)
}

func TestDiscardThrowsAwayWhatAStoppedClusterLeft(t *testing.T) {
	state := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(state, "default", "etcd"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(state, "default.log"), []byte("x"), 0o600))
	_, stderr, err := kserve(t, "down", "--state="+state)
	require.NoError(t, err)
	require.Contains(t, stderr, "kept in "+filepath.Join(state, "default"))
	_, _, err = kserve(t, "down", "--discard", "--state="+state)
	require.NoError(t, err)
	left, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWhatAKilledClusterLeftIsRemovedByItsProgram(t *testing.T) {
	state := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(state, "default"), 0o700))
	limits := filepath.Join(state, "default", "limits") // names a control group
	require.NoError(t, os.WriteFile(limits, nil, 0o600))
	program := fakeCluster(t, fmt.Sprintf("[ $1 = down ] && rm %s\n", limits))
	_, _, err := kserve(t, "down", "--discard", "--state="+state, "--cluster-binary=/no/such/program")
	require.Equal(t, exit.Usage, exit.Code(err))
	require.FileExists(t, limits, "where it cannot be removed, what names it stays")
	_, stderr, err := kserve(t, "down", "--state="+state, "--cluster-binary="+program)
	require.NoError(t, err)
	require.Contains(t, stderr, `no cluster "default" runs`)
	require.NoFileExists(t, limits)
}

func TestUpSaysWhyItCannotStart(t *testing.T) {
	t.Chdir(t.TempDir())
	state := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(binaryVariable, "")
	_, _, err := kserve(t, "up", "--bare", "--state="+state)
	require.Equal(t, exit.Usage, exit.Code(err))
	require.Contains(t, exit.Message(err), "make local-cluster")

	_, _, err = kserve(t, "up", "--state="+state)
	require.Equal(t, exit.Usage, exit.Code(err))
	require.Contains(t, exit.Message(err), "make images")

	broken := fakeCluster(t, "echo '  0.10s certificates' >&2; echo 'kserve-cluster: the disk is full' >&2; exit 1\n")
	_, stderr, err := kserve(t, "up", "--bare", "--state="+state, "--cluster-binary="+broken)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, exit.Message(err), "the cluster did not start: the disk is full")
	require.Contains(t, stderr, "s certificates", "its steps are shown")

	mute := fakeCluster(t, "exit 3\n")
	t.Setenv(binaryVariable, mute)
	_, _, err = kserve(t, "up", "--bare", "--state="+state)
	require.ErrorContains(t, err, "the cluster did not start: its process ended (exit status 3) and did not say why; the last it did: nothing")

	half := fakeCluster(t, "echo '  0.10s certificates' >&2\n")
	_, _, err = kserve(t, "up", "--bare", "--state="+state, "--cluster-binary="+half)
	require.ErrorContains(t, err, "its process ended (exit status 0) and did not say why; the last it did: certificates", "a step is no reason")
}

func TestWhatIsWrongWithAStateFolderIsSaid(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink("/no/such/place", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	program := fakeCluster(t, "exit 3\n")
	cases := map[string]struct {
		state, says string
		commands    []string
	}{
		"a file":                      {"file", "a file is where a folder should be", []string{"up --bare", "status", "down", "down --discard", "kubeconfig"}},
		"below a file":                {"file/below", "a file is where a folder should be", []string{"up --bare", "status", "down", "down --discard"}},
		"a link":                      {"dangling", "a link that leads nowhere is where a folder should be", []string{"up --bare"}},
		"a link to self":              {"loop", "too many levels of symbolic links", []string{"up --bare", "status", "down", "down --discard"}},
		"a folder that takes no file": {"/proc/1", "cannot be used", []string{"up --bare"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state := c.state
			if !filepath.IsAbs(state) {
				state = filepath.Join(dir, state)
			}
			for _, command := range c.commands {
				_, _, err := kserve(t, append(strings.Fields(command), "--state="+state, "--cluster-binary="+program)...)
				require.ErrorContains(t, err, "the state folder "+state+" cannot be used: ", command)
				require.ErrorContains(t, err, c.says, command)
				require.ErrorContains(t, err, "(choose another with --state)", command)
			}
		})
	}
}

func TestAStateThatIsThrownAwayDuringAStartIsNoFaultOfTheOutput(t *testing.T) {
	state := t.TempDir()
	program := fakeCluster(t, "rm -f '"+state+"'/default.log.*\necho '  0.10s certificates' >&2; echo 'kserve-cluster: it was stopped' >&2; exit 1\n")
	_, _, err := kserve(t, "up", "--bare", "--state="+state, "--cluster-binary="+program)
	require.ErrorContains(t, err, "the cluster did not start: it was stopped")
}

func TestAStartThatIsGivenUpStopsTheCluster(t *testing.T) {
	state := t.TempDir()
	ended := filepath.Join(state, "ended")
	slow := fakeCluster(t, fmt.Sprintf("trap 'touch %s; exit 0' TERM\necho '  0.10s certificates' >&2\nwhile :; do sleep 0.05; done\n", ended))
	ctx, cancel := context.WithCancel(t.Context())
	p, err := record.At(state, "default")
	require.NoError(t, err)
	s := starter{place: p, program: slow, say: newSteps(&bytes.Buffer{}), began: cancel}
	_, err = s.start(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { _, err := os.Stat(ended); return err == nil }, 20*time.Second, 10*time.Millisecond)
}

func TestAReadyLineIsTakenAndTheClusterLivesOn(t *testing.T) {
	state := t.TempDir()
	goOn := filepath.Join(state, "go-on")
	program := fakeCluster(t, fmt.Sprintf(`echo "args $*" >&2; echo '  0.10s etcd' >&2
echo 'ready {"name":"default","kubeconfig":"/k","apiServer":"https://127.0.0.1:1","gateway":"http://127.0.0.1:2","pid":7,"notEnforced":["cpu limits"]}'
while [ ! -e %s ]; do sleep 0.05; done; echo "after the start" >&2
`, goOn))
	out, stderr, err := kserve(t, "up", "--bare", "--fresh", "--cluster-flag=--v=3", "--state="+state, "--cluster-binary="+program)
	require.NoError(t, err)
	require.Contains(t, stderr, "s etcd")
	for _, what := range []string{"/k", "https://127.0.0.1:1", "http://127.0.0.1:2", "cpu limits", "kserve local kubectl --state=" + state + " get nodes"} {
		require.Contains(t, out, what)
	}
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	log := filepath.Join(state, "default.log")
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(b), "after the start")
	}, 20*time.Second, 10*time.Millisecond, "its output has a place after kserve has ended")
	text, _, err := kserve(t, "logs", "cluster", "--state="+state)
	require.NoError(t, err)
	require.Contains(t, text, "args up --name=default --state="+state+" --v=3 --fresh")
}

func TestALogIsShownAsFarAsAnybodyReads(t *testing.T) {
	root := t.TempDir()
	state, log := "--state="+root, filepath.Join(root, "default.log")
	require.NoError(t, os.WriteFile(log, []byte("first\n"), 0o600))
	require.NoError(t, os.Truncate(log, maxLog+100))
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("\nsecond\nthird\n")
	require.NoError(t, errors.Join(err, f.Close()))
	for tail, want := range map[string]string{"1": "third\n", "2": "second\nthird\n", "-1": "second\nthird\n"} {
		text, _, err := kserve(t, "logs", "cluster", "--tail="+tail, state)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	require.NoError(t, os.Remove(log))
	require.NoError(t, syscall.Mkfifo(log, 0o600))
	_, _, err = kserve(t, "logs", "cluster", state)
	require.ErrorContains(t, err, "is no file")
}

// onlyOne is a cluster that holds its lock as the real one does.
const onlyOne = `exec 9<>"${3#--state=}/default.lock"
flock -n 9 || { echo 'kserve-cluster: a cluster of this name is running' >&2; exit 1; }
echo $$ >&9
echo '  0.10s etcd' >&2
sleep 0.3 # a start takes its time
r="{\"name\":\"default\",\"kubeconfig\":\"/k\",\"pid\":$$}"
mkdir -p "${3#--state=}/default"
echo "$r" > "${3#--state=}/default/ready.json"
echo "ready $r"
while [ ! -e "${3#--state=}/end" ]; do sleep 0.05; done
`

func TestSeveralStartsAtOnceStartOneCluster(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("this machine has no program flock, which the stand-in for a cluster needs")
	}
	state, program := t.TempDir(), fakeCluster(t, onlyOne)
	end := func() error { return os.WriteFile(filepath.Join(state, "end"), nil, 0o600) }
	t.Cleanup(func() { _ = end() }) // the stand-in ends however the test does
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			_, stderr, err := kserve(t, "up", "--bare", "--state="+state, "--cluster-binary="+program)
			if err != nil {
				return fmt.Errorf("%w\n%s", err, stderr)
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	p, err := record.At(state, "default")
	require.NoError(t, err)
	_, err = p.Running()
	require.NoError(t, err)
	require.ErrorIs(t, p.Remove(), record.ErrInUse, "what runs is not thrown away")
	left, err := filepath.Glob(p.Output() + ".*")
	require.NoError(t, err)
	require.Empty(t, left, "what the others printed is not kept")
	require.NoError(t, end())
	require.NoError(t, p.WaitFree(t.Context()))
}

func TestOurFlagsComeBeforeKubectlsOwn(t *testing.T) {
	cases := map[string]struct {
		args, rest  []string
		name, state string
	}{
		"none":                  {[]string{"get", "pods", "--name=x"}, []string{"get", "pods", "--name=x"}, "default", ""},
		"with a sign":           {[]string{"--name=a", "--state=/s", "get"}, []string{"get"}, "a", "/s"},
		"with a blank":          {[]string{"--state", "/s", "--name", "a", "get"}, []string{"get"}, "a", "/s"},
		"kubectl's before ours": {[]string{"-n", "kserve", "--name=a"}, []string{"-n", "kserve", "--name=a"}, "default", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			target := Target{Name: "default"}
			rest, err := target.own(c.args)
			require.NoError(t, err)
			require.Equal(t, c.rest, rest)
			require.Equal(t, c.name, target.Name)
			require.Equal(t, c.state, target.State)
		})
	}
	_, err := (&Target{}).own([]string{"--name"})
	require.Equal(t, exit.Usage, exit.Code(err))
}

// layout is an image layout as far as its index.
func layout(t *testing.T, dir, name, digest string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name, "index.json"), []byte(`{"manifests": [{"digest": "`+digest+`"}]}`), 0o600))
}

func TestImagesAreFoundByTheirFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range needed() {
		layout(t, dir, name, "sha256:"+name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	images, err := layouts(dir)
	require.NoError(t, err)
	require.Len(t, images, len(needed()))
	digest, ok := digestOf(images, "kserve-go/webhook:latest")
	require.True(t, ok)
	require.Equal(t, "sha256:webhook", digest)

	mine := `{"manifests":[{"digest":"sha256:mine","annotations":{"org.opencontainers.image.ref.name":"kserve-go/mine:dev"}}]}`
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "mine"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine", "index.json"), []byte(mine), 0o600))
	images, err = layouts(dir)
	require.NoError(t, err)
	for _, ref := range []string{"kserve-go/mine:latest", "kserve-go/mine:dev"} {
		digest, ok := digestOf(images, ref)
		require.True(t, ok, ref)
		require.Equal(t, "sha256:mine", digest)
	}

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "webhook")))
	_, err = layouts(dir)
	require.ErrorContains(t, err, "has no image layout of webhook")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "webhook"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "webhook", "index.json"), []byte(`{}`), 0o600))
	_, err = layouts(dir)
	require.ErrorContains(t, err, "holds no image")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "webhook", "index.json"), []byte(`{`), 0o600))
	_, err = layouts(dir)
	require.ErrorContains(t, err, "read image layout")
}

func TestWhatIsInstalled(t *testing.T) {
	objects, err := deploy.Objects(deploy.Options{Folder: deploy.Local})
	require.NoError(t, err)
	more, err := sampleObjects()
	require.NoError(t, err)
	images := []loaded{{Ref: "kserve-go/controller:latest", Digest: "sha256:c"}, {Ref: samplesImage, Digest: "sha256:k"}}
	all := append(objects, more...)
	stamp(all, images)
	stages := split(all)
	count := 0
	position := map[string]int{}
	for n, s := range stages {
		for _, o := range s.objects {
			count++
			position[o.GetKind()+"/"+o.GetName()] = n
		}
	}
	require.Equal(t, len(all), count, "nothing is left out")
	require.Less(t, position["CustomResourceDefinition/inferenceservices.serving.kserve.io"], position["ClusterServingRuntime/kserve-sklearnserver"])
	require.Less(t, position["Deployment/kserve-webhook-server"], position["ClusterServingRuntime/kserve-sklearnserver"], "the webhook that judges runtimes may have to be mended first")
	require.Less(t, position["ClusterServingRuntime/kserve-sklearnserver"], position["ValidatingWebhookConfiguration/inferenceservice.serving.kserve.io"])
	require.Contains(t, position, "ServiceAccount/default")
	require.Len(t, deployments(stages), 3)
	for _, d := range deployments(stages) {
		got, _, err := unstructured.NestedString(d.Object, "spec", "template", "metadata", "annotations", imageAnnotation)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"kserve-controller-manager": "sha256:c", "s3": "sha256:k", "kserve-webhook-server": ""}[d.GetName()], got)
	}
	for _, o := range all {
		if o.GetKind() == "CustomResourceDefinition" {
			resource, err := resourceOf(o)
			require.NoError(t, err)
			require.Equal(t, o.GetName(), resource.Resource+"."+resource.Group)
		}
	}
}

func TestMinimalKindsAreTheSameKinds(t *testing.T) {
	names := func(o deploy.Options) map[string]int {
		objects, err := deploy.Objects(o)
		require.NoError(t, err)
		found := map[string]int{}
		for _, u := range objects {
			raw, err := u.MarshalJSON()
			require.NoError(t, err)
			if u.GetKind() == "CustomResourceDefinition" {
				resource, err := resourceOf(u)
				require.NoError(t, err)
				found[resource.String()] = len(raw)
			}
		}
		return found
	}
	full, minimal := names(deploy.Options{Folder: deploy.Local}), names(deploy.Options{Folder: deploy.Local, MinimalKinds: true})
	require.Len(t, minimal, len(full))
	for kind := range full {
		require.Contains(t, minimal, kind)
		require.Less(t, minimal[kind], 200_000, "kubectl apply keeps a copy in an annotation, which may have 256 KiB")
	}
}

func TestTheLocalSettingsAreGoodOnes(t *testing.T) {
	for folder, gateway := range map[string]bool{deploy.Local: false, deploy.LocalGateway: true} {
		objects, err := deploy.Objects(deploy.Options{Folder: folder, MinimalKinds: true})
		require.NoError(t, err)
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ConfigMap" })
		require.Positive(t, i, "settings are installed")
		data, _, err := unstructured.NestedStringMap(objects[i].Object, "data")
		require.NoError(t, err)
		s, err := settings.Parse(data)
		require.NoError(t, err)
		require.Equal(t, serving.Standard, s.Deploy.DefaultMode)
		require.Equal(t, "kserve-local", *s.Ingress.ClassName)
		require.Equal(t, "localhost", s.Ingress.Domain)
		require.Equal(t, gateway, s.Ingress.EnableGatewayAPI)
		require.Equal(t, gateway, routesByGateway(objects[i]))
		gateways := slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "Gateway" && o.GetNamespace()+"/"+o.GetName() == s.Ingress.KServeGateway
		})
		require.Equal(t, gateway, gateways, "the Gateway that the settings name")
	}
}

func TestWhenADeploymentIsRolledOut(t *testing.T) {
	cases := map[string]struct {
		status string
		want   bool
	}{
		"new":                       {`{}`, false},
		"the spec was not seen":     {`{observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}`, false},
		"an old pod is still there": {`{observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1}`, false},
		"not available":             {`{observedGeneration: 2, replicas: 1, updatedReplicas: 1}`, false},
		"done":                      {`{observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1}`, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := yaml.YAMLToJSON([]byte("{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, generation: 2}, spec: {replicas: 1}, status: " + c.status + "}"))
			require.NoError(t, err)
			d := &unstructured.Unstructured{}
			require.NoError(t, d.UnmarshalJSON(raw))
			require.Equal(t, c.want, rolledOut(d))
		})
	}
}

func TestTheEndOfALog(t *testing.T) {
	for n, want := range map[int]string{-1: "a\nb\nc\n", 0: "", 1: "c\n", 2: "b\nc\n", 3: "a\nb\nc\n", 9: "a\nb\nc\n"} {
		require.Equal(t, want, string(lastLines([]byte("a\nb\nc\n"), n)), n)
	}
}

func TestAPortAloneIsOfThisMachine(t *testing.T) {
	for address, want := range map[string]string{"9000": "127.0.0.1:9000", "0": "127.0.0.1:0", ":9000": ":9000", "localhost:9000": "localhost:9000", "99999": "99999", "x": "x"} {
		require.Equal(t, want, onThisMachine(address))
	}
}

func TestAListReadsAsASentence(t *testing.T) {
	require.Equal(t, "", list(nil))
	require.Equal(t, "a", list([]string{"a"}))
	require.Equal(t, "a and b", list([]string{"a", "b"}))
	require.Equal(t, "a, b and c", list([]string{"a", "b", "c"}))
}

func TestASignalToUsReachesTheClustersProgram(t *testing.T) {
	state := t.TempDir()
	began, ended := filepath.Join(state, "began"), filepath.Join(state, "ended")
	program := fakeCluster(t, fmt.Sprintf("trap 'touch %s; exit 0' TERM\ntouch %s\nwhile :; do sleep 0.05; done\n", ended, began))
	target := Target{Name: "default", State: state, Binary: program}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- target.call(ctx, output.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, "forward")
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(began); return err == nil }, 20*time.Second, 10*time.Millisecond)
	cancel()
	require.Equal(t, exit.Failed, exit.Code(<-done))
	require.FileExists(t, ended)
}
