// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// record is a server that keeps what it was sent.
type record struct {
	path, host, body, token string
}

func restServer(t *testing.T, code int, answer string) (*record, string) {
	t.Helper()
	got := &record{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = record{r.URL.Path, r.Host, string(body), r.Header.Get("X-Token")}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return got, server.URL
}

// call runs `predict` as the command line would.
func call(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := Command(output.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errOut})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(context.Background())
	return out.String(), errOut.String(), err
}

func TestV1IsSentAsWrittenAndTheAnswerPrinted(t *testing.T) {
	got, url := restServer(t, 200, `{"predictions":[1]}`)
	stdout, stderr, err := call(t, "", "iris", "--url", url, "-d", `{"instances": [[1, 2.50]]}`, "--host", "iris.default.example.com", "-H", "X-Token: abc")
	require.NoError(t, err)
	require.Equal(t, record{"/v1/models/iris:predict", "iris.default.example.com", `{"instances": [[1, 2.50]]}`, "abc"}, *got)
	require.JSONEq(t, `{"predictions":[1]}`, stdout)
	require.Regexp(t, `^200 OK in \d+\.\d ms over v1 from http`, stderr)
	require.NotContains(t, stderr, "\x1b", "no colour where there is no terminal")
}

func TestV2TakesEitherForm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1.5]}]}`), 0o600))
	got, url := restServer(t, 200, `{}`)
	_, _, err := call(t, "", "iris", "--url", url, "-f", file)
	require.NoError(t, err)
	require.Equal(t, "/v2/models/iris/infer", got.path, "a body with inputs is V2 without a flag")

	_, _, err = call(t, `{"instances": [[1, 9007199254740993], [3, 4e-3]]}`, "iris", "--url", url, "-p", "v2", "-f", "-")
	require.NoError(t, err)
	require.JSONEq(t, `{"inputs":[{"name":"input-0","shape":[2,2],"datatype":"FP64","data":[1,9007199254740993,3,4e-3]}]}`, got.body)
	require.Contains(t, got.body, "9007199254740993", "numbers are sent as written")
}

func TestOutputForPrograms(t *testing.T) {
	_, url := restServer(t, 200, `{"predictions":[1]}`)
	stdout, _, err := call(t, "", "iris", "--url", url, "-d", `{"instances": [[1]]}`, "-o", "json")
	require.NoError(t, err)
	var a Answer
	require.NoError(t, json.Unmarshal([]byte(stdout), &a))
	require.Equal(t, "200 OK", a.Status)
	require.Positive(t, a.LatencyMS)
	require.JSONEq(t, `{"predictions":[1]}`, string(a.Body))
}

func TestRefusalsHaveTheirOwnCodeAndMessage(t *testing.T) {
	_, url := restServer(t, 404, `{"error":"Model with name iris does not exist."}`)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that a client is gone once the body is read
		<-r.Context().Done()
	}))
	defer slow.Close()
	row := `{"instances": [[1]]}`
	cases := map[string]struct {
		args []string
		code int
		say  string
	}{
		"the server's refusal":         {[]string{"iris", "--url", url, "-d", row}, exit.Failed, ""},
		"nothing listens":              {[]string{"iris", "--url", "http://" + closed.Addr().String(), "-d", row}, exit.Unreachable, "start a server with: kserve run"},
		"nothing listens, gRPC":        {[]string{"iris", "-p", "grpc", "--grpc-address", closed.Addr().String(), "-d", row}, exit.Unreachable, "reach 127.0.0.1"},
		"no answer in time":            {[]string{"iris", "--url", slow.URL, "--timeout", "50ms", "-d", row}, exit.Unreachable, "within 50ms"},
		"a graph over gRPC":            {[]string{"g", "--graph", "-p", "grpc", "-d", row}, exit.Usage, "over HTTP"},
		"a graph of two namespaces":    {[]string{"a/b/c", "--graph", "-d", row}, exit.Usage, "namespace/name"},
		"no body":                      {[]string{"iris"}, exit.Usage, "--file"},
		"two bodies":                   {[]string{"iris", "-d", row, "-f", "x"}, exit.Usage, "use one"},
		"a file that is not there":     {[]string{"iris", "-f", "/nonexistent"}, exit.Invalid, "no such file"},
		"no JSON":                      {[]string{"iris", "-d", "[1"}, exit.Invalid, "no JSON object"},
		"a URL without a scheme":       {[]string{"iris", "-d", row, "--url", "localhost:8080"}, exit.Usage, "http://localhost:8080"},
		"an unknown protocol":          {[]string{"iris", "-d", row, "-p", "v3"}, exit.Usage, "none of v1, v2, grpc"},
		"V2 form over V1":              {[]string{"iris", "-d", `{"inputs": []}`, "-p", "v1"}, exit.Invalid, "V2 form"},
		"ragged rows over V2":          {[]string{"iris", "-d", `{"instances": [[1, 2], [3]]}`, "-p", "v2"}, exit.Invalid, "a row of 2 is expected, got a list of 1"},
		"objects as rows over V2":      {[]string{"iris", "-d", `{"instances": [{"a": 1}]}`, "-p", "v2"}, exit.Invalid, "an object"},
		"a number that does not fit":   {[]string{"iris", "-p", "grpc", "-d", `{"inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[1.5]}]}`}, exit.Invalid, `input "x": INT8: element 0 is 1.5`},
		"a header that is none":        {[]string{"iris", "--url", url, "-d", row, "-H", "nonsense"}, exit.Usage, "Name: value"},
		"a header with a blank in it":  {[]string{"iris", "--url", url, "-d", row, "-H", "a b: x"}, exit.Usage, "a name holds letters, digits and '-' only"},
		"a header of two lines":        {[]string{"iris", "--url", url, "-d", row, "-H", "a: x\ny"}, exit.Usage, "a value is one line"},
		"a header of no ASCII, gRPC":   {[]string{"iris", "-p", "grpc", "-d", row, "-H", "a: ü"}, exit.Usage, "printable ASCII only"},
		"no model's name":              {[]string{"", "--url", url, "-d", row}, exit.Usage, "the model's name is empty"},
		"no time":                      {[]string{"iris", "--url", url, "-d", row, "--timeout", "0"}, exit.Usage, "--timeout 0s leaves no time"},
		"null":                         {[]string{"iris", "--url", url, "-d", "null"}, exit.Invalid, "the request is no JSON object: it is null"},
		"a gRPC address with a scheme": {[]string{"iris", "-p", "grpc", "-d", row, "--grpc-address", "http://localhost:8081"}, exit.Usage, "is not like localhost:8081"},
		"gRPC to an HTTP port":         {[]string{"iris", "-p", "grpc", "-d", row, "--grpc-address", strings.TrimPrefix(url, "http://")}, exit.Unreachable, "does not speak gRPC; is that its HTTP port?"},
		"HTTP to a port of no HTTP":    {[]string{"iris", "-d", row, "--url", "http://" + notHTTP(t)}, exit.Unreachable, "does not speak HTTP/1.1; is that its gRPC port?"},
		"a datatype that nobody knows": {[]string{"iris", "-p", "grpc", "-d", `{"inputs":[{"name":"x","shape":[1],"datatype":"FLOAT","data":[1.5]}]}`}, exit.Invalid, `"FLOAT"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := call(t, "", c.args...)
			require.Error(t, err)
			require.Equal(t, c.code, exit.Code(err), err.Error())
			require.Contains(t, exit.Message(err), c.say)
		})
	}
}

// notHTTP is the address of a server that greets as HTTP/2 without TLS does.
func notHTTP(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("\x00\x00\x0c\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00@\x00\x00\x03\x00\x00\x03\xe8"))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestHostAndContentTypeGivenAsHeadersCount(t *testing.T) {
	got, url := restServer(t, 200, `{}`)
	_, _, err := call(t, "", "iris", "--url", url, "-d", `{"instances": [[1]]}`, "-H", "Host: iris.default.example.com", "-H", "X-Token: t")
	require.NoError(t, err)
	require.Equal(t, "iris.default.example.com", got.host)
	require.Equal(t, "t", got.token)
}

func TestAnAnswerThatIsNoJSONIsPrintedAsItCame(t *testing.T) {
	_, url := restServer(t, 502, "<html>\n<b>bad gateway</b>\n</html>\n")
	stdout, _, err := call(t, "", "iris", "--url", url, "-d", `{"instances": [[1]]}`)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Equal(t, "<html>\n<b>bad gateway</b>\n</html>\n", stdout)
	stdout, _, _ = call(t, "", "iris", "--url", url, "-d", `{"instances": [[1]]}`, "-o", "json")
	require.Contains(t, stdout, `"answer": "<html>\n<b>bad gateway`)
}

func TestAGraphIsAskedByItsName(t *testing.T) {
	got, url := restServer(t, 200, `{}`)
	for args, path := range map[string]string{"pipeline": "/serving/default/pipeline", "team/pipeline": "/serving/team/pipeline"} {
		for _, body := range []string{`{"instances": [[1]]}`, `{"inputs": []}`} {
			_, stderr, err := call(t, "", args, "--graph", "--url", url, "-d", body)
			require.NoError(t, err)
			require.Equal(t, path, got.path)
			require.NotContains(t, stderr, "--graph")
		}
	}
	_, url = restServer(t, 404, `{"error":"Model with name pipeline does not exist."}`)
	_, stderr, err := call(t, "", "pipeline", "--url", url, "-d", `{"instances": [[1]]}`)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, stderr, "kserve predict --graph pipeline")
}

