// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// Flag reads a parameter of a request that is true or false, or a text that says so. The error is the caller's mistake.
func Flag(name string, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if on, err := strconv.ParseBool(v); err == nil {
			return on, nil
		}
	}
	return false, protocol.Errorf(protocol.Invalid, "parameter %s: expected true or false, got %.40q", name, fmt.Sprint(v))
}

// Integer reads a parameter of a request that is an integer from low to high, or a text that is one. The error is the caller's mistake.
func Integer(name string, v any, low, high int) (int, error) {
	switch v := v.(type) {
	case int64:
		if v >= int64(low) && v <= int64(high) {
			return int(v), nil
		}
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && n >= low && n <= high {
			return n, nil
		}
	}
	return 0, protocol.Errorf(protocol.Invalid, "parameter %s: expected an integer from %d to %d, got %.40q", name, low, high, fmt.Sprint(v))
}
