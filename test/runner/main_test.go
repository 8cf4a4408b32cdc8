// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadEventsCountsAndShowsWhatWentWrong(t *testing.T) {
	in := strings.Join([]string{
		`{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"want 1, got 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: no loopback here\n"}`,
		`{"Action":"output","Package":"p","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestC"}`,
		`{"Action":"output","Package":"p","Test":"TestD","Output":"    d_test.go:1: pools do not hold under the race detector\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestD"}`,
		`{"Action":"output","Package":"p","Test":"TestE","Output":"   12.5s half of it\n"}`,
		`{"Action":"build-output","ImportPath":"q","Output":"q.go:1: undefined: x\n"}`,
	}, "\n")
	var out bytes.Buffer
	c := readEvents(strings.NewReader(in), &out)
	require.Equal(t, counts{passed: 1, failed: 1, skipped: 2, again: map[string][]string{"p": {"TestD"}}}, c)
	require.NotContains(t, out.String(), "quiet")
	require.Contains(t, out.String(), "want 1, got 2")
	require.Contains(t, out.String(), "skipped p TestC: c_test.go:9: no loopback here")
	require.Contains(t, out.String(), "undefined: x")
	require.Contains(t, out.String(), "half of it")
}

func TestCountEventsFailsWithoutATest(t *testing.T) {
	for in, code := range map[string]int{
		`{"Action":"pass","Package":"p","Test":"TestA"}`: 0,
		`{"Action":"fail","Package":"p","Test":"TestA"}`: 1,
		`{"Action":"pass","Package":"p"}`:                1,
		``:                                               1,
	} {
		require.Equal(t, code, countEvents(strings.NewReader(in), io.Discard), in)
	}
}

func TestFuzzedTellsAFailedInputFromAnEndThatCameLate(t *testing.T) {
	target := fuzzTarget{"pkg/x", "FuzzX"}
	for name, c := range map[string]struct {
		out  string
		err  error
		ok   bool
		says string
	}{
		"all is well":     {"fuzz: elapsed: 3s, execs: 10 (3/sec)\nfuzz: elapsed: 6s, execs: 250 (3/sec)\nPASS\n", nil, true, "fuzz pkg/x FuzzX: ok, 250 inputs\n"},
		"it ended late":   {"fuzz: elapsed: 3s, execs: 10 (3/sec)\n--- FAIL: FuzzX (3.01s)\n    context deadline exceeded\nFAIL\nexit status 1\n", errors.New("1"), true, "10 inputs"},
		"an input failed": {"--- FAIL: FuzzX (3.01s)\n    context deadline exceeded\nFAIL\n    Failing input written to testdata\n", errors.New("1"), false, "FAILED\n--- FAIL"},
		"no build":        {"x.go:1: undefined\n", errors.New("1"), false, "undefined"},
	} {
		t.Run(name, func(t *testing.T) {
			ok, report := fuzzed(target, []byte(c.out), c.err)
			require.Equal(t, c.ok, ok)
			require.Contains(t, report, c.says)
		})
	}
	targets, err := fuzzTargets("../../pkg/data/protocol")
	require.NoError(t, err)
	require.Contains(t, targets, fuzzTarget{filepath.Join("..", "..", "pkg", "data", "protocol", "v1"), "FuzzDecode"})
	_, err = fuzzDirectory("testdata", time.Second, 2)
	require.Error(t, err)
}