func TestTextsOverGRPCArePrintedAsTexts(t *testing.T) {
	tensor := func(name string, values ...string) *inferencev2.ModelInferResponse_InferOutputTensor {
		out := &inferencev2.ModelInferResponse_InferOutputTensor{Name: name, Datatype: "BYTES", Shape: []int64{int64(len(values))}, Contents: &inferencev2.InferTensorContents{}}
		for _, v := range values {
			out.Contents.BytesContents = append(out.Contents.BytesContents, []byte(v))
		}
		return out
	}
	text, err := printable(&inferencev2.ModelInferResponse{ModelName: "m", Id: "7", Outputs: []*inferencev2.ModelInferResponse_InferOutputTensor{
		tensor("label", "<50K", "vérité"), tensor("binary", "a", "\xff"),
	}})
	require.NoError(t, err)
	require.Contains(t, string(text), "<50K")
	require.JSONEq(t, `{"model_name":"m","id":"7","outputs":[
		{"name":"label","datatype":"BYTES","shape":["2"],"contents":{"bytes_contents":["<50K","vérité"]}},
		{"name":"binary","datatype":"BYTES","shape":["2"],"contents":{"bytes_contents":["YQ==","/w=="]}}]}`, string(text))
}

type grpcServer struct {
	inferencev2.UnimplementedGRPCInferenceServiceServer
	got *inferencev2.ModelInferRequest
}

