// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"fmt"
	"unsafe"
)

// shallow refuses values nested deeper than any model's, so that who walks them may recurse. It visits each container once.
func shallow(root any) error {
	type frame struct {
		children []any
		next     int
	}
	seen := map[unsafe.Pointer]bool{}
	var path []frame
	enter := func(v any) {
		id, children := inside(v)
		if len(children) == 0 || seen[id] {
			return
		}
		seen[id] = true
		path = append(path, frame{children: children})
	}
	enter(root)
	for len(path) > 0 {
		if len(path) > maxDepth {
			return fmt.Errorf("values are nested more than %d deep", maxDepth)
		}
		top := &path[len(path)-1]
		if top.next == len(top.children) {
			path = path[:len(path)-1]
			continue
		}
		v := top.children[top.next]
		top.next++
		enter(v)
	}
	return nil
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
