// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"bufio"
	"encoding/binary"
	"fmt"

	"github.com/ulikunitz/xz/lzma"
)

// xzBlocks passes an xz stream on and looks at the header of each block on the way: the decoder allocates the dictionary that a block
// asks for at once, up to 4 GiB, whatever the block holds. What is not well-formed is passed on for the decoder to refuse.
type xzBlocks struct {
	in    *bufio.Reader
	limit int64

	left  int64 // bytes to pass on before the next look
	place xzPlace
	check int64 // the size of a block's checksum
	block int64 // bytes of the block's data so far
}

// xzPlace is what comes next in an xz stream.
type xzPlace uint8

const (
	xzStream xzPlace = iota
	xzBlock
	xzChunk
	xzRest
)

// Read implements io.Reader.
func (x *xzBlocks) Read(p []byte) (int, error) {
	for x.left == 0 && x.place != xzRest {
		if err := x.look(); err != nil {
			return 0, err
		}
	}
	if x.place != xzRest {
		p = p[:min(int64(len(p)), x.left)]
	}
	n, err := x.in.Read(p)
	x.left -= int64(n)
	return n, err
}

// look finds out how much may be passed on before the next look.
func (x *xzBlocks) look() error {
	switch x.place {
	case xzStream:
		head, _ := x.in.Peek(12)
		if len(head) < 12 {
			break
		}
		x.left, x.place = 12, xzBlock
		x.check = [...]int64{0, 4, 8, 16, 32, 64}[(head[7]&15+2)/3]
		return nil
	case xzBlock:
		first, _ := x.in.Peek(1)
		if len(first) < 1 || first[0] == 0 { // the index
			break
		}
		size := (int(first[0]) + 1) * 4
		head, _ := x.in.Peek(size)
		if len(head) < size {
			break
		}
		x.left, x.place, x.block = int64(size), xzChunk, 0
		return x.dictionary(head)
	case xzChunk:
		head, _ := x.in.Peek(5)
		switch {
		case len(head) >= 1 && head[0] == 0:
			padding := 3 - x.block%4
			x.left, x.place = 1+padding+x.check, xzBlock
		case len(head) >= 3 && head[0] <= 2: // plain bytes
			x.left = 3 + int64(binary.BigEndian.Uint16(head[1:])) + 1
		case len(head) >= 5 && head[0] >= 0x80:
			x.left = 5 + int64(binary.BigEndian.Uint16(head[3:])) + 1
			if head[0] >= 0xc0 { // with new properties
				x.left++
			}
		default:
			x.place = xzRest
		}
		x.block += x.left
		return nil
	case xzRest:
	}
	x.place = xzRest
	return nil
}

// dictionary refuses a block whose dictionary is too large.
func (x *xzBlocks) dictionary(block []byte) error {
	at := 2
	for _, present := range []bool{block[1]&0x40 != 0, block[1]&0x80 != 0} { // the two optional sizes
		for present && at < len(block)-3 && block[at]&0x80 != 0 {
			at++
		}
		if present {
			at++
		}
	}
	if at+3 > len(block) || block[at] != 0x21 {
		return nil // not LZMA2: the decoder refuses it
	}
	size, err := lzma.DecodeDictCap(block[at+2])
	if err != nil {
		return err
	}
	if size > x.limit {
		return fmt.Errorf("its dictionary of %d bytes is larger than %d", size, x.limit)
	}
	return nil
}
