// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

func TestLogIsJSONInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	require.NoError(t, err)
	log, err := telemetry.NewLogger(telemetry.LogOptions{Level: "WARNING"}, file)
	require.NoError(t, err)
	log.Info("hidden")
	log.Warn("shown")
	require.NoError(t, file.Close())

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var line map[string]any
	require.NoError(t, json.Unmarshal(data, &line), string(data))
	require.Equal(t, "shown", line["message"])
	require.Equal(t, "warn", line["level"])
}

func TestABufferedLogIsWholeWhenItIsStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	log, stop, err := telemetry.NewBufferedLogger(telemetry.LogOptions{}, file)
	require.NoError(t, err)
	for range 1000 {
		log.Info("line")
	}
	stop()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1000, bytes.Count(data, []byte("\n")))
}

// Whatever a client sends is a value of one line, and no terminal obeys it.
func TestNoTextLeavesItsLine(t *testing.T) {
	for _, format := range []string{"json", "console"} {
		path := filepath.Join(t.TempDir(), format)
		file, err := os.Create(path)
		require.NoError(t, err)
		log, err := telemetry.NewLogger(telemetry.LogOptions{Format: format}, file)
		require.NoError(t, err)
		const text = "a\nb\r\"},{\x00\x1b[2J\u009b2J\x7f\u0085\u00a0é\xff\u2028"
		log.Info("request", zap.String("path", text))
		require.NoError(t, file.Close())
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, 1, bytes.Count(data, []byte("\n")), "%q", data)
		at := bytes.IndexByte(data, '{')
		var line map[string]any
		require.NoError(t, json.Unmarshal(data[at:], &line), "%q", data)
		require.Equal(t, strings.ToValidUTF8(text, "\ufffd"), line["path"])
		require.Less(t, bytes.IndexFunc(bytes.TrimSpace(data[at:]), unicode.IsControl), 0, "%q", data)
	}
}

func TestLogOptionsAreChecked(t *testing.T) {
	_, err := telemetry.NewLogger(telemetry.LogOptions{Level: "loud"}, os.Stderr)
	require.EqualError(t, err, `log level "loud": expected debug, info, warn or error`)
	_, err = telemetry.NewLogger(telemetry.LogOptions{Format: "xml"}, os.Stderr)
	require.EqualError(t, err, `log format "xml": expected json, console or auto`)
}

func TestHistogramsHaveCreatedSamplesInBothFormats(t *testing.T) {
	reg := telemetry.NewRegistry()
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "request_predict_seconds", Help: "predict request latency"},
		[]string{"model_name"})
	reg.MustRegister(h)
	h.WithLabelValues("iris").Observe(0.1)

	cases := map[string]struct{ accept, contentType, typeLine, sample string }{
		"text by default": {
			"", "text/plain; version=0.0.4; charset=utf-8",
			"# TYPE request_predict_seconds_created gauge", `request_predict_seconds_created{model_name="iris"} 1.`,
		},
		"OpenMetrics on demand": {
			"application/openmetrics-text; version=1.0.0; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8",
			"# TYPE request_predict_seconds histogram", `request_predict_seconds_created{model_name="iris"} 1.`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/metrics", nil)
			if c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			w := httptest.NewRecorder()
			telemetry.Handler(reg).ServeHTTP(w, r)
			require.Equal(t, c.contentType, w.Header().Get("Content-Type"))
			require.Contains(t, w.Body.String(), c.typeLine)
			require.Contains(t, w.Body.String(), c.sample)
			require.Contains(t, w.Body.String(), "process_resident_memory_bytes")
		})
	}
}

func TestTheLevelOfTheLogMayChange(t *testing.T) {
	o := telemetry.LogOptions{Level: "warn", Format: "json"}
	require.NoError(t, o.SetLevel("debug"), "without effect")
	o.Follow()
	file, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	defer file.Close()
	log, err := telemetry.NewLogger(o, file)
	require.NoError(t, err)
	log.Info("one")
	require.NoError(t, o.SetLevel("info"))
	log.Info("two")
	require.Error(t, o.SetLevel("loud"))
	require.NoError(t, o.SetLevel(""))
	log.Info("three")
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Contains(t, string(text), "two")
	require.NotContains(t, string(text), "one")
	require.NotContains(t, string(text), "three")
}
