// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"sync/atomic"
)

// arrivals is the memory of what has come of requests whose calls have not ended, over all connections of gRPC. gRPC reads a connection as fast
// as its client sends, and tells nobody before a message is whole.
type arrivals struct {
	most int64
	held atomic.Int64
}

const (
	// freeArrivals is what each connection may have on the way without being counted: only big requests share a counter.
	freeArrivals = 256 << 10
	// wholeCall is the size up to which a request that comes in one frame is not looked at: it is answered at once.
	wholeCall = 4 << 10
	// perFrame is what gRPC keeps of a frame besides its payload, so that many tiny ones count for what they take.
	perFrame = 128
)

// arriving is a connection's part of arrivals. It is not safe for concurrent use.
type arriving struct {
	all     *arrivals
	streams map[uint32]int64 // bytes that have come, of calls that have not ended
	total   int64            // of them
}

func overFree(n int64) int64 { return max(n-freeArrivals, 0) }

func (a *arriving) add(n int64) {
	was := overFree(a.total)
	a.total += n
	if is := overFree(a.total); is != was {
		a.all.held.Add(is - was)
	}
}

// came takes note of a frame of the client. It is false when there is no room for what the frame brings.
func (a *arriving) came(f frame) bool {
	ends := f.flags&flagEndStream != 0
	switch f.kind {
	case kindHeaders:
		if _, known := a.streams[f.stream]; !known && !ends {
			a.streams[f.stream] = 0
		}
	case kindReset:
		a.ended(f.stream)
	case kindData:
		had, open := a.streams[f.stream]
		if !open || f.length == 0 || had == 0 && ends && f.length <= wholeCall {
			return true
		}
		n := int64(f.length) + perFrame
		a.streams[f.stream] = had + n
		a.add(n)
		return overFree(a.total) == 0 || a.all.held.Load() <= a.all.most
	}
	return true
}

// went takes note of a frame of the server.
func (a *arriving) went(f frame) {
	if f.kind == kindReset || f.kind == kindHeaders && f.flags&flagEndStream != 0 {
		a.ended(f.stream)
	}
}

func (a *arriving) ended(stream uint32) {
	if n, open := a.streams[stream]; open {
		delete(a.streams, stream)
		a.add(-n)
	}
}

// closed gives everything back; nothing comes any more.
func (a *arriving) closed() {
	clear(a.streams)
	a.add(-a.total)
}

// Frames that begin or end a call, or carry some of it (RFC 9113, 6).
const (
	kindData    = 0
	kindHeaders = 1
	kindReset   = 3

	flagEndStream = 1
)

// preface is the length of what a client sends before its first frame.
const preface = 24

// frame is the header of one.
type frame struct {
	length      int
	kind, flags byte
	stream      uint32
}

// frames finds the headers of frames in one direction of a connection, whatever pieces it comes in.
type frames struct {
	skip int // bytes before the next header
	head [9]byte
	have int // bytes of head
}

// next returns the next header that ends in p, and what is behind it.
func (s *frames) next(p []byte) (f frame, rest []byte, found bool) {
	n := min(s.skip, len(p))
	s.skip -= n
	p = p[n:]
	n = copy(s.head[s.have:], p)
	s.have += n
	if s.have < len(s.head) {
		return frame{}, nil, false
	}
	s.have = 0
	f = frame{
		length: int(s.head[0])<<16 | int(s.head[1])<<8 | int(s.head[2]),
		kind:   s.head[3], flags: s.head[4],
		stream: binary.BigEndian.Uint32(s.head[5:]) &^ (1 << 31),
	}
	s.skip = f.length
	return f, p[n:], true
}
