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

// terms calls yield with each term of a text, which is good until the next, as long as yield wants more.
func (n *analyzer) terms(text string, yield func(term []byte) bool) {
	text = n.prepare(text)
	switch n.kind {
	case words:
		n.wordTerms(text, yield)
	case letters:
		runes := []rune(joinSpaces(text))
		for size := n.low; size <= min(n.high, len(runes)); size++ {
			if !eachRun(runes, size, yield) {
				return
			}
		}
	case lettersOfWords:
		for _, word := range strings.FieldsFunc(text, isSpace) {
			runes := []rune(" " + word + " ")
			for size := n.low; size <= n.high; size++ {
				if !eachRun(runes, min(size, len(runes)), yield) {
					return
				}
				if size >= len(runes) { // a short word counts once
					break
				}
			}
		}
	}
}

// prepare makes letters small and takes accents away.
func (n *analyzer) prepare(text string) string {
	if n.lower {
		if isASCII(text) {
			text = strings.ToLower(text)
		} else {
			text = cases.Lower(language.Und).String(text)
		}
	}
	if n.accents == "" || isASCII(text) {
		return text
	}
	var out strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if n.accents == "ascii" && r >= utf8.RuneSelf || norm.NFKD.PropertiesString(string(r)).CCC() != 0 {
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordTerms are the words of a text that are no stop words, and those that follow each other with a space between.
func (n *analyzer) wordTerms(text string, yield func(term []byte) bool) {
	var found []string
	start, length := -1, 0
	for i, r := range text + " " {
		if isWord(r) {
			if start < 0 {
				start, length = i, 0
			}
			length++
			continue
		}
		if start >= 0 && length >= n.least {
			if _, stopped := n.stop[text[start:i]]; !stopped {
				found = append(found, text[start:i])
			}
		}
		start = -1
	}
	var term []byte
	for size := n.low; size <= min(n.high, len(found)); size++ {
		for i := 0; i+size <= len(found); i++ {
			term = term[:0]
			for k, word := range found[i : i+size] {
				if k > 0 {
					term = append(term, ' ')
				}
				term = append(term, word...)
			}
			if !yield(term) {
				return
			}
		}
	}
}

// isWord tells the characters that Python's \w matches.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// isSpace tells the characters that are white space to Python.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// joinSpaces makes each run of several spaces one blank.
func joinSpaces(text string) string {
	var out strings.Builder
	spaces, last := 0, rune(0)
	flush := func() {
		switch spaces {
		case 0:
		case 1:
			out.WriteRune(last)
		default:
			out.WriteByte(' ')
		}
		spaces = 0
	}
	for _, r := range text {
		if isSpace(r) {
			spaces++
			last = r
			continue
		}
		flush()
		out.WriteRune(r)
	}
	flush()
	return out.String()
}

// eachRun yields every run of size letters; false when yield wants no more.
func eachRun(runes []rune, size int, yield func(term []byte) bool) bool {
	var term []byte
	for i := 0; i+size <= len(runes); i++ {
		term = term[:0]
		for _, r := range runes[i : i+size] {
			term = utf8.AppendRune(term, r)
		}
		if !yield(term) {
			return false
		}
	}
	return true
}
