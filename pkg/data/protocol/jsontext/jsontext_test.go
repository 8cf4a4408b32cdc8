// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func scan(text string) *Scanner {
	s := &Scanner{}
	s.Reset([]byte(text))
	return s
}

func TestNumbers(t *testing.T) {
	cases := map[string]Number{
		"0":                       {},
		"-0":                      {},
		"-12":                     {Int: -12},
		"9223372036854775807":     {Int: math.MaxInt64},
		"-9223372036854775808":    {Int: math.MinInt64},
		"9223372036854775808":     {Kind: Uint, Uint: 1 << 63},
		"18446744073709551615":    {Kind: Uint, Uint: math.MaxUint64},
		"18446744073709551616":    {Kind: Big, Float: 1 << 64},
		"-9223372036854775809":    {Kind: Big, Float: -(1 << 63)},
		"0.1":                     {Kind: Float, Float: 0.1},
		"-0.0":                    {Kind: Float, Float: math.Copysign(0, -1)},
		"1e2":                     {Kind: Float, Float: 100},
		"5E-324":                  {Kind: Float, Float: 5e-324},
		"1e-400":                  {Kind: Float},
		"0.30000000000000004":     {Kind: Float, Float: 0.30000000000000004},
		"9007199254740993.0":      {Kind: Float, Float: 9007199254740992},
		"0.000000000000000000001": {Kind: Float, Float: 1e-21},
		"123456789.1234567890123": {Kind: Float, Float: 123456789.1234567890123},
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			s := scan(text)
			s.Peek()
			got, err := s.Number()
			require.NoError(t, err)
			require.NoError(t, s.End())
			require.Equal(t, want, got)
			require.Equal(t, math.Signbit(want.Float), math.Signbit(got.Float))
		})
	}
}

func TestNumbersAgreeWithTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			f = float64(r.IntN(100000)) / math.Pow10(r.IntN(8))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		for _, format := range []byte{'e', 'f', 'g'} {
			text := strconv.FormatFloat(f, format, -1, 64)
			s := scan(text)
			got, err := s.Number()
			require.NoError(t, err, text)
			require.Equal(t, f, got.Float64(), text)
		}
		back, err := strconv.ParseFloat(string(AppendFloat(nil, f)), 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(f), math.Float64bits(back))
	}
}

func TestAppendFloat(t *testing.T) {
	for want, v := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "-2.5": -2.5, "0.1": 0.1, "1000000000000000.0": 1e15, "1e+16": 1e16, "1.5e+300": 1.5e300,
		"0.00001": 1e-5, "1e-6": 1e-6, "1.5e-7": 1.5e-7, "5e-324": 5e-324, "123456789012345.6": 123456789012345.6,
		"0.10000000149011612": float64(float32(0.1)), "1.0000000272564224e+16": float64(float32(1e16)),
	} {
		require.Equal(t, want, string(AppendFloat(nil, v)))
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Equal(t, "null", string(AppendFloat(nil, v)))
	}
}

