// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"unicode/utf16"
	"unicode/utf8"
)

// String takes the string that Peek saw. The result aliases the text, or, when it had escapes, memory that the next call of
// String or Key reuses.
func (s *Scanner) String() ([]byte, error) {
	start := s.pos + 1
	plain, err := s.skipString()
	if err != nil {
		return nil, err
	}
	raw := s.text[start : s.pos-1]
	if plain {
		return raw, nil
	}
	s.scratch = unescape(s.scratch[:0], raw)
	return s.scratch, nil
}

// skipString takes a string and checks its syntax. plain is true when it holds no escapes.
func (s *Scanner) skipString() (plain bool, err error) {
	text := s.text
	plain = true
	for i := s.pos + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			s.pos = i + 1
			return plain, nil
		case c < ' ':
			return false, &SyntaxError{"unexpected control character in string", "Invalid control character at", i}
		case c == '\\':
			plain = false
			size, err := escapeSize(text, i)
			if err != nil {
				return false, err
			}
			i += size - 1
		}
	}
	return false, &SyntaxError{"unexpected end of data", "Unterminated string starting at", len(text)}
}

// escapeSize checks the escape at i and returns its length; a surrogate pair is one escape.
func escapeSize(text []byte, i int) (int, error) {
	if i+1 >= len(text) {
		return 0, &SyntaxError{"unexpected end of data", "Unterminated string starting at", len(text)}
	}
	switch text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		r, ok := hex4(text, i+2)
		switch {
		case !ok:
			return 0, &SyntaxError{"invalid escaped sequence in string", "Invalid \\uXXXX escape", min(i+2, len(text))}
		case !utf16.IsSurrogate(r):
			return 6, nil
		case r >= 0xdc00:
			return 0, &SyntaxError{"invalid high surrogate in string", "lone surrogate", i + 6}
		}
		if i+7 >= len(text) || text[i+6] != '\\' || text[i+7] != 'u' {
			return 0, &SyntaxError{"no low surrogate in string", "lone surrogate", i + 6}
		}
		if low, ok := hex4(text, i+8); !ok || low < 0xdc00 || low > 0xdfff {
			return 0, &SyntaxError{"invalid low surrogate in string", "lone surrogate", i + 6}
		}
		return 12, nil
	default:
		return 0, &SyntaxError{"invalid escaped character in string", "Invalid \\escape", i + 1}
	}
}

func hex4(text []byte, i int) (rune, bool) {
	if i+4 > len(text) {
		return 0, false
	}
	var r rune
	for _, c := range text[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unescape appends raw, whose escapes skipString has checked, to dst.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(raw, i+1)
			i += 4
			if utf16.IsSurrogate(r) {
				low, _ := hex4(raw, i+3)
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
