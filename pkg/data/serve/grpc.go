// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// maxStreams bounds the calls that one client connection may have open.
const maxStreams = 1000

// maxMetadata bounds the metadata of one call, as httpserver does a request's header.
const maxMetadata = 64 << 10

// GRPC makes a gRPC server with the inference, the health and the reflection service, and with every limit of Options, whatever listener it is
// served on. A listener may hand out connections that have a TLS handshake to do, as tls.NewListener's do.
func (s *Server) GRPC() *grpc.Server {
	to := grpc.NewServer(append(s.wayIn(),
		grpc.ForceServerCodecV2(s.messages),
		grpc.MaxRecvMsgSize(s.opts.MaxGRPCReceive),
		grpc.MaxSendMsgSize(s.opts.MaxGRPCSend),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxMetadata),
		grpc.ConnectionTimeout(s.opts.Server.ReadHeaderTimeout),
		grpc.UnaryInterceptor(s.aroundCall),
		grpc.StreamInterceptor(s.aroundStream),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return status.Error(codes.Unimplemented, "Method not found!")
		}),
	)...)
	to.RegisterService(s.guard(inferencev2.GRPCInferenceService_ServiceDesc), &service{server: s})
	to.RegisterService(s.guard(grpc_health_v1.Health_ServiceDesc), &healthService{Server: s.health, server: s})
	reflection.Register(to)
	return to
}

// aroundCall turns a panic into an internal error, and tells how the call went.
func (s *Server) aroundCall(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	c := call{method: info.FullMethod, began: time.Now()}
	if s.opts.Tracer != nil {
		ctx, c.span = s.traceCall(ctx, c.method, c.began)
	}
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p, info.FullMethod)
			resp, err = nil, status.Error(codes.Internal, "Internal server error")
		}
		s.called(ctx, c, req, err)
	}()
	return next(ctx, req)
}

// aroundStream ends streams that have no end of their own, the watching of health, when draining begins: they would hold the drain up.
func (s *Server) aroundStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	c := call{method: info.FullMethod, began: time.Now()}
	if s.opts.Tracer != nil {
		ctx, c.span = s.traceCall(ctx, c.method, c.began)
	}
	defer context.AfterFunc(s.lasting, cancel)()
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p, info.FullMethod)
			err = status.Error(codes.Internal, "Internal server error")
		}
		s.called(ctx, c, nil, err)
	}()
	return next(srv, &endingStream{ServerStream: stream, ctx: ctx})
}

type endingStream struct {
	grpc.ServerStream
	ctx   context.Context //nolint:containedctx // a stream has a context: this one ends sooner
	begun bool
}

// RecvMsg implements grpc.ServerStream. The first message is waited for as the request of a call is.
func (s *endingStream) RecvMsg(v any) error {
	if c := callerOf(s.ctx); c != nil && !s.begun {
		s.begun = true
		began := c.requests.begin()
		defer c.requests.end(began)
	}
	return s.ServerStream.RecvMsg(v)
}

// Context implements grpc.ServerStream.
func (s *endingStream) Context() context.Context { return s.ctx }

