// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// client opens one connection and returns what asks once on it.
type client func(ctx context.Context) (ask func() error, closed func(), err error)

// result is one measurement.
type result struct {
	rate float64
	p99  time.Duration
	cpu  time.Duration // of the server, for one request
}

// measure asks on conns connections at once for the duration, after a short time that does not count.
func measure(ctx context.Context, of subject, conns int, duration time.Duration) (result, error) {
	const warm = 300 * time.Millisecond
	var all sync.WaitGroup
	var mu sync.Mutex
	var latencies []time.Duration
	var failed error
	counting := time.Now().Add(warm)
	end := counting.Add(duration)
	for range conns {
		all.Go(func() {
			mine, err := askUntil(ctx, of.client, counting, end)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, mine...)
			if err != nil {
				failed = err
			}
		})
	}
	time.Sleep(time.Until(counting))
	before, err := of.server.cpu()
	if err != nil {
		return result{}, err
	}
	time.Sleep(time.Until(end))
	after, err := of.server.cpu()
	all.Wait()
	switch {
	case failed != nil:
		return result{}, failed
	case err != nil:
		return result{}, err
	case len(latencies) == 0:
		return result{}, fmt.Errorf("no answer in %s", duration)
	}
	slices.Sort(latencies)
	return result{
		rate: float64(len(latencies)) / duration.Seconds(),
		p99:  latencies[len(latencies)*99/100],
		cpu:  (after - before) / time.Duration(len(latencies)),
	}, nil
}

func askUntil(ctx context.Context, c client, counting, end time.Time) ([]time.Duration, error) {
	ask, closed, err := c(ctx)
	if err != nil {
		return nil, err
	}
	defer closed()
	var latencies []time.Duration
	for began := time.Now(); began.Before(end); {
		if err := ask(); err != nil {
			return latencies, err
		}
		now := time.Now()
		if began.After(counting) {
			latencies = append(latencies, now.Sub(began))
		}
		began = now
	}
	return latencies, ctx.Err()
}

// post is a client that costs little: it writes the same bytes again and again.
func post(port, path, contentType, body string) client {
	var request bytes.Buffer
	fmt.Fprintf(&request, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, contentType, len(body), body)
	return func(ctx context.Context) (func() error, func(), error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return nil, nil, fmt.Errorf("connect: %w", err)
		}
		reader := bufio.NewReader(conn)
		ask := func() error {
			if _, err := conn.Write(request.Bytes()); err != nil {
				return fmt.Errorf("ask: %w", err)
			}
			resp, err := http.ReadResponse(reader, nil)
			if err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				return fmt.Errorf("answered %s: %s", resp.Status, text)
			}
			return nil
		}
		return ask, func() { _ = conn.Close() }, nil
	}
}

func infer(port string, request *inferencev2.ModelInferRequest) client {
	return func(ctx context.Context) (func() error, func(), error) {
		conn, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, nil, fmt.Errorf("connect: %w", err)
		}
		c := inferencev2.NewGRPCInferenceServiceClient(conn)
		ask := func() error {
			if _, err := c.ModelInfer(ctx, request); err != nil {
				return fmt.Errorf("infer: %w", err)
			}
			return nil
		}
		return ask, func() { _ = conn.Close() }, nil
	}
}

const (
	predictPath, inferPath = "/v1/models/iris:predict", "/v2/models/iris/infer"
	jsonType               = "application/json"
	v1Body                 = `{"instances":[[5.1,3.5,1.4,0.2]]}`
	v2Body                 = `{"inputs":[{"name":"input-0","shape":[1,4],"datatype":"FP32","data":[5.1,3.5,1.4,0.2]}]}`
)

// rowList is n rows of flowers in JSON.
func rowList(n int) string {
	var b bytes.Buffer
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "[%.1f,%.1f,%.1f,%.1f]", 4.3+float64(i%36)/10, 2+float64(i%24)/10, 1+float64(i%59)/10, 0.1+float64(i%24)/10)
	}
	return b.String()
}

func manyRows(n int) string { return `{"instances":[` + rowList(n) + `]}` }

// mebibyte is a request with a tensor of 1 MiB behind its JSON, whose answer is binary too.
func mebibyte() (body, contentType, header string) {
	const n = 1 << 15
	head := fmt.Sprintf(`{"inputs":[{"name":"input-0","shape":[%d,4],"datatype":"FP64","parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, n, n*32)
	return head + string(make([]byte, n*32)), "application/octet-stream", strconv.Itoa(len(head))
}

// rawMessage is the same for gRPC.
func rawMessage() *inferencev2.ModelInferRequest {
	const n = 1 << 15
	return &inferencev2.ModelInferRequest{
		ModelName:        "identity",
		Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "input-0", Datatype: "FP64", Shape: []int64{n, 4}}},
		RawInputContents: [][]byte{make([]byte, n*32)},
	}
}

func smallMessage() *inferencev2.ModelInferRequest {
	return &inferencev2.ModelInferRequest{
		ModelName: "iris",
		Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "input-0", Datatype: "FP32", Shape: []int64{1, 4},
			Contents: &inferencev2.InferTensorContents{Fp32Contents: []float32{5.1, 3.5, 1.4, 0.2}},
		}},
	}
}

// kinds are the cases.
func kinds(f *field) []kind {
	ask := func(name, path, body string) kind {
		return kind{name, subject{f.bare, post(f.ports[0], path, jsonType, body)}, subject{f.ours, post(f.ports[2], path, jsonType, body)}}
	}
	binary, binaryType, header := mebibyte()
	binaryType += "\r\nInference-Header-Content-Length: " + header
	return []kind{
		ask(kindV1, predictPath, v1Body),
		ask("v1, 100 rows", predictPath, manyRows(100)),
		ask(kindV2, inferPath, v2Body),
		{kindGRPC, subject{f.bare, infer(f.ports[1], smallMessage())}, subject{f.ours, infer(f.ports[3], smallMessage())}},
		{
			kindV2MiB,
			subject{f.bare, post(f.ports[0], "/mirror", binaryType, binary)},
			subject{f.identity, post(f.ports[4], "/v2/models/identity/infer", binaryType, binary)},
		},
		{kindRawMiB, subject{f.bare, infer(f.ports[1], rawMessage())}, subject{f.identity, infer(f.ports[5], rawMessage())}},
	}
}

// pythonKinds ask the Python server.
func pythonKinds(f *field) map[string]client {
	return map[string]client{
		kindV1:   post(f.ports[6], predictPath, jsonType, v1Body),
		kindV2:   post(f.ports[6], inferPath, jsonType, v2Body),
		kindGRPC: infer(f.ports[7], smallMessage()),
	}
}
