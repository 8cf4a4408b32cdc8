// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// web is a server that answers every request the same, and keeps the last one.
type web struct {
	*httptest.Server

	status int
	body   string
	header http.Header
	calls  atomic.Int32

	path   string
	body1  string
	asked  http.Header
	method string
}

func newWeb(t *testing.T, status int, body string) *web {
	t.Helper()
	w := &web{status: status, body: body, header: http.Header{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	text, _ := io.ReadAll(r.Body)
	s.path, s.body1, s.asked, s.method = r.URL.EscapedPath(), string(text), r.Header, r.Method
	for name, values := range s.header {
		w.Header()[name] = values
	}
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.body)
}

func newClient(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func rows() *tensor.Request {
	return &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{1, 2, 3, 4}, 2, 2)}}
}

func TestPredictV1(t *testing.T) {
	s := newWeb(t, 200, `{"predictions":[1,0]}`)
	var out tensor.Response
	require.NoError(t, newClient(t, client.Options{URL: s.URL}).Predict(t.Context(), rows(), &out))
	require.Equal(t, "POST", s.method)
	require.Equal(t, "/v1/models/m:predict", s.path)
	require.Equal(t, `{"instances":[[1.0,2.0],[3.0,4.0]]}`, s.body1)
	require.Equal(t, "application/json", s.asked.Get("Content-Type"))
	require.Equal(t, []int64{1, 0}, tensor.View[int64](out.Outputs[0]))
}

func TestPredictV2(t *testing.T) {
	s := newWeb(t, 200, `{"model_name":"m","model_version":"3","id":"9","outputs":[{"name":"y","shape":[2],"datatype":"INT64","data":[1,0]}]}`)
	req := rows()
	var out tensor.Response
	require.NoError(t, newClient(t, client.Options{URL: s.URL, Protocol: client.V2}).Predict(t.Context(), req, &out))
	require.Equal(t, "/v2/models/m/infer", s.path)
	require.Regexp(t, `^\{"id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}","model_name":"m","inputs":\[\{"name":"x","shape":\[2,2\],`, s.body1)
	require.Empty(t, req.ID, "the caller's request is not changed")
	require.Equal(t, []string{"9", "m", "3"}, []string{out.ID, out.Model, out.Version})
	require.Equal(t, []int64{1, 0}, tensor.View[int64](out.Outputs[0]))

	req.Version = "3"
	require.NoError(t, newClient(t, client.Options{URL: s.URL, Protocol: client.V2, Binary: true}).Predict(t.Context(), req, &tensor.Response{}))
	require.Equal(t, "/v2/models/m/versions/3/infer", s.path)
	require.Equal(t, "application/octet-stream", s.asked.Get("Content-Type"))
	require.NotEmpty(t, s.asked.Get("Inference-Header-Content-Length"))
}

//
func TestABasePathIsKept(t *testing.T) {
	s := newWeb(t, 200, `{"predictions":[1]}`)
	require.NoError(t, newClient(t, client.Options{URL: s.URL + "/serving/ns/isvc"}).Predict(t.Context(), rows(), &tensor.Response{}))
	require.Equal(t, "/serving/ns/isvc/v1/models/m:predict", s.path)
	require.NoError(t, newClient(t, client.Options{URL: s.URL + "/serving/ns/isvc/"}).Predict(t.Context(), rows(), &tensor.Response{}))
	require.Equal(t, "/serving/ns/isvc/v1/models/m:predict", s.path)
}

//
func TestABaseNeedsAScheme(t *testing.T) {
	for _, url := range []string{"host:8080", "", "ftp://host", "http://"} {
		_, err := client.New(client.Options{URL: url})
		require.Error(t, err, url)
	}
	_, err := client.New(client.Options{URL: "host:8080"})
	require.ErrorContains(t, err, "Base url should have 'http://' or 'https://' protocol")
	_, err = client.New(client.Options{URL: "http://h", Protocol: "v3"})
	require.ErrorContains(t, err, `protocol "v3": expected v1, v2 or grpc-v2`)
}

