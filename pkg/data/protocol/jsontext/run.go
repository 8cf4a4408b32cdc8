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
	text, i := s.text, s.pos
	isFloat = kind == FloatWords
	for {
		// One element: -?digits(.digits)? and then a comma or bracket.
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
		point := -1
		if i < len(text) && text[i] == '.' {
			i++
			from := i
			for i < len(text) && text[i]-'0' <= 9 {
				mantissa = mantissa*10 + uint64(text[i]-'0')
				i++
			}
			point = i - from
			digits += point
		}
		if digits > maxRunDigits || first == i || i >= len(text) || text[first]-'0' > 9 || text[i] != ',' && text[i] != ']' ||
			text[first] == '0' && first+1 < i && text[first+1] != '.' || point == 0 || point > 0 && kind == IntWords {
			return words, n, isFloat
		}
		if point > 0 && !isFloat {
			isFloat = true
			for j, w := range words {
				words[j] = math.Float64bits(float64(int64(w)))
			}
		}
		words = append(words, word(mantissa, point, first > start, isFloat))
		n++
		s.pos = i
		if text[i] == ']' {
			return words, n, isFloat
		}
		if i++; i < len(text) && text[i] == ' ' {
			i++
		}
	}
}

// word is the bits of mantissa / 10^point. Both are exact, so that the one rounding of the division is the right one.
func word(mantissa uint64, point int, negative, isFloat bool) uint64 {
	if !isFloat {
		if negative {
			return -mantissa
		}
		return mantissa
	}
	f := float64(mantissa)
	if point > 0 {
		f /= pow10[point]
	}
	if negative && (point >= 0 || mantissa != 0) { // -0 is an integer, and 0; -0.0 is not
		f = -f
	}
	return math.Float64bits(f)
}
