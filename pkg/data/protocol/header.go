// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"net/http"
	"strings"
)

// OneConnection says whether a header belongs to the one connection that it came on, and is never forwarded (RFC 9110, 7.6.1): by its own
// nature, or because h names it in Connection. The name is in canonical form.
func OneConnection(h http.Header, name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(option), name) {
				return true
			}
		}
	}
	return false
}
