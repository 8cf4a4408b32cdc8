// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"regexp"
	"strings"
)

// Matches reports whether a URI starts with the prefix, or the regular expression is found in it. A broken expression matches nothing.
func (f *SupportedURIFormat) Matches(uri string) bool {
	if f.Prefix != "" {
		return strings.HasPrefix(uri, f.Prefix)
	}
	if f.Regex == "" {
		return false
	}
	form, err := regexp.Compile(f.Regex)
	return err == nil && form.MatchString(uri)
}
