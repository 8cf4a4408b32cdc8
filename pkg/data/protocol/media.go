// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import "strings"

// IsJSON reports whether a Content-Type header says JSON: application/json, or application/ with a +json suffix, in any case and
// with any parameters.
func IsJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.Trim(media, " \t")
	kind, sub, ok := strings.Cut(media, "/")
	if !ok || !strings.EqualFold(kind, "application") {
		return false
	}
	if strings.EqualFold(sub, "json") {
		return true
	}
	const suffix = "+json"
	return len(sub) > len(suffix) && strings.EqualFold(sub[len(sub)-len(suffix):], suffix)
}
