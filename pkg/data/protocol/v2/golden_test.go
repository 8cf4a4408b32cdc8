// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

const recordedDir = "../../../../test/data/protocol"

// echo is the model of that name in the recordings: outputs are the inputs.
func echo(req *tensor.Request, model string) *tensor.Response {
	for _, t := range req.Inputs {
		t.Parameters = nil
	}
	return &tensor.Response{ID: req.ID, Model: model, Outputs: req.Inputs}
}

func read(tb testing.TB, folder, group string) []exchange.Exchange {
	tb.Helper()
	all, err := exchange.Read(recordedDir, folder, group)
	require.NoError(tb, err)
	require.NotEmpty(tb, all)
	return all
}

func TestRESTEchoesAsRecorded(t *testing.T) {
	var d Decoder
	for _, e := range read(t, "kserve-custom", "v2-datatypes") {
		if e.HTTP.Path != "/v2/models/echo/infer" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			req, err := d.Decode(e.HTTP.Body, Options{
				Model: "echo", ContentType: e.HTTP.Header("Content-Type"), HeaderLength: e.HTTP.Header(HeaderLength), KeepTextShape: true,
			})
			var body []byte
			status, length := 200, 0
			if err == nil {
				body, length, err = AppendResponse(nil, req, echo(req, "echo"))
			}
			if err != nil {
				body, status = AppendError(nil, err)
			}
			want := exchange.Got{Status: status, Headers: map[string]string{"content-type": "application/json"}, Body: body}
			if length > 0 {
				want.Headers["content-type"] = "application/octet-stream"
				want.Headers["inference-header-content-length"] = strconv.Itoa(length)
			}
			require.NoError(t, e.JudgeHTTP(want))
			if e.Fault == "" {
				require.Equal(t, string(e.Answer.Body), string(body), "byte for byte")
			}
		})
	}
}

func TestFormFaultsAsRecorded(t *testing.T) {
	var d Decoder
	checked := 0
	for _, group := range []string{"v2-infer", "v2-binary"} {
		for _, e := range read(t, "kserve-sklearn", group) {
			if e.HTTP.Header("Content-Encoding") != "" {
				continue // undone before the codec
			}
			t.Run(e.Name, func(t *testing.T) {
				_, err := d.Decode(e.HTTP.Body, Options{
					Model: "iris", ContentType: e.HTTP.Header("Content-Type"), HeaderLength: e.HTTP.Header(HeaderLength),
				})
				if err == nil {
					return // what the model says is the engine's
				}
				checked++
				body, status := AppendError(nil, err)
				require.NoError(t, e.JudgeHTTP(exchange.Got{
					Status: status, Headers: map[string]string{"content-type": "application/json"}, Body: body,
				}))
			})
		}
	}
	require.Greater(t, checked, 60)
}

func TestMessagesEchoAsRecorded(t *testing.T) {
	var d Decoder
	for _, e := range read(t, "kserve-custom", "grpc-datatypes") {
		var in inferencev2.ModelInferRequest
		if protojson.Unmarshal(e.Call.Request, &in) != nil || in.GetModelName() != "echo" {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			req, err := d.DecodeMessage(&in)
			var out *inferencev2.ModelInferResponse
			if err == nil {
				out, err = EncodeMessage(req, echo(req, "echo"), len(in.GetRawInputContents()) > 0)
			}
			if err != nil {
				want := e.Call.Code
				if e.Fault != "" {
					want = e.Better.Code[0]
				}
				require.Equal(t, want, exchange.CodeName(Status(err).Code()))
				return
			}
			require.Equal(t, "OK", e.Call.Code)
			var want inferencev2.ModelInferResponse
			require.NoError(t, protojson.Unmarshal(e.Call.Response, &want))
			require.True(t, proto.Equal(&want, out), "want %v\ngot  %v", &want, out)
		})
	}
}
