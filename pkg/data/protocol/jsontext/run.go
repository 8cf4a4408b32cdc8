// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import "math"

// Words says what the words of a Run are.
type Words uint8

// The kinds of words: bits of int64, bits of float64, or bits of int64 until a fraction comes, which turns them all into float64.
const (
	IntWords Words = iota
	FloatWords
	EitherWords
)

// maxRunDigits keeps a mantissa exact as a float64.
const maxRunDigits = 15

// Run takes as many elements as it can of an array of short plain numbers, with the commas between them, and adds their bits to words.
// It stops before the comma or bracket after the last element that it took; n is how many. What is odd or wrong is left, with n
// possibly 0, for Number to take. isFloat says whether words hold float64 bits now; it may only change for EitherWords.
func (s *Scanner) Run(words []uint64, kind Words) (out []uint64, n int, isFloat bool) {
	text, i := s.text, uint(s.pos) // what is less than len(text) needs no other check as a uint
	isFloat = kind == FloatWords
	for {
		// One element: -?digits(.digits)? and then a comma or bracket, which is c.
		negative := i < uint(len(text)) && text[i] == '-'
		if negative {
			i++
		}
		var c byte
		mantissa, first := uint64(0), i
		for ; i < uint(len(text)); i++ {
			if c = text[i]; c-'0' > 9 {
				break
			}
			mantissa = mantissa*10 + uint64(c-'0')
		}
		digits, point := i-first, uint(0)
		if digits != 1 && (digits == 0 || text[first] == '0') {
			return words, n, isFloat
		}
		if c == '.' {
			i++
			from := i
			for ; i < uint(len(text)); i++ {
				if c = text[i]; c-'0' > 9 {
					break
				}
				mantissa = mantissa*10 + uint64(c-'0')
			}
			if point = i - from; point == 0 || kind == IntWords {
				return words, n, isFloat
			}
			digits += point
		}
		if c != ',' && c != ']' || digits > maxRunDigits {
			return words, n, isFloat
		}
		if point > 0 && !isFloat {
			isFloat = true
			for j, w := range words {
				words[j] = math.Float64bits(float64(int64(w)))
			}
		}
		words = append(words, word(int64(mantissa), point, negative, isFloat))
		n++
		s.pos = int(i)
		if c == ']' {
			return words, n, isFloat
		}
		if i++; i < uint(len(text)) && text[i] == ' ' {
			i++
		}
	}
}

// word is the bits of mantissa / 10^point. Both are exact, so that the one rounding of the division is the right one.
func word(mantissa int64, point uint, negative, isFloat bool) uint64 {
	if !isFloat {
		if negative {
			mantissa = -mantissa
		}
		return uint64(mantissa)
	}
	f := float64(mantissa)
	if point > 0 {
		f /= pow10[point&maxRunDigits]
	}
	if negative && (point > 0 || mantissa != 0) { // -0 is an integer, and 0; -0.0 is not
		f = -f
	}
	return math.Float64bits(f)
}

// nextRow takes the end of a row that Run has come to, the comma and the bracket of the next one, when a number follows. What is written in
// another way is left.
func (s *Scanner) nextRow() bool {
	rest := s.text[s.pos:]
	if len(rest) < 5 || rest[0] != ']' || rest[1] != ',' {
		return false
	}
	i := 2
	if rest[2] == ' ' {
		i = 3
	}
	if rest[i] != '[' || rest[i+1]-'0' > 9 && rest[i+1] != '-' {
		return false
	}
	s.pos += i + 1
	return true
}
