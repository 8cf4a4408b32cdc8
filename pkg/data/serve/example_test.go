// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// mean is a model written in Go: it answers the mean of each row.
type mean struct{}

func (mean) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	values, ok := in.Inputs[0].AppendFloat64s(nil)
	if !ok || len(in.Inputs[0].Shape) != 2 || in.Inputs[0].Shape[1] == 0 {
		return protocol.Errorf(protocol.Invalid, "expected rows of numbers")
	}
	rows, columns := in.Inputs[0].Rows(), int(in.Inputs[0].Shape[1])
	means := tensor.View[float64](out.Add("output-0", tensor.FP64, int64(rows)))
	for i := range rows {
		means[i] = 0
		for _, v := range values[i*columns : (i+1)*columns] {
			means[i] += v / float64(columns)
		}
	}
	return nil
}

// A type with one method gets the whole server. A program of its own is serve.Run(mean{}); here the handler is mounted on a test server.
func Example_customModel() {
	model, err := serve.NewModel(mean{})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := serve.New(serve.Options{})
	if err := server.Add(context.Background(), serve.Model{Name: "mean", Model: model}); err != nil {
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	resp, err := http.Post(web.URL+"/v1/models/mean:predict", "application/json", strings.NewReader(`{"instances":[[1,2,3],[4,5,6]]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(answer))
	// Output: 200 {"predictions":[2.0,5.0]}
}
