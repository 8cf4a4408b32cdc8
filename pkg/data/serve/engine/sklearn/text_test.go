// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"context"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// TestTerms has what scikit-learn's build_analyzer makes of texts.
func TestTerms(t *testing.T) {
	for name, c := range map[string]struct {
		analyzer
		text string
		want []string
	}{
		"words of two letters":          {analyzer{least: 2, low: 1, high: 1, lower: true}, "A Cat, a_dog 3.14 é2", []string{"cat", "a_dog", "14", "é2"}},
		"small letters of two":          {analyzer{least: 1, low: 1, high: 1, lower: true}, "İO", []string{"i", "o"}},
		"a sigma at the end of a word":  {analyzer{least: 1, low: 1, high: 1, lower: true}, "ΟΔΟΣ ΣΑΣ", []string{"οδος", "σας"}},
		"letters stay large":            {analyzer{least: 1, low: 1, high: 1}, "Ab", []string{"Ab"}},
		"accents go":                    {analyzer{least: 2, low: 1, high: 1, accents: "unicode"}, "café ﬁn", []string{"cafe", "fin"}},
		"all that is not ASCII goes":    {analyzer{least: 1, low: 1, high: 1, accents: "ascii"}, "Straße é", []string{"Strae", "e"}},
		"pairs without stop words":      {analyzer{least: 1, low: 2, high: 2, stop: map[string]struct{}{"the": {}}}, "see the cat the dog", []string{"see cat", "cat dog"}},
		"letters, with spaces joined":   {analyzer{kind: letters, low: 1, high: 2}, "a \t b", []string{"a", " ", "b", "a ", " b"}},
		"one odd space stays":           {analyzer{kind: letters, low: 3, high: 3}, "a\tb", []string{"a\tb"}},
		"letters inside words":          {analyzer{kind: lettersOfWords, low: 3, high: 4}, "ab c", []string{" ab", "ab ", " ab ", " c "}},
		"a short word counts once":      {analyzer{kind: lettersOfWords, low: 5, high: 7}, "ab", []string{" ab "}},
		"marks part words":              {analyzer{least: 2, low: 1, high: 1}, "東京の-wifi½x", []string{"東京の", "wifi½x"}},
		"more together than there is":   {analyzer{least: 1, low: 3, high: 9}, "a b", nil},
		"nothing":                       {analyzer{least: 1, low: 1, high: 1}, "", nil},
		"separators of files are space": {analyzer{kind: lettersOfWords, low: 3, high: 3}, "a\x1cb", []string{" a ", " b "}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			c.terms(c.text, func(term []byte) bool {
				got = append(got, string(term))
				return true
			})
			require.ElementsMatch(t, c.want, got)
		})
	}
}

func TestEveryLetterTakenApart(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if text := string(r); utf8.ValidRune(r) && string(decomposed(text, r)) != norm.NFKD.String(text) {
			t.Fatalf("%U: %q, expected %q", r, decomposed(text, r), norm.NFKD.String(text))
		}
	}
}

// A letter may be eighteen without its accents, and a text has as many words as it has pairs of letters: what is kept does not grow with that.
func TestATextTakesNoMoreMemoryThanItself(t *testing.T) {
	for name, c := range map[string]struct {
		analyzer
		piece string
		terms int
	}{
		"letters that are whole sentences": {analyzer{kind: letters, low: 1, high: 2, accents: "unicode", lower: true}, "ﷺ", 20},
		"inside one word":                  {analyzer{kind: lettersOfWords, low: 3, high: 3, accents: "unicode"}, "ﷺ", 10},
		"words of a letter":                {analyzer{least: 1, low: 1, high: 2}, "a ", 1},
		"one word":                         {analyzer{least: 1, low: 1, high: 2, accents: "unicode"}, "ﬁ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(c.piece, 1<<18)
			terms := 0
			took := testing.Benchmark(func(b *testing.B) {
				b.Helper()
				for b.Loop() {
					terms = 0
					c.analyzer.terms(text, func([]byte) bool { terms++; return true })
				}
			})
			require.GreaterOrEqual(t, terms, c.terms<<18)
			require.Less(t, took.AllocedBytesPerOp(), int64(6*len(text)))
		})
	}
}

func BenchmarkWords(b *testing.B) {
	a := analyzer{least: 2, low: 1, high: 2, lower: true}
	text := strings.Repeat("The quick brown fox, and the lazy dog: ", 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		a.terms(text, func([]byte) bool { return true })
	}
}

func TestMurmur3(t *testing.T) {
	for text, want := range map[string]int32{"": 0, "a": 1009084850, "ab": -1681926305, "abc": -1277324294, "hello": 613153351} {
		require.Equal(t, want, murmur3([]byte(text)), text)
	}
	require.Equal(t, int32((1<<31-1-9)%10), hashColumn(-1<<31, 10))
}

