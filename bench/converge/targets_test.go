// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func measured() *report {
	return &report{
		Shape: "single", Services: 100, Objects: 460, Components: 120,
		Phases: []phase{
			{Name: phaseCreate, ControllerCPU: 0.51, ControllerRSS: 90e6, Writes: map[string]int{"patch deployments": 360, "patch inferenceservices/status": 100}},
			{Name: phaseReady, ControllerCPU: 0.4, ControllerRSS: 119e6, Writes: map[string]int{"patch ingresses": 100, "patch inferenceservices/status": 120}},
			{Name: phaseRestart},
			{Name: phaseTouch, Writes: map[string]int{"patch deployments": 1}},
			{Name: phaseLabel, Writes: map[string]int{"patch deployments": 120}},
		},
		Change: &latencies{Changes: 10, P99: 49},
	}
}

func TestEachTargetIsComparedWithWhatWasMeasured(t *testing.T) {
	verdicts := map[string]string{}
	for _, r := range measured().targets() {
		verdicts[r.Name] = r.verdict()
	}
	require.Equal(t, map[string]string{
		"controller's processor time, created, nothing ready": "not met",
		"controller's processor time, from creation to Ready": "-",
		"writes of objects, from creation to Ready":           "met",
		"writes of statuses, from creation to Ready":          "met",
		"writes, " + phaseRestart:                             "met",
		"writes, " + phaseTouch:                               "not met",
		"writes, " + phaseLabel:                               "not met",
		"one change of 10, time to the last write":            "met",
		"controller's memory, the most of all phases":         "met",
	}, verdicts)
}

func TestWhatWasKeptIsSummarized(t *testing.T) {
	dir := t.TempDir()
	raw, err := json.Marshal(measured())
	require.NoError(t, err)
	kept, text := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.txt")
	require.NoError(t, os.WriteFile(kept, raw, 0o600))
	require.NoError(t, os.WriteFile(text, []byte("goos: linux\nBenchmarkPlanAndRender/minimal-2         	    2348	    99834 ns/op	     89834 cpu-ns/op	   49781 B/op	     621 allocs/op\n"+
		"BenchmarkPlanAndRender/keda            	     962	   2145042 ns/op	   1145042 cpu-ns/op	   94254 B/op	    1377 allocs/op\nBenchmarkOther-2 1 1 ns/op 1 B/op 1 allocs/op\n"), 0o600))
	var out strings.Builder
	require.NoError(t, summarize(&out, []string{text, kept}))
	require.Regexp(t, `resolve and render, minimal +under 200 µs +90 µs of a processor, 621 allocations of 49781 bytes +met\n`, out.String())
	require.Regexp(t, `resolve and render, keda +under 200 µs +1145 µs.* not met\n`, out.String())
	require.NotContains(t, out.String(), "Other")
	require.Contains(t, out.String(), "100 services, single")
	require.Regexp(t, `controller's memory.* +under 120 MB +119 MB +met\n`, out.String())
	require.Error(t, summarize(&out, nil))
	require.ErrorContains(t, summarize(&out, []string{filepath.Join(dir, "none.json")}), "none.json")
}
