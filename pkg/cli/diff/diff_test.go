// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/fakeapi"
)

const pageOfServices = 50

// cluster has services and a runtime and nothing else, and takes no writes. A real API server does not refuse at will and does not tell what it
// was asked; test/apiserver has one.
func cluster(t *testing.T, services int, more ...string) *fakeapi.Server {
	t.Helper()
	api := fakeapi.New(t, more...)
	for i := range services {
		api.Put(service(fmt.Sprintf("m%03d", i), ""))
	}
	api.Put(`{apiVersion: serving.kserve.io/v1alpha1, kind: ClusterServingRuntime, metadata: {name: sk},
		spec: {supportedModelFormats: [{name: sklearn, autoSelect: true}], containers: [{name: kserve-container, image: i}]}}`)
	return api
}

func service(name, message string) string {
	return fmt.Sprintf(`{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": %q, "namespace": "team", "uid": %q,
		"annotations": {"serving.kserve.io/deploymentMode": "Standard"}}, "spec": {"predictor": {"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://b/m"}}},
		"status": {"conditions": [{"type": "Ready", "status": "False", "message": %q}]}}`, name, name, message)
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
	api := cluster(t, 40)
	api.Refuse(http.StatusForbidden, fakeapi.Writes)
	out, err := call(t, "--kubeconfig", api.Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "40 compared")
	asked := api.Asked()
	require.NotZero(t, asked["GET /apis/apps/v1/namespaces/team/deployments"])
	for what, n := range asked {
		if what[strings.LastIndexByte(what, '/')+1:] == "deployments" || !strings.Contains(what, "predictor") && strings.HasPrefix(what, "GET") {
			require.Equal(t, 1, n, what)
		}
	}
}

func TestNothingThatAServerSaysIsObeyedByATerminal(t *testing.T) {
	api := cluster(t, 1)
	api.Refuse(http.StatusForbidden, fakeapi.Writes)
	out, err := call(t, "--kubeconfig", api.Kubeconfig())
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, out, "fail Deployment m000-predictor: no[2J")
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
			api := cluster(t, 1)
			api.Refuse(c.status, fakeapi.Path(c.deny))
			_, err := call(t, "--kubeconfig", api.Kubeconfig())
			require.Equal(t, c.code, exit.Code(err), "%v", err)
			_, err = call(t, "--kubeconfig", api.Kubeconfig(), "--exit-code")
			require.Equal(t, exit.Unreachable, exit.Code(err), "1 is a difference there: %v", err)
		})
	}
}

func TestADeathInTheMiddleIsAnErrorAndNoDifference(t *testing.T) {
	for name, c := range map[string]struct {
		at  func(r *http.Request, n int) bool
		say string
	}{
		"while services are read": {func(r *http.Request, n int) bool {
			return n == 2 && strings.HasSuffix(r.URL.Path, "/inferenceservices")
		}, "list InferenceServices"},
		"while services are compared": {func(r *http.Request, _ int) bool { return strings.Contains(r.URL.Path, "deployments/m003-predictor") }, "compare team/m003, with 3 compared before: "},
	} {
		for _, format := range []string{"table", "json"} {
			t.Run(name+" "+format, func(t *testing.T) {
				api := cluster(t, 120)
				lists := 0
				api.Before(func(r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/inferenceservices") {
						lists++
					}
					if c.at(r, lists) {
						api.Stop()
					}
				})
				out, err := call(t, "--kubeconfig", api.Kubeconfig(), "--exit-code", "-o", format)
				require.Equal(t, exit.Unreachable, exit.Code(err), "%v", err)
				require.ErrorContains(t, err, c.say)
				require.NotContains(t, out, "120 compared")
				if format == "json" {
					require.Empty(t, out, "half an answer is none")
				}
			})
		}
	}
}

