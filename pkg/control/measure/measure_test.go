// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// server speaks the part of Prometheus' HTTP API that is used here. It is a stand-in: Prometheus is no Go module that could be started.
func server(t *testing.T, answer http.HandlerFunc) settings.CanaryAnalysis {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return settings.CanaryAnalysis{Address: s.URL, TimeoutSeconds: 5}
}

func success(result string) string { return `{"status":"success","data":` + result + `}` }

func vector(values ...string) string {
	list := make([]string, 0, len(values))
	for i, v := range values {
		list = append(list, fmt.Sprintf(`{"metric":{"i":"%d"},"value":[1,%q]}`, i, v))
	}
	return success(`{"resultType":"vector","result":[` + strings.Join(list, ",") + `]}`)
}

func TestAnswersAreNumbersOrMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code    int
		body    string
		value   float64
		missing string
		says    string
	}{
		"a vector of one":          {200, vector("99.5"), 99.5, "", ""},
		"a scalar":                 {200, success(`{"resultType":"scalar","result":[1,"0.25"]}`), 0.25, "", ""},
		"infinity is a number":     {200, vector("+Inf"), 0, "", ""},
		"no series":                {200, vector(), 0, rollout.ReasonNoData, "nothing to measure"},
		"nothing by nothing":       {200, vector("NaN"), 0, rollout.ReasonNoData, "nothing to measure"},
		"two series":               {200, vector("1", "2"), 0, rollout.ReasonNoAnswer, "2 series"},
		"a matrix":                 {200, success(`{"resultType":"matrix","result":[]}`), 0, rollout.ReasonNoAnswer, "a matrix"},
		"a text":                   {200, success(`{"resultType":"string","result":[1,"x"]}`), 0, rollout.ReasonNoAnswer, "string"},
		"no JSON":                  {200, "<html>", 0, rollout.ReasonNoAnswer, "bad_response"},
		"HTML with status 200":     {200, "<!DOCTYPE html><title>Sign in</title>", 0, rollout.ReasonNoAnswer, "bad_response"},
		"an error with status 200": {200, `{"status":"error","errorType":"execution","error":"too many samples"}`, 0, rollout.ReasonNoAnswer, "too many samples"},
		"success without data":     {200, `{"status":"success"}`, 0, rollout.ReasonNoAnswer, ""},
		"null as data":             {200, success("null"), 0, rollout.ReasonNoAnswer, "no result"},
		"a result of no kind":      {200, success(`{"resultType":"none","result":[1,"2"]}`), 0, rollout.ReasonNoAnswer, ""},
		"a list as a number":       {200, success(`{"resultType":"vector","result":[{"metric":{},"value":[1,["2"]]}]}`), 0, rollout.ReasonNoAnswer, ""},
		"a number that is bare":    {200, success(`{"resultType":"scalar","result":[1,2]}`), 0, rollout.ReasonNoAnswer, ""},
		"words for a number":       {200, vector("many"), 0, rollout.ReasonNoAnswer, ""},
		"a value that is missing":  {200, success(`{"resultType":"vector","result":[{"metric":{}}]}`), 0, rollout.ReasonNoAnswer, "without a value"},
		"a series of null":         {200, success(`{"resultType":"vector","result":[null]}`), 0, rollout.ReasonNoAnswer, "without a value"},
		"a scalar of null":         {200, success(`{"resultType":"scalar","result":null}`), 0, rollout.ReasonNoAnswer, ""},
		"a scalar of nulls":        {200, success(`{"resultType":"scalar","result":[null,null]}`), 0, rollout.ReasonNoAnswer, ""},
		"a value of nulls":         {200, success(`{"resultType":"vector","result":[{"metric":{},"value":[null,null]}]}`), 0, rollout.ReasonNoAnswer, ""},
		"a vector of null":         {200, success(`{"resultType":"vector","result":null}`), 0, rollout.ReasonNoData, ""},
		"an object as a vector":    {200, success(`{"resultType":"vector","result":{}}`), 0, rollout.ReasonNoAnswer, ""},
		"nothing at all":           {200, "", 0, rollout.ReasonNoAnswer, ""},
		"no content":               {204, "", 0, rollout.ReasonNoAnswer, ""},
		"half an answer":           {200, vector("1")[:40], 0, rollout.ReasonNoAnswer, ""},
		"deep brackets":            {200, success(strings.Repeat("[", 30000)), 0, rollout.ReasonNoAnswer, ""},
		"a query that is refused":  {400, `{"status":"error","errorType":"bad_data","error":"parse\nerror at 3"}`, 0, rollout.ReasonNoAnswer, "bad_data: parse error at 3"},
		"a server in trouble":      {503, "no", 0, rollout.ReasonNoAnswer, "503"},
		"an answer without end":    {200, success(`"` + strings.Repeat("x", 1<<20) + `"`), 0, rollout.ReasonNoAnswer, "longer than 64 KiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.code)
				fmt.Fprint(w, test.body)
			})
			var c clients
			got := c.ask(t.Context(), &Ask{Settings: st, Queries: []rollout.Query{{Name: "q", Text: "up"}}})
			require.Len(t, got, 1)
			require.Equal(t, test.missing, got[0].Missing, got[0].Detail)
			require.Contains(t, got[0].Detail, test.says)
			require.LessOrEqual(t, len(got[0].Detail), maxDetail+10)
			if test.value != 0 {
				require.InDelta(t, test.value, got[0].Value, 0)
			}
		})
	}
}

