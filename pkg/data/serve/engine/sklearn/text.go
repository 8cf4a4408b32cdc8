// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func addText(r map[string]builder) {
	r["feature_extraction.CountVectorizer"] = buildCounts
	r["feature_extraction.TfidfVectorizer"] = buildTfidfVectorizer
	r["feature_extraction.TfidfTransformer"] = buildTfidf
	r["feature_extraction.HashingVectorizer"] = buildHashing
}

// vectorizer counts the terms of texts: a row for each text, a column for each term or, where there is no vocabulary, for each hash.
type vectorizer struct {
	fitted
	analyzer
	vocabulary map[string]int32
	width      int
	signed     bool // hashes: half of the terms count down
	binary     bool
	typ        dtype
	weights    *tfidf // nil leaves the counts as they are
}

func buildCounts(a *attrs) (estimator, error) {
	v := a.vectorizer()
	v.readVocabulary(a)
	return v, a.err
}

func buildTfidfVectorizer(a *attrs) (estimator, error) {
	v := a.vectorizer()
	v.readVocabulary(a)
	if a.err == nil {
		inner := a.inner("_tfidf")
		v.weights = inner.tfidf()
		if inner.err != nil {
			return nil, inner.err
		}
		a.columns(&fitted{n: v.width}, v.weights.columns(v.width), "_tfidf")
	}
	return v, a.err
}

// mostHashes bounds the columns of a row that are hashes: rows are dense here.
const mostHashes = 1 << 20

func buildHashing(a *attrs) (estimator, error) {
	v := a.vectorizer()
	v.width = a.count("n_features")
	v.signed = a.flag("alternate_sign", true)
	if a.has("non_negative") && a.flag("non_negative", false) {
		a.unsupported("non_negative")
	}
	if a.err == nil && v.width == 0 {
		a.bad("n_features", "a number of columns")
	}
	if v.width > mostHashes {
		a.unsupported("n_features=%d: more than %d columns", v.width, mostHashes)
	}
	v.weights = &tfidf{norm: a.norm(), typ: v.typ}
	return v, a.err
}

func (a *attrs) vectorizer() *vectorizer {
	v := &vectorizer{fitted: fitted{class: a.o.Class.Name, texts: true}, analyzer: a.analyzer()}
	v.binary = a.flag("binary", false)
	v.typ = a.outputType("dtype")
	if a.frameOutput() {
		a.unsupported("set_output: the result is sparse")
	}
	return v
}

// readVocabulary reads the column of each term. One that was given by the user need not have been fitted.
func (v *vectorizer) readVocabulary(a *attrs) {
	name := "vocabulary_"
	if !a.has(name) && a.has("vocabulary") {
		name = "vocabulary"
	}
	var terms, columns []any
	switch given := a.must(name).(type) {
	case *pickle.Dict:
		terms, columns = given.Keys, given.Values
	case *pickle.List, pickle.Tuple:
		terms, _ = pickle.Items(given)
	default:
		a.bad(name, "a dict of terms")
	}
	if a.err != nil {
		return
	}
	v.width = len(terms)
	v.vocabulary = make(map[string]int32, len(terms))
	taken := make([]bool, len(terms))
	for i, term := range terms {
		text, ok := pickle.Text(term)
		column := int64(i)
		if ok && columns != nil {
			column, ok = pickle.Int(columns[i])
		}
		if !ok || column < 0 || column >= int64(len(terms)) || taken[column] {
			a.fail(name, "entry %d: expected a term and a column below %d of its own", i, len(terms))
			return
		}
		taken[column] = true
		v.vocabulary[text] = int32(column)
	}
	if len(terms) == 0 {
		a.fail(name, "no terms")
	}
}

func (v *vectorizer) methods() []string { return []string{transform} }

// mostCounts bounds the numbers that one request's texts become, 256 MiB: rows are dense here, and far larger than texts.
const mostCounts = 1 << 25

func (v *vectorizer) run(c *call, _ string, x *table) (*table, error) {
	if !x.vector || x.columns == nil || x.columns[0].typ != objects {
		return nil, protocol.Errorf(protocol.Invalid, "%s expected a list of texts, got an array of %d columns%s", v.class, x.cols, numbersOf(x))
	}
	if most := max(mostCounts/v.width, 1); x.rows > most {
		return nil, protocol.Errorf(protocol.TooLarge, "%s makes a row of %d numbers of each text, and takes up to %d texts at once: got %d", v.class, v.width, most, x.rows)
	}
	y := c.numbers(x.rows, v.width, v.typ)
	clear(y.num)
	col := x.column(0)
	for i := range x.rows {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		cell := col.cell(i)
		if cell.kind != textCell {
			return nil, protocol.Errorf(protocol.Invalid, "%s expected a text in row %d, got %s", v.class, i, cellText(cell))
		}
		text, ok := v.decode(cell.text)
		if !ok {
			return nil, protocol.Errorf(protocol.Invalid, "%s: row %d is not UTF-8 text", v.class, i)
		}
		row := y.row(i)
		work := 0
		v.terms(text, func(term []byte) bool {
			v.count(row, term)
			if work += 1 + len(term)/termBytes; work < termsAtOnce {
				return true
			}
			work = 0
			return c.ctx.Err() == nil
		})
	}
	if v.weights != nil {
		v.weights.apply(y)
	}
	return y, nil
}

