// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// check turns a listing into the objects to fetch, sorted by path: filtered, every path proven to stay in the target, no two in each
// other's way.
func (f *Fetcher) check(list provider.Listing, source string) ([]provider.Object, error) {
	if len(list.Objects) == 0 {
		return nil, provider.Errorf(provider.NotFound, "no model found at %s", source)
	}
	if len(list.Objects) > f.o.MaxFiles {
		return nil, provider.Errorf(provider.Invalid, "%s holds more than %d files", source, f.o.MaxFiles)
	}
	out := make([]provider.Object, 0, len(list.Objects))
	for _, o := range list.Objects {
		clean := path.Clean(o.Path)
		if !filepath.IsLocal(clean) || clean == "." || strings.ContainsAny(clean, "\x00\\") || hasDotDot(o.Path) {
			return nil, provider.Errorf(provider.Invalid, "object %q of %s has a name that is no path within a folder", o.Key, source)
		}
		o.Path = clean
		if clean == recordName || clean == workSuffix || strings.HasPrefix(clean, workSuffix+"/") {
			continue
		}
		if list.Single || selected(clean, f.o.Allow, f.o.Ignore) {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return nil, provider.Errorf(provider.NotFound, "no model found at %s: the patterns leave none of its %d files", source, len(list.Objects))
	}
	slices.SortFunc(out, func(a, b provider.Object) int { return strings.Compare(a.Path, b.Path) })
	files := make(map[string]bool, len(out))
	for _, o := range out {
		if files[o.Path] {
			return nil, provider.Errorf(provider.Invalid, "%s holds two objects for the path %q", source, o.Path)
		}
		files[o.Path] = true
	}
	for _, o := range out {
		for d := path.Dir(o.Path); d != "."; d = path.Dir(d) {
			if files[d] {
				return nil, provider.Errorf(provider.Invalid, "%s holds %q and %q: one name cannot be a file and a folder", source, d, o.Path)
			}
		}
	}
	return out, nil
}

func hasDotDot(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// selected applies the allow patterns, then the ignore patterns.
func selected(name string, allow, ignore []string) bool {
	match := func(pattern string) bool { return fnmatch(pattern, name) }
	return (len(allow) == 0 || slices.ContainsFunc(allow, match)) && !slices.ContainsFunc(ignore, match)
}

// fnmatch is the shell's matching without path semantics: "*" and "?" match slashes too. A pattern that ends in a slash means
// everything below it.
func fnmatch(pattern, name string) bool {
	if strings.HasSuffix(pattern, "/") {
		pattern += "*"
	}
	// Positions to go back to when the part after the last star does not match.
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p, n
				p++
				continue
			}
			if width, ok := matchOne(pattern[p:], name[n]); ok {
				p += width
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte against the first element of a pattern and returns the element's width.
func matchOne(pattern string, c byte) (int, bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		end := strings.IndexByte(pattern[min(2, len(pattern)):], ']')
		if end < 0 {
			return 1, c == '['
		}
		end += 2
		set := pattern[1:end]
		negate := set[0] == '!'
		if negate {
			set = set[1:]
		}
		in := false
		for i := 0; i < len(set); i++ {
			if i+2 < len(set) && set[i+1] == '-' {
				in = in || set[i] <= c && c <= set[i+2]
				i += 2
				continue
			}
			in = in || set[i] == c
		}
		return end + 1, in != negate
	}
	return 1, pattern[0] == c
}
