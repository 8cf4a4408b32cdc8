// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/admit/validation"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func live(tb testing.TB, fail error, objects ...client.Object) client.Client {
	tb.Helper()
	scheme := runtime.NewScheme()
	require.NoError(tb, servingv1alpha1.AddToScheme(scheme))
	require.NoError(tb, servingv1beta1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if fail != nil {
				return fail
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
}

func validator(c client.Client) *validation.Validator {
	return &validation.Validator{
		Settings: func() (*settings.Settings, error) {
			st := settings.Defaults()
			st.Deploy.DefaultMode = serving.Standard
			return st, nil
		},
		StorageContainers: func() []servingv1alpha1.ClusterStorageContainer { return nil },
		Live:              c,
	}
}

func raw(tb testing.TB, text string) runtime.RawExtension {
	tb.Helper()
	if text == "" {
		return runtime.RawExtension{}
	}
	out, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(tb, err)
	return runtime.RawExtension{Raw: out}
}

func ask(tb testing.TB, h review.Handler, object, old string) review.Answer {
	tb.Helper()
	r := &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Namespace: "default", Object: raw(tb, object), OldObject: raw(tb, old)}
	if old != "" {
		r.Operation = admissionv1.Update
	}
	return h(context.Background(), r)
}

func model(name, fields string) string {
	return "metadata: {name: " + name + ", namespace: default}\nspec: {predictor: {model: {modelFormat: {name: sklearn}}" + fields + "}}"
}

func source(uri string) string {
	return "metadata: {name: a, namespace: default}\nspec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: '" + uri + "'}}}"
}

