// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// part is n rows of a request, from row first on.
func part(r *tensor.Request, first, n int) *tensor.Request {
	p := &tensor.Request{Method: r.Method, Parameters: r.Parameters, Frame: r.Frame}
	for _, t := range r.Inputs {
		piece := &tensor.Tensor{}
		piece.CopyRows(t, first, n)
		p.Inputs = append(p.Inputs, piece)
	}
	return p
}

// hasNulls says for each input whether elements are absent: requests that differ in it are not joined.
func hasNulls(r *tensor.Request) (s string) {
	for _, t := range r.Inputs {
		s += map[bool]string{true: "n", false: "-"}[t.HasNull()]
	}
	return s
}

// sameBits tells the first difference of two answers.
func sameBits(a, b *tensor.Response) string {
	if len(a.Outputs) != len(b.Outputs) || a.Frame != b.Frame || a.Absent != b.Absent {
		return "number of outputs"
	}
	for i, x := range a.Outputs {
		y := b.Outputs[i]
		if x.Name != y.Name || x.Type != y.Type || len(x.Shape) != len(y.Shape) || x.Len() != y.Len() {
			return "name, type or shape of output " + x.Name
		}
		for j := range x.Len() {
			if x.Null(j) != y.Null(j) || x.Type == tensor.Bytes && !bytes.Equal(x.Bytes(j), y.Bytes(j)) {
				return "output " + x.Name
			}
		}
		if x.Type != tensor.Bytes && !bytes.Equal(x.Raw(), y.Raw()) {
			return "output " + x.Name
		}
	}
	return ""
}

// The model server joins requests for a busy model. Then each model must answer a row to the last bit as it does alone, whatever else is
// in the request: with every recorded input, cut into requests of one, two and three rows that are joined as the server joins them.
func TestJoinedRequestsAreAnsweredAsAlone(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "data", "models", "*", "case.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	r := &runner{Options: Options{Engines: Engines(), Out: io.Discard}, summary: &Summary{OutOfScope: map[string]int{}}}
	compared, apart, whole := 0, 0, 0
	for _, path := range paths {
		c, err := readCase(path)
		require.NoError(t, err)
		if r.Engines[c.Format] == nil {
			continue
		}
		m, err := r.open(t.Context(), c)
		if err != nil {
			continue // not served
		}
		if r, ok := m.(engine.RowWise); ok && !r.RowWise() {
			whole++
			continue
		}
		for i := range c.Calls {
			request, err := c.request(&c.Calls[i])
			require.NoError(t, err)
			n, a := joinedAsAlone(t, m, request, c.Name+": "+c.Calls[i].String())
			compared, apart = compared+n, apart+a
		}
		require.NoError(t, m.Close())
	}
	t.Logf("%d parts of joined requests are equal, %d joined requests are predicted apart", compared, apart)
	require.Greater(t, compared, 1000)
	require.Equal(t, 1, whole, "the models that say that their rows belong together: a classifier of scikit-learn 0.20")
	require.Less(t, apart*20, compared, "hardly any is predicted apart, which costs twice")
}

func joinedAsAlone(t *testing.T, m engine.Model, request *tensor.Request, name string) (compared, apart int) {
	t.Helper()
	type piece struct {
		request *tensor.Request
		alone   tensor.Response
	}
	kinds := map[string][]*piece{}
	for first, size := 0, 1; first < request.Inputs[0].Rows(); first, size = first+size, size%3+1 {
		p := &piece{request: part(request, first, min(size, request.Inputs[0].Rows()-first))}
		if m.Predict(t.Context(), p.request, &p.alone) == nil { // one that fails makes the server predict all apart
			kinds[hasNulls(p.request)] = append(kinds[hasNulls(p.request)], p)
		}
	}
	for _, pieces := range kinds {
		var joined tensor.Request
		rows := 0
		for i, p := range pieces {
			if i == 0 {
				joined.Join(p.request)
			} else {
				joined.AppendRows(p.request)
			}
			rows += p.request.Inputs[0].Rows()
		}
		var together, own tensor.Response
		if m.Predict(t.Context(), &joined, &together) != nil || !together.HaveRows(rows) {
			apart++
			continue
		}
		from := 0
		for _, p := range pieces {
			n := p.request.Inputs[0].Rows()
			own.CopyRows(&together, from, n)
			from += n
			require.Empty(t, sameBits(&p.alone, &own), "%s, rows %d to %d of %d", name, from-n, from, rows)
			compared++
		}
	}
	return compared, apart
}
