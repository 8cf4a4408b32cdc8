// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

// compressed is data in xz blocks of the given size.
func compressed(t *testing.T, data []byte, block int64, check byte) []byte {
	t.Helper()
	var out bytes.Buffer
	config := xz.WriterConfig{DictCap: 1 << 16, BlockSize: block, CheckSum: check}
	w, err := config.NewWriter(&out)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestEveryBlockOfAnXZStreamIsLookedAt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := bytes.Repeat([]byte("a model that repeats itself "), 4000)
	for i := range 30_000 {
		data[i+1000] = byte(r.IntN(256)) // which does not compress: chunks of plain bytes
	}
	for _, check := range []byte{xz.CRC32, xz.CRC64, xz.SHA256} {
		file := compressed(t, data, 50_001, check)
		read := func(file []byte, limit int64) ([]byte, *xzBlocks, error) {
			x := &xzBlocks{in: bufio.NewReader(bytes.NewReader(file)), limit: limit}
			z, err := xz.ReaderConfig{DictCap: 4096, SingleStream: true}.NewReader(x)
			require.NoError(t, err)
			got, err := io.ReadAll(z)
			return got, x, err
		}
		got, x, err := read(file, 1<<16)
		require.NoError(t, err)
		require.Equal(t, data, got)
		require.Equal(t, xzRest, x.place)
		_, _, err = read(file, 1<<16-1)
		require.ErrorContains(t, err, "larger than 65535")

		// The last block asks for 4 GiB.
		header := file[12:24]
		at := bytes.LastIndex(file, header[:5])
		require.Greater(t, at, 20_000)
		file = bytes.Clone(file)
		file[at+4] = 40
		size := (int(file[at]) + 1) * 4
		binary.LittleEndian.PutUint32(file[at+size-4:], crc32.ChecksumIEEE(file[at:at+size-4]))
		_, _, err = read(file, 1<<20)
		require.ErrorContains(t, err, "its dictionary of 4294967295 bytes is larger")
	}
}