//
func TestAGraphIsPostedToAsItIs(t *testing.T) {
	s := newWeb(t, 200, `{"whatever": [1, {"it": "says"}]}`)
	c := newClient(t, client.Options{URL: s.URL + "/graph?x=1"})
	got, err := c.Post(t.Context(), []byte(`{"instances":  [[1]]}`))
	require.NoError(t, err)
	require.Equal(t, "/graph", s.path)
	require.Equal(t, `{"instances":  [[1]]}`, s.body1)
	require.Equal(t, `{"whatever": [1, {"it": "says"}]}`, string(got))
}

//
func TestGRPCPorts(t *testing.T) {
	for url, want := range map[string]string{
		"host": "host:80", "host:9000": "host:9000", "http://host": "host:80", "https://host": "host:443", "https://host:1": "host:1", "[::1]": "[::1]:80",
	} {
		got, err := client.Target(client.Options{URL: url})
		require.NoError(t, err)
		require.Equal(t, want, got, url)
	}
	for _, url := range []string{"http://host/path", "", "ftp://host", "a b"} {
		_, err := client.New(client.Options{URL: url, Protocol: client.GRPC})
		require.Error(t, err, url)
	}
}

//
func TestTLSWithTheCAsOfAFile(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer s.Close()
	s.Config.ErrorLog = nil
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	require.NoError(t, newClient(t, client.Options{URL: s.URL, CAFile: file}).Predict(t.Context(), rows(), &tensor.Response{}))

	err := newClient(t, client.Options{URL: s.URL}).Predict(t.Context(), rows(), &tensor.Response{})
	require.Equal(t, protocol.Unavailable, protocol.From(err).Code)
	require.ErrorContains(t, err, "certificate")

	fake := &service{}
	host := serveGRPC(t, fake, grpc.Creds(credentials.NewServerTLSFromCert(&s.TLS.Certificates[0])))
	require.NoError(t, newClient(t, client.Options{URL: "https://" + host, CAFile: file, Protocol: client.GRPC}).Predict(t.Context(), rows(), &tensor.Response{}))

	_, err = client.New(client.Options{URL: s.URL, CAFile: file + "x"})
	require.ErrorContains(t, err, "read CA certificates")
}

func TestTheServersErrorsAreHandedOn(t *testing.T) {
	cases := map[string]struct {
		status  int
		body    string
		code    protocol.Code
		message string
	}{
		"the protocol's form":    {400, `{"error":"input \"x\": expected 4 columns"}`, protocol.Invalid, `input "x": expected 4 columns`},
		"an unknown model":       {404, `{"error":"Model with name m does not exist."}`, protocol.NotFound, "Model with name m does not exist."},
		"a form's faults":        {422, `{"detail":[{"type":"missing","loc":["body","inputs"],"msg":"Field required"}]}`, protocol.Invalid, "body.inputs: Field required"},
		"another form":           {401, `{"error":{"message":"who are you"}}`, protocol.Invalid, "who are you"},
		"plain text":             {503, "no healthy upstream\n", protocol.Unavailable, "no healthy upstream"},
		"a server's failure":     {500, `{"error":"boom"}`, protocol.Internal, "boom"},
		"too much":               {413, `{"error":"too large"}`, protocol.TooLarge, "too large"},
		"nothing of the kind":    {501, `{"error":"Model versioning not supported yet."}`, protocol.Unsupported, "Model versioning not supported yet."},
		"an answer of a gateway": {504, "", protocol.Deadline, "answered 504 Gateway Timeout"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newWeb(t, c.status, c.body)
			err := newClient(t, client.Options{URL: s.URL, Protocol: client.V2}).Predict(t.Context(), rows(), &tensor.Response{})
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.code, e.Code)
			require.Equal(t, c.status, e.HTTPStatus())
			require.Contains(t, e.Message, c.message)
		})
	}
	s := newWeb(t, 502, "<html><body>Bad Gateway</body></html>")
	s.header.Set("Content-Type", "text/html")
	err := newClient(t, client.Options{URL: s.URL}).Predict(t.Context(), rows(), &tensor.Response{})
	require.ErrorContains(t, err, "answered 502 Bad Gateway")
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body, want string
	}{
		"another document": {200, `{"result":1}`, `the answer has no "predictions"`},
		"too large":        {200, `{"predictions":[` + strings.Repeat("1,", 1000) + `1]}`, "it is too large"},
		"a redirect":       {307, "", "it has the status 307"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWeb(t, c.status, c.body)
			err := newClient(t, client.Options{URL: s.URL, MaxResponse: 1000}).Predict(t.Context(), rows(), &tensor.Response{})
			require.ErrorContains(t, err, c.want)
			require.Equal(t, http.StatusBadGateway, protocol.From(err).HTTPStatus())
		})
	}
}

