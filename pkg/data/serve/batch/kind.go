// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Rows is the number of rows of a request whose rows may be joined with others': every input has as many. Else it is 0.
func Rows(r *tensor.Request) int {
	rows := 0
	for i, t := range r.Inputs {
		n, ok := tensor.Elements(t.Shape)
		if len(t.Shape) == 0 || !ok || n != t.Len() || i > 0 && t.Rows() != rows {
			return 0
		}
		rows = t.Rows()
	}
	return rows
}

// appendKind appends what two requests must have in common to be joined: everything but the rows and the id. It is exact, not a hash.
// ok is false for a parameter of a type that no wire carries.
func appendKind(to []byte, r *tensor.Request, nameless bool) (kind []byte, ok bool) {
	nameless = nameless && len(r.Inputs) == 1 && !r.Frame
	to = appendText(to, r.Method)
	isText := func(t *tensor.Tensor) bool { return t.Type == tensor.Bytes }
	to = append(to, flags(r.Frame, r.Text && slices.ContainsFunc(r.Inputs, isText), r.ByName && r.Frame))
	if to, ok = appendParameters(to, r.Parameters); !ok {
		return to, false
	}
	to = binary.AppendUvarint(to, uint64(len(r.Outputs)))
	for _, o := range r.Outputs {
		if to, ok = appendParameters(appendText(to, o.Name), o.Parameters); !ok {
			return to, false
		}
	}
	for _, t := range r.Inputs {
		if !nameless {
			to = appendText(to, t.Name)
		}
		// Engines give a column with absent elements another type.
		to = append(to, byte(t.Type), flags(t.HasNull()), byte(min(len(t.Shape), math.MaxUint8)))
		for _, d := range t.Shape[1:] {
			to = binary.AppendVarint(to, d)
		}
		if to, ok = appendParameters(to, t.Parameters); !ok {
			return to, false
		}
	}
	return to, true
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

func flags(set ...bool) (b byte) {
	for i, on := range set {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// ofTheWire are parameters that say how tensors travel, and nothing to a model.
func ofTheWire(name string) bool {
	return name == "binary_data" || name == "binary_data_size" || name == "binary_data_output"
}

func appendParameters(to []byte, p tensor.Parameters) ([]byte, bool) {
	if len(p) == 0 {
		return append(to, 0), true
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if ofTheWire(name) {
			continue
		}
		to = appendText(append(to, 1), name)
		switch v := p[name].(type) {
		case bool:
			to = append(to, 'b', flags(v))
		case int64:
			to = binary.AppendVarint(append(to, 'i'), v)
		case float64:
			to = binary.AppendUvarint(append(to, 'f'), math.Float64bits(v))
		case string:
			to = appendText(append(to, 's'), v)
		default:
			return to, false
		}
	}
	return append(to, 0), true
}
