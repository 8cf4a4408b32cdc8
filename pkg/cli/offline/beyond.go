// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
)

// beyond tells what the rules say about objects that could be read in part only. What may follow from what could not be read is left out: a person
// who corrects that would look for a fault that was never there.
func beyond(all []*manifest.Object, read []manifest.Fault, build func([]*manifest.Object) (*World, []manifest.Fault)) []manifest.Fault {
	broken := map[string]bool{}
	for _, o := range all {
		if o.Broken {
			broken[document(o.Fault("", ""))] = true
		}
	}
	world, more := build(all)
	var faults []manifest.Fault
	for _, f := range append(more, world.Faults()...) {
		if !broken[document(f)] {
			continue
		}
		if !slices.ContainsFunc(read, func(r manifest.Fault) bool { return document(r) == document(f) && follows(f, r) }) {
			faults = append(faults, f)
		}
	}
	return faults
}

// document is what a fault is about.
func document(f manifest.Fault) string {
	return fmt.Sprintf("%s %d %s", f.Source, f.Document, f.Object)
}

var item = regexp.MustCompile(`^items\[\d+\]\.?`)

// follows says whether a fault of the rules may be no more than what becomes of one of reading: it is about the same place, about what holds it,
// about what it holds, or about something that is missing beside it.
func follows(rule, read manifest.Fault) bool {
	r, f := manifest.SplitPath(item.ReplaceAllString(read.Path, "")), manifest.SplitPath(rule.Path)
	if len(r) == 0 || within(r, f) || within(f, r) {
		return true
	}
	beside := len(f) >= len(r) && slices.Equal(f[:len(r)-1], r[:len(r)-1])
	switch {
	case beside && (strings.HasPrefix(rule.Message, "Required value") || strings.Contains(rule.Message, "missing")):
		return true
	case strings.Contains(rule.Object, "inferencegraph/"): // nodes are about each other
		return len(r) > 1 && len(f) > 1 && r[1] == f[1]
	}
	return false
}

// within says whether a path is that of a place, or below it.
func within(path, place []string) bool {
	return len(path) >= len(place) && slices.Equal(path[:len(place)], place)
}