// counts is a fitted CountVectorizer with attributes beside its usual ones.
func counts(more ...any) *pickle.Object {
	state := dict("input", "content", "analyzer", "word", "token_pattern", `(?u)\b\w\w+\b`, "ngram_range", pickle.Tuple{int64(1), int64(1)},
		"lowercase", true, "vocabulary_", dict("cat", int64(1), "dog", int64(0)), "_sklearn_version", "1.5.2")
	for i := 0; i < len(more); i += 2 {
		for j, key := range state.Keys {
			if key == more[i] {
				state.Values[j] = more[i+1]
			}
		}
		state.Keys, state.Values = append(state.Keys, more[i]), append(state.Values, more[i+1])
	}
	return &pickle.Object{Class: pickle.Global{Module: "sklearn.feature_extraction.text", Name: "CountVectorizer"}, State: state}
}

func buildText(o *pickle.Object) (estimator, error) {
	l := &loader{registry: newRegistry(), built: map[*pickle.Object]estimator{}, threads: 1}
	return l.build(o, "model")
}

func TestVectorizersThatAreNotServedAreNamed(t *testing.T) {
	for want, o := range map[string]*pickle.Object{
		"a tokenizer of its own":                   counts("tokenizer", &pickle.Object{}),
		`input="file"`:                             counts("input", "file"),
		`token_pattern="[a-z]+"`:                   counts("token_pattern", "[a-z]+"),
		"words of more than 1048576 letters":       counts("token_pattern", `\w\w{99999999999999999999,}`),
		"words of no letters":                      counts("token_pattern", `\w{0,}`),
		`analyzer="other"`:                         counts("analyzer", "other"),
		"ngram_range up to 1000":                   counts("ngram_range", pickle.Tuple{int64(1), int64(1000)}),
		`stop_words="german"`:                      counts("stop_words", "german"),
		`strip_accents="x"`:                        counts("strip_accents", "x"),
		"entry 0: expected a term and a column":    counts("vocabulary_", dict("cat", int64(7))),
		"entry 1: expected a term and a column":    counts("vocabulary_", dict("cat", int64(0), "dog", int64(0))),
		"no terms":                                 counts("vocabulary_", dict()),
		"two counts, the first not above the last": counts("ngram_range", pickle.Tuple{int64(2), int64(1)}),
	} {
		_, err := buildText(o)
		require.Error(t, err, want)
		require.Contains(t, strings.ReplaceAll(err.Error(), "second", "last"), want)
	}
}

func TestWhatIsNoTextIsRefused(t *testing.T) {
	est, err := buildText(counts())
	require.NoError(t, err)
	m := newModel("CountVectorizer", est)
	require.Equal(t, engine.TensorMetadata{Name: "input-0", Type: tensor.Bytes, Shape: []int64{-1}}, m.Metadata().Inputs[0])
	for want, in := range map[string]*tensor.Tensor{
		"expected a list of texts, got an array of 1 columns of numbers": tensor.From("x", tensor.FP64, []float64{1}, 1),
		"expected a list of texts, got an array of 2 columns":            tensor.FromStrings("x", []string{"a", "b"}, 1, 2),
		"row 1 is not UTF-8 text":                                        tensor.FromStrings("x", []string{"a", "\xff"}, 2),
	} {
		var out tensor.Response
		err := m.Predict(t.Context(), &tensor.Request{Inputs: []*tensor.Tensor{in}}, &out)
		require.ErrorContains(t, err, want)
		require.Equal(t, protocol.Invalid, protocol.From(err).Code)
	}
	var out tensor.Response
	require.NoError(t, m.Predict(t.Context(), &tensor.Request{Inputs: []*tensor.Tensor{tensor.FromStrings("x", []string{"Cat dog CAT", ""}, 2)}}, &out))
	values, _ := out.Outputs[0].AppendFloat64s(nil)
	require.Equal(t, []float64{1, 2, 0, 0}, values)
}

func TestALongTextIsGivenUpWithItsCaller(t *testing.T) {
	est, err := buildText(counts("analyzer", "char", "ngram_range", pickle.Tuple{int64(1), int64(20)}))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out tensor.Response
	err = newModel("CountVectorizer", est).Predict(ctx, &tensor.Request{Inputs: []*tensor.Tensor{tensor.FromStrings("x", []string{strings.Repeat("ab", 1<<20)}, 1)}}, &out)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTextsThatBecomeTooManyNumbersAreRefused(t *testing.T) {
	hashes := counts("n_features", int64(mostHashes), "norm", "l2")
	hashes.Class.Name = "HashingVectorizer"
	est, err := buildText(hashes)
	require.NoError(t, err)
	texts := make([]string, mostCounts/mostHashes+1)
	var out tensor.Response
	err = newModel("HashingVectorizer", est).Predict(t.Context(), &tensor.Request{Inputs: []*tensor.Tensor{tensor.FromStrings("x", texts, int64(len(texts)))}}, &out)
	require.ErrorContains(t, err, "takes up to 32 texts at once: got 33")
	require.Equal(t, protocol.TooLarge, protocol.From(err).Code)
}