func TestOnlyRefusedCallsAreMadeAgain(t *testing.T) {
	predict := func(s *web, retries int) error {
		return newClient(t, client.Options{URL: s.URL, Retries: retries}).Predict(t.Context(), rows(), &tensor.Response{})
	}
	s := newWeb(t, 503, `{"error":"not ready"}`)
	require.Equal(t, 503, protocol.From(predict(s, 2)).HTTPStatus())
	require.EqualValues(t, 3, s.calls.Load())
	s = newWeb(t, 503, `{"error":"not ready"}`)
	require.Error(t, predict(s, 0))
	require.EqualValues(t, 1, s.calls.Load())
	for _, status := range []int{400, 404, 500, 504} {
		s = newWeb(t, status, `{"error":"no"}`)
		require.Error(t, predict(s, 3))
		require.EqualValues(t, 1, s.calls.Load(), status)
	}
	// A server that asks for more time than there is gets no second call.
	s = newWeb(t, 429, `{"error":"busy"}`)
	s.header.Set("Retry-After", "9")
	err := newClient(t, client.Options{URL: s.URL, Retries: 3, Timeout: 2 * time.Second}).Predict(t.Context(), rows(), &tensor.Response{})
	require.Equal(t, protocol.TooMany, protocol.From(err).Code)
	require.EqualValues(t, 1, s.calls.Load())
}

func TestAServerThatCannotBeReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	for _, p := range []client.Protocol{client.V1, client.V2, client.GRPC} {
		err := newClient(t, client.Options{URL: "http://" + address, Protocol: p}).Predict(t.Context(), rows(), &tensor.Response{})
		require.Equal(t, protocol.Unavailable, protocol.From(err).Code, p)
		require.ErrorContains(t, err, "refused", p)
	}
}

func TestDeadlines(t *testing.T) {
	forever := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer forever.Close()
	err := newClient(t, client.Options{URL: forever.URL, Timeout: 20 * time.Millisecond}).Predict(t.Context(), rows(), &tensor.Response{})
	require.Equal(t, protocol.Deadline, protocol.From(err).Code)
	require.ErrorContains(t, err, "did not answer in time")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	host := serveGRPC(t, &service{block: true})
	err = newClient(t, client.Options{URL: host, Protocol: client.GRPC, Timeout: -1}).Predict(ctx, rows(), &tensor.Response{})
	require.Equal(t, protocol.Deadline, protocol.From(err).Code)

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	err = newClient(t, client.Options{URL: forever.URL}).Predict(ctx, rows(), &tensor.Response{})
	require.Equal(t, protocol.Unavailable, protocol.From(err).Code)
	require.ErrorIs(t, err, context.Canceled)
}

func TestHeadersGoAlong(t *testing.T) {
	ctx := client.WithHeader(t.Context(), http.Header{"X-Request-Id": {"7"}, "Host": {"model.example"}})
	s := newWeb(t, 200, `{"predictions":[1]}`)
	require.NoError(t, newClient(t, client.Options{URL: s.URL}).Predict(ctx, rows(), &tensor.Response{}))
	require.Equal(t, "7", s.asked.Get("X-Request-Id"))
	fake := &service{}
	require.NoError(t, newClient(t, client.Options{URL: serveGRPC(t, fake), Protocol: client.GRPC}).Predict(ctx, rows(), &tensor.Response{}))
	require.Equal(t, []string{"7"}, fake.metadata.Get("x-request-id"))
	require.Equal(t, []string{"grpc_v2"}, fake.metadata.Get("request_type"))
}

