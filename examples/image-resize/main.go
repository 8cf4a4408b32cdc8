// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image-resize is a transformer: clients send PNG, JPEG or GIF pictures of any size, the predictor gets numbers of one shape.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"os"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// maxPixels bounds a picture: a small file may say that it is a huge one.
const maxPixels = 64 << 20

// resize makes pictures of one size.
type resize struct{ width, height int }

// Preprocess takes a column of pictures and makes an FP32 array of shape [pictures, height, width, 3] of them, with colours from 0 to 1.
// A picture is the file's bytes, or their base64: {"instances": [{"image": {"b64": "…"}}]}.
func (r resize) Preprocess(_ context.Context, in *tensor.Request) (*tensor.Request, error) {
	if len(in.Inputs) != 1 || in.Inputs[0].Type != tensor.Bytes {
		return nil, protocol.Errorf(protocol.Invalid, "expected one list of pictures")
	}
	files := in.Inputs[0]
	size := r.width * r.height * 3
	pixels := make([]float32, files.Len()*size)
	for i := range files.Len() {
		picture, err := decode(files.Bytes(i))
		if err != nil {
			return nil, protocol.Errorf(protocol.Invalid, "picture %d: %s", i, err)
		}
		r.scale(picture, pixels[i*size:(i+1)*size])
	}
	return &tensor.Request{Inputs: []*tensor.Tensor{
		tensor.From("input-0", tensor.FP32, pixels, int64(files.Len()), int64(r.height), int64(r.width), 3),
	}}, nil
}

// Postprocess gives what the predictor answers the name that clients of this model know.
func (r resize) Postprocess(_ context.Context, answer *tensor.Response) (*tensor.Response, error) {
	for _, t := range answer.Outputs {
		if t.Name == "output-0" {
			t.Name = "label"
		}
	}
	return answer, nil
}

// decode reads the bytes of a file, or their base64.
func decode(file []byte) (image.Image, error) {
	plain := make([]byte, base64.StdEncoding.DecodedLen(len(file)))
	if n, err := base64.StdEncoding.Decode(plain, file); err == nil {
		file = plain[:n]
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	if size.Height > 0 && size.Width > maxPixels/size.Height {
		return nil, protocol.Errorf(protocol.TooLarge, "%d times %d pixels are too many", size.Width, size.Height)
	}
	picture, _, err := image.Decode(bytes.NewReader(file))
	return picture, err
}

// scale writes the mean colour of the part of the picture that each pixel stands for.
func (r resize) scale(picture image.Image, out []float32) {
	from := picture.Bounds()
	for y := range r.height {
		top, bottom := part(y, r.height, from.Dy())
		for x := range r.width {
			left, right := part(x, r.width, from.Dx())
			var sum [3]float64
			for py := top; py < bottom; py++ {
				for px := left; px < right; px++ {
					red, green, blue, _ := picture.At(from.Min.X+px, from.Min.Y+py).RGBA()
					sum[0] += float64(red)
					sum[1] += float64(green)
					sum[2] += float64(blue)
				}
			}
			count := float64((bottom - top) * (right - left))
			for k, v := range sum {
				out[(y*r.width+x)*3+k] = float32(v / count / 0xffff)
			}
		}
	}
}

// part is which of length old pixels the new pixel at of count stands for: at least one.
func part(at, count, length int) (from, to int) {
	from = at * length / count
	return from, max(from+1, (at+1)*length/count)
}

func main() { os.Exit(serve.RunTransformer(resize{width: 32, height: 32})) }