func (s *grpcServer) ModelInfer(_ context.Context, in *inferencev2.ModelInferRequest) (*inferencev2.ModelInferResponse, error) {
	s.got = in
	if in.GetModelName() == "none" {
		return nil, status.Error(codes.NotFound, "Model with name none does not exist.")
	}
	return &inferencev2.ModelInferResponse{ModelName: in.GetModelName(), Outputs: []*inferencev2.ModelInferResponse_InferOutputTensor{
		{Name: "output-0", Datatype: "INT64", Shape: []int64{1}, Contents: &inferencev2.InferTensorContents{Int64Contents: []int64{1}}},
	}}, nil
}

func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, handler := grpc.NewServer(), &grpcServer{}
	inferencev2.RegisterGRPCInferenceServiceServer(server, handler)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	address := listener.Addr().String()

	stdout, stderr, err := call(t, "", "iris", "-p", "grpc", "--grpc-address", address, "-d",
		`{"id":"7","parameters":{"n":3},"inputs":[{"name":"x","shape":[2,1],"datatype":"fp32","data":[[1.5],[2]]},{"name":"s","shape":[1],"datatype":"BYTES","data":["é"]}]}`)
	require.NoError(t, err)
	require.Contains(t, stderr, "OK in ")
	require.JSONEq(t, `{"model_name":"iris","outputs":[{"name":"output-0","datatype":"INT64","shape":["1"],"contents":{"int64_contents":["1"]}}]}`, stdout)
	require.Equal(t, "7", handler.got.GetId())
	require.EqualValues(t, 3, handler.got.GetParameters()["n"].GetInt64Param())
	require.Equal(t, []float32{1.5, 2}, handler.got.GetInputs()[0].GetContents().GetFp32Contents())
	require.Equal(t, "FP32", handler.got.GetInputs()[0].GetDatatype())
	require.Equal(t, [][]byte{[]byte("é")}, handler.got.GetInputs()[1].GetContents().GetBytesContents())

	stdout, _, err = call(t, "", "none", "-p", "grpc", "--grpc-address", address, "-d", `{"instances": [[1]]}`)
	require.Equal(t, exit.Failed, exit.Code(err))
	require.Contains(t, stdout, "does not exist")
	var e *exit.Error
	require.True(t, errors.As(err, &e))
	require.Empty(t, exit.Message(err), "the refusal was printed already")
}

func TestAnAnswerWithoutEndIsNotWaitedFor(t *testing.T) {
	raw, err := readAnswer(strings.NewReader("whole"), 5)
	require.NoError(t, err)
	require.Equal(t, "whole", string(raw))
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	response, err := http.Get(endless.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = readAnswer(response.Body, 2<<20)
	require.ErrorIs(t, err, errLong)
	require.ErrorContains(t, err, "2 MiB")
}