func TestExplain(t *testing.T) {
	s := newWeb(t, 200, `{"explanations":{"shap_values":[[1,2]]}}`)
	got, err := newClient(t, client.Options{URL: s.URL}).Explain(t.Context(), rows())
	require.NoError(t, err)
	require.Equal(t, "/v1/models/m:explain", s.path)
	require.JSONEq(t, `{"shap_values":[[1,2]]}`, string(got))
	_, err = newClient(t, client.Options{URL: s.URL, Protocol: client.V2}).Explain(t.Context(), rows())
	require.EqualError(t, err, "Unsupported protocol v2.")
	require.Equal(t, protocol.Unsupported, protocol.From(err).Code)
}

//
func TestReadiness(t *testing.T) {
	type answer struct {
		status int
		body   string
	}
	server := map[string]struct {
		protocol client.Protocol
		answer   answer
		ready    bool
		fails    bool
	}{
		"v1 alive":           {client.V1, answer{200, `{"status":"alive"}`}, true, false},
		"v1 something else":  {client.V1, answer{200, `{"status":"dying"}`}, false, false},
		"v1 500":             {client.V1, answer{500, `{"error":"x"}`}, false, true},
		"v2 ready":           {client.V2, answer{200, `{"ready":true}`}, true, false},
		"v2 not ready":       {client.V2, answer{200, `{"ready":false}`}, false, false},
		"v2 503":             {client.V2, answer{503, `{"error":"Server is not ready."}`}, false, false},
		"v2 500":             {client.V2, answer{500, ``}, false, true},
		"v2 another's words": {client.V2, answer{200, `<html>`}, false, true},
	}
	for name, c := range server {
		t.Run("server "+name, func(t *testing.T) {
			s := newWeb(t, c.answer.status, c.answer.body)
			ready, err := newClient(t, client.Options{URL: s.URL, Protocol: c.protocol}).ServerReady(t.Context())
			require.Equal(t, c.ready, ready)
			require.Equal(t, c.fails, err != nil, "%v", err)
		})
	}
	model := map[string]struct {
		protocol client.Protocol
		answer   answer
		ready    bool
	}{
		"v1 ready":     {client.V1, answer{200, `{"name":"m","ready":true}`}, true},
		"v1 not ready": {client.V1, answer{200, `{"name":"m","ready":false}`}, false},
		"v1 503":       {client.V1, answer{503, `{"error":"Model with name m is not ready."}`}, false},
		"v1 404":       {client.V1, answer{404, `{"error":"x"}`}, false},
		"v2 ready":     {client.V2, answer{200, `{"name":"m","ready":true}`}, true},
		"v2 400":       {client.V2, answer{400, `{"error":"x"}`}, false},
		"v2 503":       {client.V2, answer{503, `{"error":"x"}`}, false},
	}
	for name, c := range model {
		t.Run("model "+name, func(t *testing.T) {
			s := newWeb(t, c.answer.status, c.answer.body)
			require.Equal(t, c.ready, newClient(t, client.Options{URL: s.URL, Protocol: c.protocol}).ModelReady(t.Context(), "m"))
			if c.protocol == client.V1 {
				require.Equal(t, "/v1/models/m", s.path)
			} else {
				require.Equal(t, "/v2/models/m/ready", s.path)
			}
		})
	}
	for _, p := range []client.Protocol{client.V1, client.V2, client.GRPC} {
		c := newClient(t, client.Options{URL: "http://127.0.0.1:1", Protocol: p})
		require.False(t, c.ModelReady(t.Context(), "m"))
		_, err := c.ServerReady(t.Context())
		require.Equal(t, protocol.Unavailable, protocol.From(err).Code, p)
		_, err = c.ServerLive(t.Context())
		require.Error(t, err, p)
	}
	c := newClient(t, client.Options{URL: serveGRPC(t, &service{}), Protocol: client.GRPC})
	ready, err := c.ServerReady(t.Context())
	require.NoError(t, err)
	require.True(t, ready)
	require.True(t, c.ModelReady(t.Context(), "m"))
	require.False(t, c.ModelReady(t.Context(), "other"))
	for code, fails := range map[codes.Code]bool{codes.Unavailable: false, codes.Internal: true} {
		c := newClient(t, client.Options{URL: serveGRPC(t, &service{unready: status.Error(code, "it is not now")}), Protocol: client.GRPC})
		ready, err := c.ServerReady(t.Context())
		require.False(t, ready)
		require.Equal(t, fails, err != nil, "%v", err)
	}
}

