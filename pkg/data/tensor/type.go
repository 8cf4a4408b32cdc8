// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package tensor

import "strings"

// Type is an element type of the Open Inference Protocol.
type Type uint8

// The element types, in the order of the protocol's own table.
const (
	Invalid Type = iota
	Bool
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	FP16
	BF16
	FP32
	FP64
	Bytes
)

type typeInfo struct {
	name string
	size int
}

//nolint:gochecknoglobals // a constant table; Go has no constant arrays
var typeInfos = [...]typeInfo{
	Invalid: {"", 0},
	Bool:    {"BOOL", 1},
	Uint8:   {"UINT8", 1},
	Uint16:  {"UINT16", 2},
	Uint32:  {"UINT32", 4},
	Uint64:  {"UINT64", 8},
	Int8:    {"INT8", 1},
	Int16:   {"INT16", 2},
	Int32:   {"INT32", 4},
	Int64:   {"INT64", 8},
	FP16:    {"FP16", 2},
	BF16:    {"BF16", 2},
	FP32:    {"FP32", 4},
	FP64:    {"FP64", 8},
	Bytes:   {"BYTES", 0},
}

// ParseType reads a protocol datatype name in any case; the result is Invalid for an unknown one.
func ParseType(name string) Type {
	for t := Bytes; t >= Bool; t-- { // as written by nearly all, the commonest first
		if typeInfos[t].name == name {
			return t
		}
	}
	for t := Bool; t <= Bytes; t++ {
		if strings.EqualFold(typeInfos[t].name, name) {
			return t
		}
	}
	return Invalid
}

// String is the protocol's name of the type, upper case.
func (t Type) String() string {
	if int(t) >= len(typeInfos) {
		return ""
	}
	return typeInfos[t].name
}

// Size is the width of one element in bytes; 0 for Bytes and Invalid, whose elements have no fixed width.
func (t Type) Size() int {
	if int(t) >= len(typeInfos) {
		return 0
	}
	return typeInfos[t].size
}

// IsFloat reports whether NaN and infinities are values of the type.
func (t Type) IsFloat() bool { return t == FP16 || t == BF16 || t == FP32 || t == FP64 }

// IsInteger reports whether the type is a signed or unsigned integer.
func (t Type) IsInteger() bool { return t >= Uint8 && t <= Int64 }
