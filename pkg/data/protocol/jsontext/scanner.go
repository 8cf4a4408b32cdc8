// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsontext reads JSON text where it lies and writes it the way the protocols print it: numbers are exact, depth is bounded,
// and a caller that wants an array of numbers gets them one by one, with no tree of values in between.
//
// Called by: data/protocol/v1, data/protocol/v2.
// Next: data/protocol/v1, which builds tensors from what the Scanner finds.
package jsontext

import (
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 1024

// SyntaxError says what is wrong with a text and at which byte.
type SyntaxError struct {
	// Message is the fault as strict parsers word it; Expected is the same as Python's json module words it.
	Message, Expected string
	Offset            int
}

func (e *SyntaxError) Error() string { return e.Message }

const (
	expectingValue = "Expecting value"
	expectingName  = "Expecting property name enclosed in double quotes"
	expectingComma = "Expecting ',' delimiter"
	expectingColon = "Expecting ':' delimiter"
)

// Position is the line and column, from 1, and the character index, from 0, of a byte offset. Characters are code points.
func Position(text []byte, offset int) (line, column, char int) {
	line = 1
	start := 0
	offset = min(offset, len(text))
	for i, c := range text[:offset] {
		if c == '\n' {
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCount(text[start:offset]) + 1, utf8.RuneCount(text[:offset])
}

// Scanner walks over one JSON text. The zero Scanner has an empty text.
type Scanner struct {
	// Literals accepts NaN, Infinity and -Infinity as numbers, and numbers too big for a float64 as infinities (see Number.Overflow).
	Literals bool

	text    []byte
	pos     int
	depth   int
	scratch []byte
}

// Reset starts on a new text, which must be valid UTF-8 as a whole; the caller checks.
func (s *Scanner) Reset(text []byte) {
	s.text, s.pos, s.depth = text, 0, 0
}

// Len is the length of the whole text.
func (s *Scanner) Len() int { return len(s.text) }

// Offset is the byte that will be read next.
func (s *Scanner) Offset() int { return s.pos }

// Seek goes back, or on, to an offset and nesting depth that Offset and Depth gave.
func (s *Scanner) Seek(offset, depth int) { s.pos, s.depth = offset, depth }

// Depth is the number of arrays and objects around the position.
func (s *Scanner) Depth() int { return s.depth }

// Text is the text between two offsets.
func (s *Scanner) Text(from, to int) []byte { return s.text[from:to] }

// Peek skips white space and returns the next byte without taking it; 0 at the end.
func (s *Scanner) Peek() byte {
	text := s.text
	for i := s.pos; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			s.pos = i
			return c
		}
	}
	s.pos = len(text)
	return 0
}

// End checks that nothing but white space is left.
func (s *Scanner) End() error {
	s.Peek()
	if s.pos < len(s.text) {
		return &SyntaxError{"unexpected content after document", "Extra data", s.pos}
	}
	return nil
}

// unexpected is the error for the byte at the position.
func (s *Scanner) unexpected(expected string) error {
	if s.pos >= len(s.text) {
		return &SyntaxError{"unexpected end of data", expected, len(s.text)}
	}
	return &SyntaxError{"unexpected character", expected, s.pos}
}

// Unexpected is the error for a value that cannot start with the byte at the position.
func (s *Scanner) Unexpected() error { return s.unexpected(expectingValue) }

func (s *Scanner) push() error {
	s.pos++
	if s.depth++; s.depth > MaxDepth {
		return &SyntaxError{"array and object recursion depth exceeded", "nesting is too deep", s.pos}
	}
	return nil
}

// OpenArray takes the '[' that Peek saw. more is false for an empty array, which it takes whole.
func (s *Scanner) OpenArray() (more bool, err error) {
	if err := s.push(); err != nil {
		return false, err
	}
	if s.Peek() == ']' {
		s.close()
		return false, nil
	}
	return true, nil
}

// NextElement takes the ',' or ']' after an element.
func (s *Scanner) NextElement() (more bool, err error) {
	switch s.Peek() {
	case ',':
		s.pos++
		if s.Peek() == ']' {
			return false, &SyntaxError{"trailing comma is not allowed", expectingValue, s.pos}
		}
		return true, nil
	case ']':
		s.close()
		return false, nil
	default:
		return false, s.unexpected(expectingComma)
	}
}

// OpenObject takes the '{' that Peek saw. more is false for an empty object, which it takes whole.
func (s *Scanner) OpenObject() (more bool, err error) {
	if err := s.push(); err != nil {
		return false, err
	}
	if s.Peek() == '}' {
		s.close()
		return false, nil
	}
	return true, nil
}

// Key takes a member's name and the ':' after it. The name is valid until the next call of Key or String.
func (s *Scanner) Key() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.unexpected(expectingName)
	}
	key, err := s.String()
	if err != nil {
		return nil, err
	}
	if s.Peek() != ':' {
		return nil, s.unexpected(expectingColon)
	}
	s.pos++
	return key, nil
}

// NextMember takes the ',' or '}' after a member.
func (s *Scanner) NextMember() (more bool, err error) {
	switch s.Peek() {
	case ',':
		s.pos++
		if s.Peek() == '}' {
			return false, &SyntaxError{"trailing comma is not allowed", expectingName, s.pos}
		}
		return true, nil
	case '}':
		s.close()
		return false, nil
	default:
		return false, s.unexpected(expectingComma)
	}
}

