// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/testkit/frames"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

const (
	inferMethod = "/inference.GRPCInferenceService/ModelInfer"
	checkMethod = "/grpc.health.v1.Health/Check"
	watchMethod = "/grpc.health.v1.Health/Watch"
)

// mirror answers its input, or a tensor of two megabytes for an empty one.
type mirror struct{}

func (mirror) Metadata() engine.Metadata { return engine.Metadata{Platform: "go"} }
func (mirror) Close() error              { return nil }

func (mirror) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	x := in.Inputs[0]
	if x.Rows() == 0 {
		return out.Add(x.Name, x.Type, 0).SetRaw(x.Name, x.Type, []int64{2 << 20}, make([]byte, 2<<20))
	}
	return out.Add(x.Name, x.Type, 0).SetRaw(x.Name, x.Type, x.Shape, x.Raw())
}

// bytesOf asks the mirror for n bytes.
func bytesOf(n int) *inferencev2.ModelInferRequest {
	return &inferencev2.ModelInferRequest{
		ModelName:        "mirror",
		Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "UINT8", Shape: []int64{int64(n)}}},
		RawInputContents: [][]byte{make([]byte, n)},
	}
}

// impatient is a server that gives clients up soon.
func impatient(t *testing.T, stall time.Duration) *process {
	t.Helper()
	opts := serve.Options{Models: []serve.Model{{Name: "mirror", Model: mirror{}}}, BodyStall: stall, MaxBodies: 6 << 20}
	opts.Server.WriteStall, opts.Server.ReadHeaderTimeout = stall, stall
	p := run(t, opts)
	require.Eventually(t, p.Ready, waitFor, tick)
	return p
}

// A call whose message does not come, or stops on the way, ends its connection; one whose message comes slowly does not.
func TestCallsWhoseMessageDoesNotCome(t *testing.T) {
	const stall = 200 * time.Millisecond
	p := impatient(t, stall)
	for name, c := range map[string]struct {
		method string
		data   []byte
	}{
		"no message":            {inferMethod, nil},
		"half a message":        {inferMethod, frames.Message(make([]byte, 100))[:50]},
		"half a message header": {inferMethod, []byte{0, 0}},
		"a check of the health": {checkMethod, nil},
		"a watch of the health": {watchMethod, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conn := frames.Dial(t, p.GRPCAddr().String())
			require.NoError(t, conn.Send(frames.Headers, frames.EndHeaders, 1, frames.Call(c.method)))
			require.NoError(t, conn.Send(frames.Data, 0, 1, c.data))
			conn.Ended(t, waitFor)
		})
	}
	t.Run("a byte now and then", func(t *testing.T) {
		conn := frames.Dial(t, p.GRPCAddr().String())
		require.NoError(t, conn.Send(frames.Headers, frames.EndHeaders, 1, frames.Call(inferMethod)))
		require.NoError(t, conn.Send(frames.Data, 0, 1, frames.Message(make([]byte, 100_000))[:5]))
		go func() {
			for conn.Send(frames.Data, 0, 1, []byte{10}) == nil {
				time.Sleep(stall / 10)
			}
		}()
		conn.Ended(t, waitFor)
	})
	t.Run("slowly, and whole", func(t *testing.T) {
		const stall = 2 * time.Second
		p := impatient(t, stall)
		conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				return &slowLine{c}, err
			}))
		require.NoError(t, err)
		defer conn.Close()
		began := time.Now()
		out, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), bytesOf(1<<20))
		require.NoError(t, err)
		require.Len(t, out.GetRawOutputContents()[0], 1<<20)
		require.Greater(t, time.Since(began), 2*stall)
	})
}

// slowLine takes its time.
type slowLine struct{ net.Conn }

func (l *slowLine) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * 5 * time.Microsecond)
	return l.Conn.Write(p)
}

