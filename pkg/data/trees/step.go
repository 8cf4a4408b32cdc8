// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"math/bits"
	"unsafe"
)

// The inner loops. They are without bounds checks, which would take a third of the time: compile links only nodes of the same tree
// and names only columns of the encoder, and the walker hands over the keys of all its columns.

// stretch is how many levels are walked before looking whether all walks have ended: deep trees are seldom deep everywhere.
const stretch = 8

// narrow moves one walk a level down a tree of one-word nodes. The keys of a column are 4<<stride bytes apart.
func narrow(words unsafe.Pointer, at uintptr, keys unsafe.Pointer, stride uint) uintptr {
	w := *(*uint64)(unsafe.Add(words, at*8))
	k := *(*uint32)(unsafe.Add(keys, w>>(30-stride)&(0x3fffc<<stride)))
	return at + uintptr(w>>48) + uintptr((uint64(k)-uint64(uint32(w)))>>63)
}

// wider moves one walk a level down a tree of two-word nodes. The keys of a column are 8<<stride bytes apart.
func wider(words unsafe.Pointer, at uintptr, keys unsafe.Pointer, stride uint) uintptr {
	n := (*[2]uint64)(unsafe.Add(words, at*16))
	_, less := bits.Sub64(*(*uint64)(unsafe.Add(keys, n[1]>>32<<(3+stride))), n[0], 0)
	return at + uintptr(uint32(n[1])) + uintptr(less)
}

// narrowRows walks len(out) rows, whole groups of lanes, down one tree.
func narrowRows(words []uint64, root uint32, depth int, keys []uint32, out []uint32) {
	base := unsafe.Pointer(unsafe.SliceData(words))
	group := len(keys) / len(out) * lanes
	for i := 0; i < len(out); i += lanes {
		k := unsafe.Pointer(&keys[i/lanes*group])
		a, b, c, d := uintptr(root), uintptr(root), uintptr(root), uintptr(root)
		for left := depth; left > 0; left -= stretch {
			for range min(left, stretch) {
				a = narrow(base, a, k, 2)
				b = narrow(base, b, unsafe.Add(k, 4), 2)
				c = narrow(base, c, unsafe.Add(k, 8), 2)
				d = narrow(base, d, unsafe.Add(k, 12), 2)
			}
			if left > stretch && (words[a]|words[b]|words[c]|words[d])>>48 == 0 {
				break
			}
		}
		o := (*[lanes]uint32)(out[i:])
		o[0], o[1], o[2], o[3] = uint32(a), uint32(b), uint32(c), uint32(d)
	}
}

// wideRows is narrowRows for two-word nodes.
func wideRows(words []uint64, root uint32, depth int, keys []uint64, out []uint32) {
	base := unsafe.Pointer(unsafe.SliceData(words))
	group := len(keys) / len(out) * lanes
	for i := 0; i < len(out); i += lanes {
		k := unsafe.Pointer(&keys[i/lanes*group])
		a, b, c, d := uintptr(root), uintptr(root), uintptr(root), uintptr(root)
		for left := depth; left > 0; left -= stretch {
			for range min(left, stretch) {
				a = wider(base, a, k, 2)
				b = wider(base, b, unsafe.Add(k, 8), 2)
				c = wider(base, c, unsafe.Add(k, 16), 2)
				d = wider(base, d, unsafe.Add(k, 24), 2)
			}
			if left > stretch && uint32(words[2*a+1]|words[2*b+1]|words[2*c+1]|words[2*d+1]) == 0 {
				break
			}
		}
		o := (*[lanes]uint32)(out[i:])
		o[0], o[1], o[2], o[3] = uint32(a), uint32(b), uint32(c), uint32(d)
	}
}

// narrowTrees walks one row down four trees.
func narrowTrees(words []uint64, roots *[lanes]uint32, depth int, keys []uint32, out *[lanes]uint32) {
	base, k := unsafe.Pointer(unsafe.SliceData(words)), unsafe.Pointer(unsafe.SliceData(keys))
	a, b, c, d := uintptr(roots[0]), uintptr(roots[1]), uintptr(roots[2]), uintptr(roots[3])
	for left := depth; left > 0; left -= stretch {
		for range min(left, stretch) {
			a, b, c, d = narrow(base, a, k, 0), narrow(base, b, k, 0), narrow(base, c, k, 0), narrow(base, d, k, 0)
		}
		if left > stretch && (words[a]|words[b]|words[c]|words[d])>>48 == 0 {
			break
		}
	}
	out[0], out[1], out[2], out[3] = uint32(a), uint32(b), uint32(c), uint32(d)
}

// wideTrees is narrowTrees for two-word nodes.
func wideTrees(words []uint64, roots *[lanes]uint32, depth int, keys []uint64, out *[lanes]uint32) {
	base, k := unsafe.Pointer(unsafe.SliceData(words)), unsafe.Pointer(unsafe.SliceData(keys))
	a, b, c, d := uintptr(roots[0]), uintptr(roots[1]), uintptr(roots[2]), uintptr(roots[3])
	for left := depth; left > 0; left -= stretch {
		for range min(left, stretch) {
			a, b, c, d = wider(base, a, k, 0), wider(base, b, k, 0), wider(base, c, k, 0), wider(base, d, k, 0)
		}
		if left > stretch && uint32(words[2*a+1]|words[2*b+1]|words[2*c+1]|words[2*d+1]) == 0 {
			break
		}
	}
	out[0], out[1], out[2], out[3] = uint32(a), uint32(b), uint32(c), uint32(d)
}
