// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"fmt"
	"strconv"
	"strings"
)

// npyHeader reads the head of a .npy file: magic, version, and a Python dict of descr, fortran_order and shape.
func (m *machine) npyHeader() (*Array, error) {
	magic := make([]byte, 8)
	if err := m.small(magic); err != nil {
		return nil, err
	}
	if string(magic[:6]) != "\x93NUMPY" {
		return nil, m.damaged("no .npy file")
	}
	width := 2
	if magic[6] >= 2 {
		width = 4
	}
	n, err := m.uint(width)
	if err != nil {
		return nil, err
	}
	if n > 1<<16 {
		return nil, m.damaged("a .npy header of %d bytes", n)
	}
	text, err := m.take(n)
	if err != nil {
		return nil, err
	}
	p := &literalParser{text: string(text)}
	v, err := p.value(0)
	if err != nil {
		return nil, m.damaged("the .npy header: %v", err)
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, m.damaged("the .npy header is %s", Kind(v))
	}
	dims, _ := d.Lookup("shape")
	shape, err := m.shape(dims)
	if err != nil {
		return nil, err
	}
	descr, _ := d.Lookup("descr")
	dt, err := describe(descr, 0)
	if err != nil {
		return nil, m.damaged("the .npy header: %v", err)
	}
	order, _ := d.Lookup("fortran_order")
	return &Array{DType: dt, Shape: shape, Fortran: order == true}, nil
}

// describe reads a descr: a short form, or a list of columns.
func describe(descr any, depth int) (*DType, error) {
	switch v := descr.(type) {
	case string:
		return parseDType(v)
	case *List:
		d := &DType{Kind: 'V'}
		for _, item := range v.Items {
			column, ok := item.(Tuple)
			if !ok || len(column) < 2 || depth > 4 {
				return nil, fmt.Errorf("a column of a dtype is %s", Kind(item))
			}
			name, ok := column[0].(string)
			if !ok {
				return nil, fmt.Errorf("a column's name is %s", Kind(column[0]))
			}
			inner, err := describe(column[1], depth+1)
			if err != nil {
				return nil, err
			}
			d.Fields = append(d.Fields, Field{Name: name, Offset: d.Size, DType: inner})
			d.Size += inner.Size
		}
		return d, nil
	default:
		return nil, fmt.Errorf("a dtype is %s", Kind(descr))
	}
}

// literalParser reads the Python literals that a .npy header is made of.
type literalParser struct {
	text string
	at   int
}

func (p *literalParser) space() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
}

func (p *literalParser) peek() byte {
	p.space()
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *literalParser) value(depth int) (any, error) {
	if depth > 8 {
		return nil, fmt.Errorf("nested too deep")
	}
	switch c := p.peek(); {
	case c == '{':
		items, err := p.items('}', ':', depth)
		if err != nil {
			return nil, err
		}
		d := &Dict{}
		for i := 0; i+1 < len(items); i += 2 {
			d.set(items[i], items[i+1])
		}
		return d, nil
	case c == '(':
		items, err := p.items(')', ',', depth)
		return Tuple(items), err
	case c == '[':
		items, err := p.items(']', ',', depth)
		return &List{Items: items}, err
	case c == '\'' || c == '"':
		end := strings.IndexByte(p.text[p.at+1:], c)
		if end < 0 {
			return nil, fmt.Errorf("a string without its end")
		}
		s := p.text[p.at+1 : p.at+1+end]
		p.at += end + 2
		return s, nil
	case c >= '0' && c <= '9':
		start := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		n, err := strconv.ParseInt(p.text[start:p.at], 10, 64)
		if p.at < len(p.text) && p.text[p.at] == 'L' {
			p.at++
		}
		return n, err
	case strings.HasPrefix(p.text[p.at:], "True"):
		p.at += 4
		return true, nil
	case strings.HasPrefix(p.text[p.at:], "False"):
		p.at += 5
		return false, nil
	}
	return nil, fmt.Errorf("no literal at %d", p.at)
}

// items reads values up to the closing bracket; ':' separates as ',' does.
func (p *literalParser) items(closing, separator byte, depth int) ([]any, error) {
	p.at++
	var out []any
	for {
		if p.peek() == closing {
			p.at++
			return out, nil
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		switch c := p.peek(); c {
		case ',', separator:
			p.at++
		case closing:
		default:
			return nil, fmt.Errorf("no separator at %d", p.at)
		}
	}
}
