// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sklearn serves scikit-learn's fitted estimators from their pickle and joblib files, in the library's own arithmetic.
//
// Called by: data/serve/repository.
// Next: data/tensor, the answer.
package sklearn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

type sklearnEngine struct{ registry map[string]builder }

// New returns the engine of the model format sklearn.
func New() engine.Engine { return &sklearnEngine{registry: newRegistry()} }

func (e *sklearnEngine) Name() string { return "sklearn" }

func (e *sklearnEngine) Extensions() []string { return []string{".joblib", ".pkl", ".pickle"} }

// Open reads the model in file.
func (e *sklearnEngine) Open(ctx context.Context, file string, options engine.Options) (engine.Model, error) {
	f, size, err := engine.OpenFile(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir := filepath.Dir(file)
	m, err := e.load(f, pickle.Options{
		Size:     size,
		MaxBytes: options.MaxBytes,
		Side: func(name string) (io.ReadCloser, error) {
			side, _, err := engine.OpenFile(filepath.Join(dir, name))
			return side, err
		},
	}, options.Threads)
	if err != nil {
		return nil, err
	}
	return m, ctx.Err()
}

// load reads a pickle or joblib file, and the files beside it that it refers to.
func (e *sklearnEngine) load(r io.Reader, options pickle.Options, threads int) (engine.Model, error) {
	root, err := pickle.Load(r, options)
	var refused *pickle.Refused
	switch {
	case errors.As(err, &refused):
		return nil, &engine.Unsupported{Class: refused.Name, Reason: fmt.Sprintf("byte %d of the file: %s", refused.Offset, refused.Reason)}
	case err != nil:
		return nil, &engine.BadModel{Reason: "read model file: " + err.Error(), Cause: err}
	}
	object, err := find(root)
	if err != nil {
		return nil, err
	}
	l := &loader{registry: e.registry, built: map[*pickle.Object]estimator{}, threads: max(threads, 1)}
	est, err := l.build(object, object.Class.Name)
	if err != nil {
		return nil, err
	}
	m := newModel(object.Class.String(), est)
	m.together = l.together
	return m, nil
}

// find is the one estimator in a file: the value itself, or in the dict or list that it was saved in.
func find(root any) (*pickle.Object, error) {
	var found []*pickle.Object
	var where []string
	visit := func(place string, v any) {
		if o, ok := v.(*pickle.Object); ok && isEstimator(o) && !slices.Contains(found, o) {
			found, where = append(found, o), append(where, place)
		}
	}
	switch v := root.(type) {
	case *pickle.Object:
		return v, nil
	case *pickle.Dict:
		for i, key := range v.Keys {
			if name, ok := pickle.Text(key); ok {
				visit(fmt.Sprintf("%q", name), v.Values[i])
			} else {
				visit(fmt.Sprintf("entry %d", i), v.Values[i])
			}
		}
	default:
		if items, ok := pickle.Items(root); ok {
			for i, item := range items {
				visit(fmt.Sprintf("item %d", i), item)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, &engine.BadModel{Reason: "no model in the file: it holds " + pickle.Kind(root) + ", and no estimator stands directly in it"}
	default:
		return nil, &engine.BadModel{Reason: fmt.Sprintf("%d models in the file, under %s: save the one to serve in a file of its own", len(found), strings.Join(where, ", "))}
	}
}

// isEstimator tells an estimator from what is saved beside one: it has the library's version in its state, or is a wrapper's.
func isEstimator(o *pickle.Object) bool {
	root, _, _ := strings.Cut(o.Class.Module, ".")
	switch root {
	case "sklearn":
		_, versioned := o.Attr("_sklearn_version")
		return versioned || key(o.Class) != "" && o.Attrs().Len() > 0
	case "xgboost", "lightgbm", "catboost":
		return true
	}
	return false
}

type model struct {
	metadata engine.Metadata
	est      estimator
	together bool // a row's answer depends on the other rows of the request
	calls    sync.Pool
}

func newModel(class string, est estimator) *model {
	in := est.input()
	width := int64(-1)
	if in.n > 0 {
		width = int64(in.n)
	}
	m := &model{est: est, metadata: engine.Metadata{
		Platform: "sklearn",
		Class:    class,
		Methods:  est.methods(),
		Inputs:   []engine.TensorMetadata{{Name: "input-0", Type: tensor.FP64, Shape: []int64{-1, width}}},
		Outputs:  []engine.TensorMetadata{{Name: "output-0", Type: tensor.FP64, Shape: []int64{-1}}},
		Features: in.names,
	}}
	if in.texts {
		m.metadata.Inputs[0].Type, m.metadata.Inputs[0].Shape = tensor.Bytes, []int64{-1}
	}
	if d, ok := est.(interface{ outputs() []*labels }); ok && len(d.outputs()) == 1 {
		m.metadata.Outputs[0].Type = d.outputs()[0].typ
	}
	m.calls.New = func() any { return &call{} }
	return m
}

func (m *model) Metadata() engine.Metadata { return m.metadata }

func (m *model) Close() error { return nil }

// RowWise says that rows of several requests may be predicted as one.
func (m *model) RowWise() bool { return !m.together }

// Predict answers one request.
func (m *model) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) (err error) {
	method := in.Method
	if method == "" {
		method = m.metadata.Methods[0]
	}
	if !slices.Contains(m.metadata.Methods, method) {
		return protocol.Errorf(protocol.Invalid, "method %q: %s knows %s", method, m.metadata.Class, strings.Join(m.metadata.Methods, ", "))
	}
	c := m.calls.Get().(*call) //nolint:forcetypeassert // what New makes
	defer m.calls.Put(c)
	c.begin(ctx)
	defer c.end()
	defer c.bounded(&err, m.metadata.Class)
	x, err := c.request(in)
	if err != nil {
		return err
	}
	y, err := m.est.run(c, method, x)
	if err != nil {
		return err
	}
	respond(y, out)
	return nil
}

// keepFloats bounds what an idle call keeps between requests: 8 MiB of numbers.
const keepFloats = 1 << 20

func (c *call) begin(ctx context.Context) {
	c.ctx = ctx
	c.floatChunk = c.keep.floats
	c.cellChunk = c.keep.cells
	c.indexChunk = c.keep.indexes
	c.want.floats, c.want.cells, c.want.indexes, c.usedTables = 0, 0, 0, 0
	c.tooLarge, c.gone = false, false
}

// end makes the memory ready for the next request: one run of each kind that would have held this one.
func (c *call) end() {
	c.ctx = nil
	c.keep.floats = resize(c.keep.floats, c.want.floats, keepFloats)
	c.keep.cells = resize(c.keep.cells, c.want.cells, keepFloats/8)
	c.keep.indexes = resize(c.keep.indexes, c.want.indexes, keepFloats)
	clear(c.keep.cells) // they alias the request
	for _, t := range c.tables {
		*t = table{labels: t.labels[:0]}
	}
}

func resize[T any](have []T, want, limit int) []T {
	if want > len(have) && want <= limit {
		return make([]T, want)
	}
	return have
}
