// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"math"
	"strconv"
)

// AppendFloat adds the shortest text that reads back as v: always with a point or an exponent, so that a reader sees a float
// (1.0, 0.1, 1e+16, 1e-7). What JSON cannot say (NaN, infinities) is null.
func AppendFloat(dst []byte, v float64) []byte {
	abs := math.Abs(v)
	switch {
	case v != v || abs > math.MaxFloat64:
		return append(dst, "null"...)
	case abs < 1e15 && v == math.Trunc(v):
		if v == 0 && math.Signbit(v) {
			return append(dst, "-0.0"...)
		}
		dst = strconv.AppendInt(dst, int64(v), 10)
		return append(dst, '.', '0')
	case abs >= 1e-5 && abs < 1e16:
		n := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
		for _, c := range dst[n:] {
			if c == '.' {
				return dst
			}
		}
		return append(dst, '.', '0')
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	// The standard library pads the exponent to two digits: 1e-07.
	if e := len(dst) - 4; e > n && dst[e] == 'e' && dst[e+2] == '0' {
		dst[e+2] = dst[e+3]
		dst = dst[:len(dst)-1]
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendString adds v as a JSON string, escaping no more than JSON asks for. v must be valid UTF-8.
func AppendString[S ~string | ~[]byte](dst []byte, v S) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(v) {
		c := v[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, v[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, v[start:]...)
	return append(dst, '"')
}
