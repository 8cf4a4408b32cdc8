// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// walk calls every accessor that must not panic, whatever was read.
func walk(v any, seen map[unsafe.Pointer]bool) {
	id, children := inside(v)
	if id != nil && seen[id] {
		return
	}
	seen[id] = true
	_ = Kind(v)
	_, _ = Text(v)
	_, _ = Float(v)
	if a, ok := v.(*Array); ok {
		_, _ = a.Float64s()
		_, _ = a.Int64s()
		_, _ = a.Strings()
		if a.DType != nil {
			_ = a.DType.String()
			for _, f := range a.DType.Fields {
				_, _ = a.Field(f.Name)
			}
		}
	}
	if o, ok := v.(*Object); ok {
		_, _ = o.Attr("x")
	}
	for _, c := range children {
		walk(c, seen)
	}
}

func fuzz(f *testing.F, limit int, keep func(string) bool) {
	f.Helper()
	files, _ := filepath.Glob(filepath.Join(models, "bad", "*", "model", "model.*"))
	more, _ := filepath.Glob(filepath.Join(models, "sklearn-ser-*", "model", "model.*"))
	for _, file := range append(files, more...) {
		if data, err := os.ReadFile(file); err == nil && len(data) < limit && keep(file) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Load(bytes.NewReader(data), Options{Size: int64(len(data)), MaxBytes: 4 << 20})
		if err != nil {
			var refused *Refused
			var damaged *Damaged
			if !errors.As(err, &refused) && !errors.As(err, &damaged) {
				t.Fatalf("an error of another type: %T %v", err, err)
			}
			return
		}
		walk(v, map[unsafe.Pointer]bool{})
	})
}

func FuzzPickle(f *testing.F) {
	fuzz(f, 4<<10, func(file string) bool { return strings.HasSuffix(file, ".pkl") })
}

func FuzzJoblib(f *testing.F) {
	fuzz(f, 16<<10, func(file string) bool { return strings.HasSuffix(file, ".joblib") })
}
