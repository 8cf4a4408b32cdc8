// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package lightgbm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// document is what a model file says.
type document struct {
	version      string
	classes      int
	perIteration int
	features     int
	average      bool
	objective    []string // the objective's name and its options
	names        []string
	infos        []string
	sizes        int // entries of tree_sizes; -1 when the file has none
	trees        []rawTree
	categorical  []int // features named as categorical in the parameters
	pandas       [][]any
}

// rawTree is one tree as it stands in the file.
type rawTree struct {
	line                       int
	leaves, cats               int
	feature, left, right       []int64
	decision                   []int64
	threshold, value           []float64
	leafCount, count           []float64
	catBounds, catWords        []int64
	linear                     bool
	constant, coefficients     []float64
	linearCounts, linearInputs []int64
}

// maxCount bounds what a file declares without carrying it.
const maxCount = 1 << 24

// scanner goes through a text file line by line.
type scanner struct {
	rest []byte
	line int
}

func (s *scanner) next() ([]byte, bool) {
	if len(s.rest) == 0 {
		return nil, false
	}
	s.line++
	line, rest, _ := bytes.Cut(s.rest, []byte("\n"))
	s.rest = rest
	return bytes.TrimSuffix(line, []byte("\r")), true
}

func (s *scanner) fail(format string, args ...any) error { return bad(s.line, format, args...) }

func bad(line int, format string, args ...any) error {
	where := ""
	if line > 0 {
		where = fmt.Sprintf("line %d", line)
	}
	return &engine.BadModel{Where: where, Reason: fmt.Sprintf(format, args...)}
}

// view is b as a string, without a copy; strconv keeps it only in errors, which are not used.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func parse(data []byte) (*document, error) {
	s := &scanner{rest: data}
	if first, _ := s.next(); string(bytes.TrimSpace(first)) != "tree" {
		return nil, bad(0, "the file does not start with the line \"tree\": it is no LightGBM text model")
	}
	d := &document{classes: 1, perIteration: 1, features: -1, sizes: -1}
	ended, err := d.header(s)
	for err == nil && !ended {
		ended, err = d.tree(s)
	}
	if err != nil {
		return nil, err
	}
	if d.sizes >= 0 && d.sizes != len(d.trees) {
		return nil, bad(0, "tree_sizes has %d entries, the file has %d trees", d.sizes, len(d.trees))
	}
	return d, d.tail(s)
}

// header reads up to the first tree. ended says that there is none.
func (d *document) header(s *scanner) (ended bool, err error) {
	for {
		line, ok := s.next()
		if !ok {
			return false, s.fail("the file ends in its header: there are no trees")
		}
		key, value, _ := strings.Cut(string(line), "=")
		switch key {
		case "version":
			d.version = value
		case "num_class":
			d.classes, err = s.integer(key, value, 1, maxCount)
		case "num_tree_per_iteration":
			d.perIteration, err = s.integer(key, value, 1, maxCount)
		case "max_feature_idx":
			if d.features, err = s.integer(key, value, 0, maxCount); err == nil {
				d.features++
			}
		case "objective":
			d.objective = strings.Fields(value)
		case "average_output":
			d.average = true
		case "feature_names":
			d.names = strings.Fields(value)
		case "feature_infos":
			d.infos = strings.Fields(value)
		case "tree_sizes":
			d.sizes = len(strings.Fields(value))
		case "Tree":
			return false, d.begin(s, value)
		case "end of trees":
			return true, d.checkHeader(s)
		}
		if err != nil {
			return false, err
		}
	}
}

func (d *document) checkHeader(s *scanner) error {
	if d.features < 0 {
		return s.fail("the header has no max_feature_idx")
	}
	if len(d.names) != 0 && len(d.names) != d.features {
		return s.fail("feature_names has %d entries, max_feature_idx is %d", len(d.names), d.features-1)
	}
	if d.perIteration != d.classes && d.perIteration != 1 {
		return s.fail("num_tree_per_iteration is %d, num_class is %d", d.perIteration, d.classes)
	}
	return nil
}

// begin starts a tree at its line "Tree=N".
func (d *document) begin(s *scanner, number string) error {
	if len(d.trees) == 0 {
		if err := d.checkHeader(s); err != nil {
			return err
		}
	}
	n, err := s.integer("Tree", number, 0, maxCount)
	if err == nil && n != len(d.trees) {
		err = s.fail("tree %d follows tree %d", n, len(d.trees)-1)
	}
	d.trees = append(d.trees, rawTree{line: s.line})
	return err
}

