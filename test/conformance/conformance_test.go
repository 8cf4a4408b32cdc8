// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	// In the server that is built here: a cached result ends when it changes.
	_ "github.com/kserve-go/kserve-go/pkg/data/serve"
	_ "github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	_ "github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	_ "github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

const recordedDir = "../data/protocol"

// replay is a server that knows the order of the exchanges and answers each as recorded, or as is better. spoil changes answers.
type replay struct {
	http, calls []exchange.Exchange
	nextHTTP    atomic.Int32
	nextCall    atomic.Int32
	spoil       func(e *exchange.Exchange, got *exchange.Got)
	spoilCall   func(e *exchange.Exchange, got *exchange.GotCall)
}

// startReplay returns the address of a replay of a folder.
func startReplay(t *testing.T, r *replay, folder, only string) target {
	t.Helper()
	p, err := New(Options{Dir: recordedDir, Only: only, Groups: folder, URL: "a running server", GRPC: "the same"}).plan(folder)
	require.NoError(t, err)
	for _, st := range p.stages {
		for _, e := range st.exchanges {
			if e.Call != nil {
				r.calls = append(r.calls, e)
			} else {
				r.http = append(r.http, e)
			}
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.serve(conn)
		}
	}()
	g := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(r.call), grpc.MaxRecvMsgSize(64<<20))
	gl, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = g.Serve(gl) }()
	t.Cleanup(g.Stop)
	return target{url: "http://" + l.Addr().String(), grpc: gl.Addr().String()}
}

// serve answers one request. It reads what was sent by its own framing, so that odd requests are answered like others.
func (r *replay) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	e := &r.http[int(r.nextHTTP.Add(1))-1]
	if _, err := io.ReadFull(bufio.NewReader(conn), make([]byte, len(requestBytes(e.HTTP)))); err != nil {
		return
	}
	got := recordedAnswer(e)
	if r.spoil != nil {
		r.spoil(e, &got)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", got.Status, http.StatusText(got.Status))
	names := make([]string, 0, len(got.Headers))
	for name := range got.Headers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if name != "content-length" && name != "transfer-encoding" {
			fmt.Fprintf(&b, "%s: %s\r\n", name, got.Headers[name])
		}
	}
	fmt.Fprintf(&b, "content-length: %d\r\n\r\n", len(got.Body))
	if e.HTTP.Method != "HEAD" {
		b.Write(got.Body)
	}
	_, _ = conn.Write(b.Bytes())
}

// recordedAnswer is the recorded answer, with faults mended as their entries say.
func recordedAnswer(e *exchange.Exchange) exchange.Got {
	a := e.Answer
	got := exchange.Got{Status: a.Status, Headers: map[string]string{}, Body: a.Body}
	for name, value := range a.Headers {
		got.Headers[name] = value
	}
	if a.SHA256 != "" {
		label := []byte("0,")
		got.Body = bytes.TrimSuffix(bytes.Repeat(label, 100000), []byte(","))
		if strings.HasPrefix(e.HTTP.Path, "/v1") {
			got.Body = fmt.Appendf(nil, `{"predictions":[%s]}`, got.Body)
		} else {
			got.Body = fmt.Appendf(nil, `{"model_name":"iris","model_version":null,"id":"1","parameters":null,"outputs":[{"name":"output-0",`+
				`"shape":[100000],"datatype":"INT64","parameters":null,"data":[%s]}]}`, got.Body)
		}
	}
	if e.Fault == "" {
		return got
	}
	b := e.Better
	got.Status = b.Status[0]
	if b.ContentType != "" {
		got.Headers["content-type"] = b.ContentType
	}
	if b.Allow != "" {
		got.Headers["allow"] = b.Allow
	}
	for _, name := range b.HeadersAbsent {
		delete(got.Headers, name)
	}
	switch {
	case e.Fault == "binary-no-content-type":
	case got.Status >= 400:
		got.Body = []byte(`{"error":"input x: expected y, got z"}`)
	case b.Body != "":
		got.Body = []byte(b.Body)
	default:
		got.Body = fmt.Appendf(nil, `{"outputs":[{"name":"output-0","datatype":%q}]}`, b.Datatype)
	}
	return got
}

func (r *replay) call(_ any, stream grpc.ServerStream) error {
	e := &r.calls[int(r.nextCall.Add(1))-1]
	var in []byte
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	got, err := e.Call.Answered()
	if err != nil {
		return err
	}
	if e.Fault != "" {
		got = exchange.GotCall{Code: codes.OK, Message: []byte{}}
		for _, name := range e.Better.Code {
			for c := codes.OK; c <= codes.Unauthenticated; c++ {
				if exchange.CodeName(c) == name {
					got.Code, got.Details = c, "better"
				}
			}
		}
	}
	if r.spoilCall != nil {
		r.spoilCall(e, &got)
	}
	if got.Code != codes.OK {
		return status.Error(got.Code, got.Details)
	}
	return stream.SendMsg(&got.Message)
}

