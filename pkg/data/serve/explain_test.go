// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func explaining(t *testing.T, model string, o serve.Options) string {
	t.Helper()
	m, err := sklearn.New().Open(t.Context(), model, engine.Options{})
	require.NoError(t, err)
	url, _ := onPorts(t, m, o)
	return url
}

func TestExplain(t *testing.T) {
	registry := prometheus.NewRegistry()
	url := explaining(t, "../../../test/data/protocol/models/iris-logreg/model.joblib", serve.Options{Registry: registry})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[[5.1,3.5,1.4,0.2],[6.7,3.0,5.2,2.3]]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	var answer struct {
		Explanations struct {
			Algorithm, Unit string
			Outputs         []string
			Background      []float64
			Base            []float64     `json:"base_values"`
			Values          [][][]float64 `json:"shap_values"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
	e := answer.Explanations
	require.Equal(t, "linear", e.Algorithm)
	require.Equal(t, "decision_function", e.Unit)
	require.Equal(t, []string{"0", "1", "2"}, e.Outputs)
	require.Equal(t, []float64{0, 0, 0, 0}, e.Background)
	require.Len(t, e.Base, 3)
	require.Len(t, e.Values, 2)
	require.Len(t, e.Values[0], 3)
	require.Len(t, e.Values[0][0], 4)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "request_explain_seconds" {
			require.EqualValues(t, 1, f.GetMetric()[0].GetHistogram().GetSampleCount())
		}
	}
	for body, want := range map[string]string{
		`{`:                            "Unrecognized request format",
		`{"instances":[[1,2]]}`:        "expected 4 features in a row, got 2",
		`{"instances":5}`:              `Expected \"instances\" to be a list`,
		`{"instances":[["a","b"]]}`:    "",
		`{"instances":[[1,2,3,null]]}`: "",
	} {
		resp, text := do(t, http.MethodPost, url+"/v1/models/m:explain", body)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, body)
		require.Contains(t, text, want)
	}
	resp, _ = do(t, http.MethodPost, url+"/v1/models/other:explain", `{"instances":[[1]]}`)
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

func TestExplainIsRefusedWhereThereIsNoExplanation(t *testing.T) {
	url := explaining(t, "../../../test/data/protocol/models/iris-svc/model.pkl", serve.Options{})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[[5.1,3.5,1.4,0.2]]}`)
	require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
	require.Contains(t, body, "Could not find explainer_host. There are exact explanations of trees and of linear models")

	url, _ = onPorts(t, newModel(t, echoes{}), serve.Options{})
	resp, body = do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[1]}`)
	require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
	require.Equal(t, `{"error":"Could not find explainer_host."}`, body)
}

func TestAModelInGoMayExplain(t *testing.T) {
	url, _ := onPorts(t, newModel(t, &whole{}), serve.Options{})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[[1,2]]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, `{"explanations":[[1,2]]}`, body)
	require.Empty(t, resp.Header.Get("Authorization"))
}

// panics explains nothing.
type panics struct{ echoes }

func (panics) Explain(context.Context, *tensor.Request, *tensor.Response) error { panic("no") }

func TestAnExplainerThatPanicsLeavesItsPlace(t *testing.T) {
	url, _ := onPorts(t, newModel(t, panics{}), serve.Options{Limits: serve.Limits{Running: 1, Queue: 1}})
	for range 3 {
		resp, _ := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[1]}`)
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	}
	resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
}
