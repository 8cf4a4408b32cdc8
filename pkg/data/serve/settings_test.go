// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// Settings of the whole server change while it serves: queues, batches, memory and the log. What is no settings file changes nothing.
func TestSettingsAreFollowed(t *testing.T) {
	m := &sum{word: "sum", entered: make(chan struct{}, 100), leave: make(chan struct{})}
	root := tree(t, map[string]string{"a/m.sum": "sum", "own/m.sum": "sum"})
	settings, list := &configMap{dir: t.TempDir()}, filepath.Join(t.TempDir(), "models.json")
	settings.set(t, `{"maxRunning":1,"maxQueue":1}`)
	require.NoError(t, os.WriteFile(list, []byte("["+entry("a", root+"/a", "")+","+entry("own", root+"/own", `,"settings":{"maxBatchSize":4}`)+"]"), 0o600))
	core, logged := observer.New(zap.ErrorLevel)
	var mu sync.Mutex
	var levels []string
	p := run(t, serve.Options{
		Engines: []engine.Engine{&sums{}}, Models: []serve.Model{{Name: "m", Model: m}}, ModelConfig: list, Settings: settings.file(),
		Poll: time.Millisecond, Log: zap.New(core), MaxMemory: 1 << 20,
		SetLogLevel: func(level string) error {
			if level == "loud" {
				return os.ErrInvalid
			}
			mu.Lock()
			defer mu.Unlock()
			levels = append(levels, level)
			return nil
		},
	})
	require.Eventually(t, p.Ready, waitFor, tick)
	ask := func() chan string {
		answer := make(chan string, 1)
		go func() { answer <- asked(p.url+"/v1/models/m:predict", v1Body) }()
		return answer
	}
	has := func(text string) func() bool { return func() bool { return strings.Contains(metrics(t, p), text) } }
	running := ask()
	<-m.entered
	waiting := ask()
	require.Eventually(t, has(`kserve_predictions_queued{model_name="m"} 1`), waitFor, tick)
	require.Contains(t, asked(p.url+"/v1/models/m:predict", v1Body), "the model is busy: 1 requests run and 1 wait")

	// More may run: who waits is let in at once.
	settings.set(t, `{"maxRunning":2,"maxModelMemory":"300","logLevel":"debug"}`)
	<-m.entered
	require.Eventually(t, has("kserve_model_memory_limit_bytes 300"), waitFor, tick)
	require.Contains(t, metrics(t, p), `kserve_settings_valid 1`)
	require.Contains(t, metrics(t, p), `kserve_batch_rows_count{model_name="own"} 0`, "a model keeps its own")
	require.NotContains(t, metrics(t, p), `kserve_batch_rows_count{model_name="a"}`)

	for _, wrong := range []string{`{"maxRunning":0}`, `{"maxRuning":4}`, `[]`, `{`, `{} {}`, `{"maxModelMemory":"much"}`, `{"logLevel":"loud"}`, `{"queueTimeout":"soon"}`} {
		before := logged.Len()
		settings.set(t, wrong)
		require.Eventually(t, func() bool { return logged.Len() > before }, waitFor, tick, wrong)
		require.Eventually(t, has("kserve_settings_valid 0"), waitFor, tick)
		require.Contains(t, metrics(t, p), "kserve_model_memory_limit_bytes 300")
	}
	settings.set(t, `{"maxBatchSize":8}`) // what is left out is the flags' again
	require.Eventually(t, has(`kserve_batch_rows_count{model_name="a"} 0`), waitFor, tick)
	require.Contains(t, metrics(t, p), "kserve_model_memory_limit_bytes 1.048576e+06")
	mu.Lock()
	require.Equal(t, []string{"", "debug", ""}, levels)
	mu.Unlock()
	close(m.leave)
	require.Equal(t, `{"predictions":[3.0,7.0]}`, <-running)
	require.Equal(t, `{"predictions":[3.0,7.0]}`, <-waiting)
}

func TestSettingsThatCannotBeReadAreAFaultOfTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	require.ErrorIs(t, serve.New(serve.Options{Settings: file}).Start(t.Context()), os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(`{"maxQueue":-1}`), 0o600))
	s := serve.New(serve.Options{Settings: file})
	require.False(t, s.Ready())
	require.EqualError(t, s.Start(t.Context()), "settings file "+file+": settings.maxQueue: -1: expected 1 or more")
}
