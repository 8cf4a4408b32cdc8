// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/telemetry/tracing"
	"github.com/kserve-go/kserve-go/pkg/testkit/frames"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
	traceparent  = "00-" + callersTrace + "-" + callersSpan + "-01"
)

func recorder(t *testing.T, options ...sdktrace.TracerProviderOption) (*tracetest.InMemoryExporter, trace.Tracer) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(spans))...)
	return spans, provider.Tracer("test")
}

// outline is a request's span and those below it, in the order of their beginnings, with what they say.
func outline(t *testing.T, spans tracetest.SpanStubs, name string) (root tracetest.SpanStub, below []string) {
	t.Helper()
	for _, s := range spans {
		if s.Name == name {
			root = s
		}
	}
	require.NotEmpty(t, root.Name, "no span %q in %v", name, spans)
	for _, s := range spans {
		if s.Parent.SpanID() == root.SpanContext.SpanID() {
			require.Equal(t, root.SpanContext.TraceID(), s.SpanContext.TraceID())
			require.False(t, s.StartTime.Before(root.StartTime))
			require.False(t, s.EndTime.Before(s.StartTime))
			require.False(t, s.EndTime.After(root.EndTime))
			below = append(below, strings.TrimSpace(s.Name+" "+s.Status.Description))
		}
	}
	return root, below
}

func value(attributes []attribute.KeyValue, key string) any {
	for _, a := range attributes {
		if string(a.Key) == key {
			return a.Value.AsInterface()
		}
	}
	return nil
}

func TestTracesHaveTheSteps(t *testing.T) {
	spans, tracer := recorder(t)
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}, Tracer: tracer})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	v1, v2 := "POST /v1/models/{model}:predict", "POST /v2/models/{model}/infer"
	cases := map[string]struct {
		path, body  string
		span        string
		below       []string
		status      int64
		model, rows any
	}{
		"V1":                 {"/v1/models/m:predict", v1Body, v1, []string{"decode", "queue", "predict", "encode"}, 200, "m", int64(2)},
		"V2":                 {"/v2/models/m/infer", v2Body, v2, []string{"decode", "queue", "predict", "encode"}, 200, "m", int64(2)},
		"a caller's mistake": {"/v1/models/m:predict", `{"instances":[1,2]}`, v1, []string{"decode", "queue", "predict expected rows"}, 400, "m", int64(2)},
		"no JSON":            {"/v1/models/m:predict", `{`, v1, nil, 400, nil, nil},
		"no such model":      {"/v1/models/nope:predict", v1Body, v1, nil, 404, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spans.Reset()
			resp, body := do(t, http.MethodPost, p.url+c.path, c.body, "Content-Type", "application/json", "Traceparent", traceparent)
			require.Equal(t, int(c.status), resp.StatusCode, body)
			require.Eventually(t, func() bool { return len(spans.GetSpans()) == len(c.below)+1 }, waitFor, tick)
			root, below := outline(t, spans.GetSpans(), c.span)
			require.Equal(t, callersTrace, root.SpanContext.TraceID().String())
			require.Equal(t, callersSpan, root.Parent.SpanID().String())
			require.Equal(t, trace.SpanKindServer, root.SpanKind)
			require.Equal(t, c.below, below)
			require.Equal(t, c.status, value(root.Attributes, "http.response.status_code"))
			require.Equal(t, c.model, value(root.Attributes, "kserve.model.name"))
			for _, s := range spans.GetSpans() {
				if s.Name == "predict" {
					require.Equal(t, c.rows, value(s.Attributes, "kserve.rows"))
				}
			}
		})
	}
	t.Run("gRPC", func(t *testing.T) {
		spans.Reset()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
		_, err := client.ModelInfer(ctx, inferRequest("m"))
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(spans.GetSpans()) == 5 }, waitFor, tick)
		root, below := outline(t, spans.GetSpans(), "/inference.GRPCInferenceService/ModelInfer")
		require.Equal(t, callersTrace, root.SpanContext.TraceID().String())
		require.Equal(t, []string{"decode", "queue", "predict", "encode"}, below)
		require.Equal(t, int64(0), value(root.Attributes, "rpc.grpc.status_code"))
	})
	t.Run("what only reports has no span", func(t *testing.T) {
		spans.Reset()
		for _, path := range []string{"/", "/metrics", "/v2/health/ready", "/v2/models/m", "/nope"} {
			do(t, http.MethodGet, p.url+path, "")
		}
		require.Empty(t, spans.GetSpans())
	})
}

