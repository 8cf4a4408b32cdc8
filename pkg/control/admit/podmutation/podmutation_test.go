// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podmutation_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/podmutation"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// reads is a client that remembers what was read, and fails where it is told to.
type reads struct {
	client.Client
	mu   sync.Mutex
	seen []string
	fail map[string]error
}

func newReads(tb testing.TB, objects ...client.Object) *reads {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, servingv1alpha1.AddToScheme, servingv1beta1.AddToScheme} {
		require.NoError(tb, add(scheme))
	}
	r := &reads{fail: map[string]error{}}
	look := func(what string) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, what)
		return r.fail[what]
	}
	writes := func() error { tb.Error("a webhook without side effects wrote"); return nil }
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := look(strings.TrimPrefix(typeName(o), "*v1.") + " " + key.String()); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := look("list " + typeName(list)); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return writes() },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return writes() },
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return writes()
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return writes() },
	}).Build()
	return r
}

func typeName(o any) string {
	switch o.(type) {
	case *corev1.Secret:
		return "Secret"
	case *corev1.ServiceAccount:
		return "ServiceAccount"
	case *servingv1beta1.InferenceService:
		return "InferenceService"
	case *servingv1alpha1.ClusterStorageContainerList:
		return "ClusterStorageContainers"
	}
	return "something else"
}

func good() (*settings.Settings, error) { return settings.Defaults(), nil }

func pod(annotations map[string]string) *corev1.Pod {
	prefixed := map[string]string{}
	for key, value := range annotations {
		prefixed["internal.serving.kserve.io/"+key] = value
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "foo-", Labels: map[string]string{"serving.kserve.io/inferenceservice": "foo", "component": "predictor"}, Annotations: prefixed},
		Spec:       corev1.PodSpec{ServiceAccountName: "sa", Containers: []corev1.Container{{Name: "kserve-container", Image: "i"}}},
	}
}

func ask(tb testing.TB, m *podmutation.Mutator, object any) (*admissionv1.AdmissionRequest, review.Answer) {
	tb.Helper()
	raw, ok := object.([]byte)
	if !ok {
		var err error
		raw, err = json.Marshal(object)
		require.NoError(tb, err)
	}
	r := &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Namespace: "default", Object: runtime.RawExtension{Raw: raw}}
	return r, m.Pod(context.Background(), r)
}

func patched(tb testing.TB, raw []byte, a review.Answer) []byte {
	tb.Helper()
	require.Nil(tb, a.Refusal)
	text, err := json.Marshal(a.Patch)
	require.NoError(tb, err)
	patch, err := jsonpatch.DecodePatch(text)
	require.NoError(tb, err)
	out, err := patch.Apply(raw)
	require.NoError(tb, err)
	return out
}

func world() []client.Object {
	in := metav1.ObjectMeta{Namespace: "default"}
	named := func(name string) metav1.ObjectMeta { m := in; m.Name = name; return m }
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: named("sa"), Secrets: []corev1.ObjectReference{{Name: "s3"}}},
		&corev1.Secret{ObjectMeta: named("s3"), Data: map[string][]byte{"AWS_ACCESS_KEY_ID": []byte("k"), "AWS_SECRET_ACCESS_KEY": []byte("s")}},
		&corev1.Secret{ObjectMeta: named("storage-config"), Data: map[string][]byte{"mine": []byte(`{"type":"s3","bucket":"b"}`)}},
		&servingv1beta1.InferenceService{ObjectMeta: named("foo")},
	}
}

func TestOnlyWhatThePodNeedsIsRead(t *testing.T) {
	t.Parallel()
	const account, secret, containers = "ServiceAccount default/sa", "Secret default/s3", "list ClusterStorageContainers"
	done := pod(map[string]string{"storage-initializer-sourceuri": "s3://b/m"})
	done.Spec.InitContainers = []corev1.Container{{Name: "storage-initializer"}}
	cases := map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"nothing":                     {pod(nil), nil},
		"a claim":                     {pod(map[string]string{"storage-initializer-sourceuri": "pvc://c/m"}), nil},
		"an image":                    {pod(map[string]string{"storage-initializer-sourceuri": "oci://i:1"}), nil},
		"a store":                     {pod(map[string]string{"storage-initializer-sourceuri": "s3://b/m"}), []string{account, secret, containers}},
		"a store, a second time":      {done, nil},
		"an entry of the storage":     {pod(map[string]string{"storage-initializer-sourceuri": "<scheme-placeholder>://m", "storage-spec": "true", "storage-spec-key": "mine"}), []string{account, secret, "Secret default/storage-config", containers}},
		"a batcher":                   {pod(map[string]string{"batcher": "true"}), []string{account, secret}},
		"a logger asks for its store": {pod(map[string]string{"logger": "true"}), []string{"InferenceService default/foo", account, secret}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReads(t, world()...)
			_, a := ask(t, &podmutation.Mutator{Settings: good, Live: r}, c.pod)
			require.Nil(t, a.Refusal)
			require.Equal(t, c.want, r.seen)
		})
	}
}

