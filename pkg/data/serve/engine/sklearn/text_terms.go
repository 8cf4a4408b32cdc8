// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

// analyzer takes a text apart into terms.
type analyzer struct {
	kind      termKind
	least     int // letters that a word has at least
	low, high int // words or letters of a term
	lower     bool
	accents   string // what becomes of them: "" keeps them
	onError   string
	stop      map[string]struct{}
}

type termKind uint8

const (
	words termKind = iota
	letters
	lettersOfWords
)

// mostTogether bounds the words or letters of one term: each start of a text has as many terms.
const mostTogether = 20

// mostLetters bounds the letters that a word must have.
const mostLetters = 1 << 20

// wordPattern are the token patterns that are runs of word characters.
var wordPattern = regexp.MustCompile(`^(?:\(\?u\))?(?:\\b)?((?:\\w)*)\\w(\+|\{\d+,\})(?:\\b)?$`)

// english are the library's stop words of that name: the list of the Glasgow Information Retrieval Group.
//
//go:embed english.txt
var english string

func (a *attrs) analyzer() analyzer {
	n := analyzer{least: 1, lower: a.flag("lowercase", true), onError: a.textOr("decode_error", "strict")}
	for _, name := range []string{"preprocessor", "tokenizer"} {
		if a.has(name) {
			a.unsupported("a %s of its own", name)
		}
	}
	if s := a.textOr("input", "content"); s != "content" {
		a.unsupported("input=%q: texts come with the request", s)
	}
	if a.has("strip_accents") {
		if n.accents = a.text("strip_accents"); n.accents != "ascii" && n.accents != "unicode" {
			a.unsupported("strip_accents=%q", n.accents)
		}
	}
	switch s := a.text("analyzer"); s {
	case "word":
		n.least = a.leastLetters()
	case "char":
		n.kind = letters
	case "char_wb":
		n.kind = lettersOfWords
	default:
		a.unsupported("analyzer=%q", s)
	}
	bounds, ok := intItems(a.must("ngram_range"))
	if !ok || len(bounds) != 2 || bounds[0] < 1 || bounds[1] < bounds[0] {
		a.bad("ngram_range", "two counts, the first not above the second")
		return n
	}
	if n.low, n.high = bounds[0], bounds[1]; n.high > mostTogether {
		a.unsupported("ngram_range up to %d: more than %d", n.high, mostTogether)
	}
	if n.kind == words {
		n.stop = a.stopWords()
	}
	return n
}

// leastLetters is the length of words that the token pattern takes.
func (a *attrs) leastLetters() int {
	pattern := a.text("token_pattern")
	m := wordPattern.FindStringSubmatch(pattern)
	if m == nil {
		a.unsupported("token_pattern=%q: expected a run of word characters", pattern)
		return 0
	}
	least := 1
	if m[2] != "+" {
		var err error
		if least, err = strconv.Atoi(strings.Trim(m[2], "{,}")); err != nil || least > mostLetters {
			a.unsupported("token_pattern=%q: words of more than %d letters", pattern, mostLetters)
			return 0
		}
	}
	least += len(m[1]) / len(`\w`)
	if least == 0 {
		a.unsupported("token_pattern=%q: words of no letters", pattern)
	}
	return least
}

func (a *attrs) stopWords() map[string]struct{} {
	if !a.has("stop_words") {
		return nil
	}
	stop := map[string]struct{}{}
	if s, ok := pickle.Text(a.value("stop_words")); ok {
		if s != "english" {
			a.unsupported("stop_words=%q", s)
		}
		for word := range strings.Lines(english) {
			stop[strings.TrimSuffix(word, "\n")] = struct{}{}
		}
		return stop
	}
	for i, item := range a.items("stop_words") {
		word, ok := pickle.Text(item)
		if !ok {
			a.fail("stop_words", "word %d is %s", i, pickle.Kind(item))
			break
		}
		stop[word] = struct{}{}
	}
	return stop
}

// terms calls yield with each term of a text, which is good until the next, as long as yield wants more. The terms come in any order: they are
// counted. What is kept of a text besides its small letters is a term: taken apart, or its accents taken away, it may be many times as large.
func (n *analyzer) terms(text string, yield func(term []byte) bool) {
	if n.lower {
		text = lower(text)
	}
	var letter func(r rune) bool
	var flush func() bool
	switch w := (window{low: n.low, high: n.high, yield: yield}); n.kind {
	case words:
		w.between = " "
		t := wordTerms{window: w, analyzer: n}
		letter, flush = t.letter, t.end
	case letters:
		t := letterTerms{window: w}
		letter, flush = t.letter, t.end
	case lettersOfWords:
		t := insideTerms{window: w}
		letter, flush = t.letter, t.end
	}
	if n.each(text, letter) {
		flush()
	}
}

