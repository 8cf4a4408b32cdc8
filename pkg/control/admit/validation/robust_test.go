// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
)

// post sends a review of an object as an API server does, and returns the answer.
func post(tb testing.TB, e *review.Endpoint, operation admissionv1.Operation, object, old []byte) *admissionv1.AdmissionResponse {
	tb.Helper()
	if len(old) == 0 {
		old = []byte("null")
	}
	body := fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":%q,"namespace":"default","object":%s,"oldObject":%s}}`,
		operation, object, old)
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/x?timeout=30s", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	require.NoError(tb, err)
	require.Equal(tb, http.StatusOK, w.Code, "%.200s", text)
	var back admissionv1.AdmissionReview
	require.NoError(tb, json.Unmarshal(text, &back))
	require.NotNil(tb, back.Response)
	return back.Response
}

// hostile are objects that no person writes. Each is answered, most with a refusal, none with a panic or a delay that grows with its size.
func hostile() map[string]struct{ object, says string } {
	head := `{"apiVersion":"serving.kserve.io/v1beta1","kind":"InferenceService","metadata":{"name":"a"%s},"spec":{"predictor":{"model":{"modelFormat":{"name":"a"}%s}%s}%s}}`
	service := func(meta, model, predictor, spec string) string {
		return fmt.Sprintf(head, meta, model, predictor, spec)
	}
	many := func(n int, item string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(item, i)
		}
		return strings.Join(list, ",")
	}
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	return map[string]struct{ object, says string }{
		"an annotation of a MiB":              {service(`,"annotations":{"a":"`+strings.Repeat("x", 1<<20)+`"}`, "", "", ""), ""},
		"a key of a MiB":                      {service(`,"annotations":{"`+strings.Repeat("x", 1<<20)+`":"a"}`, "", "", ""), ""},
		"ten thousand annotations":            {service(`,"annotations":{`+many(10000, `"serving.kserve.io/x%d":"a"`)+`}`, "", "", ""), ""},
		"ten thousand labels":                 {service(`,"labels":{`+many(10000, `"serving.kserve.io/x%d":"a"`)+`}`, "", "", ""), ""},
		"ten thousand variables":              {service("", `,"env":[`+many(10000, `{"name":"PYTHONPATH","value":"%d"}`)+`]`, "", ""), "PYTHONPATH"},
		"five thousand sources":               {service("", "", `,"storageUris":[`+many(5000, `{"uri":"s3://b/%d","mountPath":"/%[1]d/x"}`)+`]`, ""), "in common"},
		"a thousand canaries":                 {service("", "", "", `,"canary":[`+many(1000, `{"trafficPercent":1,"predictor":{"name":"a%d","model":{"modelFormat":{"name":"a"}}}}`)+`]`), "canary"},
		"ten thousand unknown fields":         {service("", "", ","+many(10000, `"x%d":1`), ""), ""},
		"unknown fields in each other":        {service("", "", `,"x":`+deep, ""), ""},
		"a name in other letters":             {strings.Replace(service("", "", "", ""), `"name":"a"`, `"name":"名前"`, 1), "metadata.name"},
		"letters that are none":               {strings.Replace(service("", "", "", ""), `"name":"a"`, `"name":"a\u0000\u202e\ud800"`, 1), "metadata.name"},
		"a source in other letters":           {service("", `,"storageUri":"s3://bucket/модель/模型"`, "", ""), ""},
		"a source of a MiB":                   {service("", `,"storageUri":"foo://`+strings.Repeat("x", 1<<20)+`"`, "", ""), "nothing fetches"},
		"a format of a MiB":                   {strings.Replace(service("", "", "", ""), `"modelFormat":{"name":"a"}`, `"modelFormat":{"name":"`+strings.Repeat("x", 1<<20)+`"}`, 1), ""},
		"nulls":                               {`{"metadata":{"name":"a","annotations":null,"labels":null,"finalizers":null},"spec":{"predictor":{"model":null,"containers":null,"labels":null,"annotations":null,"logger":null,"autoScaling":null,"storageUris":null},"transformer":null,"explainer":null,"canary":null}}`, "exactly one of"},
		"nothing":                             {`{}`, "metadata.name"},
		"numbers beyond all":                  {service("", "", `,"minReplicas":99999999999999999999`, ""), "number"},
		"a number with a fraction":            {service("", "", `,"minReplicas":1.5`, ""), "number"},
		"canaries whose sum is beyond 2^31":   {service(`,"annotations":{"serving.kserve.io/deploymentMode":"Standard"}`, "", "", `,"canary":[`+many(3, `{"trafficPercent":2147483647,"predictor":{"name":"v%d","model":{"modelFormat":{"name":"a"}}}}`)+`]`), "6442450941"},
		"a quantity that is none":             {service("", `,"resources":{"limits":{"cpu":"much"}}`, "", ""), "spec.predictor.model.resources.limits.cpu: the text \"much\" (quoted values are texts) is no quantity; write for example 500m, 2 or 1Gi"},
		"a quantity that has no end":          {service("", `,"resources":{"limits":{"memory":"1e999999999999"}}`, "", ""), `spec.predictor.model.resources.limits.memory: "1e999999999999" has an exponent beyond 99`},
		"a metric that has no end":            {service("", "", `,"autoScaling":{"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1e-999999999"}}}]}`, ""), "exponent beyond 99"},
		"metrics without anything":            {service(`,"annotations":{"serving.kserve.io/deploymentMode":"Standard","serving.kserve.io/autoscalerClass":"keda"}`, "", `,"autoScaling":{"metrics":[{},{},{"type":"Resource"},{"type":"External"},{"type":"PodMetric"}]}`, ""), "set podmetric"},
		"as many containers as are taken":     {listOf("containers", "{}"), "spec.predictor.containers"},
		"as many volumes as are taken":        {listOf("volumes", "{}"), "spec.predictor"},
		"a predictor that is a list":          {`{"metadata":{"name":"a"},"spec":{"predictor":[]}}`, "spec.predictor: an object with fields is expected, got a list"},
		"a name of nothing but its longest":   {strings.Replace(service("", "", "", ""), `"name":"a"`, `"name":"`+strings.Repeat("a", 253)+`"`, 1), "limit is 63"},
		"an annotation key with a path in it": {service(`,"annotations":{"serving.kserve.io/stop/../../x":"true","/":"","//":"a","serving.kserve.io/":"b"}`, "", "", ""), ""},
	}
}

