// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
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

// Requests that have not come whole count too: where they would take too much memory, the connection that brings more is closed, whether it is
// in one big message, in many, or in frames of a byte. Others go on, and the room is free again.
func TestRequestsThatAreArrivingHaveAJointBound(t *testing.T) {
	const most = 4 << 20 // of one message, and twice as much of all beyond 256 KiB of each connection
	server := serve.Options{Models: []serve.Model{{Name: "mirror", Model: mirror{}}}, MaxBodies: most, MaxGRPCReceive: most}
	p := run(t, server)
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	half := frames.Message(make([]byte, most-100))[:most-100]
	send := func(c *frames.Conn, stream uint32, text []byte, piece int) (err error) {
		if err = c.Send(frames.Headers, frames.EndHeaders, stream, frames.Call(inferMethod)); err != nil {
			return err
		}
		for len(text) > 0 && err == nil {
			n := min(piece, len(text))
			err = c.Send(frames.Data, 0, stream, text[:n])
			text = text[n:]
		}
		return err
	}
	for name, fill := range map[string]func(c *frames.Conn) error{
		"one message a connection": func(c *frames.Conn) error {
			if err := send(c, 1, half[:5], 5); err != nil {
				return err
			}
			for f, err := c.Next(); f.Kind != frames.WindowUpdate || f.Stream != 1; f, err = c.Next() {
				if err != nil {
					return err
				}
			}
			for rest := half[5:]; len(rest) > 0; {
				n := min(16<<10, len(rest))
				if err := c.Send(frames.Data, 0, 1, rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		},
		"many calls": func(c *frames.Conn) error {
			for i := range uint32(20) {
				if err := send(c, 2*i+1, half[:900<<10], 16<<10); err != nil {
					return err
				}
			}
			return nil
		},
		"frames of a byte": func(c *frames.Conn) error { return send(c, 1, half[:100_000], 1) },
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan struct{}, 4)
			var all sync.WaitGroup
			var conns []*frames.Conn
			for range cap(closed) {
				c := frames.Dial(t, p.GRPCAddr().String())
				conns = append(conns, c)
				all.Go(func() {
					for err := fill(c); err == nil; { // until the server closes it, or the test does
						_, err = c.Next()
					}
					closed <- struct{}{}
				})
			}
			select {
			case <-closed:
			case <-time.After(waitFor):
				t.Error("no connection was closed")
			}
			_, err := client.ModelInfer(t.Context(), bytesOf(1<<10))
			require.NoError(t, err, "a small call goes on")
			for _, c := range conns {
				require.NoError(t, c.Close())
			}
			all.Wait()
			require.Eventually(t, func() bool {
				_, err := client.ModelInfer(t.Context(), bytesOf(most-1000))
				return err == nil
			}, waitFor, tick, "there is room again")
		})
	}
}

// The gRPC server of a program that has listeners of its own is as patient as one of Run, and no more.
func TestAListenerOfOnesOwnHasTheLimits(t *testing.T) {
	_, conn := onPorts(t, mirror{}, serve.Options{BodyStall: 200 * time.Millisecond})
	c := frames.Dial(t, conn.Target())
	require.NoError(t, c.Send(frames.Headers, frames.EndHeaders, 1, frames.Call(inferMethod)))
	c.Ended(t, waitFor)
}

// Connections have one limit, over REST, gRPC and sockets; one more is closed, and there is a place again when another ends.
func TestConnectionsHaveAJointLimit(t *testing.T) {
	opts := serve.Options{}
	opts.Server.MaxConnections = 3
	socket := filepath.Join(t.TempDir(), "s")
	opts.Server.HTTPSocket.Addr = socket
	p := run(t, opts)
	http.DefaultClient.CloseIdleConnections()
	rest, grpc := p.HTTPAddr().String(), p.GRPCAddr().String()
	dial := func(network, addr string) net.Conn {
		c, err := net.Dial(network, addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.SetDeadline(time.Now().Add(waitFor)))
		return c
	}
	answers := func(c net.Conn) bool {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return false
		}
		_, err := c.Read(make([]byte, 1))
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
		return err == nil
	}
	refused := func(c net.Conn) bool {
		_, err := c.Read(make([]byte, 1))
		return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	}
	var first net.Conn
	require.Eventually(t, func() bool { first = dial("tcp", rest); return answers(first) }, waitFor, tick)
	require.True(t, answers(dial("unix", socket)))
	third := frames.Dial(t, grpc)
	f, err := third.Next()
	require.NoError(t, err)
	require.EqualValues(t, frames.Settings, f.Kind)
	for range 20 {
		require.True(t, refused(dial("tcp", rest)))
		require.True(t, refused(dial("tcp", grpc)))
		require.True(t, refused(dial("unix", socket)))
	}
	require.True(t, answers(first), "those that are there go on")
	require.NoError(t, third.Close())
	require.Eventually(t, func() bool { return answers(dial("tcp", rest)) }, waitFor, tick)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool {
		c := dial("tcp", grpc)
		_, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		return err == nil && !refused(c)
	}, waitFor, tick)
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