// A client that asks for answers and opens no window for them is closed, and what they held is free again.
func TestAnswersThatAreNotTaken(t *testing.T) {
	p := impatient(t, time.Second) // it holds 6 MiB
	client := grpcClient(t, p.GRPCAddr().String())
	big := func() codes.Code {
		_, err := client.ModelInfer(t.Context(), bytesOf(2<<20))
		return status.Code(err)
	}
	require.Equal(t, codes.OK, big())
	text, err := proto.Marshal(bytesOf(0))
	require.NoError(t, err)
	for range 3 { // what is held would pile up
		conn := frames.Dial(t, p.GRPCAddr().String(), frames.InitialWindow, 0)
		for stream := uint32(1); stream <= 5; stream += 2 {
			require.NoError(t, conn.Send(frames.Headers, frames.EndHeaders, stream, frames.Call(inferMethod)))
			require.NoError(t, conn.Send(frames.Data, frames.EndStream, stream, frames.Message(text)))
		}
		require.Eventually(t, func() bool { return big() == codes.ResourceExhausted }, waitFor, tick, "what clients do not take counts")
		conn.Ended(t, waitFor)
	}
	require.Eventually(t, func() bool { return big() == codes.OK }, waitFor, tick)
}

// One that reads slowly gets it all, and one that lets calls overlap is not taken for one that stalls.
func TestSlowCallersAreServed(t *testing.T) {
	const stall = time.Second
	p := impatient(t, stall)
	conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := inferencev2.NewGRPCInferenceServiceClient(conn)
	health, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = health.Recv()
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for end := time.Now().Add(2 * stall); time.Now().Before(end); time.Sleep(time.Duration(i) * stall / 4) {
				out, err := client.ModelInfer(t.Context(), bytesOf(100<<10))
				if err != nil || len(out.GetRawOutputContents()[0]) != 100<<10 {
					t.Errorf("a call beside others: %v", err)
				}
			}
		})
	}
	all.Wait()
	time.Sleep(2 * stall)
	_, err = client.ModelInfer(t.Context(), bytesOf(10))
	require.NoError(t, err, "a connection may be idle, and a stream may last")
	out, err := client.ModelInfer(t.Context(), bytesOf(100<<10), grpc.UseCompressor(gzip.Name))
	require.NoError(t, err)
	require.Len(t, out.GetRawOutputContents()[0], 100<<10)
}

// Floods of what costs a client nothing: the server answers others meanwhile, and its callers' connections end or go on.
func TestFloodsOfFrames(t *testing.T) {
	p := impatient(t, 5*time.Second)
	client := grpcClient(t, p.GRPCAddr().String())
	call := frames.Call(inferMethod)
	field := frames.Block("x-flood", strings.Repeat("y", 16_000))
	for name, send := range map[string]func(c *frames.Conn, i uint32) error{
		"streams that are reset at once": func(c *frames.Conn, i uint32) error {
			if err := c.Send(frames.Headers, frames.EndHeaders, 2*i+1, call); err != nil {
				return err
			}
			return c.Send(frames.Reset, 0, 2*i+1, []byte{0, 0, 0, 8})
		},
		"streams without end": func(c *frames.Conn, i uint32) error {
			return c.Send(frames.Headers, frames.EndHeaders, 2*i+1, call)
		},
		"continuations": func(c *frames.Conn, i uint32) error {
			if i == 0 {
				return c.Send(frames.Headers, 0, 1, call)
			}
			return c.Send(frames.Continuation, 0, 1, field)
		},
		"settings": func(c *frames.Conn, _ uint32) error { return c.Send(frames.Settings, 0, 0, nil) },
		"pings":    func(c *frames.Conn, _ uint32) error { return c.Send(frames.Ping, 0, 0, make([]byte, 8)) },
		"windows":  func(c *frames.Conn, _ uint32) error { return c.Send(frames.WindowUpdate, 0, 0, []byte{0, 0, 0, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := frames.Dial(t, p.GRPCAddr().String())
			go func() { _, _ = io.Copy(io.Discard, c) }()
			flooded := make(chan struct{})
			go func() {
				defer close(flooded)
				for i := range uint32(20_000) {
					if send(c, i) != nil {
						return
					}
				}
			}()
			for range 20 {
				_, err := client.ModelInfer(t.Context(), bytesOf(10))
				require.NoError(t, err)
			}
			<-flooded
		})
	}
}