// listOf is a service with a list about as long as is taken: whatever looks at each of it once more for each takes minutes.
func listOf(list, item string) string {
	const n = review.MaxParts - 1000
	return `{"metadata":{"name":"a"},"spec":{"predictor":{"model":{"modelFormat":{"name":"b"},"storageUri":"s3://b/m"},"` + list + `":[` +
		strings.Repeat(item+",", n) + item + `]}}}`
}

func TestHostileObjectsAreAnswered(t *testing.T) {
	t.Parallel()
	e := &review.Endpoint{
		Handle: validator(live(t, nil)).Service(), Budget: review.NewBudget(),
		Failure: func(_ *admissionv1.AdmissionRequest, message string) { t.Errorf("a fault: %.500s", message) },
	}
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, old := range []string{"", `{"metadata":{"name":"a"},"spec":{"predictor":{"model":{"modelFormat":{"name":"b"}}}}}`} {
				operation := admissionv1.Create
				if old != "" {
					operation = admissionv1.Update
				}
				answer := post(t, e, operation, []byte(c.object), []byte(old))
				require.Equal(t, c.says == "", answer.Allowed, "%v", answer.Result)
				if c.says != "" {
					require.Contains(t, answer.Result.Message, c.says)
				}
				require.LessOrEqual(t, len(answer.Warnings), 64, "warnings are for reading")
				for _, warning := range answer.Warnings {
					require.LessOrEqual(t, len(warning), 256)
				}
			}
		})
	}
}

// TestWhatWasStoredUnseenCanBeMendedAndDeleted: an object that came while no webhook ran may be one that cannot be read.
func TestWhatWasStoredUnseenCanBeMendedAndDeleted(t *testing.T) {
	t.Parallel()
	e := &review.Endpoint{Handle: validator(live(t, nil)).Service(), Budget: review.NewBudget()}
	stored := func(meta, model string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"name":"a"%s},"spec":{"predictor":{"model":{"modelFormat":{"name":"a"}%s}}}}`, meta, model)
	}
	const going = `,"deletionTimestamp":"2026-01-02T03:04:05Z"`
	for name, bad := range map[string]string{
		"a quantity without an end": `,"resources":{"limits":{"memory":"1e999999999999"}}`,
		"a wrong type":              `,"resources":7`,
		"too many parts":            `,"env":[` + strings.Repeat("{},", review.MaxParts) + `{}]`,
		"a million parts":           `,"env":[` + strings.Repeat("{},", 1<<20) + `{}]`,
	} {
		require.False(t, post(t, e, admissionv1.Update, stored("", bad), stored("", bad)).Allowed, name)
		require.False(t, post(t, e, admissionv1.Create, stored(going, bad), nil).Allowed, name)
		require.True(t, post(t, e, admissionv1.Update, stored(going, bad), stored(going+`,"finalizers":["x"]`, bad)).Allowed, "%s, going", name)
		mended := post(t, e, admissionv1.Update, stored("", ""), stored("", bad))
		require.True(t, mended.Allowed, "%s, mended: %v", name, mended.Result)
		require.Contains(t, strings.Join(mended.Warnings, "\n"), "the stored one cannot be read", name)
		require.False(t, post(t, e, admissionv1.Update, stored("", `,"storageUri":"foo://x"`), stored("", bad)).Allowed, "%s, mended by another fault", name)
	}
}

// TestManyReviewsAtATime holds that answers do not depend on what else is asked.
func TestManyReviewsAtATime(t *testing.T) {
	t.Parallel()
	e := &review.Endpoint{Handle: validator(live(t, nil)).Service(), Budget: review.NewBudget()}
	good, bad := raw(t, source("s3://b/m")).Raw, raw(t, source("newer://x")).Raw
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			object, allowed := good, true
			if i%2 == 1 {
				object, allowed = bad, false
			}
			answer := post(t, e, admissionv1.Create, object, nil)
			if answer.Allowed != allowed {
				t.Errorf("%d: %v", i, answer.Result)
			}
		})
	}
	group.Wait()
}

// BenchmarkReview is one review of a service, from the body of the request to that of the answer.
func BenchmarkReview(b *testing.B) {
	e := &review.Endpoint{Handle: validator(live(b, nil)).Service(), Budget: review.NewBudget()}
	object := raw(b, source("s3://b/m")).Raw
	for name, old := range map[string][]byte{"create": nil, "update": object} {
		b.Run(name, func(b *testing.B) {
			operation := admissionv1.Create
			if old != nil {
				operation = admissionv1.Update
			}
			b.ReportAllocs()
			for b.Loop() {
				if answer := post(b, e, operation, object, old); !answer.Allowed {
					b.Fatal(answer.Result)
				}
			}
		})
	}
}
