// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unquote reads a Python 2 string literal as its bytes.
func unquote(s string) (string, bool) {
	s = strings.TrimRight(s, " \t")
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	if !strings.Contains(s, `\`) {
		return s, true
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		switch c := s[i]; c {
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'a':
			out = append(out, '\a')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'v':
			out = append(out, '\v')
		case '\\', '\'', '"':
			out = append(out, c)
		case 'x':
			if i+3 > len(s) {
				return "", false
			}
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			out = append(out, byte(n))
			i += 2
		case '0', '1', '2', '3', '4', '5', '6', '7':
			end := i + 1
			for end < len(s) && end < i+3 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			n, _ := strconv.ParseUint(s[i:end], 8, 16)
			out = append(out, byte(n))
			i = end - 1
		default:
			out = append(out, '\\', c)
		}
	}
	return string(out), true
}

// rawUnicode reads Python's raw-unicode-escape: Latin-1 with \u and \U escapes.
func rawUnicode(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		width := 0
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case 'u':
				width = 4
			case 'U':
				width = 8
			}
		}
		if width == 0 {
			out = utf8.AppendRune(out, rune(s[i]))
			continue
		}
		if i+2+width > len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+2:i+2+width], 16, 32)
		if err != nil || n > utf8.MaxRune {
			return "", false
		}
		out = utf8.AppendRune(out, rune(n))
		i += 1 + width
	}
	return string(out), true
}

// latin1 is the bytes of a string whose runes are all below 256.
func latin1(s string) (Bytes, bool) {
	out := make(Bytes, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return nil, false
		}
		out = append(out, byte(r))
	}
	return out, true
}
