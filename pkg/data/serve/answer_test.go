// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// answers is a model, and an explainer, that is a function. Its rows may be joined.
type answers func(ctx context.Context, in *tensor.Request, out *tensor.Response) error

func (f answers) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	return f(ctx, in, out)
}

func (f answers) Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	return f(ctx, in, out)
}

func (f answers) RowWise() bool { return true }

// shaped answers two numbers that are said to have another shape.
func shaped(shape ...int64) answers {
	return func(_ context.Context, _ *tensor.Request, out *tensor.Response) error {
		out.Add("x", tensor.FP64, 2).Shape = shape
		return nil
	}
}

// An answer that is no array is the model's fault, on every wire, alone and joined: a shape that lies would be believed by whoever reads it.
func TestAnAnswerThatIsNoArrayIsTheModelsFault(t *testing.T) {
	for name, model := range map[string]answers{
		"more than there is": shaped(3), "less": shaped(1), "far more": shaped(1 << 40), "rows of nothing": shaped(1<<40, 0), "a negative dimension": shaped(-1),
		"nil": func(_ context.Context, _ *tensor.Request, out *tensor.Response) error {
			out.Outputs = append(out.Outputs, nil)
			return nil
		},
		"no datatype": func(_ context.Context, _ *tensor.Request, out *tensor.Response) error {
			out.Outputs = append(out.Outputs, &tensor.Tensor{Name: "x", Shape: []int64{0}})
			return nil
		},
		"texts that are not all there": func(_ context.Context, _ *tensor.Request, out *tensor.Response) error {
			out.Add("x", tensor.Bytes, 2).AppendString("a")
			return nil
		},
	} {
		for _, size := range []int{0, 2} {
			url, conn := onPorts(t, newModel(t, model), serve.Options{Limits: serve.Limits{MaxBatchSize: size, MaxBatchDelay: time.Millisecond}})
			for path, body := range map[string]string{
				"/v1/models/m:predict": `{"instances":[1]}`, "/v1/models/m:explain": `{"instances":[1]}`,
				"/v2/models/m/infer": `{"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]}`,
			} {
				resp, got := do(t, http.MethodPost, url+path, body, "Content-Type", "application/json")
				require.Equal(t, http.StatusInternalServerError, resp.StatusCode, "%s: %s: %s", name, path, got)
			}
			_, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), oneNumber())
			require.Equal(t, codes.Internal, status.Code(err), name)
		}
	}
}

// A shape of no elements costs its sender nothing, and would cost a transformer all its memory where the predictor takes V1.
func TestAShapeWithoutElementsDoesNotBecomeABigBody(t *testing.T) {
	predictor := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer predictor.Close()
	url, _ := onPorts(t, newTransformer(t, same{}, newPredictor(t, client.Options{URL: predictor.URL})), serve.Options{})
	resp, got := do(t, http.MethodPost, url+"/v2/models/m/infer", `{"inputs":[{"name":"x","shape":[65536,65536,0],"datatype":"FP64","data":[]}]}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode, got)
}

// same hands requests on as they come.
type same struct{}

func (same) Preprocess(_ context.Context, in *tensor.Request) (*tensor.Request, error) {
	return in, nil
}

// What one caller may do the others may not: a prediction for several has nobody's header, and sets nobody's.
func TestRequestsThatAreJoinedHaveNoHeader(t *testing.T) {
	const callers = 4
	var mu sync.Mutex
	seen := map[string]int{}
	url, _ := onPorts(t, newModel(t, answers(func(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprintf("%d: %q", in.Inputs[0].Rows(), serve.RequestHeader(ctx).Get("Authorization"))]++
		serve.SetResponseHeader(ctx, "X-Set", "yes")
		out.Outputs = append(out.Outputs, in.Inputs...)
		return nil
	})), serve.Options{Limits: serve.Limits{MaxBatchSize: callers, MaxBatchDelay: waitFor}})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`, "Authorization", fmt.Sprintf("Bearer %d", i))
			if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Set") != "" {
				t.Errorf("%d, %v", resp.StatusCode, resp.Header)
			}
		})
	}
	all.Wait()
	require.Equal(t, map[string]int{`4: ""`: 1}, seen)
	resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1,2,3,4]}`, "Authorization", "Bearer me")
	require.Equal(t, "yes", resp.Header.Get("X-Set"))
	require.Equal(t, 1, seen[`4: "Bearer me"`])
}

// A header that a model makes of what a client sent must not break the answer.
func TestAHeaderOfAnAnswerThatCannotBeCarriedIsLeftOut(t *testing.T) {
	for _, h := range [][2]string{{"x-a", "a\r\nX-B: 1"}, {"x-a", "\x00"}, {"x a", "v"}, {"", "v"}, {"x-a\r\nx-b", "v"}} {
		url, conn := onPorts(t, newModel(t, answers(func(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
			serve.SetResponseHeader(ctx, h[0], h[1])
			serve.SetResponseHeader(ctx, "x-good", "yes")
			out.Outputs = append(out.Outputs, in.Inputs...)
			return nil
		})), serve.Options{})
		resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, "yes", resp.Header.Get("X-Good"))
		require.Empty(t, resp.Header.Get("X-A")+resp.Header.Get("X-B"))
		var md metadata.MD
		_, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), oneNumber(), grpc.Header(&md))
		require.NoError(t, err, "%q", h)
		require.Equal(t, []string{"yes"}, md.Get("x-good"))
		require.Empty(t, md.Get("x-a"))
	}
}

// A parameter of an answer that no wire has is the model's fault on each of them. A fraction is none over REST; gRPC's protocol has no such.
func TestParametersOfAnAnswer(t *testing.T) {
	const own = `{"error":"internal error"}`
	for name, c := range map[string]struct {
		value  any
		status int
		code   codes.Code
		text   string
	}{
		"text":         {"a", 200, codes.OK, ""},
		"an integer":   {int64(3), 200, codes.OK, ""},
		"true":         {true, 200, codes.OK, ""},
		"a fraction":   {0.5, 200, codes.Unimplemented, "parameter p is 0.5, and V2 over gRPC has no parameters but true and false, integers and text"},
		"a list":       {[]int{1}, 500, codes.Internal, "internal error"},
		"an int of Go": {3, 500, codes.Internal, "internal error"},
		"nothing":      {nil, 500, codes.Internal, "internal error"},
	} {
		for _, ofOutput := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, of an output: %v", name, ofOutput), func(t *testing.T) {
				url, conn := onPorts(t, newModel(t, answers(func(_ context.Context, in *tensor.Request, out *tensor.Response) error {
					out.Outputs = append(out.Outputs, in.Inputs...)
					if ofOutput {
						out.Outputs[0].Parameters = tensor.Parameters{"p": c.value}
					} else {
						out.Parameters = tensor.Parameters{"p": c.value}
					}
					return nil
				})), serve.Options{})
				for path, body := range map[string]string{"/v1/models/m:predict": `{"instances":[1]}`, "/v2/models/m/infer": v2Body} {
					resp, text := do(t, http.MethodPost, url+path, body, "Content-Type", "application/json")
					require.Equal(t, c.status, resp.StatusCode, text)
					if c.status != 200 {
						require.Equal(t, own, text)
					}
				}
				_, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), oneNumber())
				require.Equal(t, c.code, status.Code(err), "%v", err)
				if c.code != codes.OK {
					require.ErrorContains(t, err, c.text)
				}
			})
		}
	}
}
