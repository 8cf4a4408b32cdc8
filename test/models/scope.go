// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

//go:embed scope.json
var scopeJSON []byte

// scope is what must be served: the classes of models, and the classes that stand inside those only.
// A case is in scope when each estimator in its file is one of them. XGBoost's and LightGBM's own files always are.
type scope struct{ Classes, Parts []string }

func readScope() scope {
	var s scope
	if err := json.Unmarshal(scopeJSON, &s); err != nil {
		panic("models: scope.json: " + err.Error()) // it is part of this package
	}
	return s
}

// outside names the class that puts a case out of scope; empty when the case is in scope.
func (c *testCase) outside() string {
	if c.Format != "sklearn" {
		return ""
	}
	s := readScope()
	name := c.Class[strings.LastIndexByte(c.Class, '.')+1:]
	if !slices.Contains(s.Classes, name) {
		return c.Class
	}
	path := filepath.Join(c.dir, "model", c.Files[0])
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	root, err := pickle.Load(f, pickle.Options{Size: info.Size(), Side: func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(c.dir, "model", name))
	}})
	if err != nil {
		return ""
	}
	w := walker{scope: s, seen: map[unsafe.Pointer]bool{}}
	w.visit(root)
	return w.outside
}

// walker looks for an estimator that is not in the scope.
type walker struct {
	scope
	seen    map[unsafe.Pointer]bool
	outside string
}

func (w *walker) visit(v any) {
	switch v := v.(type) {
	case *pickle.Object:
		if w.first(unsafe.Pointer(v)) {
			w.object(v)
		}
	case *pickle.Dict:
		if w.first(unsafe.Pointer(v)) {
			w.all(v.Keys)
			w.all(v.Values)
		}
	case *pickle.List:
		if w.first(unsafe.Pointer(v)) {
			w.all(v.Items)
		}
	case *pickle.Set:
		w.all(v.Items)
	case pickle.Tuple:
		w.all(v)
	case *pickle.Array:
		if w.first(unsafe.Pointer(v)) {
			w.all(v.Objects)
		}
	}
}

func (w *walker) first(p unsafe.Pointer) bool {
	seen := w.seen[p]
	w.seen[p] = true
	return !seen
}

func (w *walker) all(items []any) {
	for _, v := range items {
		w.visit(v)
	}
}

func (w *walker) object(o *pickle.Object) {
	root, _, _ := strings.Cut(o.Class.Module, ".")
	_, versioned := o.Attr("_sklearn_version")
	foreign := root == "xgboost" || root == "lightgbm" || root == "catboost"
	if w.outside == "" && (foreign || versioned && !slices.Contains(w.Classes, o.Class.Name) && !slices.Contains(w.Parts, o.Class.Name)) {
		w.outside = o.Class.String()
	}
	w.all(o.Args)
	w.visit(o.State)
	if o.Dict != nil {
		w.visit(o.Dict)
	}
	if o.List != nil {
		w.visit(o.List)
	}
}
