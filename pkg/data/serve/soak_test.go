// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// soakRequests is how many requests TestSoak sends: a few thousand, or as many as SOAK_REQUESTS says.
func soakRequests(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SOAK_REQUESTS")
	if text == "" {
		return 3000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

const (
	soakV1     = `{"instances":[[5.1,3.5,1.4,0.2]]}`
	soakV1Want = `{"predictions":[0]}`
	soakV2     = `{"id":"s","inputs":[{"name":"input-0","shape":[2,4],"datatype":"FP64","data":[5.1,3.5,1.4,0.2,6.5,3.0,5.2,2.0]}]}`
	soakV2Want = `"data":[0,2]`
)

// soak sends requests of every kind of client: good ones, and those that are wrong, stop, come slowly, take slowly and go away.
type soak struct {
	t       *testing.T
	addr    string
	url     string
	web     *http.Client
	calls   inferencev2.GRPCInferenceServiceClient
	good    atomic.Int64
	refused atomic.Int64
	broken  atomic.Int64 // connections that the client or the server gave up
}

// Whatever clients do, the server answers the good ones and blames nobody but them: no answer of 500 and above but for deadlines that passed,
// and afterwards there are no more goroutines and no more memory than before.
func TestSoak(t *testing.T) {
	n := soakRequests(t)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	opts := serve.Options{
		Engines: []engine.Engine{sklearn.New()}, ModelDir: "../../../test/data/protocol/models/iris-logreg", ModelName: "m",
		BodyStall: 2 * time.Second, MaxBody: 1 << 20, Limits: serve.Limits{MaxBatchSize: 16},
	}
	// A good client may be held up for seconds between its connection and its request, on a machine that is busy with others.
	opts.Server.ReadHeaderTimeout, opts.Server.WriteStall, opts.Server.IdleTimeout = 30*time.Second, 2*time.Second, 2*time.Minute
	p := run(t, opts)
	require.Eventually(t, p.Ready, waitFor, tick)
	conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	s := &soak{
		t: t, addr: p.HTTPAddr().String(), url: p.url, web: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute},
		calls: inferencev2.NewGRPCInferenceServiceClient(conn),
	}
	s.send(n/4, 0)
	warm := heap()
	s.send(n-n/4, 1)
	s.web.CloseIdleConnections()
	require.Eventually(t, func() bool { return !strings.Contains(s.metrics(), `kserve_predictions_running{model_name="m"} 1`) }, waitFor, tick)
	require.LessOrEqual(t, heap(), warm+8<<20, "memory has grown")
	text := s.metrics()
	for _, wrong := range regexp.MustCompile(`kserve_requests_total\{code="(5\d\d|2|13|14|15)",protocol="\w+"\}.*`).FindAllString(text, -1) {
		require.Contains(t, wrong, `code="504"`)
	}
	require.Contains(t, text, "kserve_panics_total 0")
	require.Contains(t, text, `kserve_predictions_queued{model_name="m"} 0`)
	t.Logf("%d requests: %d answered, %d refused, %d given up", n, s.good.Load(), s.refused.Load(), s.broken.Load())
	for kind, count := range map[string]int64{"answered": s.good.Load(), "refused": s.refused.Load(), "given up": s.broken.Load()} {
		require.Greater(t, count, int64(n/20), kind)
	}
	require.NoError(t, conn.Close())
	s.web.CloseIdleConnections()
	p.stop()
	require.NoError(t, <-p.done)
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { runtime.GC(); return runtime.NumGoroutine() <= before+1 }, waitFor, 10*time.Millisecond, "goroutines are left")
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func (s *soak) metrics() string {
	resp, err := s.web.Get(s.url + "/metrics")
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

func (s *soak) send(n int, seed uint64) {
	var clients sync.WaitGroup
	var next atomic.Int64
	for c := range 16 {
		clients.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(c)))
			kinds := []func(*rand.Rand){
				s.goodV1, s.goodV2, s.goodCall, s.goodV1, s.goodV2, s.goodCall,
				s.changedV1, s.changedV2, s.changedCall, s.zipped, s.cut, s.leave, s.leaveCall, s.noise, s.header, s.slow, s.lazy, s.late,
			}
			for next.Add(1) <= int64(n) && !s.t.Failed() {
				if r.IntN(2000) == 0 {
					s.stop(r)
					continue
				}
				kinds[r.IntN(len(kinds))](r)
			}
		})
	}
	clients.Wait()
}

