// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package review_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
)

const rightReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE","object":{"a":1}}}`

// ask posts a body and returns the status, the body and, if it is one, the review that came back.
func ask(tb testing.TB, e *review.Endpoint, method, kind, body string) (int, string, *admissionv1.AdmissionReview) {
	tb.Helper()
	request := httptest.NewRequest(method, "/x?timeout=2s", strings.NewReader(body))
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	recorder := httptest.NewRecorder()
	e.ServeHTTP(recorder, request)
	text, err := io.ReadAll(recorder.Body)
	require.NoError(tb, err)
	var back admissionv1.AdmissionReview
	if json.Unmarshal(text, &back) != nil || back.Response == nil {
		return recorder.Code, string(text), nil
	}
	return recorder.Code, string(text), &back
}

func TestWhatIsNoReviewIsAnsweredWithACodeAndASentence(t *testing.T) {
	t.Parallel()
	e := &review.Endpoint{Handle: func(context.Context, *admissionv1.AdmissionRequest) review.Answer {
		t.Error("nobody is to be asked")
		return review.Allowed()
	}}
	cases := map[string]struct {
		method, kind, body string
		code               int
		says               string
	}{
		"another method":               {http.MethodGet, "application/json", rightReview, http.StatusMethodNotAllowed, "POST"},
		"another content type":         {http.MethodPost, "text/plain", rightReview, http.StatusUnsupportedMediaType, "text/plain"},
		"no content type":              {http.MethodPost, "", rightReview, http.StatusUnsupportedMediaType, "application/json"},
		"nothing":                      {http.MethodPost, "application/json", "", http.StatusBadRequest, "no AdmissionReview"},
		"no JSON":                      {http.MethodPost, "application/json", "{", http.StatusBadRequest, "no AdmissionReview"},
		"another kind":                 {http.MethodPost, "application/json", `{"apiVersion":"v1","kind":"Pod"}`, http.StatusBadRequest, `"Pod" of "v1"`},
		"another version":              {http.MethodPost, "application/json", strings.Replace(rightReview, "/v1", "/v2", 1), http.StatusBadRequest, "admission.k8s.io/v1beta1"},
		"no request":                   {http.MethodPost, "application/json", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest, "no request"},
		"no uid":                       {http.MethodPost, "application/json", strings.Replace(rightReview, "u1", "", 1), http.StatusBadRequest, "no uid"},
		"an object of a wrong type":    {http.MethodPost, "application/json", strings.Replace(rightReview, `"u1"`, "7", 1), http.StatusBadRequest, "no AdmissionReview"},
		"more than fits into a review": {http.MethodPost, "application/json", `{"x":"` + strings.Repeat("y", review.MaxBody) + `"}`, http.StatusRequestEntityTooLarge, "larger than"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, text, back := ask(t, e, c.method, c.kind, c.body)
			require.Equal(t, c.code, code)
			require.Contains(t, text, c.says)
			require.Nil(t, back)
		})
	}
}

func TestAnAnswerIsWrittenInTheVersionOfItsReview(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"admission.k8s.io/v1", "admission.k8s.io/v1beta1"} {
		var operation, outcome string
		e := &review.Endpoint{
			Handle: func(ctx context.Context, r *admissionv1.AdmissionRequest) review.Answer {
				deadline, ok := ctx.Deadline()
				require.True(t, ok)
				require.Less(t, time.Until(deadline), 2*time.Second, "the API server waits two seconds")
				require.JSONEq(t, `{"a":1}`, string(r.Object.Raw))
				return review.Answer{Patch: []review.Operation{{Op: "add", Path: "/b", Value: ""}}, Warnings: []string{"w"}}
			},
			Observe: func(op, out string, _ time.Duration) { operation, outcome = op, out },
		}
		code, text, back := ask(t, e, http.MethodPost, "application/json; charset=utf-8", strings.Replace(rightReview, "admission.k8s.io/v1", version, 1))
		require.Equal(t, http.StatusOK, code, text)
		require.Equal(t, version, back.APIVersion)
		require.Equal(t, "AdmissionReview", back.Kind)
		require.Equal(t, "u1", string(back.Response.UID))
		require.True(t, back.Response.Allowed)
		require.Equal(t, admissionv1.PatchTypeJSONPatch, *back.Response.PatchType)
		require.JSONEq(t, `[{"op":"add","path":"/b","value":""}]`, string(back.Response.Patch), "an empty text is a value")
		require.Equal(t, []string{"w"}, back.Response.Warnings)
		require.Equal(t, []string{"CREATE", review.OutcomePatched}, []string{operation, outcome})
	}
}

