// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"fmt"
	"unsafe"
)

// shallow refuses values nested deeper than any model's, so that who walks them may recurse; and values that are much more when each
// reference to a shared one counts, so that who walks them meets no more than limit bytes: fifty lists that hold the one before twice
// are a petabyte. It visits each container once.
func shallow(root any, limit int64) error {
	type frame struct {
		id       unsafe.Pointer
		children []any
		next     int
		size     int64
	}
	seen := map[unsafe.Pointer]int64{} // the size of each container; of one that is being visited, a cycle, nothing
	var path []frame
	// enter counts v for the container on top of the path, or puts v there.
	enter := func(v any) (size int64) {
		id, children := inside(v)
		if len(children) == 0 {
			return weigh(v)
		}
		if known, ok := seen[id]; ok {
			return known
		}
		seen[id] = 0
		path = append(path, frame{id: id, children: children, size: weigh(v)})
		return 0
	}
	enter(root)
	for len(path) > 0 {
		if len(path) > maxDepth {
			return fmt.Errorf("values are nested more than %d deep", maxDepth)
		}
		top := len(path) - 1
		if path[top].size > limit {
			return fmt.Errorf("values refer to shared ones so often that they are more than %d bytes, which is the most for a file of this size", limit)
		}
		if f := path[top]; f.next == len(f.children) {
			seen[f.id] = f.size
			if path = path[:top]; top > 0 {
				path[top-1].size += f.size
			}
			continue
		}
		v := path[top].children[path[top].next]
		path[top].next++
		size := enter(v) // which may move path
		path[top].size += size
	}
	return nil
}

// weigh is the bytes that a value takes without what it refers to.
func weigh(v any) int64 {
	switch c := v.(type) {
	case string:
		return int64(len(c))
	case Bytes:
		return int64(len(c))
	case *List:
		return int64(len(c.Items)) * costSlot
	case Tuple:
		return int64(len(c)) * costSlot
	case *Set:
		return int64(len(c.Items)) * costSlot
	case *Dict:
		return int64(len(c.Keys)) * 2 * costSlot
	case *Array:
		return int64(len(c.Data)) + int64(len(c.Objects))*costSlot
	case *Object:
		return costObject
	}
	return 0
}

// inside is a container's identity and what it holds.
func inside(v any) (unsafe.Pointer, []any) {
	switch c := v.(type) {
	case *List:
		return unsafe.Pointer(c), c.Items
	case Tuple:
		return unsafe.Pointer(unsafe.SliceData(c)), c
	case *Set:
		return unsafe.Pointer(c), c.Items
	case *Dict:
		all := make([]any, 0, 2*len(c.Keys))
		return unsafe.Pointer(c), append(append(all, c.Keys...), c.Values...)
	case *Array:
		return unsafe.Pointer(c), c.Objects
	case *Object:
		all := []any{c.Args, c.State}
		if c.Dict != nil {
			all = append(all, c.Dict)
		}
		if c.List != nil {
			all = append(all, c.List)
		}
		return unsafe.Pointer(c), all
	}
	return nil, nil
}
