// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"encoding/binary"
	"math"
	"slices"
)

// ubjReader reads Universal Binary JSON as XGBoost writes it: big-endian, with typed and counted arrays.
type ubjReader struct {
	data  []byte
	at    int
	depth int
	// marked is the type marker of the next value when a container gave it for all its elements.
	marked byte
	// free counts the elements that took no space.
	free int
}

func (r *ubjReader) where() string { return offset(r.at) }

func (r *ubjReader) fail(format string, args ...any) error { return bad(r.where(), format, args...) }

func (r *ubjReader) left() int { return len(r.data) - r.at }

// marker is the next type marker, not consumed; no-ops are skipped. 0 at the end.
func (r *ubjReader) marker() byte {
	if r.marked != 0 {
		return r.marked
	}
	for r.at < len(r.data) && r.data[r.at] == 'N' {
		r.at++
	}
	if r.at >= len(r.data) {
		return 0
	}
	return r.data[r.at]
}

func (r *ubjReader) take() byte {
	m := r.marker()
	if r.marked != 0 {
		r.marked = 0
	} else if m != 0 {
		r.at++
	}
	return m
}

func (r *ubjReader) peek() (kind, error) {
	switch m := r.marker(); m {
	case '{':
		return objectValue, nil
	case '[':
		return arrayValue, nil
	case 'S', 'H', 'C':
		return textValue, nil
	case 'i', 'U', 'I', 'l', 'L', 'd', 'D':
		return numberValue, nil
	case 'T', 'F', 'Z':
		return wordValue, nil
	case 0:
		return invalidValue, r.fail("the UBJSON ends where a value is expected")
	default:
		return invalidValue, r.fail("%q is no UBJSON type", m)
	}
}

// size is the number of bytes of a value of a fixed-width type; -1 for other types.
func size(m byte) int {
	switch m {
	case 'T', 'F', 'Z':
		return 0
	case 'i', 'U', 'C':
		return 1
	case 'I':
		return 2
	case 'l', 'd':
		return 4
	case 'L', 'D':
		return 8
	default:
		return -1
	}
}

// integer reads the payload of an integer of type m.
func (r *ubjReader) integer(m byte) (int64, error) {
	n := size(m)
	if n > r.left() {
		return 0, r.fail("the UBJSON ends inside a number")
	}
	b := r.data[r.at:]
	var v int64
	switch m {
	case 'i':
		v = int64(int8(b[0]))
	case 'U':
		v = int64(b[0])
	case 'I':
		v = int64(int16(binary.BigEndian.Uint16(b)))
	case 'l':
		v = int64(int32(binary.BigEndian.Uint32(b)))
	case 'L':
		v = int64(binary.BigEndian.Uint64(b))
	case 'T':
		v = 1
	case 'F':
		v = 0
	default:
		return 0, r.fail("expected an integer, got the type %q", m)
	}
	r.at += n
	return v, nil
}

func (r *ubjReader) float(m byte) (float32, error) {
	switch m {
	case 'd':
		if r.left() < 4 {
			return 0, r.fail("the UBJSON ends inside a number")
		}
		v := math.Float32frombits(binary.BigEndian.Uint32(r.data[r.at:]))
		r.at += 4
		return v, nil
	case 'D':
		if r.left() < 8 {
			return 0, r.fail("the UBJSON ends inside a number")
		}
		v := math.Float64frombits(binary.BigEndian.Uint64(r.data[r.at:]))
		r.at += 8
		return float32(v), nil
	default:
		v, err := r.integer(m)
		return float32(v), err
	}
}

// length reads a count: an integer with its own marker, not negative and not above limit.
func (r *ubjReader) length(limit int) (int, error) {
	if r.left() == 0 {
		return 0, r.fail("the UBJSON ends where a length is expected")
	}
	m := r.data[r.at]
	r.at++
	n, err := r.integer(m)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > int64(limit) {
		return 0, r.fail("a length of %d does not fit the %d bytes that are left", n, r.left())
	}
	return int(n), nil
}

