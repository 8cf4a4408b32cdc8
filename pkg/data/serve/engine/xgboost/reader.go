// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// kind is what the next value of a document is.
type kind uint8

const (
	invalidValue kind = iota
	objectValue
	arrayValue
	textValue
	numberValue
	wordValue // true, false, null
)

// reader pulls values from a document in one of XGBoost's two notations. Whoever calls it says what is expected next; nothing is
// built that was not asked for. All errors are *engine.BadModel with the byte offset.
//
//nolint:interfacebloat // one grammar in two notations: what a value may be, and where it stands
type reader interface {
	peek() (kind, error)
	// object calls field for every key; field must consume the value.
	object(field func(key string) error) error
	// array calls item before every element; item must consume it.
	array(item func(i int) error) error
	text() (string, error)
	// floats and ints append the numbers of an array; booleans are 0 and 1. floats keeps float32 values.
	floats(dst []float32) ([]float32, error)
	ints(dst []int64) ([]int64, error)
	skip() error
	where() string
}

// maxDepth is how deep values may nest; a model needs nine.
const maxDepth = 32

func bad(where, format string, args ...any) error {
	return &engine.BadModel{Where: where, Reason: fmt.Sprintf(format, args...)}
}

func offset(at int) string { return fmt.Sprintf("byte %d", at) }
