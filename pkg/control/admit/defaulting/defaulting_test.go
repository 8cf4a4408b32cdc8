// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package defaulting_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/defaulting"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func toJSON(tb testing.TB, text string) []byte {
	tb.Helper()
	if text == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(tb, err)
	return raw
}

func request(tb testing.TB, operation admissionv1.Operation, object, old string) *admissionv1.AdmissionRequest {
	tb.Helper()
	return &admissionv1.AdmissionRequest{
		UID: "u", Operation: operation, Object: runtime.RawExtension{Raw: toJSON(tb, object)}, OldObject: runtime.RawExtension{Raw: toJSON(tb, old)},
	}
}

// patched applies the answer's patch as an API server does.
func patched(tb testing.TB, raw []byte, a review.Answer) string {
	tb.Helper()
	require.Nil(tb, a.Refusal)
	if len(a.Patch) == 0 {
		return string(raw)
	}
	text, err := json.Marshal(a.Patch)
	require.NoError(tb, err)
	patch, err := jsonpatch.DecodePatch(text)
	require.NoError(tb, err)
	out, err := patch.Apply(raw)
	require.NoError(tb, err, string(text))
	return string(out)
}

func standard() (*settings.Settings, error) {
	st := settings.Defaults()
	st.Deploy.DefaultMode = serving.Standard
	st.Security.AutoMountToken = true
	return st, nil
}

func TestService(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\n"
	cases := map[string]struct {
		operation         admissionv1.Operation
		object, old, want string
	}{
		"an older field becomes model, and what is unknown goes along": {
			admissionv1.Create,
			"metadata: {name: a}\nspec: {predictor: {newer: {x: 1}, sklearn: {storageUri: s3://b/m, newest: 9007199254740993, resources: {later: 1, limits: {cpu: 1000m}}}}}", "",
			"metadata: {name: a, annotations: {modelFormat: sklearn, serving.kserve.io/deploymentMode: Standard}, finalizers: [inferenceservice.finalizers]}\n" +
				"spec: {predictor: {newer: {x: 1}, model: {modelFormat: {name: sklearn}, storageUri: s3://b/m, newest: 9007199254740993, resources: {later: 1, limits: {cpu: '1'}}}}}",
		},
		"a container gets a name and resources, and keeps what is unknown": {
			admissionv1.Create,
			"metadata: {name: a, annotations: {serving.kserve.io/deploymentMode: RawDeployment}}\nspec: {predictor: {containers: [{image: i, newer: 1, resources: {limits: {cpu: '2', x: '1'}}}]}}", "",
			"metadata: {name: a, annotations: {serving.kserve.io/deploymentMode: Standard}, finalizers: [inferenceservice.finalizers]}\n" +
				"spec: {predictor: {containers: [{name: kserve-container, image: i, newer: 1, resources: {limits: {cpu: '2', memory: 2Gi, x: '1'}, requests: {cpu: '1', memory: 2Gi}}}]}}",
		},
		"a status of another cluster does not choose the mode": {
			admissionv1.Create,
			"metadata: {name: a}\nspec: {predictor: {model: {modelFormat: {name: a}}}}\nstatus: {deploymentMode: Knative}", "",
			"metadata: {name: a, annotations: {modelFormat: a, serving.kserve.io/deploymentMode: Standard}, finalizers: [inferenceservice.finalizers]}\nspec: {predictor: {model: {modelFormat: {name: a}}}}\nstatus: {deploymentMode: Knative}",
		},
		"a service that runs keeps its mode whatever the default is now": {
			admissionv1.Update,
			"metadata: {name: a, annotations: {modelFormat: a}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
			"metadata: {name: a}\nstatus: {deploymentMode: Serverless}",
			"metadata: {name: a, annotations: {modelFormat: a}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
		},
		"a change gets no finalizer": {
			admissionv1.Update,
			"metadata: {name: a}\nspec: {predictor: {model: {modelFormat: {name: a}}}}", "metadata: {name: a}",
			"metadata: {name: a, annotations: {modelFormat: a, serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
		},
		"a format that was filled in follows the model": {
			admissionv1.Update,
			"metadata: {name: a, annotations: {modelFormat: a, serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: b}}}}",
			"metadata: {name: a, annotations: {modelFormat: a}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
			"metadata: {name: a, annotations: {modelFormat: b, serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: b}}}}",
		},
		"a format that somebody wrote stays": {
			admissionv1.Update,
			"metadata: {name: a, annotations: {modelFormat: own, serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: b}}}}",
			"metadata: {name: a, annotations: {modelFormat: own}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
			"metadata: {name: a, annotations: {modelFormat: own, serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: b}}}}",
		},
		"annotations that are null get a mode": {
			admissionv1.Update,
			"metadata: {name: a, annotations: null}\nspec: {predictor: {model: {modelFormat: {name: a}}}}", "metadata: {name: a, annotations: null}",
			"metadata: {name: a, annotations: {modelFormat: a, serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
		},
		"what is being deleted is left as it is": {
			admissionv1.Update,
			"metadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}\nspec: {predictor: {sklearn: {}}}", "metadata: {name: a}",
			"metadata: {name: a, deletionTimestamp: '2026-01-01T00:00:00Z'}\nspec: {predictor: {sklearn: {}}}",
		},
		"a finalizer of somebody else stays first": {
			admissionv1.Create,
			"metadata: {name: a, finalizers: [x/y], annotations: {serving.kserve.io/deploymentMode: Knative, modelFormat: b}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}", "",
			"metadata: {name: a, finalizers: [x/y, inferenceservice.finalizers], annotations: {serving.kserve.io/deploymentMode: Knative, modelFormat: b}}\nspec: {predictor: {model: {modelFormat: {name: a}}}}",
		},
		"ModelMesh cleans up itself": {
			admissionv1.Create,
			"metadata: {name: a, annotations: {serving.kserve.io/deploymentMode: ModelMesh}}\nspec: {predictor: {sklearn: {}}}", "",
			"metadata: {name: a, annotations: {serving.kserve.io/deploymentMode: ModelMesh}}\nspec: {predictor: {sklearn: {}}}",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := c.old
			if old != "" {
				old = head + old
			}
			r := request(t, c.operation, head+c.object, old)
			got := patched(t, r.Object.Raw, defaulting.Service(standard, nil)(context.Background(), r))
			require.JSONEq(t, string(toJSON(t, head+c.want)), got)
			// A second review of the result changes nothing.
			again := request(t, c.operation, got, old)
			require.Empty(t, defaulting.Service(standard, nil)(context.Background(), again).Patch)
		})
	}
}