// container reads the optional type and count behind an opening bracket; count is -1 when the container has a closing bracket.
func (r *ubjReader) container(open byte, what string) (elem byte, count int, err error) {
	if m := r.take(); m != open {
		return 0, 0, r.fail("expected %s, got the type %q", what, m)
	}
	if r.depth++; r.depth > maxDepth {
		return 0, 0, r.fail("values nest deeper than %d", maxDepth)
	}
	count = -1
	if r.left() > 0 && r.data[r.at] == '$' {
		r.at++
		if r.left() == 0 {
			return 0, 0, r.fail("the UBJSON ends where a type is expected")
		}
		elem = r.data[r.at]
		r.at++
		if r.left() == 0 || r.data[r.at] != '#' {
			return 0, 0, r.fail("a typed container has no count")
		}
	}
	if r.left() > 0 && r.data[r.at] == '#' {
		r.at++
		// Every element takes at least a byte, or is held to be that large: a count cannot ask for more memory than the file has.
		if count, err = r.length(r.left()); err != nil {
			return 0, 0, err
		}
		if n := size(elem); elem != 0 && n > 0 && count > r.left()/n {
			return 0, 0, r.fail("an array of %d elements of %d bytes does not fit the %d bytes that are left", count, n, r.left())
		}
		if size(elem) == 0 {
			// Elements without a payload are charged to the whole file, or many small arrays could ask for any amount of work.
			if r.free += count; r.free > len(r.data) {
				return 0, 0, r.fail("more elements without a payload than the file has bytes")
			}
		}
	}
	return elem, count, nil
}

// items calls item count times, or until the closing bracket.
func (r *ubjReader) items(elem byte, count int, closing byte, item func(i int) error) error {
	defer func() { r.depth-- }()
	for i := 0; count < 0 || i < count; i++ {
		if count < 0 {
			if r.marker() == closing {
				r.at++
				return nil
			}
			if r.left() == 0 {
				return r.fail("the UBJSON ends inside a container")
			}
		}
		before := r.at
		if closing == ']' {
			r.marked = elem
		}
		if err := item(i); err != nil {
			return err
		}
		if r.at == before && size(elem) != 0 {
			return r.fail("an element takes no space")
		}
	}
	return nil
}

func (r *ubjReader) object(field func(key string) error) error {
	elem, count, err := r.container('{', "an object")
	if err != nil {
		return err
	}
	return r.items(elem, count, '}', func(int) error {
		n, err := r.length(r.left())
		if err != nil {
			return err
		}
		if n > r.left() {
			return r.fail("a key of %d bytes does not fit the %d bytes that are left", n, r.left())
		}
		key := string(r.data[r.at : r.at+n])
		r.at += n
		r.marked = elem
		return field(key)
	})
}

func (r *ubjReader) array(item func(i int) error) error {
	elem, count, err := r.container('[', "an array")
	if err != nil {
		return err
	}
	return r.items(elem, count, ']', item)
}

func (r *ubjReader) text() (string, error) {
	switch m := r.take(); m {
	case 'S', 'H':
		n, err := r.length(r.left())
		if err != nil {
			return "", err
		}
		if n > r.left() {
			return "", r.fail("a string of %d bytes does not fit the %d bytes that are left", n, r.left())
		}
		s := string(r.data[r.at : r.at+n])
		r.at += n
		return s, nil
	case 'C':
		if r.left() == 0 {
			return "", r.fail("the UBJSON ends inside a character")
		}
		r.at++
		return string(r.data[r.at-1 : r.at]), nil
	default:
		return "", r.fail("expected a string, got the type %q", m)
	}
}

func (r *ubjReader) floats(dst []float32) ([]float32, error) {
	elem, count, err := r.container('[', "an array")
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, max(count, 0))
	err = r.items(elem, count, ']', func(int) error {
		v, err := r.float(r.take())
		dst = append(dst, v)
		return err
	})
	return dst, err
}

func (r *ubjReader) ints(dst []int64) ([]int64, error) {
	elem, count, err := r.container('[', "an array")
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(dst, max(count, 0))
	err = r.items(elem, count, ']', func(int) error {
		v, err := r.integer(r.take())
		dst = append(dst, v)
		return err
	})
	return dst, err
}

func (r *ubjReader) skip() error {
	k, err := r.peek()
	if err != nil {
		return err
	}
	switch k {
	case objectValue:
		return r.object(func(string) error { return r.skip() })
	case arrayValue:
		return r.array(func(int) error { return r.skip() })
	case textValue:
		_, err = r.text()
		return err
	default:
		n := size(r.take())
		if n > r.left() {
			return r.fail("the UBJSON ends inside a number")
		}
		r.at += n
		return nil
	}
}
