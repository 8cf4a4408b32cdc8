// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func texts(t *Tensor) (all []string, nulls []Null) {
	for i := range t.Len() {
		all, nulls = append(all, string(t.Bytes(i))), append(nulls, t.Null(i))
	}
	return all, nulls
}

func TestRowsAreJoinedAndTakenApart(t *testing.T) {
	number := func(v ...float32) *Tensor { return From("n", FP32, v, int64(len(v)/2), 2) }
	text := func(v ...string) *Tensor { return FromStrings("s", v, int64(len(v))) }
	first := &Request{ID: "one", Method: "m", Parameters: Parameters{"p": true}, Outputs: []Output{{Name: "o"}}, Inputs: []*Tensor{number(1, 2), text("a")}}
	second := &Request{Inputs: []*Tensor{number(3, 4, 5, 6), text("bb", "")}}
	second.Inputs[1].SetNull(1, None)

	var joined Request
	for range 2 { // the second time in the memory of the first
		joined.Join(first)
		joined.AppendRows(second)
		require.Equal(t, []string{"", "m"}, []string{joined.ID, joined.Method})
		require.Equal(t, Parameters{"p": true}, joined.Parameters)
		require.Equal(t, []Output{{Name: "o"}}, joined.Outputs)
		require.Equal(t, []int64{3, 2}, joined.Inputs[0].Shape)
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, View[float32](joined.Inputs[0]))
		all, nulls := texts(joined.Inputs[1])
		require.Equal(t, []string{"a", "bb", ""}, all)
		require.Equal(t, []Null{Present, Present, None}, nulls)
		require.True(t, joined.Inputs[1].HasNull())
		require.False(t, joined.Inputs[0].HasNull())
	}
	first.Parameters["p"] = false
	require.Equal(t, Parameters{"p": true}, joined.Parameters, "the copy is the request's own")

	answer := &Response{Frame: true, Absent: 1, Outputs: joined.Inputs}
	require.True(t, answer.HaveRows(3))
	require.False(t, answer.HaveRows(2))
	require.False(t, (&Response{}).HaveRows(0))
	var part Response
	part.CopyRows(answer, 1, 2)
	require.Equal(t, []float32{3, 4, 5, 6}, View[float32](part.Outputs[0]))
	all, nulls := texts(part.Outputs[1])
	require.Equal(t, []string{"bb", ""}, all)
	require.Equal(t, []Null{Present, None}, nulls)
	require.True(t, part.Frame)
	require.Equal(t, 1, part.Absent)
	part.CopyRows(answer, 0, 1)
	all, nulls = texts(part.Outputs[1])
	require.Equal(t, []string{"a"}, all)
	require.Equal(t, []Null{Present}, nulls)
}