func rt(name, fields string) string {
	return "metadata: {name: " + name + ", namespace: default}\nspec: {containers: [{name: kserve-container, image: i}], supportedModelFormats: [{name: f, version: '1', autoSelect: true, priority: 1}]" + fields + "}"
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	spec := servingv1alpha1.ServingRuntimeSpec{}
	require.NoError(t, yaml.Unmarshal([]byte("supportedModelFormats: [{name: f, version: '1', autoSelect: true, priority: 1}]"), &spec))
	v := validator(live(t, nil,
		&servingv1alpha1.ServingRuntime{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}, Spec: spec},
		&servingv1alpha1.ServingRuntime{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "far"}, Spec: spec},
		&servingv1alpha1.ClusterServingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: spec},
		&servingv1alpha1.ClusterStorageContainer{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: servingv1alpha1.StorageContainerSpec{SupportedURIFormats: []servingv1alpha1.SupportedURIFormat{{Prefix: "new://"}}}},
	))
	const deleted = "metadata: {name: A, namespace: default, deletionTimestamp: '2026-01-01T00:00:00Z'}\nspec: {}"
	const graph = "metadata: {name: g, namespace: default}\nspec: {nodes: {root: {routerType: Sequence, steps: [{serviceName: s}]}}}"
	const tm = "metadata: {name: t, namespace: default}\nspec: {inferenceService: s, model: {storageUri: 'gs://a', framework: sklearn, memory: 1Gi}}"
	cases := map[string]struct {
		handle      review.Handler
		object, old string
		refused     string // empty: accepted
		warned      string
	}{
		"a right service":                          {v.Service(), model("a", ""), "", "", ""},
		"a wrong name":                             {v.Service(), model("1a", ""), "", "metadata.name", ""},
		"a host name that is too long":             {v.Service(), model("a23456789-123456789-123456789-123456789", ", name: b23456789-123456789"), "", "63", ""},
		"an option without effect":                 {v.Service(), model("a", ", canaryTrafficPercent: 10"), "", "", "canaryTrafficPercent"},
		"a source of a container made just now":    {v.Service(), source("new://x"), "", "", ""},
		"a source that nobody fetches":             {v.Service(), source("newer://x"), "", "ClusterStorageContainer", ""},
		"a mode that changes":                      {v.Service(), "metadata: {name: a, namespace: default, annotations: {serving.kserve.io/deploymentMode: Knative}}\nspec: {predictor: {model: {modelFormat: {name: sklearn}}}}", model("a", "") + "\nstatus: {deploymentMode: Standard}", "deploymentMode", ""},
		"an old fault stays a warning":             {v.Service(), model("a", ", minReplicas: 3, maxReplicas: 2"), model("a", ", minReplicas: 3, maxReplicas: 2"), "", "minReplicas"},
		"a service that is being deleted":          {v.Service(), deleted, deleted, "", ""},
		"a priority that is taken":                 {v.Runtime(), rt("mine", ""), "", "the runtime other", ""},
		"the same runtime again":                   {v.Runtime(), rt("other", ""), rt("other", ""), "", ""},
		"a disabled runtime":                       {v.Runtime(), rt("mine", ", disabled: true"), "", "", ""},
		"a priority that is taken in the cluster":  {v.ClusterRuntime(), rt("mine", ""), "", "the runtime wide", ""},
		"a cluster's runtime that is changed":      {v.ClusterRuntime(), rt("wide", ""), rt("wide", ", workerSpec: {containers: [{name: w}]}"), "workerSpec", ""},
		"a right graph":                            {v.Graph(), graph, "", "", ""},
		"a graph that is changed":                  {v.Graph(), "metadata: {name: g, namespace: default}\nspec: {nodes: {first: {routerType: Sequence, steps: [{serviceName: s}]}}}", graph, "root", ""},
		"a right model":                            {v.TrainedModel(), tm, "", "", ""},
		"a model whose memory changes":             {v.TrainedModel(), tm[:len(tm)-6] + "2Gi}}", tm, "from 1Gi", ""},
		"a model that is being deleted":            {v.TrainedModel(), deleted, tm, "", ""},
		"a right storage container":                {v.StorageContainer(), csc("s3://", "i"), "", "", ""},
		"a regular expression that is none":        {v.StorageContainer(), csc("", "i")[:len(csc("", "i"))-len(`"prefix":""}]}}`)] + `"regex":"("}]}}`, "", "spec.supportedUriFormats[0].regex", ""},
		"a container that pulls some other way":    {v.StorageContainer(), csc("s3://", `i","imagePullPolicy":"Never mind`), "", "spec.container.imagePullPolicy", ""},
		"an old fault of a storage container":      {v.StorageContainer(), csc("", "j"), csc("", "i"), "", "one of prefix and regex"},
		"a graph that is being deleted":            {v.Graph(), deleted, deleted, "", ""},
		"a runtime that is being deleted":          {v.Runtime(), deleted, deleted, "", ""},
		"a cluster's runtime that is being delete": {v.ClusterRuntime(), deleted, deleted, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ask(t, c.handle, c.object, c.old)
			if c.refused == "" {
				require.Nil(t, a.Refusal, "%+v", a.Refusal)
			} else {
				require.NotNil(t, a.Refusal)
				require.Equal(t, int32(http.StatusUnprocessableEntity), a.Refusal.Code)
				require.Contains(t, a.Refusal.Message, c.refused)
			}
			if c.warned != "" {
				require.Len(t, a.Warnings, 1)
				require.Contains(t, a.Warnings[0], c.warned)
			}
		})
	}
}

func TestDeletionIsNeverRefused(t *testing.T) {
	t.Parallel()
	v := validator(live(t, errors.New("down")))
	v.Settings = func() (*settings.Settings, error) { return nil, errors.New("none") }
	for _, h := range []review.Handler{v.Service(), v.Runtime(), v.ClusterRuntime(), v.Graph(), v.TrainedModel(), v.StorageContainer()} {
		require.Equal(t, review.Allowed(), h(context.Background(), &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Delete}))
		require.Equal(t, review.Allowed(), h(context.Background(), &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Update, SubResource: "status"}))
	}
}

