// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func FuzzModelConfig(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[null]`, `{}`, `[{"modelName":"m","modelSpec":{"storageUri":"s3://b/m","framework":"","memory":"1Gi"}}]`,
		`[{"modelName":"m","modelSpec":{"storageUri":"file:///m","memory":"-1"}},{"modelName":"m"}]`,
		`[{"modelName":"m","modelSpec":{"storageUri":"/m"},"settings":{"maxBatchSize":32,"maxBatchDelay":"5ms","queueTimeout":"1h","maxQueue":1}}]`,
		`[{"modelName":"m","settings":{"maxBatchSize":-1}}]`, `[{"modelName":"m","settings":{"queueTimeout":3}}]`,
		`[{"modelName":"m","modelSpec":{"storageUri":"file://"}},5,{"modelName":7},{"modelName":"n","modelSpec":"x"}]`, `null`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseConfig([]byte(text), &Options{ModelDir: "/models"})
		if err != nil {
			require.Nil(t, list)
			return
		}
		for _, m := range list.models {
			require.NotContains(t, list.bad, m.Name)
			require.NotContains(t, m.Name, "/")
			require.True(t, filepath.IsAbs(m.place.Path))
			require.GreaterOrEqual(t, m.place.Memory, int64(0))
			limits := m.own.over(Limits{Running: 1, Queue: 1})
			require.Positive(t, min(limits.Running, limits.Queue))
		}
	})
}

func TestAmountsOfMemory(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0": 0, "1Gi": 1 << 30, "500M": 500e6, "1.5Ki": 1536, "2e3": 2000, "100000m": 100} {
		got, err := parseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"much", "-1", "1Xi", "NaN", "Inf", "1e40", "Gi"} {
		_, err := parseBytes(text)
		require.ErrorContains(t, err, "expected an amount of memory such as 512Mi", text)
	}
}

func TestTimeouts(t *testing.T) {
	for text, want := range map[string]time.Duration{"2": 2 * time.Second, "0.25": 250 * time.Millisecond, "250ms": 250 * time.Millisecond, "1m": time.Minute, "1e300": longestTimeout, "Inf": longestTimeout} {
		got, ok := readTimeout(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "NaN", "-1s", "soon"} {
		_, ok := readTimeout(text)
		require.False(t, ok, text)
	}
	for text, want := range map[string]time.Duration{"2S": 2 * time.Second, "250m": 250 * time.Millisecond, "99999999H": longestTimeout, "1n": 1, "3u": 3000, "0M": 0} {
		got, ok := readGRPCTimeout(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "S", "1", "-1S", "1.5S", "123456789S", "1s"} {
		_, ok := readGRPCTimeout(text)
		require.False(t, ok, text)
	}
}