// run plays a folder's exchanges whose names hold only.
func run(t *testing.T, r *replay, folder, only string) (Summary, string) {
	t.Helper()
	target := startReplay(t, r, folder, only)
	var out strings.Builder
	sum, err := New(Options{Dir: recordedDir, Groups: folder, Only: only, URL: target.url, GRPC: target.grpc}).Run(t.Context(), &out)
	require.NoError(t, err)
	return sum, out.String()
}

func TestRecordedAnswersPass(t *testing.T) {
	for _, folder := range []string{"kserve-sklearn", "kserve-xgboost", "kserve-lightgbm"} {
		t.Run(folder, func(t *testing.T) {
			r := &replay{}
			sum, out := run(t, r, folder, "")
			require.Zero(t, sum.Failed, out)
			require.Equal(t, len(r.http)+len(r.calls), sum.Passed())
			require.Positive(t, sum.Better)
			require.Regexp(t, `(?s)not in scope: mlserver/codecs \(37\): not asked for\n.*equal: \d+ · better: \d+ · as KServe where the recorded server differs: 0 · not run: \d+ · not in scope: \d+\n\d+ passed, 0 failed\n$`, out)
		})
	}
}

// TestFaultsAreFailures spoils one kind of answer at a time.
func TestFaultsAreFailures(t *testing.T) {
	cases := map[string]struct {
		spoil     func(e *exchange.Exchange, got *exchange.Got)
		spoilCall func(e *exchange.Exchange, got *exchange.GotCall)
		name, why string
	}{
		"a recorded fault is repeated": {
			spoil: func(e *exchange.Exchange, got *exchange.Got) {
				if e.Fault != "" && e.Fault != "binary-no-content-type" {
					got.Status, got.Body = e.Answer.Status, e.Answer.Body
				}
			},
			name: "v1-predict/ragged", why: "not the recorded 500",
		},
		"a prediction differs": {
			spoil: func(_ *exchange.Exchange, got *exchange.Got) {
				got.Body = bytes.Replace(got.Body, []byte(`[0,1,2]`), []byte(`[0,1,1]`), 1)
			},
			name: "v1-predict/three-rows", why: "/predictions/2: want 2, got 1",
		},
		"a number is of another kind": {
			spoil: func(_ *exchange.Exchange, got *exchange.Got) {
				got.Body = bytes.Replace(got.Body, []byte(`[0,1,2]`), []byte(`[0,1,2.0]`), 1)
			},
			name: "v2-infer/flat", why: "/outputs/0/data/2: want 2, got 2.0",
		},
		"keys are in another order": {
			spoil: func(_ *exchange.Exchange, got *exchange.Got) {
				got.Body = bytes.Replace(got.Body, []byte(`"model_version":null,"id":"1"`), []byte(`"id":"1","model_version":null`), 1)
			},
			name: "v2-infer/flat", why: "want keys",
		},
		"a null is left out": {
			spoil: func(_ *exchange.Exchange, got *exchange.Got) {
				got.Body = bytes.Replace(got.Body, []byte(`"parameters":null,`), nil, 1)
			},
			name: "v2-infer/one-row", why: "want keys",
		},
		"an error text differs": {
			spoil: func(_ *exchange.Exchange, got *exchange.Got) {
				got.Body = bytes.Replace(got.Body, []byte("does not exist"), []byte("was not found"), 1)
			},
			name: "routes/v1-model-unknown", why: `error: want "Model with name nope does not exist."`,
		},
		"a made-up id is no UUID": {
			spoil: func(e *exchange.Exchange, got *exchange.Got) {
				if len(e.Varies) > 0 {
					got.Body = bytes.Replace(got.Body, []byte(`"id":"`), []byte(`"id":"x`), 1)
				}
			},
			name: "v2-infer/no-id", why: "random UUID",
		},
		"a content type differs": {
			spoil: func(_ *exchange.Exchange, got *exchange.Got) { got.Headers["content-type"] = "text/plain" },
			name:  "routes/root", why: "header content-type",
		},
		"binary data differ": {
			spoil: func(e *exchange.Exchange, got *exchange.Got) {
				if e.Fault == "binary-no-content-type" {
					got.Body = append([]byte{}, got.Body...)
					got.Body[len(got.Body)-1] ^= 1
				}
			},
			name: "v2-binary/output-binary-all", why: "want bytes",
		},
		"a metric is missing": {
			spoil: func(e *exchange.Exchange, got *exchange.Got) {
				if e.Group == "metrics" {
					got.Body = bytes.ReplaceAll(got.Body, []byte("request_predict_seconds_bucket"), []byte("x"))
				}
			},
			name: "metrics/metrics-after-traffic", why: "no request_predict_seconds_bucket",
		},
		"a gRPC code differs": {
			spoilCall: func(_ *exchange.Exchange, got *exchange.GotCall) {
				if got.Code == codes.InvalidArgument {
					got.Code = codes.Internal
				}
			},
			name: "grpc-infer/no-contents", why: "code: want INVALID_ARGUMENT, got INTERNAL",
		},
		"a gRPC output differs": {
			spoilCall: func(_ *exchange.Exchange, got *exchange.GotCall) {
				var m inferencev2.ModelInferResponse
				if proto.Unmarshal(got.Message, &m) == nil && len(m.GetOutputs()) == 1 && len(m.GetRawOutputContents()) == 0 {
					m.Outputs[0].Name = "predict"
					got.Message, _ = proto.Marshal(&m)
				}
			},
			name: "grpc-infer/three-rows", why: "/outputs/0/name",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sum, out := run(t, &replay{spoil: c.spoil, spoilCall: c.spoilCall}, "kserve-sklearn", c.name)
			require.Positive(t, sum.Failed)
			found := false
			for line := range strings.Lines(out) {
				found = found || strings.HasPrefix(line, "FAIL kserve-sklearn/"+c.name+": ") && strings.Contains(line, c.why)
			}
			require.True(t, found, out)
			require.Contains(t, out, fmt.Sprintf("%d passed, %d failed\n", sum.Passed(), sum.Failed))
		})
	}
}

