// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
)

func TestAServiceThatWentUnseenIsForgotten(t *testing.T) {
	w := newWorld(t, sklearn())
	w.pass(t)
	require.Len(t, w.own.by, 1)
	// Somebody takes the finalizer away, and another service of the name comes at once.
	svc := w.service(t)
	svc.Finalizers = nil
	require.NoError(t, w.client.Update(t.Context(), svc))
	require.NoError(t, w.client.Delete(t.Context(), svc))
	require.NoError(t, w.client.Create(t.Context(), sklearn(func(s *servingv1beta1.InferenceService) { s.UID = "2" })))
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(t, err)
	require.NotContains(t, w.own.by, svc.UID)

	svc = w.service(t)
	svc.Finalizers = nil
	require.NoError(t, w.client.Update(t.Context(), svc))
	require.NoError(t, w.client.Delete(t.Context(), svc))
	w.pass(t)
	require.Empty(t, w.own.by)
	require.Empty(t, w.own.names)
}

func TestAServiceGoesAlsoWhileThereAreNoSettings(t *testing.T) {
	w := newWorld(t, sklearn())
	w.Settings = gather.NewSettings("kserve", "")
	require.NoError(t, w.client.Delete(t.Context(), w.service(t)))
	w.pass(t)
	require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), name, &servingv1beta1.InferenceService{})))
}

func TestAServiceAccountWithAThousandSecretsIsToldOf(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}}
	for i := range 1000 {
		account.Secrets = append(account.Secrets, corev1.ObjectReference{Name: fmt.Sprint("s", i)})
	}
	w := newWorld(t, account, sklearn(func(s *servingv1beta1.InferenceService) {
		s.Spec.Predictor.Model.StorageURI = nil
		s.Spec.Predictor.StorageURIs = []servingv1beta1.StorageURI{{URI: "s3://b/m"}}
	}))
	w.pass(t)
	svc := w.service(t)
	c := svc.Status.Condition(serving.ConditionReady)
	require.NotNil(t, c)
	require.Contains(t, c.Message, "service account default")
	require.Contains(t, c.Message, "at most 100")
}

// reads counts what is asked of the API server about ConfigMaps.
type reads struct {
	client.Reader
	n int
}

func (r *reads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.ConfigMap); ok {
		r.n++
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

// withAuthorities is a world whose operator names certificate authorities.
func withAuthorities(t *testing.T) (*world, *reads) {
	t.Helper()
	w := newWorld(t, sklearn(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kserve", Name: "authorities"}, Data: map[string]string{handoff.CABundleFile: "theirs"},
	})
	cm := &corev1.ConfigMap{}
	require.NoError(t, yaml.Unmarshal(deploy.Config(), cm))
	section := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(cm.Data["storageInitializer"]), &section))
	section["caBundleConfigMapName"] = "authorities"
	text, err := json.Marshal(section)
	require.NoError(t, err)
	cm.Data["storageInitializer"] = string(text)
	_, err = w.Settings.Take(cm)
	require.NoError(t, err)
	live := &reads{Reader: w.client}
	w.Apply.Live = live
	return w, live
}

func (w *world) bundle(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: handoff.GlobalCABundle}, cm))
	return cm
}

func TestCertificateAuthoritiesAreNotReadWithEveryPass(t *testing.T) {
	w, live := withAuthorities(t)
	w.pass(t)
	require.Equal(t, "theirs", w.bundle(t).Data[handoff.CABundleFile])
	n := live.n
	w.pass(t)
	w.pass(t)
	require.Equal(t, n, live.n)
}