func TestARefusalNamesFieldAndFault(t *testing.T) {
	t.Parallel()
	long := serving.Warning{Field: "spec.x", Detail: strings.Repeat("ä", 200)}
	e := &review.Endpoint{Handle: func(context.Context, *admissionv1.AdmissionRequest) review.Answer {
		return review.Checked(schema.GroupKind{Group: "g", Kind: "K"}, "n", field.ErrorList{field.Invalid(field.NewPath("spec", "a"), 3, "must be less; lower it")}, []serving.Warning{long})
	}}
	_, _, back := ask(t, e, http.MethodPost, "application/json", rightReview)
	require.False(t, back.Response.Allowed)
	require.Equal(t, int32(http.StatusUnprocessableEntity), back.Response.Result.Code)
	require.Equal(t, `K.g "n" is invalid: spec.a: Invalid value: 3: must be less; lower it`, back.Response.Result.Message)
	require.Equal(t, "spec.a", back.Response.Result.Details.Causes[0].Field)
	require.Equal(t, "spec.x: "+strings.Repeat("ä", 122)+"…", back.Response.Warnings[0], "cut between characters")
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	var told string
	e := &review.Endpoint{
		Handle:  func(context.Context, *admissionv1.AdmissionRequest) review.Answer { panic("boom") },
		Failure: func(_ *admissionv1.AdmissionRequest, message string) { told = message },
	}
	code, _, back := ask(t, e, http.MethodPost, "application/json", rightReview)
	require.Equal(t, http.StatusOK, code)
	require.False(t, back.Response.Allowed)
	require.Equal(t, int32(http.StatusInternalServerError), back.Response.Result.Code)
	require.Contains(t, told, "boom")
	require.Contains(t, told, "review_test.go", "the log says where, the answer does not")
	require.NotContains(t, back.Response.Result.Message, "review_test.go")
}

func TestReviewsWaitForMemoryAsLongAsTheAPIServerDoes(t *testing.T) {
	t.Parallel()
	budget := review.NewBudget()
	require.True(t, budget.TryBodies(63<<20))
	e := &review.Endpoint{Budget: budget, Handle: func(context.Context, *admissionv1.AdmissionRequest) review.Answer { return review.Allowed() }}
	for name, body := range map[string]io.Reader{"long": strings.NewReader(strings.Repeat(" ", 2<<20)), "of no length": io.MultiReader(strings.NewReader(strings.Repeat(" ", 1<<20)))} {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodPost, "/x?timeout=10ms", body)
		request.Header.Set("Content-Type", "application/json")
		e.ServeHTTP(recorder, request)
		require.Equal(t, http.StatusTooManyRequests, recorder.Code, name)
	}
	for range 3 {
		code, _, _ := ask(t, e, http.MethodPost, "application/json", rightReview)
		require.Equal(t, http.StatusOK, code, "a small one fits in, and gives back what it took")
	}
	require.False(t, budget.TryBodies(64<<20))
	budget.ReleaseBodies(63 << 20)
	require.True(t, budget.TryBodies(64<<20), "everything was given back")
	require.True(t, budget.TryParts(review.MaxParts), "of the other half too")
}

