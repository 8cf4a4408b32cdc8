// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// readable are the files whose pickle is sound: it is the engine that refuses what they hold.
var readable = map[string]bool{
	"bomb-memo-index":           true,
	"inconsistent-coef":         true,
	"object-array-cycle":        true,
	"pickle-dict-no-model":      true,
	"pickle-list":               true,
	"tree-child-out-of-range":   true,
	"tree-cycle":                true,
	"tree-feature-out-of-range": true,
	"unfitted":                  true,
}

func TestHostileAndDamagedFilesAreRefusedInLittleMemory(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(models, "bad", "*", "case.json"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, path := range cases {
		var c struct{ Name, Format, Kind, Message string }
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &c))
		if c.Format != "sklearn" {
			continue
		}
		t.Run(filepath.Base(c.Name), func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "model", "*"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = loadFile(t, files[0])
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(192<<20))
			if readable[filepath.Base(c.Name)] {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			var refused *Refused
			var damaged *Damaged
			require.True(t, errors.As(err, &refused) || errors.As(err, &damaged), "%T", err)
			if c.Kind == "code" || c.Kind == "not served" {
				require.NotNil(t, refused, err)
			}
			t.Log(err)
		})
	}
}

func TestAFileThatBreaksOffAnywhereIsDamaged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(models, "sklearn-logreg-strings", "model", "model.joblib"))
	require.NoError(t, err)
	for n := range data {
		_, err := Load(bytes.NewReader(data[:n]), Options{Size: int64(n)})
		require.Error(t, err, n)
	}
}

func TestValues(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want any
	}{
		"protocol 0 integers and strings":     {"(I1\nI01\nL12L\nS'a\\x00\\n'\nVb\\u00e9\nF1.5\nt.", Tuple{int64(1), true, int64(12), "a\x00\n", "bé", 1.5}},
		"negative and small longs":            {"\x80\x02(\x8a\x01\xff\x8a\x00\x8a\x02\x00\x80t.", Tuple{int64(-1), int64(0), int64(-32768)}},
		"a set from protocol 4":               {"\x80\x04\x8f(K\x01K\x02\x90.", &Set{Items: []any{int64(1), int64(2)}}},
		"bytes of Python 2 in Python 3":       {"\x80\x02c_codecs\nencode\nX\x03\x00\x00\x00a\xc3\xbfX\x06\x00\x00\x00latin1\x86R.", Bytes("a\xff")},
		"an ordered dict of pairs":            {"ccollections\nOrderedDict\n(((S'k'\nI1\ntttR.", &Dict{Keys: []any{"k"}, Values: []any{int64(1)}}},
		"a value that the file drops is gone": {"I1\n0N.", nil},
		"a memo slot that is overwritten":     {"I1\np0\n0I2\np0\n0g0\n.", int64(2)},
		"an old-style instance of Python 2":   {"(isklearn.tree\nTree\n.", &Object{Class: Global{"sklearn.tree", "Tree"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load(bytes.NewReader([]byte(c.in)), Options{Size: int64(len(c.in))})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhatMayNotBeNamed(t *testing.T) {
	for name, c := range map[string]struct{ in, names string }{
		"a function of the system":          {"cos\nsystem\n.", "os.system"},
		"a class without its code":          {"c__main__\nMyModel\n.", "__main__.MyModel"},
		"a name through attributes":         {"\x80\x04\x8c\x07sklearn\x8c\tos.system\x93.", "sklearn.os.system"},
		"a built-in that runs code":         {"c__builtin__\neval\n.", "builtins.eval"},
		"a library's function being called": {"cnumpy\nload\n(S'x'\ntR.", "numpy.load"},
		"a built-in function being called":  {"cbuiltins\nmax\n(I1\nI2\ntR.", "builtins.max"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(bytes.NewReader([]byte(c.in)), Options{Size: int64(len(c.in))})
			var refused *Refused
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.names, refused.Name)
		})
	}
}
