// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

// memo keeps values by index: in a slice while the indexes are dense, as writers make them, in a map when they jump.
type memo struct {
	dense  []any
	used   []bool
	sparse map[uint64]any
}

func (m *memo) put(i uint64, v any) {
	switch n := uint64(len(m.dense)); {
	case i < n:
		m.dense[i], m.used[i] = v, true
	case i == n:
		m.dense, m.used = append(m.dense, v), append(m.used, true)
	case i < n+64: // Python 2 counts from one, and other writers leave holes
		for uint64(len(m.dense)) < i {
			held, ok := m.sparse[uint64(len(m.dense))]
			m.dense, m.used = append(m.dense, held), append(m.used, ok)
		}
		m.dense, m.used = append(m.dense, v), append(m.used, true)
	default:
		if m.sparse == nil {
			m.sparse = map[uint64]any{}
		}
		m.sparse[i] = v
	}
}

func (m *memo) get(i uint64) (any, bool) {
	if i < uint64(len(m.dense)) {
		if m.used[i] {
			return m.dense[i], true
		}
	}
	v, ok := m.sparse[i]
	return v, ok
}

// count is how many slots are taken: the index that MEMOIZE fills.
func (m *memo) count() uint64 { return uint64(len(m.dense)) + uint64(len(m.sparse)) }
