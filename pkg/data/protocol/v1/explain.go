// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// AppendExplanations adds the body for an explanation to dst: {"explanations": …} with nested arrays for one output, or with an object of
// the outputs by name for several. It fails on an output that JSON cannot hold.
func AppendExplanations(dst []byte, resp *tensor.Response) ([]byte, error) {
	if err := fits(resp.Outputs, resp.Frame); err != nil {
		return dst, err
	}
	dst = append(dst, `{"explanations":`...)
	var err error
	switch {
	case resp.Frame:
		dst, err = appendRows(dst, resp.Outputs)
	case len(resp.Outputs) == 0:
		dst = append(dst, "null"...)
	case len(resp.Outputs) == 1:
		dst, err = appendNested(dst, resp.Outputs[0], 0, 0, resp.Outputs[0].Len())
	default:
		for i, t := range resp.Outputs {
			dst = append(dst, "{,"[min(i, 1)])
			dst = append(jsontext.AppendString(dst, t.Name), ':')
			if dst, err = appendNested(dst, t, 0, 0, t.Len()); err != nil {
				break
			}
		}
		dst = append(dst, '}')
	}
	if err != nil {
		return dst, protocol.Errorf(protocol.Invalid, "%s", err)
	}
	return append(dst, '}'), nil
}
