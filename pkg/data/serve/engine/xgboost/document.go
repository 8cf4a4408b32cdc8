// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// document is what a model file says, whichever notation it is in.
type document struct {
	version      [3]int64
	baseScore    []float32
	scoreIsFinal bool // base_score is a margin already: files of before 1.0
	features     int
	classes      int
	targets      int
	objective    string
	booster      string
	attributes   map[string]string
	names, types []string

	trees      []rawTree
	treeInfo   []int64
	indptr     []int64 // where each iteration's trees start; nil before 2.1
	parallel   int
	dropped    []float32 // dart's weights
	weights    []float32 // gblinear's
	categories []category
	hasModel   bool
}

// rawTree is one tree as it stands in the file.
type rawTree struct {
	left, right, feature, kinds []int64
	defaultLeft                 []int64
	condition                   []float32
	weights, hessian            []float32
	catNodes, catBegin, catLen  []int64
	cats                        []int64
	leafWidth                   int
	leafWeights                 []float32
	nodes                       int
	declared                    bool
}

// category is the names of one feature's categories in the order of their codes, which 3.1 and later keep in the file.
type category struct {
	text    []string
	numbers []int64
}

// parse reads any of the notations, which it tells apart by their first bytes.
func parse(data []byte) (*document, error) {
	const snapshot = "CONFIG-offset:"
	if bytes.HasPrefix(data, []byte(snapshot)) && len(data) > len(snapshot)+8 {
		// A pickled booster of 1.x: the model, then its training configuration.
		end := binary.LittleEndian.Uint64(data[len(snapshot):])
		data = data[len(snapshot)+8:]
		if end < uint64(len(data)) {
			data = data[:end]
		}
	}
	head := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(head) == 0:
		return nil, bad("", "the file is empty")
	case head[0] == '{' && isUBJ(data):
		return parseNotation(&ubjReader{data: data})
	case head[0] == '{':
		return parseNotation(&jsonReader{data: data})
	default:
		return parseBinary(data)
	}
}

// isUBJ tells UBJSON from JSON: behind its opening brace stands the type of a key's length, a count or nothing, never a quote or space.
func isUBJ(data []byte) bool {
	if len(data) < 2 || data[0] != '{' {
		return false
	}
	return strings.IndexByte("iUIlL#$N", data[1]) >= 0
}

func parseNotation(r reader) (*document, error) {
	d := &document{parallel: 1}
	if err := d.top(r); err != nil {
		return nil, err
	}
	if !d.hasModel {
		return nil, bad("", "there is no \"learner\" with a \"gradient_booster\" in the file: it is no XGBoost model")
	}
	return d, nil
}

func (d *document) top(r reader) error {
	return r.object(func(key string) error {
		switch key {
		case "learner":
			return d.learner(r)
		case "Model":
			// A pickled booster of 1.6 and later: the model beside its training configuration.
			return d.top(r)
		case "version":
			v, err := r.ints(nil)
			copy(d.version[:], v)
			return err
		default:
			return r.skip()
		}
	})
}

func (d *document) learner(r reader) error {
	return r.object(func(key string) (err error) {
		switch key {
		case "attributes":
			d.attributes, err = texts(r)
		case "feature_names":
			d.names, err = list(r)
		case "feature_types":
			d.types, err = list(r)
		case "learner_model_param":
			err = d.param(r)
		case "objective":
			err = r.object(func(key string) (err error) {
				if key != "name" {
					return r.skip()
				}
				d.objective, err = r.text()
				return err
			})
		case "gradient_booster":
			d.hasModel = true
			err = d.gradient(r)
		default:
			err = r.skip()
		}
		return err
	})
}

// texts reads an object of strings; values of other kinds are left out.
func texts(r reader) (map[string]string, error) {
	out := map[string]string{}
	err := r.object(func(key string) error {
		k, err := r.peek()
		if err != nil || k != textValue {
			if err == nil {
				err = r.skip()
			}
			return err
		}
		out[key], err = r.text()
		return err
	})
	return out, err
}

func list(r reader) ([]string, error) {
	var out []string
	err := r.array(func(int) error {
		s, err := r.text()
		out = append(out, s)
		return err
	})
	return out, err
}

// integer reads a number that the file holds as text.
func integer(r reader, name, s string, limit int64) (int, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || v > limit {
		return 0, bad(r.where(), "%s is %q, expected an integer from 0 to %d", name, s, limit)
	}
	return int(v), nil
}

// maxCount bounds features, classes and targets: what a file declares without carrying it.
const maxCount = 1 << 24