func lower(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	return cases.Lower(language.Und).String(text)
}

// each calls letter for each of a text, without accents where they are taken away. It is false when letter wanted no more.
func (n *analyzer) each(text string, letter func(r rune) bool) bool {
	for i, r := range text {
		if n.accents == "" || r < utf8.RuneSelf {
			if !letter(r) {
				return false
			}
			continue
		}
		// One by one: the order of accents, which depends on others, does not matter when they go.
		for apart := decomposed(text[i:], r); len(apart) > 0; {
			part, size := utf8.DecodeRune(apart)
			gone := n.accents == "ascii" && part >= utf8.RuneSelf || norm.NFKD.Properties(apart).CCC() != 0
			if apart = apart[size:]; !gone && !letter(part) {
				return false
			}
		}
	}
	return true
}

// decomposed is r, which text begins with, in its normal form NFKD.
func decomposed(text string, r rune) []byte {
	const first, last, leading, vowel, trailing, vowels, trailings = 0xac00, 0xd7a3, 0x1100, 0x1161, 0x11a7, 21, 28
	if r >= first && r <= last { // syllables of Hangul are in no table (Unicode, 3.12)
		n := r - first
		apart := utf8.AppendRune(utf8.AppendRune(nil, leading+n/(vowels*trailings)), vowel+n/trailings%vowels)
		if n %= trailings; n > 0 {
			apart = utf8.AppendRune(apart, trailing+n)
		}
		return apart
	}
	if apart := norm.NFKD.PropertiesString(text).Decomposition(); apart != nil {
		return apart
	}
	return []byte(text[:utf8.RuneLen(r)])
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// window has the last parts of a text, and yields the terms that end with the last of them.
type window struct {
	low, high int // parts of a term
	parts     [mostTogether][]byte
	n         int // parts that came
	between   string
	term      []byte
	yield     func(term []byte) bool
}

// next is the place of the next part.
func (w *window) next() *[]byte { return &w.parts[w.n%mostTogether] }

// push takes what is in that place. It is false when no more is wanted.
func (w *window) push() bool {
	w.n++
	for size := w.low; size <= min(w.high, w.n); size++ {
		if !w.last(size) {
			return false
		}
	}
	return true
}

// last yields the term of the last parts.
func (w *window) last(size int) bool {
	w.term = w.term[:0]
	for i := w.n - size; i < w.n; i++ {
		if i > w.n-size {
			w.term = append(w.term, w.between...)
		}
		w.term = append(w.term, w.parts[i%mostTogether]...)
	}
	return w.yield(w.term)
}

// add is push of a letter.
func (w *window) add(r rune) bool {
	at := w.next()
	*at = utf8.AppendRune((*at)[:0], r)
	return w.push()
}

// wordTerms are the words of a text that are no stop words, and those that follow each other with a space between.
type wordTerms struct {
	window
	*analyzer
	length int // letters of the word that is in its place
}

func (t *wordTerms) letter(r rune) bool {
	if !isWord(r) {
		return t.end()
	}
	at := t.next()
	if t.length == 0 {
		*at = (*at)[:0]
	}
	*at = utf8.AppendRune(*at, r)
	t.length++
	return true
}

func (t *wordTerms) end() bool {
	length := t.length
	t.length = 0
	if length == 0 || length < t.least {
		return true
	}
	if _, stopped := t.stop[string(*t.next())]; stopped {
		return true
	}
	return t.push()
}

// letterTerms are the runs of letters of a text, in which each run of several spaces is one blank.
type letterTerms struct {
	window
	spaces int
	space  rune // the last
}

func (t *letterTerms) letter(r rune) bool {
	if isSpace(r) {
		t.spaces++
		t.space = r
		return true
	}
	return t.end() && t.add(r)
}

func (t *letterTerms) end() bool {
	spaces := t.spaces
	t.spaces = 0
	switch spaces {
	case 0:
		return true
	case 1:
		return t.add(t.space)
	default:
		return t.add(' ')
	}
}

// insideTerms are the runs of letters inside words, which have a blank before and behind them. A word that is too short counts once.
type insideTerms struct {
	window
}

func (t *insideTerms) letter(r rune) bool {
	if isSpace(r) {
		return t.end()
	}
	return (t.n > 0 || t.add(' ')) && t.add(r)
}

func (t *insideTerms) end() bool {
	if t.n == 0 {
		return true
	}
	more := t.add(' ') && (t.n >= t.low || t.last(t.n))
	t.n = 0
	return more
}

// isWord tells the characters that Python's \w matches.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// isSpace tells the characters that are white space to Python.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