// tellHealth brings the gRPC health service up to date.
func (s *Server) tellHealth() {
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if s.Ready() {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", state)
	s.health.SetServingStatus(inferencev2.GRPCInferenceService_ServiceDesc.ServiceName, state)
}

// healthService is the health service, which asks on a Check what cannot tell by itself that it changed: a predictor, or a model with a
// readiness of its own.
type healthService struct {
	*health.Server

	server *Server
}

// Check implements grpc_health_v1.HealthServer.
func (h *healthService) Check(ctx context.Context, in *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	resp, err := h.Server.Check(ctx, in)
	if err == nil && resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING && h.server.readyNow(ctx) != nil {
		resp.Status = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return resp, err
}

// service is the gRPC face of a Server.
type service struct {
	inferencev2.UnimplementedGRPCInferenceServiceServer

	server *Server
}

func (g *service) refuse(ctx context.Context, m *repository.Loaded, err error) error {
	e := v2.Status(err)
	switch known := protocol.From(err); {
	case known.Code == protocol.TooMany, known.Code == protocol.Unavailable && known.RetryAfter > 0:
		seconds := retryAfter(m, err)
		_ = grpc.SetTrailer(ctx, metadata.Pairs("retry-after", strconv.Itoa(seconds)))
		e = retryIn(e, time.Duration(seconds)*time.Second)
	case e.Code() == codes.Internal:
		g.server.log.Error("a prediction failed", zap.NamedError("cause", errors.Unwrap(protocol.From(err))), zap.Error(err))
	}
	return e.Err()
}

// ServerLive implements the inference service.
func (g *service) ServerLive(context.Context, *inferencev2.ServerLiveRequest) (*inferencev2.ServerLiveResponse, error) {
	return &inferencev2.ServerLiveResponse{Live: true}, nil
}

// ServerReady implements the inference service.
func (g *service) ServerReady(ctx context.Context, _ *inferencev2.ServerReadyRequest) (*inferencev2.ServerReadyResponse, error) {
	return &inferencev2.ServerReadyResponse{Ready: g.server.readyNow(ctx) == nil}, nil
}

// version is the version that a call means: a model without versions is served whatever the call says.
func (g *service) version(name, version string) string {
	if version != "" && g.server.models.Versions(name) == nil {
		return ""
	}
	return g.server.pin(name, version)
}

// ModelReady implements the inference service.
func (g *service) ModelReady(ctx context.Context, in *inferencev2.ModelReadyRequest) (*inferencev2.ModelReadyResponse, error) {
	entry, err := g.server.models.Status(in.GetName(), g.version(in.GetName(), in.GetVersion()))
	if err != nil {
		return nil, g.refuse(ctx, nil, err)
	}
	ready := entry.State == repository.Ready && g.server.dependencyReady(ctx, in.GetName(), g.version(in.GetName(), in.GetVersion())) == nil
	return &inferencev2.ModelReadyResponse{Ready: ready}, nil
}

// ServerMetadata implements the inference service.
func (g *service) ServerMetadata(context.Context, *inferencev2.ServerMetadataRequest) (*inferencev2.ServerMetadataResponse, error) {
	m := serverMetadata()
	return &inferencev2.ServerMetadataResponse{Name: m.Name, Version: m.Version, Extensions: m.Extensions}, nil
}

// ModelMetadata implements the inference service.
func (g *service) ModelMetadata(ctx context.Context, in *inferencev2.ModelMetadataRequest) (*inferencev2.ModelMetadataResponse, error) {
	m, err := g.server.metadata(in.GetName(), g.version(in.GetName(), in.GetVersion()))
	if err != nil {
		return nil, g.refuse(ctx, nil, err)
	}
	tensors := func(in []v2.TensorMetadata) []*inferencev2.ModelMetadataResponse_TensorMetadata {
		out := make([]*inferencev2.ModelMetadataResponse_TensorMetadata, len(in))
		for i, t := range in {
			out[i] = &inferencev2.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape}
		}
		return out
	}
	return &inferencev2.ModelMetadataResponse{
		Name: m.Name, Versions: m.Versions, Platform: m.Platform, Inputs: tensors(m.Inputs), Outputs: tensors(m.Outputs),
		Properties: m.Properties(),
	}, nil
}

// ModelInfer implements the inference service.
func (g *service) ModelInfer(ctx context.Context, in *inferencev2.ModelInferRequest) (*inferencev2.ModelInferResponse, error) {
	s := g.server
	m, err := s.models.Acquire(ctx, in.GetModelName(), g.version(in.GetModelName(), in.GetModelVersion()))
	if err != nil {
		return nil, g.refuse(ctx, nil, err)
	}
	defer m.Release()
	sc := s.borrow()
	t := sc.begin()
	req, err := sc.v2.DecodeMessage(in)
	if err != nil {
		return nil, g.refuse(ctx, m, err)
	}
	if req.ID == "" {
		req.ID = protocol.NewID()
	}
	// The answer is written to the wire after this function returned: its memory is not the scope's.
	resp := &tensor.Response{}
	if err := s.predict(exchangedCall(ctx, m, t), m, req, resp, t); err != nil {
		return nil, g.refuse(ctx, m, err)
	}
	out, err := v2.EncodeMessage(req, resp, len(in.GetRawInputContents()) > 0)
	if err != nil {
		return nil, g.refuse(ctx, m, err)
	}
	requestID := ""
	if s.opts.Trace != nil {
		if ids := metadata.ValueFromIncomingContext(ctx, "x-request-id"); len(ids) > 0 {
			requestID = ids[0]
		}
	}
	s.sent(ctx, m, requestID, t)
	s.giveBack(m, sc)
	return out, nil
}

// RepositoryModelLoad implements the inference service.
func (g *service) RepositoryModelLoad(ctx context.Context, in *inferencev2.RepositoryModelLoadRequest) (*inferencev2.RepositoryModelLoadResponse, error) {
	defer g.server.tellHealth()
	if err := g.server.models.Reload(ctx, in.GetModelName()); err != nil {
		return nil, g.refuse(ctx, nil, err)
	}
	return &inferencev2.RepositoryModelLoadResponse{ModelName: in.GetModelName(), IsLoaded: true}, nil
}

// RepositoryModelUnload implements the inference service.
func (g *service) RepositoryModelUnload(ctx context.Context, in *inferencev2.RepositoryModelUnloadRequest) (*inferencev2.RepositoryModelUnloadResponse, error) {
	defer g.server.tellHealth()
	if err := g.server.Remove(in.GetModelName()); err != nil {
		return nil, g.refuse(ctx, nil, err)
	}
	return &inferencev2.RepositoryModelUnloadResponse{ModelName: in.GetModelName(), IsUnloaded: true}, nil
}