func (d *document) param(r reader) error {
	params, err := texts(r)
	if err != nil {
		return err
	}
	for name, to := range map[string]*int{"num_feature": &d.features, "num_class": &d.classes, "num_target": &d.targets} {
		if s, ok := params[name]; ok {
			if *to, err = integer(r, name, s, maxCount); err != nil {
				return err
			}
		}
	}
	s, ok := params["base_score"]
	if !ok {
		return nil
	}
	// From 3.1 on base_score is a vector, written as "[0.1,0.2]".
	for one := range strings.SplitSeq(strings.Trim(s, "[] "), ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(one), 32)
		if err != nil {
			return bad(r.where(), "base_score is %.40q, expected a number or a list of numbers", s)
		}
		d.baseScore = append(d.baseScore, float32(v))
	}
	return nil
}

func (d *document) gradient(r reader) error {
	return r.object(func(key string) (err error) {
		switch key {
		case "name":
			d.booster, err = r.text()
		case "model":
			err = d.model(r)
		case "gbtree":
			booster := d.booster
			err = d.gradient(r)
			d.booster = booster
		case "weight_drop":
			d.dropped, err = r.floats(nil)
		default:
			err = r.skip()
		}
		return err
	})
}

func (d *document) model(r reader) error {
	return r.object(func(key string) (err error) {
		switch key {
		case "gbtree_model_param":
			var params map[string]string
			if params, err = texts(r); err != nil {
				return err
			}
			if s, ok := params["num_parallel_tree"]; ok {
				d.parallel, err = integer(r, "num_parallel_tree", s, maxCount)
			}
		case "iteration_indptr":
			d.indptr, err = r.ints(nil)
		case "tree_info":
			d.treeInfo, err = r.ints(nil)
		case "trees":
			err = r.array(func(int) error {
				d.trees = append(d.trees, rawTree{})
				return d.trees[len(d.trees)-1].read(r)
			})
		case "weights":
			d.weights, err = r.floats(nil)
		case "cats":
			err = d.cats(r)
		default:
			err = r.skip()
		}
		return err
	})
}

func (t *rawTree) read(r reader) error {
	return r.object(func(key string) (err error) {
		switch key {
		case "left_children":
			t.left, err = r.ints(nil)
		case "right_children":
			t.right, err = r.ints(nil)
		case "split_indices":
			t.feature, err = r.ints(nil)
		case "split_conditions":
			t.condition, err = r.floats(nil)
		case "split_type":
			t.kinds, err = r.ints(nil)
		case "default_left":
			t.defaultLeft, err = r.ints(nil)
		case "base_weights":
			t.weights, err = r.floats(nil)
		case "leaf_weights":
			t.leafWeights, err = r.floats(nil)
		case "sum_hessian":
			t.hessian, err = r.floats(nil)
		case "categories":
			t.cats, err = r.ints(nil)
		case "categories_nodes":
			t.catNodes, err = r.ints(nil)
		case "categories_segments":
			t.catBegin, err = r.ints(nil)
		case "categories_sizes":
			t.catLen, err = r.ints(nil)
		case "tree_param":
			var params map[string]string
			if params, err = texts(r); err != nil {
				return err
			}
			if s, ok := params["size_leaf_vector"]; ok {
				if t.leafWidth, err = integer(r, "size_leaf_vector", s, maxCount); err != nil {
					return err
				}
			}
			if s, ok := params["num_nodes"]; ok {
				t.nodes, err = integer(r, "num_nodes", s, 1<<31)
				t.declared = true
			}
		default:
			err = r.skip()
		}
		return err
	})
}

// cats reads the categories' names: for each feature either offsets into one run of bytes, or numbers.
func (d *document) cats(r reader) error {
	return r.object(func(key string) error {
		if key != "enc" {
			return r.skip()
		}
		return r.array(func(int) error {
			var offsets, values []int64
			isText := false
			err := r.object(func(key string) error {
				k, err := r.peek()
				if err != nil {
					return err
				}
				switch {
				case key == "offsets" && k == arrayValue:
					isText = true
					offsets, err = r.ints(nil)
				case key == "values" && k == arrayValue:
					values, err = r.ints(nil)
				default:
					err = r.skip()
				}
				return err
			})
			if err != nil {
				return err
			}
			c := category{numbers: values}
			if isText {
				if c, err = names(r, offsets, values); err != nil {
					return err
				}
			}
			d.categories = append(d.categories, c)
			return nil
		})
	})
}

func names(r reader, offsets, values []int64) (category, error) {
	var c category
	b := make([]byte, len(values))
	for i, v := range values {
		b[i] = byte(v)
	}
	for i := 1; i < len(offsets); i++ {
		from, to := offsets[i-1], offsets[i]
		if from < 0 || to < from || to > int64(len(b)) {
			return c, bad(r.where(), "category %d is bytes %d to %d of %d", i-1, from, to, len(b))
		}
		c.text = append(c.text, string(b[from:to]))
	}
	return c, nil
}