func TestManyServicesWithHugeStatusesAreReadInPagesAndNotKept(t *testing.T) {
	const services = 60
	api := cluster(t, 0, `{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: other, namespace: other}}`)
	huge := strings.Repeat("x", 1<<20)
	for i := range services {
		api.Put(service(fmt.Sprintf("m%03d", i), huge))
	}
	config, _, err := live.Config(api.Kubeconfig(), "")
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	o := Options{System: "kserve"}
	w, err := open(t.Context(), client, o, fakeapi.Namespace, output.Streams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	require.NoError(t, err)
	seen, most := 0, 0
	require.NoError(t, w.each(t.Context(), o, fakeapi.Namespace, func(s offline.Service) error {
		require.Len(t, s.Defaulted.Status.Conditions[0].Message, 1<<10)
		require.Equal(t, 1+seen/pageOfServices, api.Asked()["GET /apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices"], "the next page is asked for when this one is done")
		seen, most = seen+1, max(most, len(w.Services))
		return nil
	}))
	require.Equal(t, services, seen)
	require.Equal(t, pageOfServices, most, "services that are held at a time")
	for range 3 { // buffers that wait in pools go with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(20<<20), "60 MB were read")
	runtime.KeepAlive(w)
}

func TestHugeObjectsOfServicesAreReadAgainAndNotKept(t *testing.T) {
	const services = 60
	api := cluster(t, services)
	huge := strings.Repeat("x", 1<<20)
	for i := range services {
		api.Put(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m%03d-predictor", "namespace": "team", "uid": "d%d", "annotations": {"by": %q},
			"ownerReferences": [{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "name": "m%03d", "uid": "m%03d", "controller": true}]},
			"spec": {"paused": true}, "status": {"availableReplicas": 1}}`, i, i, huge, i, i))
	}
	config, _, err := live.Config(api.Kubeconfig(), "")
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	w := &world{client: client, lists: map[listKey][]unstructured.Unstructured{}}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	items, known, err := w.list(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, fakeapi.Namespace)
	require.NoError(t, err)
	require.True(t, known)
	require.Len(t, items, services)
	for range 3 { // buffers that wait in pools go with the second
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(20<<20), "60 MB were read")

	out, err := call(t, "m007", "--kubeconfig", api.Kubeconfig())
	require.NoError(t, err)
	require.Contains(t, out, "change Deployment m007-predictor", "it is compared whole")
	require.Equal(t, 1, api.Asked()["GET /apis/apps/v1/namespaces/team/deployments/m007-predictor"])
	require.Zero(t, api.Asked()["GET /apis/apps/v1/namespaces/team/deployments/m008-predictor"])
}

func TestFiveHundredServices(t *testing.T) {
	api := cluster(t, 500)
	out, err := call(t, "--kubeconfig", api.Kubeconfig(), "--exit-code")
	require.Equal(t, exit.Failed, exit.Code(err), "%v", err)
	require.Contains(t, out, "\n500 compared: 500 with differences")
	require.Equal(t, 10, api.Asked()["GET /apis/serving.kserve.io/v1beta1/namespaces/team/inferenceservices"])
}

func TestProgressIsForTerminalsAlone(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.show("%d read", 1)
	p.clear()
	require.Empty(t, b.String())
	p.on = true
	p.show("%d read", 1)
	p.show("%d read", 2)
	p.clear()
	p.clear()
	require.Equal(t, "\r1 read\x1b[K\r2 read\x1b[K\r\x1b[K", b.String())
}

func TestAFileWithoutANamespaceIsOfTheOneThatIsMeant(t *testing.T) {
	api := cluster(t, 1)
	file := filepath.Join(t.TempDir(), "m.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(service("m000", ""), `"namespace": "team", "uid": "m000",`, "", 1)), 0o600))
	out, err := call(t, "--kubeconfig", api.Kubeconfig(), "-f", file)
	require.NoError(t, err)
	require.Contains(t, out, "team/m000: ")
}

func TestAFileIsLaidOverWhatIsThere(t *testing.T) {
	live := func(spec, last string) string {
		return fmt.Sprintf(`{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "m", "namespace": "team", "uid": "u", "annotations": {"serving.kserve.io/deploymentMode": "Standard"%s}},
			"spec": {"predictor": {%s"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://b/m", "args": ["--a", "--b"]}}}}`, last, spec)
	}
	file := func(spec string) string {
		return `{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "m", "namespace": "team"}, "spec": {"predictor": {` + spec + `"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://b/m"}}}}`
	}
	last := func(spec string) string {
		return fmt.Sprintf(", %q: %q", corev1.LastAppliedConfigAnnotation, file(spec))
	}
	cases := map[string]struct {
		live, file string
		min        int32
		has        bool
	}{
		"changed by hand and in no file":  {live(`"minReplicas": 2, `, last("")), file(""), 2, true},
		"changed by hand and in the file": {live(`"minReplicas": 2, `, last("")), file(`"minReplicas": 3, `), 3, true},
		"no longer in the file":           {live(`"minReplicas": 2, `, last(`"minReplicas": 2, `)), file(""), 0, false},
		"made in another way":             {live(`"minReplicas": 2, `, ""), file(""), 2, true},
		"taken out":                       {live(`"minReplicas": 2, `, ""), file(`"minReplicas": null, `), 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			there := &unstructured.Unstructured{}
			require.NoError(t, there.UnmarshalJSON([]byte(c.live)))
			s := servingv1beta1.InferenceService{}
			require.NoError(t, apply(&s, []byte(c.file), there))
			require.EqualValues(t, "u", s.UID)
			require.Equal(t, "Standard", s.Annotations["serving.kserve.io/deploymentMode"])
			require.Equal(t, []string{"--a", "--b"}, s.Spec.Predictor.Model.Args, "a list that the file does not name stays")
			if !c.has {
				require.Nil(t, s.Spec.Predictor.MinReplicas)
				return
			}
			require.Equal(t, c.min, *s.Spec.Predictor.MinReplicas)

			api := cluster(t, 0, c.live)
			name := filepath.Join(t.TempDir(), "m.yaml")
			require.NoError(t, os.WriteFile(name, []byte(c.file), 0o600))
			out, err := call(t, "--kubeconfig", api.Kubeconfig(), "-f", name)
			require.NoError(t, err)
			require.Contains(t, out, fmt.Sprintf("minReplicas: %d", c.min), "what the autoscaler becomes")
		})
	}
}

func TestARuntimeWithFieldsOfALaterVersionServes(t *testing.T) {
	api := cluster(t, 1, `{apiVersion: serving.kserve.io/v1alpha1, kind: ServingRuntime, metadata: {name: later, namespace: team},
		spec: {newField: 1, supportedModelFormats: [{name: sklearn, autoSelect: true}], containers: [{name: kserve-container, image: later}]}}`)
	out, err := call(t, "--kubeconfig", api.Kubeconfig())
	require.NoError(t, err)
	require.Contains(t, out, "image: later")
}
