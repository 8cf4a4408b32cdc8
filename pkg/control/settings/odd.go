// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// maxOdd bounds what is told: more is a document of something else.
const maxOdd = 20

// unknown remembers the fields of a section that nobody reads. Names are read without regard to case.
func (d *decoder) unknown(key, text string, section reflect.Type) {
	strict, err := kjson.UnmarshalStrict([]byte(text), reflect.New(section).Interface(), kjson.DisallowUnknownFields)
	if err != nil {
		return // told as a fault of the section
	}
	for _, fault := range strict {
		path, ok := strings.CutPrefix(fault.Error(), `unknown field "`)
		if !ok || len(d.odd) >= maxOdd {
			continue
		}
		path = strings.TrimSuffix(path, `"`)
		keys := spelling.SplitPath(path)
		meant := spelling.Field(section, keys)
		if n := len(keys); n > 0 && strings.EqualFold(meant, `; did you mean "`+keys[n-1]+`"?`) {
			continue
		}
		d.odd = append(d.odd, Fault{Key: key, Path: "$." + path, Problem: "is not known and has no effect" + meant})
	}
}

// oddities are the fields and sections that nobody reads. Sections of other programs share the ConfigMap, so that a section is told only
// where it is almost one of ours.
func (d *decoder) oddities() []Fault {
	for _, key := range slices.Sorted(maps.Keys(d.data)) {
		if slices.Contains(d.known, key) || len(d.odd) >= maxOdd {
			continue
		}
		if meant := closestSection(key, d.known); meant != "" {
			d.odd = append(d.odd, Fault{Key: key, Path: "$", Problem: "is not known and has no effect; did you mean " + meant + "?"})
		}
	}
	return d.odd
}

// Unread tells all of Odd in one sentence; empty where there is nothing odd.
func (s *Settings) Unread() string {
	lines := make([]string, 0, len(s.Odd))
	for _, f := range s.Odd {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "; ")
}

func closestSection(key string, known []string) string {
	const longest = 64
	if len(key) > longest {
		return ""
	}
	plain := strings.NewReplacer("-", "", "_", "", ".", "").Replace(key)
	for _, k := range known {
		if strings.EqualFold(plain, k) {
			return k
		}
	}
	return spelling.Closest(key, known)
}
