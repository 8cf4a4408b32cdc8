// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

// HeaderTimeout tells a server over HTTP how long its caller waits: a number of seconds, or a number with a unit: 2, 0.5, 250ms, 1m.
const HeaderTimeout = "X-Request-Timeout"
