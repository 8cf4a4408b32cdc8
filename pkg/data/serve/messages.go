// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec below is made of it
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// bigMessage is the size from which on a message counts in messages.held.
const bigMessage = 1 << 20

// messages reads the requests of gRPC calls and writes the answers. It bounds the memory of all big ones at once, of requests from their first
// byte to the end of their calls, and refuses what is no message as the caller's mistake, where gRPC itself would say that the server failed.
type messages struct {
	encoding.CodecV2

	most     int64 // of held; one message fits always
	held     atomic.Int64
	arrivals arrivals

	// fates are of requests that are big or refused, which few are; few counts them.
	fates sync.Map // from request to fate
	few   atomic.Int64
	calls sync.Pool
}

// fate is what becomes of a request.
type fate struct {
	size    int64
	refusal error
}

// newMessages makes the codec of a server that takes messages up to longest.
func newMessages(most int64, longest int) *messages {
	m := &messages{CodecV2: encoding.GetCodecV2("proto"), most: most}
	// What is whole is counted here too until its call ends, and is refused when it passes most. The other half is for what still arrives, of
	// which one always fits.
	m.arrivals.most = 2 * max(most, int64(longest))
	m.calls.New = func() any {
		c := &receivedCall{messages: m}
		c.receive = c.next
		return c
	}
	return m
}

// Unmarshal implements encoding.CodecV2. A request of the inference service that is refused here is answered by serve: an error of this
// function would be an internal one to the client.
func (m *messages) Unmarshal(data mem.BufferSlice, v any) error {
	switch v.(type) {
	case *inferencev2.ModelInferRequest, *inferencev2.ModelMetadataRequest, *inferencev2.ModelReadyRequest,
		*inferencev2.ServerLiveRequest, *inferencev2.ServerReadyRequest, *inferencev2.ServerMetadataRequest,
		*inferencev2.RepositoryIndexRequest, *inferencev2.RepositoryModelLoadRequest, *inferencev2.RepositoryModelUnloadRequest:
	default:
		return m.CodecV2.Unmarshal(data, v)
	}
	var f fate
	if size := int64(data.Len()); size >= bigMessage {
		if held := m.held.Add(size); held > m.most && held > size {
			m.held.Add(-size)
			f.refusal = status.Errorf(codes.ResourceExhausted, "the server holds %d bytes of messages already; retry later", held-size)
		} else {
			f.size = size
		}
	}
	if f.refusal == nil {
		if err := m.CodecV2.Unmarshal(data, v); err != nil {
			f.refusal = status.Errorf(codes.InvalidArgument, "the request is no message of the type that the method takes: %v", err)
		}
	}
	if f != (fate{}) {
		m.few.Add(1)
		m.fates.Store(v, f)
	}
	return nil
}

// Marshal implements encoding.CodecV2. What is big counts in held until the client has taken it.
func (m *messages) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*answer)
	if !ok {
		return m.CodecV2.Marshal(v)
	}
	data, err := m.CodecV2.Marshal(a.Message)
	if err != nil {
		return nil, err
	}
	size := int64(data.Len())
	if size < bigMessage {
		size = 0
	}
	to := a.to
	began := to.answers.begin()
	to.hold(size)
	paid := func() {
		to.answers.end(began)
		to.hold(-size)
	}
	if !whenTaken(data, paid) {
		paid()
	}
	return data, nil
}

// refusal says why a request that was received is not answered.
func (m *messages) refusal(v any) error {
	if m.few.Load() == 0 {
		return nil
	}
	if f, ok := m.fates.Load(v); ok {
		return f.(fate).refusal
	}
	return nil
}

// ended gives the memory of a request back.
func (m *messages) ended(v any) {
	if v == nil || m.few.Load() == 0 {
		return
	}
	if f, ok := m.fates.LoadAndDelete(v); ok {
		m.held.Add(-f.(fate).size)
		m.few.Add(-1)
	}
}

// receivedCall stands between a method and what receives its request. It is reused, so that calls cost nothing for it.
type receivedCall struct {
	messages *messages
	caller   *caller // nil where it is not known
	from     func(any) error
	receive  func(any) error // next, bound once
	request  any
}

func (c *receivedCall) next(v any) error {
	c.request = v
	if c.caller != nil {
		began := c.caller.requests.begin()
		defer c.caller.requests.end(began)
	}
	if err := c.from(v); err != nil {
		return err
	}
	return c.messages.refusal(v)
}

type method = func(srv any, ctx context.Context, receive func(any) error, around grpc.UnaryServerInterceptor) (any, error)

// guard is a service whose methods know the fate of their requests.
func (s *Server) guard(desc grpc.ServiceDesc) *grpc.ServiceDesc {
	desc.Methods = append([]grpc.MethodDesc(nil), desc.Methods...)
	for i := range desc.Methods {
		desc.Methods[i].Handler = s.guarded(desc.Methods[i].Handler)
	}
	return &desc
}

func (s *Server) guarded(next method) method {
	return func(srv any, ctx context.Context, receive func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
		c := s.messages.calls.Get().(*receivedCall)
		c.from, c.caller = receive, callerOf(ctx)
		out, err := next(srv, ctx, c.receive, around)
		if message, ok := out.(proto.Message); ok && c.caller != nil {
			// Compressed by gRPC, it would be lost sight of. KServe's servers do not compress either.
			_ = grpc.SetSendCompressor(ctx, encoding.Identity)
			out = &answer{message, c.caller}
		}
		if s.messages.refusal(c.request) != nil {
			s.metrics.answered(wireGRPC, int(status.Code(err)))
		}
		s.messages.ended(c.request)
		c.from, c.caller, c.request = nil, nil, nil
		s.messages.calls.Put(c)
		return out, err
	}
}
