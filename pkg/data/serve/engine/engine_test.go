// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.WriteFile(file, []byte("12345"), 0o600))
	for name, c := range map[string]struct {
		most   int64
		refuse bool
	}{
		"without a limit":         {},
		"as large as is allowed":  {most: 5},
		"larger than is allowed":  {most: 4, refuse: true},
		"smaller than is allowed": {most: 6},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := engine.ReadFile(file, engine.Options{MaxBytes: c.most})
			if c.refuse {
				var bad *engine.BadModel
				require.ErrorAs(t, err, &bad)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "12345", string(data))
		})
	}
	_, err := engine.ReadFile(file+".none", engine.Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestParameters(t *testing.T) {
	for name, c := range map[string]struct {
		v       any
		flag    any
		integer any
	}{
		"true":                    {v: true, flag: true},
		"a text of truth":         {v: "False", flag: false},
		"a number of words":       {v: "maybe"},
		"an integer":              {v: int64(7), integer: 7},
		"the least":               {v: int64(-1), integer: -1},
		"less than the least":     {v: int64(-2)},
		"more than the most":      {v: int64(101)},
		"a text with an integer":  {v: " 42 ", integer: 42},
		"a text beyond the range": {v: "101"},
		"a fraction":              {v: 1.5},
		"nothing":                 {v: nil},
	} {
		t.Run(name, func(t *testing.T) {
			on, err := engine.Flag("p", c.v)
			requireRead(t, c.flag, on, err)
			n, err := engine.Integer("p", c.v, -1, 100)
			requireRead(t, c.integer, n, err)
		})
	}
}

// requireRead checks that a parameter was read as want, or refused as the caller's mistake where want is nil.
func requireRead(t *testing.T, want, got any, err error) {
	t.Helper()
	if want != nil {
		require.NoError(t, err)
		require.Equal(t, want, got)
		return
	}
	var e *protocol.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, protocol.Invalid, e.Code)
	require.Contains(t, e.Message, "parameter p: expected")
}