// tree reads the rest of one tree, and the line behind it: the next tree's first, or the end.
func (d *document) tree(s *scanner) (ended bool, err error) {
	t := &d.trees[len(d.trees)-1]
	for {
		line, ok := s.next()
		if !ok {
			return false, s.fail("the file ends in tree %d: the line \"end of trees\" is missing", len(d.trees)-1)
		}
		key, value, _ := bytes.Cut(line, []byte("="))
		switch string(key) {
		case "Tree":
			return false, d.begin(s, string(value))
		case "end of trees", "feature importances:", "feature_importances:":
			return true, nil
		case "num_leaves":
			t.leaves, err = s.integer("num_leaves", string(value), 1, maxCount)
		case "num_cat":
			t.cats, err = s.integer("num_cat", string(value), 0, maxCount)
		case "split_feature":
			t.feature, err = s.integers(key, value)
		case "left_child":
			t.left, err = s.integers(key, value)
		case "right_child":
			t.right, err = s.integers(key, value)
		case "decision_type":
			t.decision, err = s.integers(key, value)
		case "threshold":
			t.threshold, err = s.floats(key, value)
		case "leaf_value":
			t.value, err = s.floats(key, value)
		case "leaf_count":
			t.leafCount, err = s.floats(key, value)
		case "internal_count":
			t.count, err = s.floats(key, value)
		case "cat_boundaries":
			t.catBounds, err = s.integers(key, value)
		case "cat_threshold":
			t.catWords, err = s.integers(key, value)
		default:
			err = t.linearPart(s, key, value)
		}
		if err != nil {
			return false, err
		}
	}
}

func (t *rawTree) linearPart(s *scanner, key, value []byte) (err error) {
	switch string(key) {
	case "is_linear":
		t.linear = string(bytes.TrimSpace(value)) == "1"
	case "leaf_const":
		t.constant, err = s.floats(key, value)
	case "num_features":
		t.linearCounts, err = s.integers(key, value)
	case "leaf_features":
		t.linearInputs, err = s.integers(key, value)
	case "leaf_coeff":
		t.coefficients, err = s.floats(key, value)
	}
	return err
}

func (s *scanner) integer(key, value string, low, high int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < low || n > high {
		return 0, s.fail("%s is %.40q, expected an integer from %d to %d", key, value, low, high)
	}
	return n, nil
}

// field cuts the next word off a list.
func field(b []byte) (word, rest []byte) {
	b = bytes.TrimLeft(b, " \t")
	if i := bytes.IndexAny(b, " \t"); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

func (s *scanner) integers(key, value []byte) ([]int64, error) {
	out := make([]int64, 0, bytes.Count(value, []byte(" "))+1)
	for word, rest := field(value); len(word) > 0; word, rest = field(rest) {
		n, err := strconv.ParseInt(view(word), 10, 64)
		if err != nil {
			return nil, s.fail("%s has %.40q where an integer is expected", key, word)
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *scanner) floats(key, value []byte) ([]float64, error) {
	out := make([]float64, 0, bytes.Count(value, []byte(" "))+1)
	for word, rest := field(value); len(word) > 0; word, rest = field(rest) {
		v, err := strconv.ParseFloat(view(word), 64)
		if err != nil && v-v == 0 || bytes.ContainsAny(word, "_xX") {
			return nil, s.fail("%s has %.40q where a number is expected", key, word)
		}
		out = append(out, v)
	}
	return out, nil
}

// tail reads what stands behind the trees: the parameters and the categories of pandas columns.
func (d *document) tail(s *scanner) error {
	for {
		line, ok := s.next()
		if !ok {
			return nil
		}
		text := string(line)
		if list, ok := strings.CutPrefix(text, "[categorical_feature: "); ok {
			for one := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
				if n, err := strconv.Atoi(strings.TrimSpace(one)); err == nil && n >= 0 && n < d.features {
					d.categorical = append(d.categorical, n)
				}
			}
		}
		if list, ok := strings.CutPrefix(text, "pandas_categorical:"); ok {
			if err := json.Unmarshal([]byte(list), &d.pandas); err != nil {
				return s.fail("pandas_categorical is no JSON list of lists")
			}
		}
	}
}
