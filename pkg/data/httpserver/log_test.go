// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
)

func TestWhatNetHTTPSaysIsAWarningAtAnyLogLevel(t *testing.T) {
	for _, level := range []zapcore.Level{zap.DebugLevel, zap.InfoLevel, zap.WarnLevel, zap.ErrorLevel} {
		core, logs := observer.New(level)
		var complaints bytes.Buffer
		log := zap.New(core, zap.ErrorOutput(zapcore.AddSync(&complaints)))
		s := httpserver.New(httpserver.Options{HTTP: httpserver.Endpoint{Addr: "127.0.0.1:0"}}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.WriteHeader(http.StatusTeapot)
		}), nil, log)
		require.Empty(t, complaints.String(), "the logger is built without a fault at %s", level)
		require.NoError(t, s.Listen(t.Context()))
		go func() { _ = s.Run(t.Context()) }()
		response, err := http.Get("http://" + s.HTTPAddr().String())
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		said := logs.FilterMessageSnippet("superfluous").FilterLevelExact(zap.WarnLevel).Len()
		require.Equal(t, level <= zap.WarnLevel, said == 1, "at %s", level)
	}
}
