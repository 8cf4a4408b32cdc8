// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

const theirs = `{"model_name":"m","model_version":"v1","id":"1","outputs":[{"name":"predict","shape":[2,1],"datatype":"INT64","data":[0,1]}]}`

func TestASecondImplementationsAnswerIsJudgedByItsOutcome(t *testing.T) {
	infer := &Request{Method: "POST", Path: "/v2/models/m/infer"}
	answered := func(status int, body string) *Answer { return &Answer{Status: status, Body: []byte(body)} }
	twin := &Exchange{HTTP: infer, Answer: answered(404, `{"error":"Model with name m does not exist."}`)}
	for name, c := range map[string]struct {
		recorded *Answer
		second   Second
		got      Got
		verdict  Verdict
		wrong    string
	}{
		"other names and shapes are equal": {
			answered(200, theirs),
			Second{},
			Got{Status: 200, Body: []byte(`{"model_name":"m","id":"1","outputs":[{"name":"output-0","shape":[2],"datatype":"INT64","data":[0,1]}]}`)},
			Equal, "",
		},
		"other elements are not": {
			answered(200, theirs),
			Second{},
			Got{Status: 200, Body: []byte(`{"model_name":"m","id":"1","outputs":[{"name":"output-0","datatype":"INT64","data":[0,2]}]}`)},
			Equal, "/outputs/0/data",
		},
		"another id is not": {
			answered(200, theirs), Second{}, Got{Status: 200, Body: []byte(`{"model_name":"m","id":"2","outputs":[]}`)}, Equal, "/id",
		},
		"a caller's mistake that was a failure is better": {
			answered(500, "Internal Server Error"), Second{}, Got{Status: 400, Body: []byte(`{"error":"input x"}`)}, Improved, "",
		},
		"a failure again is not":             {answered(500, "x"), Second{}, Got{Status: 503, Body: []byte(`{"error":"x"}`)}, Equal, "recorded 500"},
		"an error without a text is not":     {answered(500, "x"), Second{}, Got{Status: 400, Body: []byte(`{}`)}, Improved, "want an error"},
		"KServe's own answer decides":        {answered(200, theirs), Second{Twin: twin}, Got{Status: 404, Body: twin.Answer.Body}, AsKServe, ""},
		"and another is wrong":               {answered(200, theirs), Second{Twin: twin}, Got{Status: 400, Body: []byte(`{"error":"x"}`)}, AsKServe, "want 404"},
		"so does a rule":                     {answered(405, ""), Second{Ours: "200"}, Got{Status: 200}, AsKServe, ""},
		"and another status breaks the rule": {answered(405, ""), Second{Ours: "200", Why: "as GET"}, Got{Status: 404}, AsKServe, "as GET"},
		"a model in another state is not equal": {
			answered(200, `[{"name":"a","state":"READY"}]`), Second{}, Got{Status: 200, Body: []byte(`[{"name":"a","state":"UNAVAILABLE"}]`)}, Equal, "/a/state",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Exchange{HTTP: infer, Answer: c.recorded, Second: &c.second}
			verdict, err := e.Judge(c.got)
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.verdict, verdict)
		})
	}
}

func TestASecondImplementationsCallIsJudgedByItsOutcome(t *testing.T) {
	answer := func(name string, values ...int64) []byte {
		text, err := proto.Marshal(&inferencev2.ModelInferResponse{Outputs: []*inferencev2.ModelInferResponse_InferOutputTensor{{
			Name: name, Datatype: "INT64", Shape: []int64{1}, Contents: &inferencev2.InferTensorContents{Int64Contents: values},
		}}})
		require.NoError(t, err)
		return text
	}
	call := &Call{
		Method: "/inference.GRPCInferenceService/ModelInfer", Code: "OK",
		Response: []byte(`{"outputs":[{"name":"predict","datatype":"INT64","shape":["1","1"],"contents":{"int64_contents":["5"]}}]}`),
	}
	judge := func(call *Call, second Second, got GotCall) (Verdict, error) {
		return (&Exchange{Call: call, Second: &second}).JudgeAnswer(got)
	}
	verdict, err := judge(call, Second{}, GotCall{Message: answer("output-0", 5)})
	require.NoError(t, err)
	require.Equal(t, Equal, verdict)
	_, err = judge(call, Second{}, GotCall{Message: answer("output-0", 6)})
	require.ErrorContains(t, err, "contents")
	_, err = judge(call, Second{}, GotCall{Code: codes.InvalidArgument, Details: "x"})
	require.ErrorContains(t, err, "recorded OK")
	verdict, err = judge(&Call{Method: call.Method, Code: "INTERNAL"}, Second{}, GotCall{Code: codes.InvalidArgument, Details: "x"})
	require.NoError(t, err)
	require.Equal(t, Improved, verdict)
	_, err = judge(&Call{Method: call.Method, Code: "INTERNAL"}, Second{}, GotCall{Code: codes.Unknown})
	require.ErrorContains(t, err, "recorded INTERNAL")
	_, err = judge(call, Second{Ours: "NOT_FOUND", Why: "no such"}, GotCall{Code: codes.InvalidArgument})
	require.ErrorContains(t, err, "no such")
}
