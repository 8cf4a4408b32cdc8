// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// TestBytesOfAnyValueGoThrough sends bytes that are no text in both forms and gets them back in both.
func TestBytesOfAnyValueGoThrough(t *testing.T) {
	values := []string{"\xff\x00\xfe", "", "text", "é"}
	const declared = `"parameters":{"content_type":"base64"`
	inJSON := `{"id":"1","inputs":[{"name":"x","shape":[4],"datatype":"BYTES",` + declared + `},"data":["/wD+","","dGV4dA==","w6k="]}]`
	dataFirst := `{"id":"1","inputs":[{"data":[["/wD+",""],["dGV4dA==","w6k="]],"datatype":"BYTES","shape":[4],"name":"x",` + declared + `}}]`
	raw := AppendRaw(nil, tensor.FromStrings("x", values, 4))
	inBinary := fmt.Sprintf(`{"id":"1","inputs":[{"name":"x","shape":[4],"datatype":"BYTES",%s,"binary_data_size":%d}}]`, declared, len(raw))
	for name, c := range map[string]struct{ text, asked, want string }{
		"JSON":           {inJSON, `"outputs":[{"name":"x",` + declared + `}}]}`, `["/wD+","","dGV4dA==","w6k="]`},
		"data first":     {dataFirst, `"outputs":[{"name":"x",` + declared + `}}]}`, `["/wD+","","dGV4dA==","w6k="]`},
		"JSON to binary": {inJSON, `"parameters":{"binary_data_output":true}}`, ""},
		"binary":         {inBinary, `"parameters":{"binary_data_output":true}}`, ""},
		"binary to JSON": {inBinary, `"outputs":[{"name":"x",` + declared + `}}]}`, `["/wD+","","dGV4dA==","w6k="]`},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			options := Options{Model: "m", ContentType: "application/json"}
			body := []byte(c.text + "," + c.asked)
			if c.text == inBinary {
				options.ContentType, options.HeaderLength = "application/octet-stream", fmt.Sprint(len(body))
				body = append(body, raw...)
			}
			req, err := d.Decode(body, options)
			require.NoError(t, err)
			require.Equal(t, len(values), req.Inputs[0].Len())
			for i, v := range values {
				require.Equal(t, v, string(req.Inputs[0].Bytes(i)))
			}
			resp := &tensor.Response{ID: "1", Model: "m"}
			resp.Outputs = append(resp.Outputs, tensor.FromStrings("x", values, 4))
			out, n, err := AppendResponse(nil, req, resp)
			require.NoError(t, err)
			if c.want == "" {
				require.Equal(t, raw, out[n:])
				return
			}
			require.Zero(t, n)
			require.Equal(t, `{"model_name":"m","model_version":null,"id":"1","parameters":null,"outputs":[{"name":"x","shape":[4],"datatype":"BYTES",`+
				`"parameters":{"content_type":"base64"},"data":`+c.want+`}]}`, string(out))
		})
	}
}

func TestBytesThatAreNoTextAreDeclared(t *testing.T) {
	var d Decoder
	_, err := d.Decode([]byte(`{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"content_type":"base64"},"data":["*"]}]}`),
		Options{ContentType: "application/json"})
	require.EqualError(t, err, `input "x": BYTES element 0: expected base64, as the parameter content_type says, got "*"`)

	header := `{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`
	_, err = d.Decode([]byte(header+"\x01\x00\x00\x00\xff"), Options{ContentType: "x", HeaderLength: fmt.Sprint(len(header))})
	require.EqualError(t, err, `input "x": BYTES element 0 is not UTF-8 text: declare bytes that are none with the input's parameter content_type: "base64"`)

	resp := &tensor.Response{ID: "1", Outputs: []*tensor.Tensor{tensor.FromStrings("y", []string{"\xff"}, 1)}}
	_, _, err = AppendResponse(nil, &tensor.Request{}, resp)
	require.EqualError(t, err, `element 0 of output "y" is not UTF-8 text: ask for the binary form, or for base64 with the output's parameter content_type: "base64"`)
	require.Equal(t, protocol.Invalid, protocol.From(err).Code)
}