func (s *Scanner) close() {
	s.pos++
	s.depth--
}

// Literal takes one of the words true, false and null.
func (s *Scanner) Literal(word string) error {
	if rest := s.text[s.pos:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		for i := 0; s.pos < len(s.text) && i < len(word) && s.text[s.pos] == word[i]; i++ {
			s.pos++
		}
		return s.unexpected(expectingValue)
	}
	s.pos += len(word)
	return nil
}

// Skip takes any value and checks its syntax.
func (s *Scanner) Skip() error {
	switch c := s.Peek(); c {
	case '"':
		_, err := s.skipString()
		return err
	case '[':
		more, err := s.OpenArray()
		for more && err == nil {
			if err = s.Skip(); err == nil {
				more, err = s.NextElement()
			}
		}
		return err
	case '{':
		more, err := s.OpenObject()
		for more && err == nil {
			if _, err = s.Key(); err != nil {
				break
			}
			if err = s.Skip(); err == nil {
				more, err = s.NextMember()
			}
		}
		return err
	case 't':
		return s.Literal("true")
	case 'f':
		return s.Literal("false")
	case 'n':
		return s.Literal("null")
	default:
		_, err := s.Number()
		return err
	}
}

// Kind says what a Number is.
type Kind uint8

// The kinds of number. JSON text without fraction and exponent is an integer, as Python reads it.
const (
	Int   Kind = iota // fits int64: Int
	Uint              // fits uint64 only: Uint
	Big               // an integer beyond 64 bits: Float is the nearest
	Float             // Float
)

// Number is one scanned number.
type Number struct {
	Kind  Kind
	Int   int64
	Uint  uint64
	Float float64
	// Overflow is set when the text is a finite number beyond float64 and Float an infinity.
	Overflow bool
}

// Float64 is the number as a float64.
func (n Number) Float64() float64 {
	switch n.Kind {
	case Int:
		return float64(n.Int)
	case Uint:
		return float64(n.Uint)
	default:
		return n.Float
	}
}

//nolint:gochecknoglobals // a constant table
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Number takes a number.
func (s *Scanner) Number() (Number, error) {
	text, i := s.text, s.pos
	start := i
	if i < len(text) && text[i] == '-' {
		i++
	}
	first := i
	mantissa := uint64(0)
	for i < len(text) && text[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(text[i]-'0')
		i++
	}
	digits := i - first
	if digits == 0 {
		return s.notDigit(start, i)
	}
	if text[first] == '0' && digits > 1 {
		return Number{}, &SyntaxError{"number with leading zero is not allowed", expectingComma, first}
	}
	point := 0
	integer := true
	if i < len(text) && text[i] == '.' {
		integer = false
		i++
		from := i
		for i < len(text) && text[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(text[i]-'0')
			i++
		}
		if point = i - from; point == 0 {
			s.pos = i
			return Number{}, s.unexpected(expectingValue)
		}
		digits += point
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		return s.exponent(start, i)
	}
	s.pos = i
	switch {
	case integer && digits <= 18:
		if first > start {
			return Number{Int: -int64(mantissa)}, nil
		}
		return Number{Int: int64(mantissa)}, nil
	case integer:
		return s.bigInt(start, i)
	case digits <= 19 && mantissa < 1<<53 && point <= 22:
		// Both are exact, so that the one rounding of the division is the right one.
		f := float64(mantissa) / pow10[point]
		if first > start {
			f = -f
		}
		return Number{Kind: Float, Float: f}, nil
	default:
		return s.float(start, i)
	}
}

// notDigit handles what may follow a position where a digit was expected.
func (s *Scanner) notDigit(start, i int) (Number, error) {
	s.pos = start
	if s.Literals {
		rest := s.text[i:]
		switch {
		case i == start && len(rest) >= 3 && string(rest[:3]) == "NaN":
			s.pos = i + 3
			return Number{Kind: Float, Float: math.NaN()}, nil
		case len(rest) >= 8 && string(rest[:8]) == "Infinity":
			s.pos = i + 8
			return Number{Kind: Float, Float: math.Inf(1 - 2*(i-start))}, nil
		}
	}
	if i > start {
		s.pos = i
	}
	return Number{}, s.unexpected(expectingValue)
}

func (s *Scanner) exponent(start, i int) (Number, error) {
	text := s.text
	i++
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	from := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	if i == from {
		s.pos = i
		return Number{}, s.unexpected(expectingComma)
	}
	return s.float(start, i)
}

func (s *Scanner) float(start, end int) (Number, error) {
	s.pos = end
	f, err := strconv.ParseFloat(view(s.text[start:end]), 64)
	if err != nil {
		if !s.Literals {
			return Number{}, &SyntaxError{"number is infinity when parsed as double", expectingValue, start}
		}
		return Number{Kind: Float, Float: f, Overflow: true}, nil
	}
	return Number{Kind: Float, Float: f}, nil
}

func (s *Scanner) bigInt(start, end int) (Number, error) {
	text := view(s.text[start:end])
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Number{Int: i}, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return Number{Kind: Uint, Uint: u}, nil
	}
	n, err := s.float(start, end)
	n.Kind = Big
	return n, err
}

// view is b as a string, for the length of a call that keeps nothing.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