// service is a gRPC server that answers with its input.
type service struct {
	inferencev2.UnimplementedGRPCInferenceServiceServer

	fail     error
	unready  error // of the server
	block    bool
	metadata metadata.MD
	calls    atomic.Int32
}

func (s *service) ModelInfer(ctx context.Context, in *inferencev2.ModelInferRequest) (*inferencev2.ModelInferResponse, error) {
	s.calls.Add(1)
	s.metadata, _ = metadata.FromIncomingContext(ctx)
	if s.block {
		<-ctx.Done()
	}
	if s.fail != nil {
		return nil, s.fail
	}
	out := &inferencev2.ModelInferResponse{ModelName: in.GetModelName(), Id: in.GetId(), RawOutputContents: in.GetRawInputContents()}
	for _, t := range in.GetInputs() {
		out.Outputs = append(out.Outputs, &inferencev2.ModelInferResponse_InferOutputTensor{
			Name: t.GetName(), Datatype: t.GetDatatype(), Shape: t.GetShape(), Contents: t.GetContents(),
		})
	}
	return out, nil
}

func (s *service) ServerReady(context.Context, *inferencev2.ServerReadyRequest) (*inferencev2.ServerReadyResponse, error) {
	return &inferencev2.ServerReadyResponse{Ready: true}, s.unready
}

func (s *service) ModelReady(_ context.Context, in *inferencev2.ModelReadyRequest) (*inferencev2.ModelReadyResponse, error) {
	return &inferencev2.ModelReadyResponse{Ready: in.GetName() == "m"}, nil
}

func serveGRPC(t *testing.T, s *service, o ...grpc.ServerOption) (host string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(o...)
	inferencev2.RegisterGRPCInferenceServiceServer(server, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return l.Addr().String()
}

func TestPredictGRPC(t *testing.T) {
	fake := &service{}
	c := newClient(t, client.Options{URL: serveGRPC(t, fake), Protocol: client.GRPC, Retries: 2})
	var out tensor.Response
	require.NoError(t, c.Predict(t.Context(), rows(), &out))
	require.Equal(t, []float64{1, 2, 3, 4}, tensor.View[float64](out.Outputs[0]))
	require.Equal(t, "m", out.Model)
	require.Len(t, out.ID, 36)

	for code, want := range map[codes.Code]protocol.Code{
		codes.InvalidArgument: protocol.Invalid, codes.NotFound: protocol.NotFound, codes.Unimplemented: protocol.Unsupported,
		codes.Internal: protocol.Internal, codes.Unknown: protocol.Internal, codes.Aborted: protocol.Conflict, codes.DeadlineExceeded: protocol.Deadline,
	} {
		fake.fail = status.Error(code, "as it says")
		fake.calls.Store(0)
		err := c.Predict(t.Context(), rows(), &out)
		require.EqualError(t, err, "as it says")
		require.Equal(t, want, protocol.From(err).Code)
		require.EqualValues(t, 1, fake.calls.Load(), code)
	}
	fake.fail = status.Error(codes.PermissionDenied, "no")
	require.Equal(t, 403, protocol.From(c.Predict(t.Context(), rows(), &out)).HTTPStatus())
	fake.fail = status.Error(codes.Unavailable, "not ready")
	fake.calls.Store(0)
	err := c.Predict(t.Context(), rows(), &out)
	require.Equal(t, protocol.Unavailable, protocol.From(err).Code)
	require.EqualValues(t, 3, fake.calls.Load())

	_, err = c.Post(t.Context(), nil)
	require.Error(t, err)
}

func TestConnectionsAreKept(t *testing.T) {
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := newClient(t, client.Options{URL: s.URL})
	for range 20 {
		require.NoError(t, c.Predict(t.Context(), rows(), &tensor.Response{}))
	}
	require.EqualValues(t, 1, opened.Load())
}

func TestErrorsOfTheRequestAreTheCallers(t *testing.T) {
	req := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.FromStrings("x", []string{"\xff"}, 1)}}
	err := newClient(t, client.Options{URL: "http://127.0.0.1:1"}).Predict(t.Context(), req, &tensor.Response{})
	var e *protocol.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, protocol.Invalid, e.Code)
}