func TestWhatNobodyWatchesIsLookedAtAgain(t *testing.T) {
	w, _ := withAuthorities(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	w.Now, w.Apply.Now = clock, clock
	w.pass(t)
	w.deploymentReady(t)
	w.pass(t)
	source := &corev1.ConfigMap{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "kserve", Name: "authorities"}, source))
	source.Data[handoff.CABundleFile] = "new"
	require.NoError(t, w.client.Update(t.Context(), source))
	next := func() time.Duration {
		t.Helper()
		res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.NoError(t, err)
		return res.RequeueAfter
	}
	pause := next()
	require.GreaterOrEqual(t, pause, lookAgain)
	require.Less(t, pause, lookAgain+apart)
	require.Equal(t, "theirs", w.bundle(t).Data[handoff.CABundleFile], "they were read a moment ago")
	now = now.Add(pause)
	require.Equal(t, pause, next())
	require.Equal(t, "new", w.bundle(t).Data[handoff.CABundleFile], "no event told of it")
	require.NoError(t, w.client.Delete(t.Context(), w.bundle(t)))
	now = now.Add(pause)
	next()
	require.Equal(t, "new", w.bundle(t).Data[handoff.CABundleFile], "a copy that somebody deleted comes back")

	svc := w.service(t)
	svc.Annotations[serving.AnnotationStop] = "true"
	require.NoError(t, w.client.Update(t.Context(), svc))
	next()
	require.Zero(t, next(), "a service that is stopped needs none")

	several := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) {
		s.Spec.Predictor.Model.StorageURI = nil
		s.Spec.Predictor.StorageURIs = []servingv1beta1.StorageURI{{URI: "s3://b/m"}}
	}))
	res, err := several.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(t, err)
	require.GreaterOrEqual(t, res.RequeueAfter, lookAgain, "the secrets of pod templates are not watched")
}

func TestAuthoritiesThatSomeoneElseWroteAreLeftAsTheyAre(t *testing.T) {
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: handoff.GlobalCABundle}, Data: map[string]string{handoff.CABundleFile: "own", "more": "x"}}
	w, _ := withAuthorities(t)
	require.NoError(t, w.client.Create(t.Context(), foreign, client.FieldOwner("kubectl-create")))
	require.NotContains(t, strings.Join(w.pass(t), " "), handoff.GlobalCABundle)
	require.Equal(t, "own", w.bundle(t).Data[handoff.CABundleFile])
	c := w.service(t).Status.Condition(serving.ConditionReady)
	require.NotNil(t, c)
	require.Contains(t, c.Message, handoff.GlobalCABundle)
	require.Contains(t, c.Message, `written by "kubectl-create"`)

	// A copy of ours follows the operator's.
	require.NoError(t, w.client.Delete(t.Context(), w.bundle(t)))
	w.pass(t)
	source := &corev1.ConfigMap{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "kserve", Name: "authorities"}, source))
	source.Data[handoff.CABundleFile] = "new"
	require.NoError(t, w.client.Update(t.Context(), source))
	w.Apply = &apply.Applier{Client: w.client, Live: w.client, Kinds: w.Gather.Kinds} // one that remembers nothing
	w.pass(t)
	require.Equal(t, "new", w.bundle(t).Data[handoff.CABundleFile])
}

// TestObjectsOfOthersStayWhateverTheirLabels has a Service and an autoscaler that somebody labelled as ours, and no autoscaler of our own.
func TestObjectsOfOthersStayWhateverTheirLabels(t *testing.T) {
	for _, class := range []serving.AutoscalerClass{serving.AutoscalerNone, serving.AutoscalerExternal} {
		t.Run(string(class), func(t *testing.T) {
			labels := map[string]string{serving.LabelInferenceService: name.Name, serving.LabelComponent: string(serving.Predictor)}
			front := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: "front", Labels: labels}}
			own := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: "m-predictor", Labels: labels}}
			own.Spec.MaxReplicas = 9
			w := newWorld(t, front, own, sklearn(func(s *servingv1beta1.InferenceService) {
				s.Annotations[serving.AnnotationAutoscalerClass] = string(class)
			}))
			before := map[client.Object]string{}
			for _, o := range []client.Object{front, own} {
				require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
				before[o] = o.GetResourceVersion()
			}
			require.Equal(t, []string{"patch m-predictor", "patch m-predictor", "status m"}, w.pass(t), "the Deployment and the Service of our own")
			w.deploymentReady(t)
			w.pass(t)
			require.Equal(t, corev1.ConditionTrue, w.service(t).Status.Condition(serving.ConditionReady).Status)
			svc := w.service(t)
			svc.Annotations[serving.AnnotationStop] = "true"
			require.NoError(t, w.client.Update(t.Context(), svc))
			w.pass(t)
			for o, version := range before {
				require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
				require.Equal(t, version, o.GetResourceVersion(), "%T", o)
			}
		})
	}
}

