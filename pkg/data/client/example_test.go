// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// A prediction of a server that runs elsewhere.
func Example() {
	c, err := client.New(client.Options{URL: "http://localhost:8080", Protocol: client.V2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	in := &tensor.Request{Model: "iris", Inputs: []*tensor.Tensor{tensor.From("input-0", tensor.FP64, []float64{5.1, 3.5, 1.4, 0.2}, 1, 4)}}
	var out tensor.Response
	if err := c.Predict(context.Background(), in, &out); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Outputs[0].Float64(0))
}