func TestWhatCannotBeJudgedIsTold(t *testing.T) {
	t.Parallel()
	v := validator(live(t, errors.New("the API server is down")))
	require.Contains(t, ask(t, v.Runtime(), rt("a", ""), "").Refusal.Message, "namespace default")
	require.Contains(t, ask(t, v.ClusterRuntime(), rt("a", ""), "").Refusal.Message, "is down")
	require.Contains(t, ask(t, v.Service(), model("1a", ""), "").Refusal.Message, "is down")
	require.Nil(t, ask(t, v.Service(), model("a", ""), "").Refusal, "a right service needs no further question")
	v.Settings = func() (*settings.Settings, error) { return nil, errors.New("the ConfigMap is bad") }
	a := ask(t, v.Service(), model("a", ""), "")
	require.Equal(t, int32(http.StatusServiceUnavailable), a.Refusal.Code)
	require.Contains(t, a.Refusal.Message, "the ConfigMap is bad")
	require.Nil(t, ask(t, validatorWithoutSettings(t).Runtime(), rt("a", ""), "").Refusal, "runtimes can be installed before the settings")
}

func validatorWithoutSettings(t *testing.T) *validation.Validator {
	t.Helper()
	v := validator(live(t, nil))
	v.Settings = func() (*settings.Settings, error) { return nil, errors.New("none") }
	return v
}

func TestUnknownFieldsAreTreatedAsTheClientAsked(t *testing.T) {
	object := "metadata: {name: m, namespace: default}\nspec: {predictor: {model: {modelFormat: {name: sklearn}, storageURI: s3://b/k}}}"
	for asked, want := range map[string]struct{ refused, warned bool }{
		`{"kind":"CreateOptions","fieldValidation":"Strict"}`: {refused: true},
		`{"kind":"CreateOptions","fieldValidation":"Warn"}`:   {warned: true},
		`{"kind":"CreateOptions","fieldValidation":"Ignore"}`: {},
		`{"kind":"CreateOptions"}`:                            {warned: true},
		"":                                                    {warned: true},
	} {
		t.Run(asked, func(t *testing.T) {
			a := validator(live(t, nil)).Service()(t.Context(), &admissionv1.AdmissionRequest{
				UID: "u", Operation: admissionv1.Create, Namespace: "default", Object: raw(t, object), Options: runtime.RawExtension{Raw: []byte(asked)},
			})
			require.Equal(t, want.refused, a.Refusal != nil)
			if want.refused {
				require.EqualValues(t, http.StatusBadRequest, a.Refusal.Code)
				require.Contains(t, a.Refusal.Message, `unknown field "spec.predictor.model.storageURI"; did you mean "storageUri"?`)
			}
			if want.warned {
				require.Contains(t, a.Warnings, `unknown field "spec.predictor.model.storageURI"; did you mean "storageUri"?`)
			} else {
				require.Empty(t, a.Warnings)
			}
		})
	}
}

func FuzzObjects(f *testing.F) {
	for _, seed := range []string{model("a", ""), rt("a", ", workerSpec: {containers: []}"), "spec: {nodes: {root: {routerType: Ensemble, steps: [{nodeName: root}]}}}", "spec: {model: {storageUri: 's3://'}}", "[]", ""} {
		f.Add(raw(f, seed).Raw, raw(f, seed).Raw)
	}
	v := validator(live(f, nil))
	handlers := []review.Handler{v.Service(), v.Runtime(), v.ClusterRuntime(), v.Graph(), v.TrainedModel(), v.StorageContainer()}
	f.Fuzz(func(t *testing.T, object, old []byte) {
		for _, h := range handlers {
			for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
				a := h(context.Background(), &admissionv1.AdmissionRequest{UID: "u", Operation: operation, Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: old}})
				if a.Refusal != nil {
					require.NotEmpty(t, a.Refusal.Message)
					_, err := json.Marshal(a.Refusal)
					require.NoError(t, err)
				}
			}
		}
	})
}

func BenchmarkService(b *testing.B) {
	h := validator(live(b, nil)).Service()
	r := &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Object: raw(b, source("s3://b/m"))}
	b.ReportAllocs()
	for b.Loop() {
		if a := h(context.Background(), r); a.Refusal != nil {
			b.Fatal(a.Refusal)
		}
	}
}

// csc is a ClusterStorageContainer of one prefix and image.
func csc(prefix, image string) string {
	return `{"metadata":{"name":"c"},"spec":{"container":{"name":"c","image":"` + image + `"},"supportedUriFormats":[{"prefix":"` + prefix + `"}]}}`
}
