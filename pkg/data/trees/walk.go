// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import "unsafe"

// node is one compiled node. Children are neighbours: the left one is next nodes further on, the right one follows it.
// A leaf is its own left child and always goes left, so that walking past it does no harm.
type node[K key, I index] struct {
	split K
	next  I
	col   I
}

// A categorical node has the top bit of col set; its split is an index into sets.
func categoryBit[I index]() I { return ^(^I(0) >> 1) }

// set is a compiled categorical test.
type set struct {
	Set
	missingLeft bool
}

// left says where the key of a category goes.
func (s *set) left(k uint64) bool {
	if k == missingLeft {
		return s.missingLeft
	}
	return s.Has(k-1) == s.Left
}

// lanes is how many walks run side by side, so that the processor waits for several loads at once.
const lanes = 4

// walker holds the nodes of all trees one after another, each tree breadth-first.
type walker[K key, I index] struct {
	encoder
	nodes []node[K, I]
	roots []uint32
	depth []int32 // the longest path of each tree
	mixed []bool  // trees with categorical nodes
	sets  []set
}

// encodeRows fills the scratch with the keys of n rows.
func (w *walker[K, I]) encodeRows(s *scratch, m Matrix, row, n int) {
	keys, cols := keysOf[K](s), len(w.columns)
	if need := (n + lanes - 1) / lanes * lanes * cols; cap(*keys) < need {
		*keys = make([]K, need)
	} else {
		*keys = (*keys)[:need]
	}
	for i := range n {
		encode(&w.encoder, &m, row+i, (*keys)[i*cols:(i+1)*cols])
	}
}

// leavesOfTree walks n encoded rows down one tree, and writes the node where each ends; dst has room for whole groups of lanes.
func (w *walker[K, I]) leavesOfTree(s *scratch, tree, n int, dst []uint32) {
	keys, cols := *keysOf[K](s), len(w.columns)
	root, depth := w.roots[tree], w.depth[tree]
	if w.mixed[tree] {
		for i := range n {
			dst[i] = w.walkMixed(keys[i*cols:], root)
		}
		return
	}
	for i := 0; i < n; i += lanes {
		k := keys[i*cols : (i+lanes)*cols]
		if depth == 0 || len(k) == 0 {
			dst[i], dst[i+1], dst[i+2], dst[i+3] = root, root, root, root
			continue
		}
		walkRows(w.nodes, root, depth, k, (*[lanes]uint32)(dst[i:]))
	}
}

// leavesOfRow walks the first encoded row down the trees [first, last), and writes the node where each walk ends.
func (w *walker[K, I]) leavesOfRow(s *scratch, first, last int, dst []uint32) {
	keys := *keysOf[K](s)
	for t := first; t < last; {
		if t+lanes > last || len(keys) == 0 || w.mixed[t] || w.mixed[t+1] || w.mixed[t+2] || w.mixed[t+3] {
			dst[t-first] = w.walkMixed(keys, w.roots[t])
			t++
			continue
		}
		depth := max(w.depth[t], w.depth[t+1], w.depth[t+2], w.depth[t+3])
		walkTrees(w.nodes, (*[lanes]uint32)(w.roots[t:]), depth, keys, (*[lanes]uint32)(dst[t-first:]))
		t += lanes
	}
}

// walkMixed walks one row down one tree that may have categorical nodes.
func (w *walker[K, I]) walkMixed(keys []K, at uint32) uint32 {
	bit := categoryBit[I]()
	for {
		n := &w.nodes[at]
		switch {
		case n.next == 0:
			return at
		case n.col&bit == 0:
			at += uint32(n.next)
			if keys[n.col] >= n.split {
				at++
			}
		default:
			at += uint32(n.next)
			if !w.sets[n.split].left(uint64(keys[n.col&^bit])) {
				at++
			}
		}
	}
}

// step moves one walk a level down. The compiler guarantees what bounds checks would test: compile links only nodes of the same
// tree and names only columns of the encoder.
func step[K key, I index](nodes unsafe.Pointer, at uintptr, keys unsafe.Pointer) uintptr {
	n := (*node[K, I])(unsafe.Add(nodes, at*unsafe.Sizeof(node[K, I]{})))
	k := *(*K)(unsafe.Add(keys, uintptr(n.col)*unsafe.Sizeof(K(0))))
	at += uintptr(n.next)
	right := uintptr(0)
	if k >= n.split {
		right = 1
	}
	return at + right
}

// walkRows walks four rows, whose keys follow one another, down one tree.
func walkRows[K key, I index](nodes []node[K, I], root uint32, depth int32, keys []K, out *[lanes]uint32) {
	base := unsafe.Pointer(unsafe.SliceData(nodes))
	cols := uintptr(len(keys)/lanes) * unsafe.Sizeof(K(0))
	k0 := unsafe.Pointer(unsafe.SliceData(keys))
	k1 := unsafe.Add(k0, cols)
	k2 := unsafe.Add(k1, cols)
	k3 := unsafe.Add(k2, cols)
	a, b, c, d := uintptr(root), uintptr(root), uintptr(root), uintptr(root)
	for range depth {
		a = step[K, I](base, a, k0)
		b = step[K, I](base, b, k1)
		c = step[K, I](base, c, k2)
		d = step[K, I](base, d, k3)
	}
	out[0], out[1], out[2], out[3] = uint32(a), uint32(b), uint32(c), uint32(d)
}

// walkTrees walks one row down four trees.
func walkTrees[K key, I index](nodes []node[K, I], roots *[lanes]uint32, depth int32, keys []K, out *[lanes]uint32) {
	base := unsafe.Pointer(unsafe.SliceData(nodes))
	k := unsafe.Pointer(unsafe.SliceData(keys))
	a, b, c, d := uintptr(roots[0]), uintptr(roots[1]), uintptr(roots[2]), uintptr(roots[3])
	for range depth {
		a = step[K, I](base, a, k)
		b = step[K, I](base, b, k)
		c = step[K, I](base, c, k)
		d = step[K, I](base, d, k)
	}
	out[0], out[1], out[2], out[3] = uint32(a), uint32(b), uint32(c), uint32(d)
}
