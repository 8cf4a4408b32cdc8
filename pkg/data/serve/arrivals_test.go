// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// framed is a frame with an empty payload.
func framed(kind, flags byte, stream uint32, length int) []byte {
	head := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), make([]byte, length)...)
}

func TestFramesAreFoundInAnyPieces(t *testing.T) {
	text := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	var want []frame
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		f := frame{random.IntN(300), byte(i % 10), byte(i), uint32(i)}
		text = append(text, framed(f.kind, f.flags, f.stream|1<<31, f.length)...)
		want = append(want, f)
	}
	for _, most := range []int{1, 2, 9, 10, 100, len(text)} {
		var got []frame
		s := frames{skip: preface}
		for rest := text; len(rest) > 0; {
			n := min(1+random.IntN(most), len(rest))
			for p, found := rest[:n], true; found; {
				var f frame
				if f, p, found = s.next(p); found {
					got = append(got, f)
				}
			}
			rest = rest[n:]
		}
		require.Equal(t, want, got, "in pieces of up to %d bytes", most)
	}
}

func TestWhatArrivesIsCountedUntilItsCallEnds(t *testing.T) {
	const big = 4 << 20
	all := &arrivals{most: 5 << 20}
	one, other := arriving{all: all, streams: map[uint32]int64{}}, arriving{all: all, streams: map[uint32]int64{}}
	header := func(stream uint32) frame { return frame{100, kindHeaders, 0, stream} }
	data := func(stream uint32, n int) frame { return frame{n, kindData, 0, stream} }
	require.True(t, one.came(data(1, big)), "no such call")
	require.True(t, one.came(header(1)))
	require.True(t, one.came(frame{100, kindData, flagEndStream, 1}), "a whole request")
	require.Zero(t, one.total)
	one.went(frame{50, kindHeaders, flagEndStream, 1})

	require.True(t, one.came(header(3)))
	require.True(t, one.came(data(3, freeArrivals-perFrame)))
	require.Zero(t, all.held.Load(), "what each connection may have")
	require.True(t, one.came(data(3, big-perFrame)))
	require.Equal(t, int64(big), all.held.Load())
	require.True(t, one.came(header(3)), "known already")
	require.Equal(t, int64(freeArrivals+big), one.total)

	require.True(t, other.came(header(1)))
	require.True(t, other.came(data(1, freeArrivals)), "there is room for a little over the free part")
	require.False(t, other.came(data(1, 2<<20)), "there is no room")
	require.True(t, one.came(frame{0, kindData, flagEndStream, 3}), "nothing more has come")
	other.closed()
	require.Equal(t, int64(big), all.held.Load())

	one.went(frame{50, kindHeaders, 0, 3})
	require.Equal(t, int64(big), all.held.Load(), "an answer has begun")
	one.went(frame{50, kindHeaders, flagEndStream, 3})
	require.Zero(t, all.held.Load())
	require.True(t, one.came(data(3, big)), "the call has ended: gRPC drops what still comes")
	require.Zero(t, one.total)
	for stream, end := range map[uint32]func(){
		5: func() { require.True(t, one.came(frame{4, kindReset, 0, 5})) },
		7: func() { one.went(frame{4, kindReset, 0, 7}) },
	} {
		require.True(t, one.came(header(stream)))
		require.True(t, one.came(data(stream, big)))
		require.NotZero(t, all.held.Load())
		end()
		require.Zero(t, all.held.Load())
	}
	require.Empty(t, one.streams)

	require.True(t, one.came(header(9)))
	for range 100_000 {
		require.True(t, one.came(data(9, 1)) || one.total > 5<<20)
	}
	require.Greater(t, one.total, int64(100_000*perFrame), "frames of a byte take memory")
	one.closed()
	require.Zero(t, all.held.Load())
}
