// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// wrong are the forms that an attribute is replaced by.
func wrong(v any) []any {
	out := []any{
		nil, int64(-1), int64(1 << 40), int64(1 << 30), 0.5, "x",
		pickle.Tuple{},
		&pickle.List{Items: []any{int64(0)}}, &pickle.Dict{},
		&pickle.Array{DType: &pickle.DType{Kind: 'f', Size: 8}, Shape: []int{0}},
		&pickle.Array{DType: &pickle.DType{Kind: 'f', Size: 8}, Shape: []int{0, 3}},
		&pickle.Array{DType: &pickle.DType{Kind: 'i', Size: 8}, Shape: []int{1}, Data: bytes.Repeat([]byte{0xff}, 8)},
		&pickle.Array{DType: &pickle.DType{Kind: 'O', Size: 8}, Shape: []int{2}, Objects: []any{nil, "y"}},
		&pickle.Array{Shape: []int{1}},
	}
	switch v := v.(type) {
	case *pickle.Array:
		if len(v.Shape) == 2 {
			out = append(out,
				&pickle.Array{DType: v.DType, Shape: []int{v.Shape[1], v.Shape[0]}, Data: v.Data, Objects: v.Objects},
				&pickle.Array{DType: v.DType, Shape: []int{v.Shape[0] * v.Shape[1]}, Data: v.Data, Objects: v.Objects})
		}
		if n := v.Len(); n > 1 && v.DType != nil && v.DType.Kind != 'O' && len(v.Data) >= v.DType.Size {
			high := append([]byte(nil), v.Data...)
			for i := range v.DType.Size {
				high[i] = 0x7f
			}
			out = append(out,
				&pickle.Array{DType: v.DType, Shape: []int{1}, Data: v.Data[:v.DType.Size]},
				&pickle.Array{DType: v.DType, Shape: v.Shape, Fortran: v.Fortran, Data: high})
		}
	case *pickle.List:
		if len(v.Items) > 0 {
			out = append(out, &pickle.List{Items: v.Items[1:]}, &pickle.List{Items: append(v.Items[:len(v.Items):len(v.Items)], v.Items[0])})
		}
	}
	return out
}

// dicts are all the dicts of attributes in a value.
func dicts(v any, seen map[*pickle.Object]bool, out []*pickle.Dict) []*pickle.Dict {
	switch v := v.(type) {
	case *pickle.Object:
		if seen[v] {
			return out
		}
		seen[v] = true
		return dicts(v.State, seen, out)
	case *pickle.Dict:
		out = append(out, v)
		for _, item := range v.Values {
			out = dicts(item, seen, out)
		}
	default:
		if _, isArray := v.(*pickle.Array); isArray {
			return out
		}
		items, _ := pickle.Items(v)
		for _, item := range items {
			out = dicts(item, seen, out)
		}
	}
	return out
}

func TestAttributesOfTheWrongFormAreRefusedOrHarmless(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(models, "sklearn-*", "model", "model.*"))
	require.NoError(t, err)
	registry := newRegistry()
	done := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if len(data) > 8<<10 {
			continue
		}
		root, err := pickle.Load(bytes.NewReader(data), pickle.Options{Size: int64(len(data))})
		if err != nil {
			continue
		}
		o, ok := root.(*pickle.Object)
		if !ok || registry[key(o.Class)] == nil || done[o.Class.Name] >= 1 {
			continue
		}
		done[o.Class.Name]++
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(file))), func(t *testing.T) {
			for _, d := range dicts(o, map[*pickle.Object]bool{}, nil) {
				for i := range d.Values {
					kept := d.Values[i]
					for n, w := range wrong(kept) {
						d.Values[i] = w
						tryModel(t, registry, o, fmt.Sprintf("%v replaced by form %d, %s", d.Keys[i], n, pickle.Kind(w)))
					}
					d.Values[i] = kept
				}
			}
		})
	}
	require.Greater(t, len(done), 20)
}

func tryModel(t *testing.T, registry map[string]builder, o *pickle.Object, what string) {
	t.Helper()
	before := allocated()
	defer func() {
		if n := allocated() - before; n > 256<<20 {
			t.Errorf("%s: %d bytes", what, n)
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", what, p)
		}
	}()
	l := &loader{registry: registry, built: map[*pickle.Object]estimator{}, threads: 1}
	est, err := l.build(o, o.Class.Name)
	if err != nil {
		var bad *engine.BadModel
		var unsupported *engine.Unsupported
		require.True(t, errors.As(err, &bad) || errors.As(err, &unsupported), "%s: %T", what, err)
		return
	}
	m := newModel(o.Class.String(), est)
	meta := m.Metadata()
	for _, in := range fuzzInputs(&meta) {
		for _, method := range meta.Methods {
			var out tensor.Response
			in.Method = method
			err := m.Predict(t.Context(), in, &out)
			var e *protocol.Error
			require.True(t, err == nil || errors.As(err, &e), "%s: %T", what, err)
		}
	}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