func TestWhatACallerDoesNotSampleIsNotRecorded(t *testing.T) {
	spans, tracer := recorder(t, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	_, url := started(t, "sum", serve.Options{Tracer: tracer})
	resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", v1Body, "Traceparent", strings.TrimSuffix(traceparent, "1")+"0")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, spans.GetSpans())
}

func TestTheAccessLogHasALineForEachRequest(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	_, tracer := recorder(t)
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}, Access: zap.New(core), Tracer: tracer})
	require.Eventually(t, p.Ready, waitFor, tick)
	last := func() map[string]any {
		require.Eventually(t, func() bool { return logs.Len() == 1 }, waitFor, tick)
		return logs.TakeAll()[0].ContextMap()
	}
	do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body, "X-Request-Id", "abc", "Traceparent", traceparent, "User-Agent", "test")
	line := last()
	require.Contains(t, line["client"], "127.0.0.1:")
	require.GreaterOrEqual(t, line["ms"], 0.0)
	delete(line, "client")
	delete(line, "ms")
	require.Equal(t, map[string]any{
		"protocol": "HTTP/1.1", "method": "POST", "path": "/v1/models/m:predict", "status": int64(200), "received": int64(len(v1Body)),
		"sent": int64(len(`{"predictions":[3.0,7.0]}`)), "userAgent": "test", "requestId": "abc", "traceId": callersTrace,
	}, line)
	do(t, http.MethodGet, p.url+"/nope", "")
	require.Equal(t, int64(404), last()["status"])
	do(t, "BREW", p.url+"/", "")
	require.Equal(t, int64(400), last()["status"])

	_, err := grpcClient(t, p.GRPCAddr().String()).ModelInfer(t.Context(), inferRequest("nope"))
	require.Error(t, err)
	line = last()
	require.Equal(t, "gRPC", line["protocol"])
	require.Equal(t, "/inference.GRPCInferenceService/ModelInfer", line["method"])
	require.Equal(t, "NotFound", line["status"])
}

// Headers of traces and names may be anything: the request is answered as without them, and no span has a text that a collector would refuse
// together with all spans beside it.
func TestTracesBearWhatClientsSend(t *testing.T) {
	spans, tracer := recorder(t)
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}, Tracer: tracer})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	long := strings.Repeat("k=v,", 4000)
	for _, h := range [][2]string{
		{"traceparent", "00-" + strings.Repeat("0", 32) + "-" + callersSpan + "-01"},
		{"traceparent", "ff" + traceparent[2:]},
		{"traceparent", traceparent + "-more"},
		{"traceparent", strings.Repeat("-", 4000)},
		{"traceparent", "\xff\xfe"},
		{"tracestate", long},
		{"tracestate", "a=\x80,b=\xff"},
		{"tracestate", ",=,=,"},
		{"baggage", long},
		{"baggage", "a=%ff;%ff"},
		{"x-b3-traceid", "\xff"},
		{"x-request-id", strings.Repeat("\xff", 4000)},
		{"user-agent", "\x80\"\t"},
	} {
		headers := []string{h[0], h[1], "Content-Type", "application/json"}
		if h[0] != "traceparent" {
			headers = append(headers, "Traceparent", traceparent)
		}
		for path, status := range map[string]int{"/v1/models/m:predict": 200, "/v1/models/%ff%fe:predict": 404, "/v1/models/%0a%00:explain": 404, "/v2/repository/models/%ff/load": 503} {
			resp, text := do(t, http.MethodPost, p.url+path, v1Body, headers...)
			require.Equal(t, status, resp.StatusCode, "%q: %s %s", h, path, text)
		}
		if strings.HasPrefix(h[1], "\xff") || strings.HasPrefix(h[1], "\x80") || strings.Contains(h[1], "\x80") {
			continue // no client of gRPC sends these
		}
		_, err := client.ModelInfer(metadata.AppendToOutgoingContext(t.Context(), h[0], h[1]), inferRequest("m"))
		require.NoError(t, err, "%q", h)
	}
	c := frames.Dial(t, p.GRPCAddr().String())
	require.NoError(t, c.Send(frames.Headers, frames.EndHeaders|frames.EndStream, 1, frames.Call("/inference.GRPCInferenceService/\xff")))
	for f := (frames.Frame{}); f.Kind != frames.Headers; {
		var err error
		f, err = c.Next()
		require.NoError(t, err)
	}
	valid := func(text string) { require.True(t, utf8.ValidString(text), "%q", text) }
	require.Eventually(t, func() bool { return len(spans.GetSpans()) > 13*4 }, waitFor, tick)
	for _, s := range spans.GetSpans() {
		valid(s.Name)
		valid(s.Status.Description)
		valid(s.SpanContext.TraceState().String())
		for _, a := range s.Attributes {
			valid(a.Value.String())
		}
	}
}