func TestTheServerIsAskedAsItWantsToBe(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	st := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/query" || r.FormValue("query") != "sum(up)" || r.FormValue("timeout") != "5s" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "wrong", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, vector("1"))
	})
	st.BearerTokenFile = token
	var c clients
	ask := &Ask{Settings: st, Queries: []rollout.Query{{Name: "q", Text: "sum(up)"}}}
	require.Equal(t, []rollout.Reading{{Name: "q", Value: 1}}, c.ask(t.Context(), ask))
	require.NoError(t, os.Remove(token))
	require.Equal(t, errToken.Error(), c.ask(t.Context(), ask)[0].Detail)
}

func TestNoOtherAddressIsAsked(t *testing.T) {
	t.Parallel()
	other := server(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	st := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.Address, http.StatusTemporaryRedirect)
	})
	var c clients
	require.Contains(t, c.ask(t.Context(), &Ask{Settings: st, Queries: []rollout.Query{{Name: "q", Text: "up"}}})[0].Detail, "not followed")
}

func TestASilentServerIsAskedOnceAndItsAddressIsNotTold(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	ended := make(chan struct{})
	st := server(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		_ = r.ParseForm()
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	t.Cleanup(func() { close(ended) })
	st.TimeoutSeconds = 1
	queries := []rollout.Query{{Name: "a", Text: "up"}, {Name: "b", Text: "up"}}
	var c clients
	for _, r := range c.ask(t.Context(), &Ask{Settings: st, Queries: queries}) {
		require.Equal(t, rollout.ReasonNoAnswer, r.Missing)
		require.Contains(t, r.Detail, "no answer within 1s")
	}
	require.Len(t, asked, 1)

	gone := httptest.NewServer(nil)
	gone.Close()
	for _, r := range c.ask(t.Context(), &Ask{Settings: settings.CanaryAnalysis{Address: gone.URL, TimeoutSeconds: 1}, Queries: queries}) {
		require.Equal(t, rollout.ReasonNoAnswer, r.Missing)
		require.Contains(t, r.Detail, "cannot be reached")
		require.NotContains(t, r.Detail, "127.0.0.1")
	}
}

func TestAnAnswerThatIsTooLongSaysNothingOfOtherQueries(t *testing.T) {
	t.Parallel()
	st := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") == "long" {
			fmt.Fprint(w, success(`"`+strings.Repeat("x", 1<<20)+`"`))
			return
		}
		fmt.Fprint(w, vector("1"))
	})
	var c clients
	got := c.ask(t.Context(), &Ask{Settings: st, Queries: []rollout.Query{{Name: "a", Text: "long"}, {Name: "b", Text: "up"}}})
	require.Equal(t, rollout.ReasonNoAnswer, got[0].Missing)
	require.Equal(t, rollout.Reading{Name: "b", Value: 1}, got[1])
}

func TestThereIsALookInEveryIntervalAndNobodyWaits(t *testing.T) {
	t.Parallel()
	st := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, vector("7")) })
	woken := make(chan types.NamespacedName, 1)
	m := New(zap.NewNop(), func(_ context.Context, n types.NamespacedName) { woken <- n })
	now := time.Unix(1000, 0)
	m.now = func() time.Time { return now }
	ask := Ask{
		Canary: Canary{Service: types.NamespacedName{Namespace: "ns", Name: "m"}, UID: "u", Name: "v2", Spec: "1"},
		Every:  time.Minute, Queries: []rollout.Query{{Name: "q", Text: "up"}}, Settings: st,
	}
	look, after := m.Look(ask)
	require.Nil(t, look, "nobody takes looks yet")
	require.Zero(t, after)
	look, after = m.Look(ask)
	require.Nil(t, look)
	require.Zero(t, after, "the look is on its way")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	require.Equal(t, ask.Service, <-woken)
	look, after = m.Look(ask)
	require.Equal(t, &rollout.Look{Taken: now, Readings: []rollout.Reading{{Name: "q", Value: 7}}}, look)
	require.Equal(t, time.Minute, after)

	now = now.Add(time.Minute)
	look, _ = m.Look(ask)
	require.NotNil(t, look, "the last look stands until the next")
	<-woken

	ask.Spec = "2"
	look, _ = m.Look(ask)
	require.Nil(t, look, "what was measured of another spec does not count")
	<-woken
	m.Forget("u", "v2")
	look, _ = m.Look(ask)
	require.NotNil(t, look)
	m.Forget("u")
	require.Empty(t, m.entries)
	cancel()
	require.NoError(t, <-done)
}
