// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

const irisJSON = `{"id":"1","inputs":[{"name":"input-0","shape":[1,4],"datatype":"FP64","data":[5.1,3.5,1.4,0.2]}]}`

// irisBinary is one row of FP32 in the binary form, and the length of its JSON part.
func irisBinary(rows int) ([]byte, Options) {
	header := fmt.Sprintf(`{"id":"1","parameters":{"binary_data_output":true},"inputs":[{"name":"input-0","shape":[%d,4],"datatype":"FP32",`+
		`"parameters":{"binary_data_size":%d}}]}`, rows, rows*16)
	body := []byte(header)
	for range rows {
		for _, v := range []float32{5.1, 3.5, 1.4, 0.2} {
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(v))
		}
	}
	return body, Options{Model: "iris", ContentType: "application/octet-stream", HeaderLength: fmt.Sprint(len(header))}
}

func labels(rows int) *tensor.Response {
	return &tensor.Response{
		ID: "1", Model: "iris",
		Outputs: []*tensor.Tensor{tensor.From("output-0", tensor.Int64, make([]int64, rows), int64(rows))},
	}
}

func BenchmarkIrisOneRowJSON(b *testing.B) {
	benchmark(b, []byte(irisJSON), Options{Model: "iris", ContentType: "application/json"}, labels(1))
}

func BenchmarkThousandRowsJSON(b *testing.B) {
	body := strings.Replace(irisJSON, "[1,4]", "[1000,4]", 1)
	body = strings.Replace(body, "5.1,3.5,1.4,0.2", strings.Repeat("5.1,3.5,1.4,0.2,", 999)+"5.1,3.5,1.4,0.2", 1)
	benchmark(b, []byte(body), Options{Model: "iris", ContentType: "application/json"}, labels(1000))
}

func BenchmarkIrisOneRowBinary(b *testing.B) {
	body, options := irisBinary(1)
	benchmark(b, body, options, labels(1))
}

func BenchmarkMegabyteBinary(b *testing.B) {
	body, options := irisBinary(1 << 16)
	benchmark(b, body, options, labels(1))
}

func benchmark(b *testing.B, body []byte, options Options, resp *tensor.Response) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	var d Decoder
	var out []byte
	for b.Loop() {
		req, err := d.Decode(body, options)
		if err != nil {
			b.Fatal(err)
		}
		if out, _, err = AppendResponse(out[:0], req, resp); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIrisOneRowMessage(b *testing.B) {
	in := &inferencev2.ModelInferRequest{
		ModelName: "iris", Id: "1",
		Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "input-0", Datatype: "FP32", Shape: []int64{1, 4},
			Contents: &inferencev2.InferTensorContents{Fp32Contents: []float32{5.1, 3.5, 1.4, 0.2}},
		}},
	}
	resp := labels(1)
	b.ReportAllocs()
	var d Decoder
	for b.Loop() {
		req, err := d.DecodeMessage(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err = EncodeMessage(req, resp, false); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOneRowAllocatesOnlyItsStrings(t *testing.T) {
	var d Decoder
	options := Options{Model: "iris", ContentType: "application/json"}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		if _, err := d.Decode([]byte(irisJSON), options); err != nil {
			t.Fatal(err)
		}
	}), 2.0)
}