// An object of few bytes may be large in memory: a container is two bytes as it is sent, and a KiB as it is read.
func TestAnObjectOfManyPartsIsNotJudged(t *testing.T) {
	t.Parallel()
	list := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	cases := map[string]struct {
		object, old, operation string
		refused                bool
	}{
		"a few":                           {object: list("{}", 100), operation: "CREATE"},
		"as many as are taken":            {object: list("{}", review.MaxParts-1-(review.MaxParts-1)/32), operation: "CREATE"},
		"too many objects":                {object: list("{}", review.MaxParts), operation: "CREATE", refused: true},
		"too many lists":                  {object: list("[]", review.MaxParts), operation: "UPDATE", refused: true},
		"too many values":                 {object: list("0", 33*review.MaxParts), operation: "CREATE", refused: true},
		"a long text of all that":         {object: `"` + strings.Repeat(`{[,\"`, 100000) + `"`, operation: "CREATE"},
		"what is stored is not asked for": {object: `{}`, old: list("{}", 2*review.MaxParts), operation: "UPDATE"},
		"what is too large may go":        {object: `null`, old: list("{}", 2*review.MaxParts), operation: "DELETE"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := false
			budget := review.NewBudget()
			e := &review.Endpoint{Budget: budget, Handle: func(context.Context, *admissionv1.AdmissionRequest) review.Answer {
				judged = true
				return review.Allowed()
			}}
			body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"` + c.operation +
				`","object":` + c.object + `,"oldObject":` + cmp.Or(c.old, "null") + `}}`
			code, _, back := ask(t, e, http.MethodPost, "application/json", body)
			require.Equal(t, http.StatusOK, code)
			require.Equal(t, !c.refused, back.Response.Allowed)
			require.Equal(t, !c.refused, judged)
			if c.refused {
				require.Equal(t, int32(http.StatusRequestEntityTooLarge), back.Response.Result.Code)
				require.Contains(t, back.Response.Result.Message, "at most 16384 are taken: shorten its lists")
			}
			require.True(t, budget.TryParts(review.MaxParts), "everything was given back")
		})
	}
}

func TestAValueOfMegabytesIsNotToldWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3<<20)
	fault := field.Invalid(field.NewPath("metadata", "name"), long, long)
	a := review.Checked(schema.GroupKind{Kind: "InferenceService"}, long, field.ErrorList{fault}, nil)
	text, err := json.Marshal(a.Refusal)
	require.NoError(t, err)
	require.Less(t, len(text), 32<<10)
	require.Contains(t, a.Refusal.Message, "metadata.name: Invalid value")
	require.Equal(t, long, fault.BadValue, "the fault itself stays as it is")

	type named string
	many := make(field.ErrorList, 64)
	for i := range many {
		many[i] = field.NotSupported(field.NewPath("limits").Key(long), named(long), []named{"a"})
	}
	text, err = json.Marshal(review.Checked(schema.GroupKind{Kind: "InferenceService"}, "a", many, nil).Refusal)
	require.NoError(t, err)
	require.Less(t, len(text), 1<<20)
}

func TestFailedKeepsTheCode(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		a := review.Failed(code, errors.New("why"))
		require.Equal(t, int32(code), a.Refusal.Code)
		require.Equal(t, "why", a.Refusal.Message)
		require.NotEmpty(t, a.Refusal.Reason)
	}
}

func FuzzReview(f *testing.F) {
	for _, seed := range []string{
		rightReview, `{}`, `[]`, `null`, `{"kind":"AdmissionReview"}`, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`,
		`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"x","object":null,"oldObject":"","operation":"☃"}}`,
		strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500), "\xff\xfe",
	} {
		f.Add([]byte(seed))
	}
	e := &review.Endpoint{Handle: func(_ context.Context, r *admissionv1.AdmissionRequest) review.Answer {
		var object map[string]any
		if err := review.Object(r.Object.Raw, &object); err != nil {
			return review.Failed(http.StatusBadRequest, err)
		}
		return review.Allowed()
	}}
	f.Fuzz(func(t *testing.T, body []byte) {
		code, text, back := ask(t, e, http.MethodPost, "application/json", string(body))
		if back == nil {
			require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, code)
			require.NotEmpty(t, strings.TrimSpace(text))
			return
		}
		require.Equal(t, http.StatusOK, code)
		require.NotEmpty(t, back.Response.UID)
	})
}

func TestFaultsThatAreTooManyAreCounted(t *testing.T) {
	t.Parallel()
	var faults field.ErrorList
	for i := range 100 {
		faults = append(faults, field.Invalid(field.NewPath("spec").Index(i), i, "must be less; lower it"))
	}
	said := review.Checked(schema.GroupKind{Group: "g", Kind: "K"}, "n", faults, nil).Refusal.Message
	require.Contains(t, said, "spec[63]")
	require.NotContains(t, said, "spec[64]")
	require.Contains(t, said, "and 36 more faults; put those right that are told")
	require.NotContains(t, said, "Internal error", "nothing is wrong here but the object")
}