// post sends a body and returns the status and the answer; 0 when the connection broke.
func (s *soak) post(path string, body []byte, headers ...string) (int, string) {
	req, err := http.NewRequest(http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.web.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func (s *soak) goodV1(*rand.Rand) {
	code, text := s.post("/v1/models/m:predict", []byte(soakV1))
	s.expect(code == 200 && text == soakV1Want, "V1", code, text)
}

func (s *soak) goodV2(*rand.Rand) {
	code, text := s.post("/v2/models/m/infer", []byte(soakV2))
	s.expect(code == 200 && strings.Contains(text, soakV2Want), "V2", code, text)
}

func soakCall() *inferencev2.ModelInferRequest {
	return &inferencev2.ModelInferRequest{ModelName: "m", Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
		Name: "input-0", Datatype: "FP64", Shape: []int64{1, 4}, Contents: &inferencev2.InferTensorContents{Fp64Contents: []float64{6.5, 3.0, 5.2, 2.0}},
	}}}
}

func (s *soak) goodCall(*rand.Rand) {
	out, err := s.calls.ModelInfer(context.Background(), soakCall())
	s.expect(err == nil && out.GetOutputs()[0].GetContents().GetInt64Contents()[0] == 2, "gRPC", 0, fmt.Sprint(out, err))
}

func (s *soak) expect(ok bool, what string, code int, text string) {
	if !ok {
		s.t.Errorf("a good request of %s was answered %d %s", what, code, text)
	}
	s.good.Add(1)
}

// blamed checks the answer to a request that may be wrong.
func (s *soak) blamed(what string, body []byte, code int, text string) {
	switch {
	case code >= 500:
		s.t.Errorf("%s: the server takes the blame: %d %s for %q", what, code, text, body)
	case code == 0:
		s.broken.Add(1)
	case code >= 400:
		s.refused.Add(1)
	default:
		s.good.Add(1) // the change left it right
	}
}

// changed is a body with random faults.
func changed(r *rand.Rand, body string) []byte {
	b := []byte(body)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[at] = byte(r.IntN(256))
		case 1:
			b = b[:max(at, 1)]
		case 2:
			b = append(b[:at:at], append([]byte(strings.Repeat("[", 1+r.IntN(200))), b[at:]...)...)
		case 3:
			b = append(b[:at:at], append([]byte(`,"a":1e999,null`), b[at:]...)...)
		default:
			b = append(b[:at:at], b[min(at+1+r.IntN(10), len(b)):]...)
		}
		if len(b) == 0 {
			return []byte("{")
		}
	}
	return b
}

func (s *soak) changedV1(r *rand.Rand) {
	body := changed(r, soakV1)
	code, text := s.post("/v1/models/m:predict", body)
	s.blamed("V1", body, code, text)
}

func (s *soak) changedV2(r *rand.Rand) {
	body := changed(r, soakV2)
	if r.IntN(2) == 0 {
		code, text := s.post("/v2/models/m/infer", body, "Content-Type", "application/octet-stream", "Inference-Header-Content-Length", strconv.Itoa(r.IntN(len(body)+2)))
		s.blamed("V2 binary", body, code, text)
		return
	}
	code, text := s.post("/v2/models/m/infer", body)
	s.blamed("V2", body, code, text)
}

func (s *soak) changedCall(r *rand.Rand) {
	in := soakCall()
	tensor := in.GetInputs()[0]
	switch r.IntN(6) {
	case 0:
		in.RawInputContents = [][]byte{make([]byte, r.IntN(64))}
	case 1:
		tensor.Shape = []int64{r.Int64() - r.Int64(), 4}
	case 2:
		tensor.Datatype = []string{"FP32", "BYTES", "UINT8", "x", ""}[r.IntN(5)]
	case 3:
		tensor.Shape = nil
	case 4:
		in.ModelName = strings.Repeat("n", r.IntN(100))
	default:
		in.ModelVersion = "nine"
		in.Inputs = append(in.Inputs, tensor)
	}
	_, err := s.calls.ModelInfer(context.Background(), in)
	switch code := status.Code(err); code {
	case codes.OK:
		s.good.Add(1)
	case codes.InvalidArgument, codes.NotFound, codes.ResourceExhausted:
		s.refused.Add(1)
	default:
		s.t.Errorf("gRPC: the server takes the blame: %v for %v", err, in)
	}
}