func TestAPodGetsItsModelOnceAndKeepsWhatIsUnknown(t *testing.T) {
	t.Parallel()
	m := &podmutation.Mutator{Settings: good, Live: newReads(t, world()...)}
	raw, err := json.Marshal(pod(map[string]string{"storage-initializer-sourceuri": "s3://b/m", "logger": "true"}))
	require.NoError(t, err)
	raw = []byte(strings.Replace(string(raw), `"name":"kserve-container"`, `"name":"kserve-container","newer":{"a":[1]}`, 1))
	r, a := ask(t, m, raw)
	out := patched(t, r.Object.Raw, a)
	require.Contains(t, string(out), `"newer":{"a":[1]}`)
	var got corev1.Pod
	require.NoError(t, json.Unmarshal(out, &got))
	require.Equal(t, []string{"s3://b/m", "/mnt/models"}, got.Spec.InitContainers[0].Args)
	require.Equal(t, "AWS_ACCESS_KEY_ID", got.Spec.InitContainers[0].Env[0].Name)
	require.Equal(t, "agent", got.Spec.Containers[1].Name)
	_, again := ask(t, m, out)
	require.Empty(t, again.Patch, "a second review changes nothing")
}

func TestPodsThatAreNotOursPass(t *testing.T) {
	t.Parallel()
	r := newReads(t)
	m := &podmutation.Mutator{Settings: func() (*settings.Settings, error) { return nil, errors.New("none") }, Live: r}
	other := pod(map[string]string{"storage-initializer-sourceuri": "s3://b/m"})
	other.Labels = nil
	_, a := ask(t, m, other)
	require.Equal(t, review.Allowed(), a)
	require.Empty(t, r.seen)
	request, _ := ask(t, m, pod(nil))
	request.Operation = admissionv1.Update
	require.Equal(t, review.Allowed(), m.Pod(context.Background(), request))
}

func TestWhatCannotBeReadOrFoundIsTold(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "s3", errors.New("no rule"))
	source := map[string]string{"storage-initializer-sourceuri": "s3://b/m"}
	named := pod(source)
	named.Annotations["serving.kserve.io/storageSecretName"] = "ghost"
	bare := pod(source)
	bare.Spec.Containers[0].Name = "server"
	cases := map[string]struct {
		pod  *corev1.Pod
		fail map[string]error
		code int
		says []string
	}{
		"a permission is missing":           {pod(source), map[string]error{"Secret default/s3": forbidden}, http.StatusForbidden, []string{"secret s3", "namespace default", "own role"}},
		"the API server does not answer":    {pod(source), map[string]error{"ServiceAccount default/sa": context.DeadlineExceeded}, http.StatusGatewayTimeout, []string{"service account sa", "in time"}},
		"the API server is overloaded":      {pod(source), map[string]error{"list ClusterStorageContainers": apierrors.NewTooManyRequests("x", 1)}, http.StatusServiceUnavailable, []string{"ClusterStorageContainers"}},
		"the service cannot be read":        {pod(map[string]string{"logger": "true"}), map[string]error{"InferenceService default/foo": forbidden}, http.StatusForbidden, []string{"InferenceService default/foo"}},
		"a secret that is not there":        {named, nil, http.StatusBadRequest, []string{`secret "ghost"`, "does not exist"}},
		"a container that is not there":     {bare, nil, http.StatusBadRequest, []string{"neither a container named kserve-container"}},
		"an entry that is not there":        {pod(map[string]string{"storage-initializer-sourceuri": "<scheme-placeholder>://m", "storage-spec": "true", "storage-spec-key": "other"}), nil, http.StatusBadRequest, []string{`"other"`, "has no key"}},
		"a storage container that is not":   {pod(map[string]string{"storage-initializer-sourceuri": "s3://b/m", "storage-container-name": "ghost"}), nil, http.StatusBadRequest, []string{`"ghost", which does not exist`}},
		"a cached model without its volume": {cached(), nil, http.StatusBadRequest, []string{"internal.serving.kserve.io/localmodel"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReads(t, world()...)
			r.fail = c.fail
			_, a := ask(t, &podmutation.Mutator{Settings: good, Live: r}, c.pod)
			require.NotNil(t, a.Refusal)
			require.Equal(t, int32(c.code), a.Refusal.Code, a.Refusal.Message)
			for _, part := range c.says {
				require.Contains(t, a.Refusal.Message, part)
			}
		})
	}
}

func cached() *corev1.Pod {
	p := pod(map[string]string{"storage-initializer-sourceuri": "hf://m/l"})
	p.Labels["internal.serving.kserve.io/localmodel"] = "l"
	return p
}

func FuzzPod(f *testing.F) {
	for _, p := range []*corev1.Pod{pod(nil), cached(), pod(map[string]string{"storage-initializer-sourceuri": "oci+native://x", "agent": "", "batcher": "x", "logger": "true"})} {
		raw, err := json.Marshal(p)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"metadata":{"labels":{"serving.kserve.io/inferenceservice":""},"annotations":{"internal.serving.kserve.io/storage-initializer-sourceuri":"s3://"}},"spec":{"containers":null,"initContainers":[{}]}}`))
	r := newReads(f, world()...)
	m := &podmutation.Mutator{Settings: good, Live: r}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tree map[string]any
		if json.Unmarshal(raw, &tree) != nil || tree == nil {
			t.Skip("no object, so nothing that an API server sends")
		}
		raw, err := json.Marshal(tree)
		require.NoError(t, err)
		request, a := ask(t, m, raw)
		if a.Refusal != nil {
			require.NotEmpty(t, a.Refusal.Message)
			return
		}
		patched(t, request.Object.Raw, a)
	})
}

func BenchmarkPod(b *testing.B) {
	r := newReads(b, world()...)
	m := &podmutation.Mutator{Settings: good, Live: r}
	request, _ := ask(b, m, pod(map[string]string{"storage-initializer-sourceuri": "s3://b/m"}))
	b.ReportAllocs()
	for b.Loop() {
		if a := m.Pod(context.Background(), request); len(a.Patch) == 0 {
			b.Fatal("no patch")
		}
		r.seen = r.seen[:0]
	}
}
