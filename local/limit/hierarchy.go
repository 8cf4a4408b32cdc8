// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchy is a mounted tree of groups that knows memory.
type hierarchy struct {
	mode Mode
	// mount is where it is mounted, own the folder of this process in it.
	mount, own string
}

// parents are the folders to try, from this process's own to the top: a group that has processes cannot have limited children in
// version 2, and which of its ancestors belongs to this user only trying tells. Version 1 has no such rule.
func (h hierarchy) parents() []string {
	var out []string
	for dir := h.own; ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if h.mode == CGroup1 || dir == h.mount || len(dir) <= len(h.mount) {
			return out
		}
	}
}

// hierarchies reads which trees there are, version 2 first.
func hierarchies() []hierarchy {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	return parseHierarchies(string(mounts), string(groups))
}

// parseHierarchies reads the two files of proc(5) and cgroups(7).
func parseHierarchies(mounts, groups string) []hierarchy {
	own := map[Mode]string{}
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[0] == "0" && f[1] == "":
			own[CGroup2] = f[2]
		case slices.Contains(strings.Split(f[1], ","), memory):
			own[CGroup1] = f[2]
		}
	}
	found := map[Mode]hierarchy{}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		const root, point = 3, 4
		if !ok || len(b) <= point || len(a) < 3 {
			continue
		}
		mode := CGroup2
		if a[0] == "cgroup" && slices.Contains(strings.Split(a[2], ","), memory) {
			mode = CGroup1
		} else if a[0] != "cgroup2" {
			continue
		}
		path, known := own[mode]
		if !known || found[mode].mode != "" {
			continue
		}
		found[mode] = hierarchy{mode: mode, mount: b[point], own: filepath.Join(b[point], below(b[root], path))}
	}
	var out []hierarchy
	for _, m := range []Mode{CGroup2, CGroup1} {
		if h, ok := found[m]; ok {
			out = append(out, h)
		}
	}
	return out
}

// below is path as seen from root; a container may show this process a path that it does not mount, and then the top is all it has.
func below(root, path string) string {
	rest, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rest) || strings.HasPrefix(path, "/..") {
		return "/"
	}
	return rest
}
