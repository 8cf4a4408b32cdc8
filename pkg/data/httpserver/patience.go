// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import "time"

// Fair is how much a client sends or takes in one stall time, on the average, or is given up: 2 KiB a second with the defaults. Without it a
// byte now and then would hold a connection, and the memory of its request, for as long as the client likes.
const Fair = 64 << 10

// patience is how long a client may still keep the server waiting. It is never more than the stall time, waiting uses it up, and what comes
// or goes meanwhile fills it again.
type patience struct{ stall, left time.Duration }

// took tells that n bytes were waited for so long.
func (p *patience) took(waited time.Duration, n int) {
	earned := p.stall
	if n < Fair {
		earned = p.stall / Fair * time.Duration(n)
	}
	p.left = min(p.left-waited+earned, p.stall)
}

// over says that the client has had its time.
func (p *patience) over() bool { return p.left < p.stall/16 }
