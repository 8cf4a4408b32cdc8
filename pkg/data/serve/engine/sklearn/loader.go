// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// builder makes an estimator of one class from its attributes, which it checks.
type builder func(a *attrs) (estimator, error)

// key is the class's name under which builders are registered: "svm.SVC" for sklearn.svm.classes.SVC and sklearn.svm._classes.SVC.
// The estimators of XGBoost and LightGBM are under "xgboost.XGBRegressor" and the like; it is empty for classes of other packages.
func key(class pickle.Global) string {
	root, rest, _ := strings.Cut(class.Module, ".")
	if root == "xgboost" || root == "lightgbm" {
		return root + "." + class.Name
	}
	if root != "sklearn" || rest == "" {
		return ""
	}
	sub, _, _ := strings.Cut(rest, ".")
	return sub + "." + class.Name
}

// loader builds a model's estimators: each object of the file once, however often it is referred to.
type loader struct {
	registry map[string]builder
	built    map[*pickle.Object]estimator // nil while it is being built
	depth    int
	spread   int // columns that slices stand for
	threads  int
	together bool // an estimator's answer for a row depends on the other rows
}

// maxNesting bounds estimators inside estimators.
const maxNesting = 50

// build makes the estimator of one object; path says where it stands, for messages.
func (l *loader) build(o *pickle.Object, path string) (estimator, error) {
	if est, ok := l.built[o]; ok {
		if est == nil {
			return nil, &engine.BadModel{Where: path, Reason: "an estimator that contains itself"}
		}
		return est, nil
	}
	b, ok := l.registry[key(o.Class)]
	if !ok || key(o.Class) == "" {
		return nil, &engine.Unsupported{Class: o.Class.String()}
	}
	if l.depth++; l.depth > maxNesting {
		return nil, &engine.BadModel{Where: path, Reason: fmt.Sprintf("estimators nested more than %d deep", maxNesting)}
	}
	l.built[o] = nil
	est, err := b(newAttrs(l, o, path))
	l.depth--
	if err != nil {
		return nil, err
	}
	l.built[o] = est
	return est, nil
}

// version is a release of the library.
type version struct{ major, minor int }

// atLeast compares with a release.
func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

func parseVersion(s string) version {
	var v version
	parts := strings.SplitN(s, ".", 3)
	if len(parts) >= 2 {
		v.major, _ = strconv.Atoi(parts[0])
		v.minor, _ = strconv.Atoi(parts[1])
	}
	return v
}
