// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podlog

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestCopyGivesWhatWasAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c", "0.log")
	w, err := Create(path)
	require.NoError(t, err)
	out, errOut := w.Stream("stdout"), w.Stream("stderr")
	for i := range 1000 {
		fmt.Fprintf(out, "line %d\n", i)
	}
	fmt.Fprint(errOut, "an error\nno end")
	Flush(errOut)
	require.NoError(t, w.Close())

	n := func(n int64) *int64 { return &n }
	stderr := corev1.LogStreamStderr
	for name, c := range map[string]struct {
		o    corev1.PodLogOptions
		want string
	}{
		"the last lines":     {corev1.PodLogOptions{TailLines: n(3)}, "line 999\nan error\nno end"},
		"none":               {corev1.PodLogOptions{TailLines: n(0)}, ""},
		"one stream":         {corev1.PodLogOptions{Stream: &stderr}, "an error\nno end"},
		"so many bytes":      {corev1.PodLogOptions{LimitBytes: n(10)}, "line 0\nlin"},
		"all, and then ends": {corev1.PodLogOptions{Follow: true, TailLines: n(1)}, "no end"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, Copy(context.Background(), path, &c.o, func() bool { return true }, &b))
			require.Equal(t, c.want, b.String())
		})
	}
	var b bytes.Buffer
	require.NoError(t, Copy(context.Background(), path, &corev1.PodLogOptions{}, func() bool { return true }, &b))
	require.Equal(t, 1001, strings.Count(b.String(), "\n"))
	require.Equal(t, "error\nno end", Tail(path, 2, 12))
}

func TestLongLineIsKeptWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	w, err := Create(path)
	require.NoError(t, err)
	long := strings.Repeat("x", 3*maxLine+7)
	fmt.Fprintln(w.Stream("stdout"), long)
	require.NoError(t, w.Close())
	var b bytes.Buffer
	require.NoError(t, Copy(context.Background(), path, &corev1.PodLogOptions{}, func() bool { return true }, &b))
	require.Equal(t, long+"\n", b.String())
}
