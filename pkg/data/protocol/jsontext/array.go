// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"fmt"
	"strconv"
)

// MaxRank is the deepest array that has a shape, as in NumPy.
const MaxRank = 64

// Array walks over nested arrays of one shape. It is reusable; the zero Array is ready.
type Array struct {
	dims, counts [MaxRank]int
	rank         int
}

// ShapeError says that nested arrays have no one shape, and where: [1][3].
type ShapeError struct {
	Path, Reason string
}

func (e *ShapeError) Error() string { return e.Path + ": " + e.Reason }

// AppendShape adds the shape of the arrays walked over.
func (a *Array) AppendShape(dst []int64) []int64 {
	for _, n := range a.dims[:a.rank] {
		dst = append(dst, int64(n))
	}
	return dst
}

// Walk takes the array that Peek saw, and calls scalar with the first byte of an innermost element for it to take, or to take as many
// as it can with the commas between them; n is how many it took.
// It returns a *ShapeError when the arrays are ragged; the Scanner is then inside of them.
func (a *Array) Walk(s *Scanner, scalar func(c byte) (n int, err error)) error {
	a.rank = -1
	level := 0
	for {
		more := true
		switch c := s.Peek(); c {
		case '[':
			var err error
			if more, err = a.open(s, level); err != nil {
				return err
			}
			if level++; more {
				continue
			}
		case '{':
			return a.ragged(level, "a single value, got an object")
		default:
			if a.rank < 0 {
				a.rank = level
			}
			if level != a.rank {
				return a.ragged(level, "an array as in the rows before it, got a single value")
			}
			n, err := scalar(c)
			if err != nil {
				return err
			}
			a.counts[level-1] += n
			if level > 1 && a.counts[level-1] == a.dims[level-1] && s.nextRow() {
				a.counts[level-1] = 0
				a.counts[level-2]++
				continue
			}
		}
		done, err := a.close(s, &level, more)
		if err != nil || done {
			return err
		}
	}
}

// open takes the '[' of an array at the given level; more is false for an empty one, which is taken whole.
func (a *Array) open(s *Scanner, level int) (more bool, err error) {
	switch level {
	case a.rank:
		return false, a.ragged(level, "a single value as in the rows before it, got an array")
	case MaxRank:
		return false, &ShapeError{Reason: fmt.Sprintf("arrays nest deeper than %d", MaxRank)}
	}
	if more, err = s.OpenArray(); err != nil {
		return false, err
	}
	a.counts[level] = 0
	if a.rank < 0 {
		a.dims[level] = -1 // set when the first array of this level ends
		if !more {
			a.rank = level + 1
		}
	}
	if !more && level+1 != a.rank {
		return false, a.ragged(level, "an array as in the rows before it, got an empty one")
	}
	return more, nil
}

// close takes what follows an element: a comma, or the ends of the arrays around it. more is false when the innermost array has
// been taken already.
func (a *Array) close(s *Scanner, level *int, more bool) (done bool, err error) {
	for {
		if more {
			if more, err = s.NextElement(); err != nil || more {
				return false, err
			}
		}
		*level--
		l := *level
		if a.dims[l] < 0 {
			a.dims[l] = a.counts[l]
		} else if a.dims[l] != a.counts[l] {
			return false, a.ragged(l, fmt.Sprintf("%d values as in the rows before it, got %d", a.dims[l], a.counts[l]))
		}
		if l == 0 {
			return true, nil
		}
		a.counts[l-1]++
		more = true
	}
}

// ragged names the element at the given level.
func (a *Array) ragged(level int, expected string) error {
	var path []byte
	for _, i := range a.counts[:level] {
		path = append(strconv.AppendInt(append(path, '['), int64(i), 10), ']')
	}
	return &ShapeError{string(path), "expected " + expected + ": all rows must have one shape"}
}
