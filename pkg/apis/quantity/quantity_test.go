// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package quantity

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// inTime fails when work does not end: a parser that computes an exponent digit by digit would not.
func inTime(t *testing.T, work func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); work() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "1", "500m", "1Gi", "1e3", "1E3", "1E", "-1e-9", "1e+18", "1e99", "1e-99", "0.1", "12e006", "9999999999999999999999999999"} {
		want, err := resource.ParseQuantity(text)
		require.NoError(t, err)
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Zero(t, want.Cmp(got), text)
	}
	inTime(t, func() {
		for _, text := range []string{
			"1e100", "1e-100", "1e999999999999", "1E999999999", "1e+2147483647", "1e-2147483648", "1e4294967297", "-1e1000000", ".5e00000100", strings.Repeat("9", 1<<20),
			"1." + strings.Repeat("0", 1<<20) + "1",
		} {
			_, err := Parse(text)
			require.Error(t, err, text[:min(len(text), 40)])
		}
	})
	for _, text := range []string{"", "e", "1e", "1e+-5", "1eE99999", "1iE99999", "one"} {
		_, wantErr := resource.ParseQuantity(text)
		_, err := Parse(text)
		require.Equal(t, wantErr != nil, err != nil, text)
	}
}

type form struct {
	corev1.ResourceRequirements `json:",inline"`

	Text    string               `json:"text"`
	List    []*resource.Quantity `json:"list"`
	Members map[string]form      `json:"members"`
}

func TestUnbounded(t *testing.T) {
	t.Parallel()
	const exponent = " has an exponent beyond 99, which no quantity can hold"
	for raw, want := range map[string]string{
		`{"limits":{"memory":"1e999999999999"}}`:                   `limits.memory: "1e999999999999"` + exponent,
		`{"limits":{"memory":1e999999999999}}`:                     `limits.memory: "1e999999999999"` + exponent,
		`{"limits":{"nvidia.com/gpu":"1E-1000000"}}`:               `limits[nvidia.com/gpu]: "1E-1000000"` + exponent,
		`{"limits":{"memory":"1\u0065999999999"}}`:                 `limits.memory: "1e999999999"` + exponent,
		`{"limits":{"memory":"1e\u0039\u0039\u0039"}}`:             `limits.memory: "1e999"` + exponent,
		`{"list":["1Gi","1e+5000"]}`:                               `list[1]: "1e+5000"` + exponent,
		`{"members":{"a.b":{"requests":{"cpu":"1e1000"}}}}`:        `members[a.b].requests.cpu: "1e1000"` + exponent,
		`{"limits":{"cpu":"` + strings.Repeat("9", 101) + `"}}`:    `limits.cpu: "` + strings.Repeat("9", 50) + `…" is longer than the 100 characters that a quantity may have`,
		`{"limits":{"cpu":"` + strings.Repeat("none ", 30) + `"}}`: "",
		`{"text":"1e999999999999"}`:                                "",
		`{"other":"1e999999999999"}`:                               "",
		`{"limits":{"memory":"1e99","cpu":"1e-99"}}`:               "",
		`{"limits":null,"list":{},"members":["1e99999"]}`:          "",
		`{"limits":{"memory":"1e9999`:                              "",
		`{"text":"\u003c","limits":{"memory":"1Gi"}}`:              "",
	} {
		path, message := Unbounded([]byte(raw), reflect.TypeFor[*form]())
		got := ""
		if message != "" {
			got = path + ": " + message
		}
		require.Equal(t, want, got, raw)
	}
}

// FuzzUnbounded: a document in which nothing is found is decoded in time.
func FuzzUnbounded(f *testing.F) {
	for _, text := range []string{"1e5", "1e99999999", "1\\u00659999999", "1Gi", "00e0099999", "+.5E+123456789", "1e99999999999999999999"} {
		f.Add(`{"limits":{"memory":"` + text + `"}}`)
		f.Add(`{"list":[` + text + `]}`)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if _, message := Unbounded([]byte(raw), reflect.TypeFor[form]()); message != "" {
			return
		}
		inTime(t, func() {
			var v form
			_ = json.Unmarshal([]byte(raw), &v)
		})
	})
}

func BenchmarkUnbounded(b *testing.B) {
	raw := []byte(`{"text":"` + strings.Repeat("an ordinary object ", 200) + `","limits":{"memory":"1Gi","cpu":"500m"}}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		Unbounded(raw, reflect.TypeFor[form]())
	}
}
