// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFileName(t *testing.T) {
	for text, want := range map[string]string{
		"http://h/a/model.bin":                  "model.bin",
		"http://h/a/model.bin?x=y.zip":          "model.bin",
		"http://h/download?path=/x/model.zip":   "model.zip",
		"http://h/download?path=%2Fx%2Fm.tgz":   "m.tgz",
		"http://h/download?path=../..":          "download",
		"http://h/download?format=json":         "download",
		"http://h/a/":                           "",
		"http://h":                              "",
		"http://h/a/..":                         "",
		"http://h/a%2Fb.bin":                    "b.bin",
		"http://h/a/model%20v2.bin":             "model v2.bin",
		"http://h/o/r/resolve/main/w.bin#x":     "w.bin",
		"http://h/blob/refs%2Fheads%2Fm/w.json": "w.json",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, fileName(u), text)
	}
}

func FuzzContentRange(f *testing.F) {
	for _, v := range []string{"bytes 0-0/100", "bytes 5-9/*", "bytes */0", "bytes -1-2/3", "items 0-1/2", "bytes 0-/"} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		start, total, ok := contentRange(v)
		if ok && (start < 0 || total < -1 || !strings.HasPrefix(v, "bytes ")) {
			t.Fatalf("%q is %d of %d", v, start, total)
		}
	})
}

func FuzzFileName(f *testing.F) {
	f.Add("http://h/download?path=/x/model.zip")
	f.Add("http://h/a%2f..%2fb")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		if name := fileName(u); strings.Contains(name, "/") || name == ".." || name == "." {
			t.Fatalf("%q names %q", text, name)
		}
	})
}
