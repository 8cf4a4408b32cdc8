// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID is a random UUID, version 4.
func NewID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], u[0:4])
	text[8] = '-'
	hex.Encode(text[9:13], u[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], u[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], u[8:10])
	text[23] = '-'
	hex.Encode(text[24:36], u[10:16])
	return string(text[:])
}
