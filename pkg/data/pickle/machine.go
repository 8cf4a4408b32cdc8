// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// machine is the stack machine that a pickle is a program for, reduced to building plain values.
type machine struct {
	*source
	stack []any
	marks []int // positions in stack
	memo  memo

	// wrappers reads the arrays that joblib puts between the opcodes; nil in a nested pickle, where joblib puts none.
	wrappers *joblibArrays
}

// The prices of values in memory, near enough for a bound.
const (
	costSlot   = 32
	costObject = 160
	costDict   = 96
	costEntry  = 96
)

// maxMarks bounds the containers that are begun and not yet ended.
const maxMarks = 1 << 14

func (m *machine) push(v any) error {
	if err := m.charge(costSlot); err != nil {
		return err
	}
	m.stack = append(m.stack, v)
	return nil
}

// fence is the lowest stack position that the current opcode may touch.
func (m *machine) fence() int {
	if n := len(m.marks); n > 0 {
		return m.marks[n-1]
	}
	return 0
}

func (m *machine) pop() (any, error) {
	if len(m.stack) <= m.fence() {
		return nil, m.damaged("an opcode needs a value and the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

func (m *machine) pop2() (first, second any, err error) {
	if second, err = m.pop(); err != nil {
		return nil, nil, err
	}
	first, err = m.pop()
	return first, second, err
}

func (m *machine) top() (any, error) {
	if len(m.stack) <= m.fence() {
		return nil, m.damaged("an opcode needs a value and the stack is empty")
	}
	return m.stack[len(m.stack)-1], nil
}

// popMark takes everything above the last mark. The result aliases the stack.
func (m *machine) popMark() ([]any, error) {
	n := len(m.marks)
	if n == 0 {
		return nil, m.damaged("an opcode needs a mark and there is none")
	}
	at := m.marks[n-1]
	items := m.stack[at:]
	m.marks, m.stack = m.marks[:n-1], m.stack[:at]
	return items, nil
}

// run executes opcodes until STOP and returns the value on top.
func (m *machine) run() (any, error) {
	for {
		op, err := m.readByte()
		if err != nil {
			return nil, err
		}
		if op == '.' {
			return m.pop()
		}
		if err := m.step(op); err != nil {
			return nil, err
		}
	}
}

func (m *machine) step(op byte) error {
	switch op {
	case '(': // MARK
		if len(m.marks) >= maxMarks {
			return m.damaged("more than %d containers are begun inside one another", maxMarks)
		}
		m.marks = append(m.marks, len(m.stack))
		return nil
	case '0': // POP
		if n := len(m.marks); n > 0 && m.marks[n-1] == len(m.stack) {
			m.marks = m.marks[:n-1]
			return nil
		}
		_, err := m.pop()
		return err
	case '1': // POP_MARK
		_, err := m.popMark()
		return err
	case '2': // DUP
		v, err := m.top()
		if err != nil {
			return err
		}
		return m.push(v)
	case 0x80: // PROTO
		v, err := m.readByte()
		if err == nil && v > 5 {
			err = m.damaged("pickle protocol %d is unknown: 0 to 5 are", v)
		}
		return err
	case 0x95: // FRAME: a hint for buffering
		return m.skip(8)
	case 'p', 'q', 'r', 0x94, 'g', 'h', 'j':
		return m.memoOp(op)
	case 'c', 0x93, 'i', 'o', 'R', 0x81, 0x92, 'b':
		return m.objectOp(op)
	case 'P', 'Q':
		return m.damaged("the pickle refers to an object outside the file (a persistent id)")
	case 0x82, 0x83, 0x84:
		return m.refuse("copyreg extension", "extension codes name something outside the file")
	case 0x97, 0x98:
		return m.damaged("the pickle refers to a buffer outside the file")
	}
	if v, ok, err := m.literal(op); ok || err != nil {
		if err != nil {
			return err
		}
		return m.push(v)
	}
	return m.containerOp(op)
}

func (m *machine) refuse(name, reason string) error {
	return &Refused{Name: name, Offset: m.offset, Reason: reason}
}

func (m *machine) memoOp(op byte) error {
	var i uint64
	switch op {
	case 'p', 'g':
		line, err := m.line()
		if err != nil {
			return err
		}
		if i, err = strconv.ParseUint(strings.TrimSpace(string(line)), 10, 63); err != nil {
			return m.damaged("memo index %q is no number", line)
		}
	case 'q', 'h':
		b, err := m.readByte()
		if err != nil {
			return err
		}
		i = uint64(b)
	case 'r', 'j':
		n, err := m.uint(4)
		if err != nil {
			return err
		}
		i = n
	case 0x94:
		i = m.memo.count()
	}
	if op == 'g' || op == 'h' || op == 'j' {
		v, ok := m.memo.get(i)
		if !ok {
			return m.damaged("memo slot %d is empty", i)
		}
		return m.push(v)
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if err := m.charge(costSlot); err != nil {
		return err
	}
	m.memo.put(i, v)
	return nil
}

// uint reads a little-endian unsigned number of width bytes.
func (m *machine) uint(width int) (uint64, error) {
	var b [8]byte
	if err := m.small(b[:width]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// literal reads the opcodes that stand for one value by themselves. ok is false for any other opcode.
func (m *machine) literal(op byte) (v any, ok bool, err error) {
	switch op {
	case 'N':
		return nil, true, nil
	case 0x88:
		return true, true, nil
	case 0x89:
		return false, true, nil
	case 'K':
		n, err := m.uint(1)
		return int64(n), true, err
	case 'M':
		n, err := m.uint(2)
		return int64(n), true, err
	case 'J':
		n, err := m.uint(4)
		return int64(int32(n)), true, err
	case 'G':
		var b [8]byte
		err := m.small(b[:])
		return math.Float64frombits(binary.BigEndian.Uint64(b[:])), true, err
	case 'I', 'L', 'F', 'S', 'V':
		v, err := m.textLiteral(op)
		return v, true, err
	case 0x8a, 0x8b:
		v, err := m.long(op)
		return v, true, err
	case 'U', 0x8c, 'T', 'X', 0x8d:
		b, err := m.counted(op)
		return string(b), true, err
	case 'C', 'B', 0x8e, 0x96:
		b, err := m.counted(op)
		return Bytes(b), true, err
	default:
		return nil, false, nil
	}
}

// counted reads a string or bytes after its length.
func (m *machine) counted(op byte) ([]byte, error) {
	width := 4
	switch op {
	case 'U', 0x8c, 'C':
		width = 1
	case 0x8d, 0x8e, 0x96:
		width = 8
	}
	n, err := m.uint(width)
	if err != nil {
		return nil, err
	}
	return m.take(n)
}

// long reads LONG1 and LONG4: a two's complement integer of any size.
func (m *machine) long(op byte) (any, error) {
	width := 1
	if op == 0x8b {
		width = 4
	}
	n, err := m.uint(width)
	if err != nil {
		return nil, err
	}
	b, err := m.take(n)
	if err != nil {
		return nil, err
	}
	if len(b) <= 8 {
		var full [8]byte
		if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
			full = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
		copy(full[:], b)
		return int64(binary.LittleEndian.Uint64(full[:])), nil
	}
	if len(b) > maxDigits {
		return nil, m.damaged("an integer of %d bytes", len(b))
	}
	negative := b[len(b)-1]&0x80 != 0
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	v := new(big.Int).SetBytes(b)
	if negative {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return v, nil
}

// maxDigits bounds an integer's text or bytes: a seed or a hash has some hundred.
const maxDigits = 4096

// textLiteral reads the line-based opcodes of protocol 0.
func (m *machine) textLiteral(op byte) (any, error) {
	line, err := m.line()
	if err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(string(line), "\r")
	switch op {
	case 'I', 'L':
		switch {
		case op == 'I' && text == "00":
			return false, nil
		case op == 'I' && text == "01":
			return true, nil
		case len(text) > maxDigits:
			return nil, m.damaged("an integer of %d digits", len(text))
		}
		text = strings.TrimSuffix(text, "L")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, m.damaged("%q is no integer", text)
		}
		return n, nil
	case 'F':
		f, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, m.damaged("%q is no float", text)
		}
		return f, nil
	case 'S':
		s, ok := unquote(text)
		if !ok {
			return nil, m.damaged("a string without its quotes")
		}
		return s, nil
	default: // 'V'
		s, ok := rawUnicode(string(line))
		if !ok {
			return nil, m.damaged("a string with a broken escape")
		}
		return s, nil
	}
}

func (m *machine) containerOp(op byte) error {
	switch op {
	case ']', '}', ')', 0x8f: // EMPTY_LIST, EMPTY_DICT, EMPTY_TUPLE, EMPTY_SET
		if err := m.charge(costDict); err != nil {
			return err
		}
		switch op {
		case ']':
			return m.push(&List{})
		case '}':
			return m.push(&Dict{})
		case ')':
			return m.push(Tuple{})
		default:
			return m.push(&Set{})
		}
	case 0x85, 0x86, 0x87: // TUPLE1 to 3
		n := int(op-0x85) + 1
		if len(m.stack)-m.fence() < n {
			return m.damaged("a tuple of %d and the stack holds %d values", n, len(m.stack)-m.fence())
		}
		t := append(Tuple(nil), m.stack[len(m.stack)-n:]...)
		m.stack = m.stack[:len(m.stack)-n]
		return m.push(t)
	case 't', 'l', 'd', 0x91: // TUPLE, LIST, DICT, FROZENSET
		return m.collect(op)
	case 'a', 'e', 's', 'u', 0x90:
		return m.extend(op)
	default:
		return m.damaged("0x%02x is no pickle opcode", op)
	}
}

func (m *machine) collect(op byte) error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	if err := m.charge(costDict + int64(len(items))*costSlot); err != nil {
		return err
	}
	switch op {
	case 't':
		return m.push(append(Tuple{}, items...))
	case 'l':
		return m.push(&List{Items: append([]any(nil), items...)})
	case 0x91:
		return m.push(&Set{Items: append([]any(nil), items...)})
	}
	d := &Dict{}
	if err := m.setItems(d, items); err != nil {
		return err
	}
	return m.push(d)
}

func (m *machine) extend(op byte) error {
	var items []any
	var err error
	switch op {
	case 'a':
		var v any
		v, err = m.pop()
		items = []any{v}
	case 's':
		var k, v any
		k, v, err = m.pop2()
		items = []any{k, v}
	default:
		items, err = m.popMark()
	}
	if err != nil {
		return err
	}
	target, err := m.top()
	if err != nil {
		return err
	}
	if op == 's' || op == 'u' {
		switch t := target.(type) {
		case *Dict:
			return m.setItems(t, items)
		case *Object:
			if t.Dict == nil {
				t.Dict = &Dict{}
			}
			return m.setItems(t.Dict, items)
		}
		return m.damaged("entries are set in %s", Kind(target))
	}
	if err := m.charge(int64(len(items)) * costSlot); err != nil {
		return err
	}
	switch t := target.(type) {
	case *List:
		t.Items = append(t.Items, items...)
		return nil
	case *Set:
		t.Items = append(t.Items, items...)
		return nil
	case *Object:
		if t.List == nil {
			t.List = &List{}
		}
		t.List.Items = append(t.List.Items, items...)
		return nil
	}
	return m.damaged("items are added to %s", Kind(target))
}

func (m *machine) setItems(d *Dict, items []any) error {
	if len(items)%2 != 0 {
		return m.damaged("a key without its value")
	}
	if err := m.charge(int64(len(items)/2) * costEntry); err != nil {
		return err
	}
	for i := 0; i < len(items); i += 2 {
		d.set(items[i], items[i+1])
	}
	return nil
}