func TestSyntaxErrors(t *testing.T) {
	cases := map[string]string{
		``:              "unexpected end of data 0",
		`{`:             "unexpected end of data 1",
		`[1,]`:          "trailing comma is not allowed 3",
		`{"a":1,}`:      "trailing comma is not allowed 7",
		`[1 2]`:         "unexpected character 3",
		`{"a" 1}`:       "unexpected character 5",
		`{a:1}`:         "unexpected character 1",
		`[01]`:          "number with leading zero is not allowed 1",
		`[-]`:           "unexpected character 2",
		`[1.]`:          "unexpected character 3",
		`[1e]`:          "unexpected character 3",
		`[tru]`:         "unexpected character 4",
		`[NaN]`:         "unexpected character 1",
		`[1e400]`:       "number is infinity when parsed as double 1",
		`["\x"]`:        "invalid escaped character in string 3",
		`["\u12"]`:      "invalid escaped sequence in string 4",
		`["\ud800x"]`:   "no low surrogate in string 8",
		`["\udc00"]`:    "invalid high surrogate in string 8",
		"[\"a\x01\"]":   "unexpected control character in string 3",
		`["a`:           "unexpected end of data 3",
		`["a\`:          "unexpected end of data 4",
		`1 1`:           "unexpected content after document 2",
		`{"a":1} {"b"}`: "unexpected content after document 8",
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			s := scan(text)
			err := s.Skip()
			if err == nil {
				err = s.End()
			}
			var bad *SyntaxError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, want, bad.Message+" "+strconv.Itoa(bad.Offset))
			require.NotEmpty(t, bad.Expected)
		})
	}
}

func TestDepthIsBounded(t *testing.T) {
	require.NoError(t, scan(strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth)).Skip())
	require.ErrorContains(t, scan(strings.Repeat("[", MaxDepth+1)+strings.Repeat("]", MaxDepth+1)).Skip(), "recursion depth exceeded")
}

func TestLiterals(t *testing.T) {
	for text, want := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "1e999": math.Inf(1)} {
		s := scan(text)
		s.Literals = true
		got, err := s.Number()
		require.NoError(t, err)
		require.NoError(t, s.End())
		require.Equal(t, math.Float64bits(want), math.Float64bits(got.Float))
		require.Equal(t, text == "1e999", got.Overflow)
	}
}

func TestPositionCountsCharacters(t *testing.T) {
	line, column, char := Position([]byte("é\nü☃x"), 8)
	require.Equal(t, []int{2, 3, 4}, []int{line, column, char})
}

// Rows that follow each other closely are taken in one step: what comes of them is that of the same text with white space between all.
func TestRowsAreReadAlikeHoweverTheyAreWritten(t *testing.T) {
	walk := func(text string) (shape []int64, words []uint64, depth int, fault string) {
		s := scan(text)
		require.EqualValues(t, '[', s.Peek())
		var a Array
		err := a.Walk(s, func(byte) (int, error) {
			var n int
			if words, n, _ = s.Run(words, FloatWords); n > 0 {
				return n, nil
			}
			number, err := s.Number()
			words = append(words, math.Float64bits(number.Float64()))
			return 1, err
		})
		if err != nil {
			return nil, nil, 0, err.Error()
		}
		return a.AppendShape(nil), words, s.Depth(), ""
	}
	for text, want := range map[string][]int64{
		"[[1,2],[3,-4.5]]":                   {2, 2},
		"[[1, 2], [3, 4], [5, 6]]":           {3, 2},
		"[[1e1],[-2],[0.30000000000000004]]": {3, 1},
		"[[[1,2],[3,4]],[[5,6],[7,8]]]":      {2, 2, 2},
		"[[[1],[2]],[[3]]]":                  nil,
		"[[1,2],[3]]":                        nil,
		"[[1,2],[3,4,5]]":                    nil,
		"[[1,2],[]]":                         nil,
		"[[1,2],[[3,4]]]":                    nil,
		"[[1],[2],3]":                        nil,
		"[[1],[2],]":                         nil,
		"[[1],[-]]":                          nil,
		"[[1],[01]]":                         nil,
		"[[1],[2":                            nil,
		"[[1],[":                             nil,
		"[[1],":                              nil,
		"[[1]":                               nil,
	} {
		apart := strings.NewReplacer("[", " [ ", "]", " ] ", ",", " , ").Replace(text)
		shape, words, depth, fault := walk(text)
		slowShape, slowWords, slowDepth, slowFault := walk(apart)
		require.Equal(t, want, shape, text)
		require.Equal(t, slowShape, shape, text)
		require.Equal(t, slowWords, words, text)
		require.Equal(t, slowDepth, depth, text)
		require.Equal(t, slowFault, fault, text)
		require.Equal(t, want == nil, fault != "", text)
	}
}

// FuzzScanner compares with the standard library: the same texts are valid, and strings and numbers read the same.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-3e4,true,false,null,"x\u00e9\ud83d\ude00\n"]}`, `[[],{}]`, `"\\\/"`, `1e400`, ` [ 1 , 2 ] `, `[1,]`, `"\ud800"`, `-`, `00`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		s := &Scanner{}
		s.Reset(text)
		err := s.Skip()
		if err == nil {
			err = s.End()
		}
		if err != nil {
			var bad *SyntaxError
			require.ErrorAs(t, err, &bad)
			require.LessOrEqual(t, bad.Offset, len(text))
			line, column, char := Position(text, bad.Offset)
			require.Positive(t, line)
			require.Positive(t, column)
			require.LessOrEqual(t, char, len(text))
			return
		}
		require.True(t, json.Valid(text))
		s.Reset(text)
		switch s.Peek() {
		case '"':
			got, err := s.String()
			require.NoError(t, err)
			var want string
			require.NoError(t, json.Unmarshal(text, &want))
			require.Equal(t, want, string(got))
			require.Equal(t, want, func() (back string) {
				require.NoError(t, json.Unmarshal(AppendString(nil, got), &back))
				return back
			}())
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			got, err := s.Number()
			require.NoError(t, err)
			var want float64
			require.NoError(t, json.Unmarshal(text, &want))
			require.Equal(t, want, got.Float64())
		}
	})
}

// FuzzRun compares a run of numbers with reading them one by one.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		"[1,2,3]", "[1.5,-2,0.0]", "[-0,-0.0,0]", "[1, 2,3.25 ,4]", "[01]", "[1.]", "[12345678901234567890,1]", "[1e5,2]", "[0.1,0.30000000000000004]", "[1,", "[1,]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []Words{IntWords, FloatWords, EitherWords} {
			s := scan(text)
			if s.Peek() != '[' {
				return
			}
			if more, err := s.OpenArray(); err != nil || !more {
				return
			}
			from := s.Offset()
			words, n, isFloat := s.Run(nil, kind)
			require.Len(t, words, n)
			end := s.Offset()
			s.Seek(from, 1)
			for i, w := range words {
				s.Peek()
				number, err := s.Number()
				require.NoError(t, err)
				if isFloat {
					require.Equal(t, math.Float64bits(number.Float64()), w)
				} else {
					require.Equal(t, Int, number.Kind)
					require.Equal(t, number.Int, int64(w))
				}
				if i < n-1 {
					more, err := s.NextElement()
					require.NoError(t, err)
					require.True(t, more)
				}
			}
			require.Equal(t, end, s.Offset())
		}
	})
}
