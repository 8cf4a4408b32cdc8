// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
)

// binaryReader reads the little-endian structures of the old binary form, which XGBoost wrote until 2.x. After the first error all
// reads give zero.
type binaryReader struct {
	data []byte
	at   int
	err  error
}

func (r *binaryReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = bad(offset(r.at), format, args...)
	}
}

func (r *binaryReader) bytes(n int, what string) []byte {
	if r.err == nil && (n < 0 || n > len(r.data)-r.at) {
		r.fail("the file ends inside %s: %d bytes are expected, %d are left", what, n, len(r.data)-r.at)
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.at : r.at+n]
	r.at += n
	return b
}

// words reads a structure of 32-bit words.
func (r *binaryReader) words(n int, what string) []uint32 {
	b := r.bytes(n*4, what)
	if b == nil {
		return make([]uint32, min(n, 64))
	}
	w := make([]uint32, n)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	return w
}

// count reads the length of a list whose elements take at least width bytes each.
func (r *binaryReader) count(width int, what string) int {
	b := r.bytes(8, what)
	if b == nil {
		return 0
	}
	n := binary.LittleEndian.Uint64(b)
	if left := len(r.data) - r.at; n > uint64(left/width) {
		r.fail("%s has a length of %d, which does not fit the %d bytes that are left", what, n, left)
		return 0
	}
	return int(n)
}

func (r *binaryReader) text(what string) string {
	return string(r.bytes(r.count(1, what), what))
}

func (r *binaryReader) floats(what string) []float32 {
	n := r.count(4, what)
	if r.err != nil {
		return nil
	}
	out := make([]float32, n)
	for i, w := range r.words(n, what) {
		out[i] = math.Float32frombits(w)
	}
	return out
}

// parseBinary reads the old binary form. Structure sizes and orders are those that every release from 0.4 to 2.x kept.
func parseBinary(data []byte) (*document, error) {
	const unknown = "the file is neither JSON, UBJSON nor the old binary form of XGBoost"
	body := bytes.TrimPrefix(data, []byte("binf"))
	if len(body) < 136 && len(body) == len(data) {
		return nil, bad("", unknown)
	}
	r := &binaryReader{data: body}
	head := r.words(34, "the header")
	d := &document{parallel: 1, hasModel: true}
	d.baseScore = []float32{math.Float32frombits(head[0])}
	d.features, d.classes = int(head[1]), int(int32(head[2]))
	d.version = [3]int64{int64(head[5]), int64(head[6]), 0}
	d.targets = int(head[7])
	d.scoreIsFinal = head[5] == 0
	if r.err == nil && (head[1] > maxCount || head[2] > maxCount || head[3] > 1 || head[4] > 1 || head[5] > 9 || head[7] > maxCount) {
		return nil, bad("", unknown)
	}
	d.objective = r.text("the name of the objective")
	d.booster = r.text("the name of the booster")
	switch {
	case r.err != nil:
	case d.booster == "gbtree" || d.booster == "dart":
		d.binaryTrees(r)
		if d.booster == "dart" && len(d.trees) > 0 {
			d.dropped = r.floats("the tree weights")
		}
	case d.booster == "gblinear":
		r.words(34, "the linear model's header")
		d.weights = r.floats("the linear model's weights")
	}
	if r.err == nil && head[3] != 0 {
		d.binaryAttributes(r)
	}
	return d, r.err
}

func (d *document) binaryAttributes(r *binaryReader) {
	d.attributes = map[string]string{}
	for range r.count(16, "the attributes") {
		key := r.text("an attribute's name")
		d.attributes[key] = r.text("an attribute's value")
	}
	// 1.x keeps the objective's own parameters here, as JSON.
	var o struct{ Name string }
	if s, ok := d.attributes["objective"]; ok && json.Unmarshal([]byte(s), &o) == nil && o.Name != "" {
		d.objective = o.Name
	}
}

func (d *document) binaryTrees(r *binaryReader) {
	head := r.words(40, "the model's header")
	count := int(head[0])
	// A tree takes at least its own header.
	if left := len(r.data) - r.at; r.err == nil && (count < 0 || count > left/(37*4)) {
		r.fail("%d trees do not fit the %d bytes that are left", head[0], left)
	}
	if r.err != nil {
		return
	}
	if groups := int(head[6]); d.classes == 0 && groups > 1 && d.targets <= 1 {
		d.targets = groups
	}
	if d.version[0] > 0 && head[1] > 0 && head[1] <= maxCount {
		d.parallel = int(head[1])
	}
	for range count {
		d.trees = append(d.trees, rawTree{})
		d.trees[len(d.trees)-1].binary(r)
		if r.err != nil {
			return
		}
	}
	for _, w := range r.words(count, "the trees' groups") {
		d.treeInfo = append(d.treeInfo, int64(int32(w)))
	}
}

func (t *rawTree) binary(r *binaryReader) {
	head := r.words(37, "a tree's header")
	nodes := int(head[1])
	if left := len(r.data) - r.at; r.err == nil && (nodes <= 0 || nodes > left/36) {
		r.fail("a tree of %d nodes does not fit the %d bytes that are left", nodes, left)
	}
	if r.err != nil {
		return
	}
	body, stats := r.words(nodes*5, "a tree's nodes"), r.words(nodes*4, "a tree's statistics")
	if r.err != nil {
		return
	}
	for i := range nodes {
		n, s := body[i*5:], stats[i*4:]
		t.left, t.right = append(t.left, int64(int32(n[1]))), append(t.right, int64(int32(n[2])))
		t.feature = append(t.feature, int64(n[3]&^(1<<31)))
		t.defaultLeft = append(t.defaultLeft, int64(n[3]>>31))
		t.condition = append(t.condition, math.Float32frombits(n[4]))
		t.hessian = append(t.hessian, math.Float32frombits(s[1]))
		t.weights = append(t.weights, math.Float32frombits(s[2]))
	}
}
