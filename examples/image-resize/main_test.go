// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/examples/exampletest"
	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// painter is a predictor that says of which colour pictures are.
type painter struct{ shape []int64 }

func (p painter) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	pictures := in.Inputs[0]
	if len(pictures.Shape) != 4 || fmt.Sprint(pictures.Shape[1:]) != fmt.Sprint(p.shape) {
		return protocol.Errorf(protocol.Invalid, "expected pictures of shape %v, got %v", p.shape, pictures.Shape)
	}
	values, _ := pictures.AppendFloat64s(nil)
	labels := out.Add("output-0", tensor.Bytes, pictures.Shape[0])
	for size := len(values) / pictures.Rows(); len(values) > 0; values = values[size:] {
		best := 0
		for k := range 3 {
			if values[k] > values[best] {
				best = k
			}
		}
		labels.AppendString([]string{"red", "green", "blue"}[best])
	}
	return nil
}

func picture(t *testing.T, width, height int, c color.Color) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		m.Set(i%width, i/width, c)
	}
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, m))
	return file.Bytes()
}

func TestPicturesBecomeLabels(t *testing.T) {
	m, err := serve.NewModel(painter{shape: []int64{4, 6, 3}})
	require.NoError(t, err)
	predictor := exampletest.Start(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}})
	red, blue := picture(t, 50, 20, color.RGBA{R: 250, G: 10, A: 255}), picture(t, 3, 200, color.RGBA{B: 200, A: 255})
	for _, to := range exampletest.Protocols() {
		s := exampletest.Transformer(t, resize{width: 6, height: 4}, "", predictor, to)
		t.Run("to "+string(to), func(t *testing.T) {
			// The convention of V1: an object with the picture's base64.
			body := fmt.Sprintf(`{"instances":[{"image":{"b64":%q}},{"image":{"b64":%q}}]}`, base64.StdEncoding.EncodeToString(red), base64.StdEncoding.EncodeToString(blue))
			resp, err := http.Post(s.URL+"/v1/models/m:predict", "application/json", strings.NewReader(body))
			require.NoError(t, err)
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, `{"predictions":["red","blue"]}`, string(answer))

			// V2: base64 in JSON, and the files themselves over gRPC.
			for p, files := range map[client.Protocol][]string{
				client.V2:   {base64.StdEncoding.EncodeToString(blue), base64.StdEncoding.EncodeToString(red)},
				client.GRPC: {string(blue), string(red)},
			} {
				var out tensor.Response
				in := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.FromStrings("image", files, 2)}}
				require.NoError(t, s.Client(t, p).Predict(t.Context(), in, &out))
				require.Equal(t, "blue red", string(out.Outputs[0].Bytes(0))+" "+string(out.Outputs[0].Bytes(1)))
				require.Equal(t, "label", out.Outputs[0].Name)
			}
		})
	}
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	predictor := exampletest.Start(t, serve.Options{})
	s := exampletest.Transformer(t, resize{width: 6, height: 4}, "", predictor, client.V2)
	in := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.FromStrings("image", []string{"text"}, 1)}}
	err := s.Client(t, client.GRPC).Predict(t.Context(), in, &tensor.Response{})
	require.ErrorContains(t, err, "picture 0: image: unknown format")
	require.Equal(t, protocol.Invalid, protocol.From(err).Code)

	// A few bytes that claim to be a huge picture are not believed.
	huge := picture(t, 1, 1, color.White)
	copy(huge[16:24], "\x00\x01\x00\x00\x00\x01\x00\x00")
	_, err = decode(huge)
	require.Error(t, err)
}

func TestScale(t *testing.T) {
	half := image.NewGray(image.Rect(5, 5, 9, 7)) // 4 by 2, not at the origin
	for x := 5; x < 7; x++ {
		half.SetGray(x, 5, color.Gray{Y: 255})
		half.SetGray(x, 6, color.Gray{Y: 255})
	}
	out := make([]float32, 2*3)
	resize{width: 2, height: 1}.scale(half, out)
	require.Equal(t, []float32{1, 1, 1, 0, 0, 0}, out)
	out = make([]float32, 8*4*3)
	resize{width: 8, height: 4}.scale(half, out)
	require.Equal(t, float32(1), out[0])
	require.Equal(t, float32(0), out[len(out)-1])
}