// FuzzReconcile gives the reconciler services that no webhook has seen: whatever they are, a pass ends, says something, and the next one
// has nothing left to write.
func FuzzReconcile(f *testing.F) {
	for i, seed := range []string{
		`{}`, `{"predictor":{}}`, `{"predictor":{"sklearn":{},"xgboost":{}}}`, `{"predictor":{"model":{}}}`, `{"predictor":{"containers":[]}}`, `{"predictor":{"containers":[{}]}}`,
		`{"predictor":{"sklearn":{"storageUri":"s3://b/m"}},"transformer":{}}`, `{"predictor":{"sklearn":{"storageUri":"s3://b/m"}},"transformer":{"containers":[{"image":"i","ports":[{}]}]}}`,
		`{"predictor":{"model":{"modelFormat":{"name":"sklearn"},"storage":{}}}}`, `{"predictor":{"model":{"modelFormat":{"name":"sklearn"},"storage":{"parameters":{"type":""}}}}}`,
		`{"predictor":{"sklearn":{},"storageUris":[{}]}}`, `{"predictor":{"sklearn":{"storageUri":"hf://a/b"},"workerSpec":{}}}`, `{"predictor":{"sklearn":{"storageUri":"hf://a/b"},"autoScaling":{"metrics":[{}]}}}`,
		`{"predictor":{"sklearn":{"storageUri":"hf://a/b"}},"canary":[{"predictor":{},"trafficPercent":10},{"predictor":{"name":"x","sklearn":{}}}]}`,
		`{"predictor":{"sklearn":{"storageUri":"hf://a/b"}},"explainer":{"art":{}}}`, `{"predictor":{"sklearn":{"storageUri":"hf://a/b"},"minReplicas":-3,"maxReplicas":-4,"scaleTarget":0}}`,
		`{"predictor":{"sklearn":{"storageUri":"hf://a/b"},"logger":{},"batcher":{}}}`, `{"predictor":{"sklearn":{"storageUri":"hf://a/b","runtime":"none"}}}`,
		`{"predictor":{"containers":[{"name":"kserve-container","env":[{"name":"STORAGE_URI","value":"{{.Name"}]}]}}`, `{"predictor":{"pmml":{},"tensorflow":null,"triton":{"storageUri":"ü"}}}`,
		`{"predictor":{"sklearn":{"storageUri":"s3://b/m"},"deploymentStrategy":{},"labels":{"":""},"annotations":{"":""},"volumes":[{}]}}`,
		`{"predictor":{"huggingface":{"storageUri":"hf://a/b"},"workerSpec":{"pipelineParallelSize":2,"containers":[{}]}}}`,
	} {
		f.Add([]byte(seed), []string{"Standard", "", "Knative", "ModelMesh"}[i%4], []string{"", "keda", "x"}[i%3])
		f.Add([]byte(seed), "Standard", "none")
	}
	f.Fuzz(func(t *testing.T, spec []byte, mode, class string) {
		svc := sklearn()
		svc.Annotations[serving.AnnotationDeploymentMode] = mode
		svc.Annotations[serving.AnnotationAutoscalerClass] = class
		svc.Spec = servingv1beta1.InferenceServiceSpec{}
		if json.Unmarshal(spec, &svc.Spec) != nil {
			return
		}
		w := newWorld(t, svc)
		for range 3 { // some need the status of the first
			_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
			if err != nil {
				return // what the stand-in for an API server does not accept
			}
		}
		require.Empty(t, w.pass(t), "nothing has changed")
		require.NotEmpty(t, w.service(t).Status.Conditions)
	})
}
