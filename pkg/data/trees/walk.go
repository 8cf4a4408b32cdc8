// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import "unsafe"

// A compiled node is one or two words, by the width of its forest's keys:
//
//	32-bit keys: next in bits 48 to 63, column in 32 to 47, split in 0 to 31
//	64-bit keys: split in the first word; column in bits 32 to 63 and next in 0 to 31 of the second
//
// The children of a node are neighbours, next nodes further on: first the right one, then the left one, so that a step down adds
// next and, when key < split, one more: no branch to mispredict. A leaf has next 0 and split 0: nothing is below it, so that walking
// on at a leaf stays there. The top bit of column marks a categorical node, whose split is an index into the sets.
type node struct {
	split    uint64
	next     uint32
	column   uint32
	category bool
}

const (
	narrowCategory = 1 << 15
	wideCategory   = 1 << 31
)

// wide reports whether keys of type K take 64 bits. It is a constant for the compiler.
func wide[K key]() bool { return unsafe.Sizeof(K(0)) == 8 }

func appendNode[K key](words []uint64, n node) []uint64 {
	column := uint64(n.column)
	if wide[K]() {
		if n.category {
			column |= wideCategory
		}
		return append(words, n.split, column<<32|uint64(n.next))
	}
	if n.category {
		column |= narrowCategory
	}
	return append(words, uint64(n.next)<<48|column<<32|n.split)
}

func nodeAt[K key](words []uint64, at uint32) node {
	if wide[K]() {
		link := words[2*at+1]
		column := uint32(link >> 32)
		return node{split: words[2*at], next: uint32(link), column: column &^ wideCategory, category: column&wideCategory != 0}
	}
	w := words[at]
	column := uint32(w >> 32 & 0xffff)
	return node{split: w & 0xffffffff, next: uint32(w >> 48), column: column &^ narrowCategory, category: column&narrowCategory != 0}
}

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

// lanes is how many walks run side by side, so that the processor waits for several loads at once. The keys of as many rows stand
// together: those of one column, then those of the next.
const lanes = 4

// walker holds the nodes of all trees one after another, each tree breadth-first.
type walker[K key] struct {
	encoder
	words []uint64
	nodes int
	roots []uint32
	depth []int32 // the longest path of each tree
	mixed []bool  // trees with categorical nodes
	sets  []set
}

// encodeRow fills the scratch with the keys of one row.
func (w *walker[K]) encodeRow(s *scratch, m *Matrix, row int) {
	encode(&w.encoder, m, row, room[K](s, len(w.columns)), 1)
}

// encodeRows fills the scratch with the keys of n rows, in groups of lanes. The last group may be short: whatever stands in the
// lanes that it leaves is a key too, and what becomes of it is not read.
func (w *walker[K]) encodeRows(s *scratch, m *Matrix, row, n int) {
	cols := len(w.columns)
	keys := room[K](s, (n+lanes-1)/lanes*lanes*cols)
	for i := range n {
		if cols > 0 {
			encode(&w.encoder, m, row+i, keys[i/lanes*lanes*cols+i%lanes:], lanes)
		}
	}
}

// leavesOfTree walks n encoded rows down one tree, and writes the node where each ends; dst has room for whole groups of lanes.
func (w *walker[K]) leavesOfTree(s *scratch, tree, n int, dst []uint32) {
	keys, group := *keysOf[K](s), lanes*len(w.columns)
	root := w.roots[tree]
	if w.depth[tree] == 0 {
		for i := range n {
			dst[i] = root
		}
		return
	}
	if w.mixed[tree] {
		for i := range n {
			dst[i] = w.walkMixed(keys[i/lanes*group+i%lanes:], lanes, root)
		}
		return
	}
	dst = dst[:(n+lanes-1)/lanes*lanes]
	depth := int(w.depth[tree])
	switch keys := any(keys).(type) {
	case []uint32:
		narrowRows(w.words, root, depth, keys, dst)
	case []uint64:
		wideRows(w.words, root, depth, keys, dst)
	}
}

// leavesOfRow walks the one encoded row down the trees [first, last), and writes the node where each walk ends.
func (w *walker[K]) leavesOfRow(s *scratch, first, last int, dst []uint32) {
	keys := *keysOf[K](s)
	for t := first; t < last; {
		if t+lanes > last || w.mixed[t] || w.mixed[t+1] || w.mixed[t+2] || w.mixed[t+3] {
			dst[t-first] = w.walkMixed(keys, 1, w.roots[t])
			t++
			continue
		}
		depth := max(w.depth[t], w.depth[t+1], w.depth[t+2], w.depth[t+3])
		roots, out := (*[lanes]uint32)(w.roots[t:]), (*[lanes]uint32)(dst[t-first:])
		switch keys := any(keys).(type) {
		case []uint32:
			narrowTrees(w.words, roots, int(depth), keys, out)
		case []uint64:
			wideTrees(w.words, roots, int(depth), keys, out)
		}
		t += lanes
	}
}

// walkMixed walks one row, whose keys stand stride apart, down one tree that may have categorical nodes.
func (w *walker[K]) walkMixed(keys []K, stride int, at uint32) uint32 {
	for {
		n := nodeAt[K](w.words, at)
		if n.next == 0 {
			return at
		}
		at += n.next
		k := uint64(keys[int(n.column)*stride])
		if n.category {
			if w.sets[n.split].left(k) {
				at++
			}
		} else if k < n.split {
			at++
		}
	}
}