// numbersOf says of a table that it has numbers.
func numbersOf(x *table) string {
	if x.columns == nil {
		return " of numbers"
	}
	return ""
}

// termsAtOnce is how many terms are counted before the caller's patience is looked at; of a long one, each termBytes are one more.
const (
	termsAtOnce = 1 << 14
	termBytes   = 64
)

func (v *vectorizer) count(row []float64, term []byte) {
	add := 1.0
	var j int32
	if v.vocabulary != nil {
		var known bool
		if j, known = v.vocabulary[string(term)]; !known {
			return
		}
	} else {
		h := murmur3(term)
		j = hashColumn(h, v.width)
		if v.signed && h < 0 {
			add = -1
		}
	}
	if v.binary {
		row[j] = 1
		return
	}
	row[j] += add
}

// hashColumn is the library's: the remainder of the hash's size.
func hashColumn(h int32, width int) int32 {
	if h == math.MinInt32 {
		return int32((math.MaxInt32 - (int64(width) - 1)) % int64(width))
	}
	return int32(max(int64(h), -int64(h)) % int64(width))
}

// murmur3 is MurmurHash3 of 32 bits with the seed 0.
func murmur3(data []byte) int32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	mix := func(k uint32) uint32 {
		k *= c1
		return (k<<15 | k>>17) * c2
	}
	h := uint32(0)
	rest := data
	for ; len(rest) >= 4; rest = rest[4:] {
		h ^= mix(uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16 | uint32(rest[3])<<24)
		h = (h<<13|h>>19)*5 + 0xe6546b64
	}
	var tail uint32
	for i := len(rest) - 1; i >= 0; i-- {
		tail = tail<<8 | uint32(rest[i])
	}
	if len(rest) > 0 {
		h ^= mix(tail)
	}
	h ^= uint32(len(data))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// tfidf weights counts.
type tfidf struct {
	fitted
	idf       []float64 // nil for none
	sublinear bool
	norm      string // l1, l2, max or none
	typ       dtype
}

func buildTfidf(a *attrs) (estimator, error) {
	t := a.tfidf()
	t.fitted = a.fitted()
	if t.idf != nil {
		a.columns(&t.fitted, len(t.idf), "idf_")
	}
	if a.frameOutput() {
		a.unsupported("set_output: the result is sparse")
	}
	return t, a.err
}

// tfidf reads the weights. Before 1.5 they were the diagonal of a matrix.
func (a *attrs) tfidf() *tfidf {
	t := &tfidf{fitted: fitted{class: a.o.Class.Name}, norm: a.norm(), sublinear: a.flag("sublinear_tf", false)}
	switch {
	case !a.flag("use_idf", true):
	case a.has("idf_"):
		t.idf = a.vector("idf_")
	default:
		diagonal := a.inner("_idf_diag")
		data := diagonal.array("data")
		if diagonal.err == nil && (len(data.Shape) == 0 || data.Shape[len(data.Shape)-1] != data.Len()) {
			diagonal.fail("data", "expected a diagonal, got shape %v", data.Shape)
		}
		values, err := data.Float64s()
		if err != nil {
			diagonal.fail("data", "%v", err)
		}
		if diagonal.err != nil && a.err == nil {
			a.err = diagonal.err
		}
		t.idf = values
	}
	return t
}

// columns is the number of columns that the weights are for: n where they are for any.
func (t *tfidf) columns(n int) int {
	if t.idf == nil {
		return n
	}
	return len(t.idf)
}

// norm is the parameter of that name.
func (a *attrs) norm() string {
	if !a.has("norm") {
		return ""
	}
	switch s := a.text("norm"); s {
	case "l1", "l2", "max":
		return s
	default:
		a.unsupported("norm=%q", s)
		return ""
	}
}

func (t *tfidf) methods() []string { return []string{transform} }

func (t *tfidf) run(c *call, _ string, x *table) (*table, error) {
	x, err := t.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, x.cols, floatOf(x.typ))
	copy(y.num, x.num)
	t.apply(y)
	return y, nil
}

// apply weights the rows of y where they are.
func (t *tfidf) apply(y *table) {
	single := y.typ == float32s
	for i := range y.rows {
		row := y.row(i)
		if t.sublinear {
			for j, v := range row {
				if v != 0 { // the rest is not stored
					row[j] = to32(to32(math.Log(v), single)+1, single)
				}
			}
		}
		if t.idf != nil {
			for j, v := range row {
				if v != 0 {
					row[j] = to32(v*t.idf[j], single)
				}
			}
		}
		normalize(row, t.norm, single)
	}
}

// normalize divides a row by its length.
func normalize(row []float64, norm string, single bool) {
	size := 0.0
	for _, v := range row {
		switch norm {
		case "l1":
			size += math.Abs(v)
		case "l2":
			size += v * v
		case "max":
			size = max(size, math.Abs(v))
		}
	}
	if norm == "l2" {
		size = math.Sqrt(size)
	}
	if size == 0 {
		return
	}
	for j, v := range row {
		if v != 0 {
			row[j] = to32(v/size, single)
		}
	}
}

// decode is a text as the library decodes bytes, with its parameter decode_error.
func (n *analyzer) decode(text string) (string, bool) {
	switch {
	case utf8.ValidString(text):
		return text, true
	case n.onError == "ignore":
		return strings.ToValidUTF8(text, ""), true
	default:
		return text, false
	}
}