// zipped sends gzip that is whole, cut or wrong.
func (s *soak) zipped(r *rand.Rand) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, soakV1)
	_ = z.Close()
	body := b.Bytes()
	if r.IntN(3) > 0 {
		body = changed(r, b.String())
	}
	code, text := s.post("/v1/models/m:predict", body, "Content-Encoding", "gzip")
	s.blamed("gzip", body, code, text)
}

// raw opens a connection, writes text and hands it on. The connection is closed with a reset where hard is set.
func (s *soak) raw(text string, hard bool, then func(net.Conn)) {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Errorf("dial: %v", err)
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok && hard {
		_ = tcp.SetLinger(0)
	}
	_, _ = io.WriteString(c, text)
	if then != nil {
		then(c)
	}
	_ = c.Close()
	s.broken.Add(1)
}

func soakHead(path string, length int, more string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", path, length, more)
}

// cut ends the connection in the middle of the body.
func (s *soak) cut(r *rand.Rand) {
	s.raw(soakHead("/v1/models/m:predict", len(soakV1), "")+soakV1[:r.IntN(len(soakV1))], r.IntN(2) == 0, nil)
}

// leave goes away before the answer comes.
func (s *soak) leave(r *rand.Rand) {
	s.raw(soakHead("/v2/models/m/infer", len(soakV2), "")+soakV2, r.IntN(2) == 0, nil)
}

func (s *soak) leaveCall(r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(300))*time.Microsecond)
	defer cancel()
	_, err := s.calls.ModelInfer(ctx, soakCall())
	switch status.Code(err) {
	case codes.OK:
		s.good.Add(1)
	case codes.DeadlineExceeded, codes.Canceled:
		s.broken.Add(1)
	default:
		s.t.Errorf("gRPC with a short deadline: %v", err)
	}
}

// noise is no HTTP, or begins as HTTP/2.
func (s *soak) noise(r *rand.Rand) {
	b := make([]byte, 1+r.IntN(200))
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	s.raw([]string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n"}[r.IntN(3)]+string(b), true, nil)
}

// header has faults in the head of a request.
func (s *soak) header(r *rand.Rand) {
	more := []string{
		"Transfer-Encoding: chunked\r\n", "Content-Length: 3\r\n", "X-Request-Timeout: soon\r\n", "Content-Encoding: br\r\n",
		"A: " + strings.Repeat("x", 70<<10) + "\r\n", "Expect: 100-continue\r\n", "B\x00: c\r\n",
	}[r.IntN(7)]
	s.raw(soakHead("/v1/models/m:predict", len(soakV1), more)+soakV1, false, func(c net.Conn) {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented && resp.StatusCode != http.StatusHTTPVersionNotSupported {
				s.t.Errorf("header %.60q: %s", more, resp.Status)
			}
		}
	})
}

// slow sends a byte now and then; the server gives it up, or it comes to its end.
func (s *soak) slow(r *rand.Rand) {
	text := soakHead("/v1/models/m:predict", len(soakV1), "") + soakV1
	at := r.IntN(len(text))
	s.raw(text[:at], false, func(c net.Conn) {
		for i := at; i < min(at+3, len(text)); i++ {
			time.Sleep(time.Millisecond)
			if _, err := c.Write([]byte{text[i]}); err != nil {
				return
			}
		}
	})
}

// stop sends nothing more in the middle of a body, until the server gives the request up.
func (s *soak) stop(r *rand.Rand) {
	s.raw(soakHead("/v1/models/m:predict", len(soakV1), "")+soakV1[:r.IntN(len(soakV1))], false, func(c net.Conn) {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			s.t.Errorf("a body that stops: %v", err)
			return
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestTimeout {
			s.t.Errorf("a body that stops: %s", resp.Status)
		}
	})
}

// lazy asks many times and reads nothing of the answers.
func (s *soak) lazy(*rand.Rand) {
	s.raw(strings.Repeat(soakHead("/v2/models/m/infer", len(soakV2), "")+soakV2, 20), true, nil)
}

// late has a deadline that has passed, or nearly.
func (s *soak) late(r *rand.Rand) {
	code, text := s.post("/v1/models/m:predict", []byte(soakV1), "X-Request-Timeout", fmt.Sprintf("%dus", r.IntN(500)))
	switch code {
	case http.StatusOK:
		s.good.Add(1)
	case http.StatusGatewayTimeout, http.StatusTooManyRequests:
		s.refused.Add(1)
	default:
		s.t.Errorf("a late request was answered %d %s", code, text)
	}
}