func TestRequestsAreCountedByModelAndNamesThatClientsMakeUpAreNot(t *testing.T) {
	p := run(t, serve.Options{Models: []serve.Model{
		{Name: "m", Model: &sum{word: "sum"}},
		{Name: "v", Version: "1", Model: &sum{word: "sum"}},
		{Name: "v", Version: "2", Model: &sum{word: "sum"}},
	}})
	require.Eventually(t, p.Ready, waitFor, tick)
	for i := range 50 {
		do(t, http.MethodPost, p.url+fmt.Sprintf("/v1/models/made-up-%d:predict", i), v1Body)
		do(t, http.MethodPost, p.url+fmt.Sprintf("/v2/models/v/versions/%d/infer", 100+i), v2Body, "Content-Type", "application/json")
	}
	do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body)
	do(t, http.MethodPost, p.url+"/v1/models/m:predict", "{")
	do(t, http.MethodPost, p.url+"/v1/models/v:predict", v1Body)
	do(t, http.MethodPost, p.url+"/v2/models/v/versions/1/infer", v2Body, "Content-Type", "application/json")
	client := grpcClient(t, p.GRPCAddr().String())
	_, err := client.ModelInfer(t.Context(), inferRequest("m"))
	require.NoError(t, err)
	_, _ = client.ModelInfer(t.Context(), inferRequest("made-up"))
	counts := func() (counts []string) {
		_, text := do(t, http.MethodGet, p.url+"/metrics", "")
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "kserve_model_request_seconds_count"); ok {
				counts = append(counts, strings.TrimSpace(rest))
			}
		}
		return counts
	}
	require.Equal(t, []string{
		`{code="0",model_name="m",model_version="",protocol="grpc"} 1`,
		`{code="200",model_name="m",model_version="",protocol="v1"} 1`,
		`{code="200",model_name="v",model_version="1",protocol="v2"} 1`,
		`{code="200",model_name="v",model_version="2",protocol="v1"} 1`,
		`{code="400",model_name="m",model_version="",protocol="v1"} 1`,
		`{code="404",model_name="v",model_version="2",protocol="v2"} 50`,
	}, counts())
	require.NoError(t, p.Remove("v"))
	require.Len(t, counts(), 3, "the series of a model go with it")
}

// described are the families of this server with the labels that vary, also those that have no series yet.
func described(t *testing.T) map[string]string {
	t.Helper()
	registry := telemetry.NewRegistry()
	serve.New(serve.Options{Registry: registry})
	all := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(all)
		close(all)
	}()
	form := regexp.MustCompile(`fqName: "((?:kserve|request)_\w+)".*constLabels: {(.*)}, variableLabels: {(.*)}}`)
	value := regexp.MustCompile(`="[^"]*"`)
	families := map[string]string{}
	for desc := range all {
		if m := form.FindStringSubmatch(desc.String()); m != nil {
			labels := strings.Split(strings.Trim(value.ReplaceAllString(m[2], "")+","+m[3], ","), ",")
			slices.Sort(labels)
			families[m[1]] = strings.Join(labels, " ")
		}
	}
	return families
}

func TestThePageNamesEveryMetricWithItsLabels(t *testing.T) {
	text, err := os.ReadFile("../../../docs/model-server.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "\n## Metrics\n")
	require.True(t, ok)
	table, _, ok := strings.Cut(rest, "\n## ")
	require.True(t, ok)
	quoted := regexp.MustCompile("`(\\w+)`")
	names := func(cell string) (all []string) {
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			all = append(all, m[1])
		}
		return all
	}
	page := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		labels := names(cells[2])
		slices.Sort(labels)
		for _, family := range names(cells[1]) {
			page[family] = strings.Join(labels, " ")
		}
	}
	require.Equal(t, described(t), page)
}

// collected takes spans as OpenTelemetry's collector does.
type collected struct {
	collector.UnimplementedTraceServiceServer
	spans chan *otlp.Span
}

func (c *collected) Export(_ context.Context, in *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, resource := range in.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans <- span
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// Requests over REST and gRPC reach a collector below the spans of their callers.
func TestRequestsReachACollector(t *testing.T) {
	c := &collected{spans: make(chan *otlp.Span, 100)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	tracer, end, err := tracing.Open(t.Context(), "model-server", os.Getenv, zap.NewNop())
	require.NoError(t, err)
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}, Tracer: tracer})
	require.Eventually(t, p.Ready, waitFor, tick)
	do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body, "Traceparent", traceparent)
	do(t, http.MethodPost, p.url+"/v2/models/m/infer", v2Body, "Content-Type", "application/json", "Traceparent", traceparent)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	_, err = grpcClient(t, p.GRPCAddr().String()).ModelInfer(ctx, inferRequest("m"))
	require.NoError(t, err)
	p.stop()
	require.NoError(t, <-p.done)
	end(t.Context())
	close(c.spans)
	below := map[string][]string{} // by the identifier of the request's span
	requests := map[string]string{}
	for span := range c.spans {
		require.Equal(t, callersTrace, hex.EncodeToString(span.GetTraceId()))
		if parent := hex.EncodeToString(span.GetParentSpanId()); parent == callersSpan {
			require.Equal(t, otlp.Span_SPAN_KIND_SERVER, span.GetKind())
			requests[span.GetName()] = hex.EncodeToString(span.GetSpanId())
		} else {
			below[parent] = append(below[parent], span.GetName())
		}
	}
	require.Len(t, requests, 3)
	for _, name := range []string{"POST /v1/models/{model}:predict", "POST /v2/models/{model}/infer", "/inference.GRPCInferenceService/ModelInfer"} {
		require.ElementsMatch(t, []string{"decode", "queue", "predict", "encode"}, below[requests[name]], name)
	}
}
