// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
	"github.com/kserve-go/kserve-go/test/process"
)

// exchange is one request and its answer as a person reads them, with the numbers of the answer.
type exchange struct {
	name, request, answer string
	numbers               []float64
	took                  time.Duration
}

func demo(ctx context.Context, o options, out io.Writer) (err error) {
	golden, err := process.ReadGolden(o.path(o.golden))
	if err != nil {
		return err
	}
	if o.binary == "" {
		dir, err := os.MkdirTemp("", "kserve-demo-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		fmt.Fprintln(out, "building kserve ...")
		if o.binary, err = process.Build(ctx, o.root, "kserve", dir); err != nil {
			return err
		}
	}
	start := time.Now()
	server, err := process.Start(ctx, process.Options{Binary: o.binary, Root: o.root, Args: []string{"-f", o.path(o.file)}, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := server.Stop(); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("stop kserve: %w", stopErr))
		}
	}()
	fmt.Fprintf(out, "kserve run -f %s: serving after %s on %s and %s\n", o.file, time.Since(start).Round(time.Millisecond), server.URL, server.GRPC)

	passed, failed := 0, 0
	for _, ask := range []func(context.Context, *process.Server, *process.Golden) (*exchange, error){askV1, askV2, askGRPC} {
		x, err := ask(ctx, server, golden)
		fmt.Fprintf(out, "\n%s\n  request  %s\n", x.name, x.request)
		if err == nil {
			fmt.Fprintf(out, "  answer   %s\n  latency  %s\n", x.answer, x.took.Round(10*time.Microsecond))
			err = golden.Compare(x.numbers)
		}
		if err != nil {
			failed++
			fmt.Fprintf(out, "  FAILED   %v\n", err)
			continue
		}
		passed++
		fmt.Fprintf(out, "  equal to %s: %s\n", golden.Library, compact(golden.Predictions))
	}
	fmt.Fprintf(out, "\n%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d answers differ from the model's own predictions", failed)
	}
	return ctx.Err()
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func askV1(ctx context.Context, s *process.Server, g *process.Golden) (*exchange, error) {
	x := &exchange{name: "V1 REST"}
	var answer struct{ Predictions json.RawMessage }
	err := post(ctx, x, s.URL+"/v1/models/"+g.Service+":predict", map[string]any{"instances": g.Request.Instances}, &answer)
	if err != nil {
		return x, err
	}
	x.numbers, err = process.Flatten(answer.Predictions)
	return x, err
}

func flat(rows [][]float64) []float64 {
	var all []float64
	for _, r := range rows {
		all = append(all, r...)
	}
	return all
}

func shape(g *process.Golden) []int64 {
	return []int64{int64(len(g.Request.Instances)), int64(len(g.Request.Instances[0]))}
}

func askV2(ctx context.Context, s *process.Server, g *process.Golden) (*exchange, error) {
	x := &exchange{name: "V2 REST"}
	var answer struct {
		Outputs []struct {
			Datatype string
			Data     json.RawMessage
		}
	}
	err := post(ctx, x, s.URL+"/v2/models/"+g.Service+"/infer", map[string]any{"inputs": []any{map[string]any{
		"name": "input-0", "shape": shape(g), "datatype": "FP64", "data": flat(g.Request.Instances),
	}}}, &answer)
	switch {
	case err != nil:
		return x, err
	case len(answer.Outputs) != 1 || answer.Outputs[0].Datatype != g.Datatype:
		return x, fmt.Errorf("one output of type %s is expected", g.Datatype)
	}
	x.numbers, err = process.Flatten(answer.Outputs[0].Data)
	return x, err
}

func post(ctx context.Context, x *exchange, url string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	x.request = "POST " + url + " " + string(raw)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	start := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	x.took, x.answer = time.Since(start), response.Status+" "+string(answer)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s: %s", response.Status, answer)
	}
	return json.Unmarshal(answer, into)
}

func askGRPC(ctx context.Context, s *process.Server, g *process.Golden) (*exchange, error) {
	x := &exchange{name: "V2 gRPC"}
	request := &inferencev2.ModelInferRequest{ModelName: g.Service, Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
		Name: "input-0", Shape: shape(g), Datatype: "FP64",
		Contents: &inferencev2.InferTensorContents{Fp64Contents: flat(g.Request.Instances)},
	}}}
	text, err := protojson.Marshal(request)
	if err != nil {
		return x, err
	}
	x.request = "ModelInfer " + s.GRPC + " " + compact(text)
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return x, err
	}
	defer conn.Close()
	start := time.Now()
	response, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, request)
	x.took = time.Since(start)
	if err != nil {
		return x, err
	}
	if text, err = protojson.Marshal(response); err != nil {
		return x, err
	}
	x.answer = compact(text)
	if len(response.GetOutputs()) != 1 || response.GetOutputs()[0].GetDatatype() != g.Datatype {
		return x, fmt.Errorf("one output of type %s is expected", g.Datatype)
	}
	contents := response.GetOutputs()[0].GetContents()
	x.numbers = append(x.numbers, contents.GetFp64Contents()...)
	for _, v := range contents.GetInt64Contents() {
		x.numbers = append(x.numbers, float64(v))
	}
	for _, v := range contents.GetFp32Contents() {
		x.numbers = append(x.numbers, float64(v))
	}
	return x, nil
}