func TestOtherOperationsPass(t *testing.T) {
	t.Parallel()
	for _, operation := range []admissionv1.Operation{admissionv1.Delete, admissionv1.Connect, ""} {
		a := defaulting.Service(func() (*settings.Settings, error) { return nil, errors.New("no settings") }, nil)(context.Background(), &admissionv1.AdmissionRequest{Operation: operation})
		require.Equal(t, review.Allowed(), a)
	}
}

func TestWithoutSettingsOrObjectTheAnswerSaysWhy(t *testing.T) {
	t.Parallel()
	none := func() (*settings.Settings, error) { return nil, errors.New("the ConfigMap is bad") }
	a := defaulting.Service(none, nil)(context.Background(), request(t, admissionv1.Create, "metadata: {name: a}", ""))
	require.Equal(t, int32(http.StatusServiceUnavailable), a.Refusal.Code)
	require.Contains(t, a.Refusal.Message, "the ConfigMap is bad")
	for _, raw := range []string{"", `{"spec":[]}`, `{"spec":{"predictor":{"minReplicas":"many"}}}`, `"x"`} {
		a := defaulting.Service(standard, nil)(context.Background(), &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte(raw)}})
		require.Equal(t, int32(http.StatusBadRequest), a.Refusal.Code, raw)
	}
}

