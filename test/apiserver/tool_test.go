// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli"
	"github.com/kserve-go/kserve-go/pkg/cli/diff"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// kserve runs the person's tool on the cluster.
func (w *world) kserve(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(w.t.Context(), append(args, "--kubeconfig", w.Kubeconfig), output.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs})
	return out.String(), errs.String(), code
}

// versions of every object of the namespace.
func (w *world) versions() map[cluster.Ref]string {
	all := map[cluster.Ref]string{}
	for _, ref := range w.Refs(w.ns) {
		all[ref] = w.Version(ref)
	}
	return all
}

// differences are what `kserve diff` finds for the one service of the namespace.
func (w *world) differences(args ...string) diff.Service {
	w.t.Helper()
	out, errs, _ := w.kserve(append([]string{"diff", "-n", w.ns, "-o", "json"}, args...)...)
	var found []diff.Service
	require.NoError(w.t, json.Unmarshal([]byte(out), &found), "%s%s", out, errs)
	require.Len(w.t, found, 1, "%s%s", out, errs)
	return found[0]
}

func TestDiffOfWhatTheControllerMadeIsEmptyAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://b/m"))
	w.ready("m")
	w.apply(sklearn("young", "s3://b/m"))
	w.settle()
	out, errs, code := w.kserve("diff", "young", "-n", w.ns, "--exit-code")
	require.Equal(t, exit.OK, code, "a route that the controller makes once the pods serve is no difference: %s%s", out, errs)
	require.Contains(t, out, diff.Later+" Ingress young")
	require.NoError(t, w.Client.Delete(t.Context(), w.service("young")))
	gone(w, "young", w.service("young"))
	before := w.versions()

	out, errs, code = w.kserve("diff", "m", "-n", w.ns, "--exit-code")
	require.Equal(t, exit.OK, code, "%s%s", out, errs)
	require.Contains(t, out, w.ns+"/m: no difference")

	file := filepath.Join(t.TempDir(), "m.yaml")
	changed := "metadata:\n  namespace: " + w.ns
	text := bytes.Replace([]byte(sklearn("m", "s3://b/other")), []byte("metadata:"), []byte(changed), 1)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	s := w.differences("m", "-f", file)
	require.True(t, s.Restarts)
	require.Len(t, s.Changes, 2, "the Deployment, and the annotation of its autoscaler")
	for _, c := range s.Changes {
		require.Equal(t, diff.Update, c.Verb)
		require.Contains(t, c.Diff, "+    internal.serving.kserve.io/storage-initializer-sourceuri: s3://b/other")
	}
	_, _, code = w.kserve("diff", "-n", w.ns, "-f", file, "--exit-code")
	require.Equal(t, exit.Failed, code)

	fresh := bytes.Replace(text, []byte("name: m\n"), []byte("name: fresh\n"), 1)
	require.NoError(t, os.WriteFile(file, fresh, 0o600))
	s = w.differences("-f", file)
	require.Equal(t, "fresh", s.Name)
	require.False(t, s.Restarts, "there is nothing to restart")
	require.Len(t, s.Changes, 4)
	for _, c := range s.Changes {
		require.Equal(t, diff.Create, c.Verb, "%s %s", c.Kind, c.Name)
	}

	require.Equal(t, before, w.versions(), "nothing was written")
}

// Not in parallel: the controller, which is everybody's, must not put things right meanwhile.
func TestDiffShowsAChangeByHandALeftoverAndAStranger(t *testing.T) {
	w := newWorld(t)
	w.apply(sklearn("m", "s3://b/m"))
	w.ready("m")
	svc := has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	require.NoError(t, w.Controller.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { require.NoError(t, w.Controller.Signal(syscall.SIGCONT)) })

	d := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	d.Spec.Template.Spec.Containers[0].Image = "registry.test/sk:by-hand"
	require.NoError(t, w.Client.Update(t.Context(), d))
	yes := true
	leftover := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "m-old", Namespace: w.ns, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Name: "m", UID: svc.UID, Controller: &yes,
		}}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	require.NoError(t, w.Client.Create(t.Context(), leftover))
	hpa := has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil)
	require.NoError(t, w.Client.Delete(t.Context(), hpa, client.Preconditions{UID: &hpa.UID}))
	hpa.ResourceVersion, hpa.UID, hpa.OwnerReferences, hpa.ManagedFields = "", "", nil, nil
	require.NoError(t, w.Client.Create(t.Context(), hpa))

	s := w.differences()
	verbs := map[string]string{}
	for _, c := range s.Changes {
		verbs[c.Kind+" "+c.Name] = c.Verb
	}
	require.Equal(t, map[string]string{
		"Deployment m-predictor": diff.Update, "Service m-old": diff.Delete, "HorizontalPodAutoscaler m-predictor": diff.Fail,
	}, verbs)
	require.True(t, s.Restarts)
	_, _, code := w.kserve("diff", "-n", w.ns)
	require.Equal(t, exit.Failed, code, "the cluster would not take all of it")
}

func TestStatusTellsWhatIsWrongAndHowItEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("good", "s3://b/m"))
	w.ready("good")
	w.apply(`apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: bad, annotations: {serving.kserve.io/deploymentMode: Standard}}
spec: {predictor: {model: {modelFormat: {name: sklearn}, runtime: nowhere, storageUri: "s3://b/m"}}}`)
	has(w, "bad", &servingv1beta1.InferenceService{}, func(s *servingv1beta1.InferenceService) error {
		if len(s.Status.Conditions) == 0 {
			return errors.New("no status yet")
		}
		return nil
	})

	out, errs, code := w.kserve("status", "good", "-n", w.ns)
	require.Equal(t, exit.OK, code, "%s%s", out, errs)
	require.Contains(t, out, w.ns+"/good: ready")
	require.Contains(t, out, "sk")

	out, _, code = w.kserve("status", "bad", "-n", w.ns)
	require.Equal(t, exit.Failed, code)
	require.Contains(t, out, "not ready")
	require.Contains(t, out, "RuntimeNotRecognized: ")
	require.Contains(t, out, "nowhere")

	out, _, code = w.kserve("status", "-n", w.ns)
	require.Equal(t, exit.Failed, code)
	require.Regexp(t, `good +True`, out)
	require.Regexp(t, `bad +False.*RuntimeNotRecognized`, out)

	_, errs, code = w.kserve("status", "nobody", "-n", w.ns)
	require.Equal(t, exit.Failed, code)
	require.Contains(t, errs, "no InferenceService nobody")
}