// TestEveryExchangeIsCounted compares what is played and what is told not to be with what there is, for this project's own server and
// for a running one.
func TestEveryExchangeIsCounted(t *testing.T) {
	for name, options := range map[string]Options{
		"own server":     {},
		"some groups":    {Groups: "kserve-sklearn/routes,kserve-custom"},
		"running server": {URL: "http://localhost:1", GRPC: "localhost:2", Groups: "kserve-sklearn-repository"},
		"without calls":  {URL: "http://localhost:1", Groups: "mlserver"},
	} {
		t.Run(name, func(t *testing.T) {
			options.Dir = recordedDir
			r := New(options)
			folders, err := r.folders()
			require.NoError(t, err)
			total, counted := 0, 0
			for _, folder := range folders {
				groups, err := exchange.Groups(recordedDir, folder)
				require.NoError(t, err)
				for _, group := range groups {
					all, err := exchange.Read(recordedDir, folder, group)
					require.NoError(t, err)
					total += len(all)
				}
				p, err := r.plan(folder)
				require.NoError(t, err)
				for _, st := range p.stages {
					counted += len(st.exchanges)
				}
				for _, n := range p.notRun {
					require.NotEmpty(t, n.Why)
					counted += n.Count
				}
			}
			require.Equal(t, total, counted)
			require.Greater(t, total, 1400)
		})
	}
}

func TestWhatATargetCannotServeIsNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		folder  string
		what    string
		why     string
	}{
		"models in code and a foreign program": {Options{Server: "x"}, customFolder, customFolder + "/errors", "written in code"},
		"starts, of a running server":          {Options{URL: "u", Groups: startupFolder}, startupFolder, startupFolder + "/startup", "starts a program"},
		"sequences, unless they are named":     {Options{URL: "u", Groups: "kserve-sklearn"}, "kserve-sklearn", "kserve-sklearn/v2-repository", "name the group"},
		"sequences that add models": {
			Options{URL: "u", Groups: "kserve-sklearn-repository/v2-repository"},
			"kserve-sklearn-repository", "kserve-sklearn-repository/v2-repository", "model root",
		},
		"calls without an address": {Options{URL: "u", Groups: "kserve-sklearn"}, "kserve-sklearn", "kserve-sklearn/grpc-infer", "no gRPC address"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Dir = recordedDir
			p, err := New(c.options).plan(c.folder)
			require.NoError(t, err)
			for _, n := range p.notRun {
				if n.What == c.what {
					require.Contains(t, n.Why, c.why)
					return
				}
			}
			t.Fatalf("%s is not among %v", c.what, p.notRun)
		})
	}
}

// TestExchangesOfAnotherImplementation: against a server of KServe's kind each has a way to be right, and the same request as KServe's where
// there is one.
func TestExchangesOfAnotherImplementation(t *testing.T) {
	r := New(Options{Dir: recordedDir})
	played, withTwin := 0, 0
	for _, folder := range seconds {
		p, err := r.plan(folder)
		require.NoError(t, err)
		require.Empty(t, p.notRun)
		for _, st := range p.stages {
			for _, e := range st.exchanges {
				require.NotNil(t, e.Second, e.Name)
				played++
				if e.Second.Twin != nil {
					withTwin++
					require.Equal(t, "kserve-sklearn", e.Second.Twin.Folder)
				}
			}
		}
	}
	require.Greater(t, withTwin, 200)
	require.Greater(t, played, withTwin)
	// A running server of that kind is asked for its own answers.
	p, err := New(Options{Dir: recordedDir, URL: "u", GRPC: "g", Groups: "mlserver"}).plan("mlserver")
	require.NoError(t, err)
	require.Nil(t, p.stages[0].exchanges[0].Second)
}