func FuzzService(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"predictor":{"sklearn":{"storageUri":"s3://a"}}}}`, `{"spec":{"predictor":{"containers":[{}]},"transformer":{"containers":[{"name":"x"}]},"explainer":{"art":{}}}}`,
		`{"metadata":{"annotations":null,"finalizers":null},"spec":{"predictor":{"storageUris":[{"uri":"s3://a"}],"model":null}}}`, `{}`, `null`, `[]`,
		`{"spec":{"predictor":{},"canary":[{"predictor":{"xgboost":{}}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	handle := defaulting.Service(standard, nil)
	f.Fuzz(func(t *testing.T, raw []byte) {
		// What the API server sends was read and written by it before, so a key stands in it once.
		var tree map[string]any
		if json.Unmarshal(raw, &tree) != nil || tree == nil {
			t.Skip("no object, so nothing that an API server sends")
		}
		raw, err := json.Marshal(tree)
		require.NoError(t, err)
		r := &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}
		a := handle(context.Background(), r)
		if a.Refusal != nil {
			require.NotEmpty(t, a.Refusal.Message)
			return
		}
		again := *r
		again.Object.Raw = []byte(patched(t, raw, a))
		require.Empty(t, handle(context.Background(), &again).Patch, "defaults a second time change nothing")
	})
}

const benchService = `
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: iris, namespace: default, labels: {team: a}}
spec: {predictor: {minReplicas: 1, maxReplicas: 3, sklearn: {storageUri: s3://b/m, resources: {limits: {cpu: "1", memory: 2Gi}}}}}`

func BenchmarkService(b *testing.B) {
	handle, r := defaulting.Service(standard, nil), request(b, admissionv1.Create, benchService, "")
	b.ReportAllocs()
	for b.Loop() {
		if a := handle(context.Background(), r); len(a.Patch) == 0 {
			b.Fatal("no patch")
		}
	}
}

// TestRecordedInputsSettle holds that what was filled in once is what stays: a second review, a review of the stored object, and a client
// that applies its file again change nothing.
func TestRecordedInputsSettle(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../../test/data/parity/cases/*/input.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 200)
	services := 0
	for _, mode := range []serving.DeploymentMode{serving.Standard, serving.Knative} {
		handle := defaulting.Service(func() (*settings.Settings, error) {
			st := settings.Defaults()
			st.Deploy.DefaultMode = mode
			return st, nil
		}, nil)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			for text := range strings.SplitSeq(string(data), "\n---\n") {
				if !strings.Contains(text, "kind: InferenceService") {
					continue
				}
				first := request(t, admissionv1.Create, text, "")
				answer := handle(t.Context(), first)
				if answer.Refusal != nil {
					continue // YAML of another version
				}
				services++
				stored := patched(t, first.Object.Raw, answer)
				require.Empty(t, handle(t.Context(), request(t, admissionv1.Create, stored, "")).Patch, file)
				require.Empty(t, handle(t.Context(), request(t, admissionv1.Update, stored, stored)).Patch, file)
				// The file applied again: its fields over the stored ones, as an API server merges them.
				merged, err := jsonpatch.MergePatch([]byte(stored), first.Object.Raw)
				require.NoError(t, err)
				again := request(t, admissionv1.Update, string(merged), stored)
				if strings.Contains(text, "model:") || strings.Contains(text, "containers:") {
					require.JSONEq(t, stored, patched(t, again.Object.Raw, handle(t.Context(), again)), file)
				}
			}
		}
	}
	require.Greater(t, services, 300)
}

func TestAServiceUsesTheLocalModelsThatThereAre(t *testing.T) {
	t.Parallel()
	enabled := func() (*settings.Settings, error) {
		st, err := standard()
		st.LocalModel.Enabled = true
		return st, err
	}
	const text = "metadata: {name: a}\nspec: {predictor: {model: {modelFormat: {name: huggingface}, storageUri: hf://m/l}}}"
	ask := func(caches defaulting.Caches) review.Answer {
		r := request(t, admissionv1.Create, text, "")
		r.Namespace = "team"
		return defaulting.Service(enabled, caches)(t.Context(), r)
	}
	answer := ask(func(_ context.Context, namespace string) ([]servingv1beta1.LocalModelCache, error) {
		require.Equal(t, "team", namespace)
		return []servingv1beta1.LocalModelCache{{Name: "llama", SourceURI: "hf://m/l", NodeGroups: []string{"gpu1", "gpu2"}}}, nil
	})
	got := patched(t, toJSON(t, text), answer)
	require.Contains(t, got, `"internal.serving.kserve.io/localmodel":"llama"`)
	require.Contains(t, got, `"internal.serving.kserve.io/localmodel-pvc-name":"llama-gpu1"`)
	answer = ask(func(context.Context, string) ([]servingv1beta1.LocalModelCache, error) {
		return nil, errors.New("the API server is down")
	})
	require.EqualValues(t, http.StatusServiceUnavailable, answer.Refusal.Code)
	require.Contains(t, answer.Refusal.Message, "is down")
}
