// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// services starts real HTTP services that record what reached them. Each answers by its path:
// /echo the body, /status/NNN that status, /say/TEXT that text.
func services(t *testing.T) (base string, seen func() []seenRequest) {
	t.Helper()
	var mu sync.Mutex
	var got []seenRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, seenRequest{r.URL.Path, string(body), r.Header})
		mu.Unlock()
		switch {
		case r.URL.Path == "/echo":
			_, _ = w.Write(body)
		case strings.HasPrefix(r.URL.Path, "/fail/"):
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/fail/"))
		default:
			_, _ = io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/say/"))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []seenRequest { mu.Lock(); defer mu.Unlock(); return append([]seenRequest(nil), got...) }
}

type seenRequest struct {
	path, body string
	header     http.Header
}

// graph reads a graph in which BASE stands for the services' URL.
func graph(t *testing.T, base, spec string) *Graph {
	t.Helper()
	var g handoff.Graph
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(spec, "BASE", base)), &g))
	compiled, err := Compile(g)
	require.NoError(t, err)
	return compiled
}

func TestGraphsAnswerAsTheirNodesSay(t *testing.T) {
	tests := map[string]struct {
		spec, body string
		status     int
		want       string
		bodies     []string // what the services saw, in order
	}{
		"a sequence feeds the last answer on when told to": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[
				{"serviceUrl":"BASE/say/{\"predictions\":[1,2]}"},{"serviceUrl":"BASE/echo","data":"$response"}]}}}`,
			body: `{"instances":[9]}`, status: 200, want: `{"predictions":[1,2]}`,
			bodies: []string{`{"instances":[9]}`, `{"predictions":[1,2]}`},
		},
		"a sequence sends the request again by default": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/say/x"},{"serviceUrl":"BASE/echo"}]}}}`,
			body: `{"a":1}`, status: 200, want: `{"a":1}`, bodies: []string{`{"a":1}`, `{"a":1}`},
		},
		"predictions become instances": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[
				{"serviceUrl":"BASE/say/{\"predictions\":[[1.5]],\"id\":1}"},
				{"serviceUrl":"BASE/echo","data":"$response","mapPredictionsToInstances":true}]}}}`,
			body: `{}`, status: 200, want: `{"instances":[[1.5]]}`,
		},
		"empty predictions stay as they are": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[
				{"serviceUrl":"BASE/echo","mapPredictionsToInstances":true}]}}}`,
			body: `{"predictions":[]}`, status: 200, want: `{"predictions":[]}`,
		},
		"an absent condition ends the sequence with what there is": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[
				{"serviceUrl":"BASE/say/{\"predictions\":[0]}"},{"serviceUrl":"BASE/say/never","condition":"nothing.here"}]}}}`,
			body: `{}`, status: 200, want: `{"predictions":[0]}`, bodies: []string{`{}`},
		},
		"a condition needs a JSON answer before it": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[
				{"serviceUrl":"BASE/say/text"},{"serviceUrl":"BASE/echo","condition":"a"}]}}}`,
			body: `{}`, status: 500, want: `{"cause":"invalid response","error":"Failed to process request"}`,
		},
		"a hard step that fails ends the sequence": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[
				{"serviceUrl":"BASE/fail/no","dependency":"Hard"},{"serviceUrl":"BASE/echo"}]}}}`,
			body: `{}`, status: 418, want: `no`, bodies: []string{`{}`},
		},
		"a soft step that fails does not": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/fail/no"},{"serviceUrl":"BASE/echo"}]}}}`,
			body: `{"b":2}`, status: 200, want: `{"b":2}`,
		},
		"a switch takes the first step whose condition exists": {
			spec: `{"nodes":{"root":{"routerType":"Switch","steps":[
				{"serviceUrl":"BASE/say/one","condition":"instances.#(modelId==\"1\")"},
				{"serviceUrl":"BASE/say/two","condition":"instances.#(modelId==\"2\")"}]}}}`,
			body: `{"instances":[{"modelId":"2"}]}`, status: 200, want: `two`,
		},
		"a switch without a match is not found, also below another node": {
			spec: `{"nodes":{"root":{"routerType":"Sequence","steps":[{"nodeName":"s"}]},
				"s":{"routerType":"Switch","steps":[{"serviceUrl":"BASE/echo","condition":"a"}]}}}`,
			body: `{"b":1}`, status: 404,
			want: `{"cause":"None of the routes matched with the switch condition","error":"Failed to process request"}`,
		},
		"an ensemble gathers by name and index": {
			spec: `{"nodes":{"root":{"routerType":"Ensemble","steps":[
				{"name":"b","serviceUrl":"BASE/say/{\"x\":1}"},{"serviceUrl":"BASE/say/[2]"},{"name":"a","serviceUrl":"BASE/say/plain"}]}}}`,
			body: `{}`, status: 200, want: `{"1":[2],"a":"plain","b":{"x":1}}`,
		},
		"a hard step of an ensemble answers for all": {
			spec: `{"nodes":{"root":{"routerType":"Ensemble","steps":[
				{"serviceUrl":"BASE/say/{}"},{"serviceUrl":"BASE/fail/broken","dependency":"Hard"}]}}}`,
			body: `{}`, status: 418, want: `broken`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base, seen := services(t)
			server := httptest.NewServer(NewHandler(graph(t, base, tt.spec), HandlerOptions{}))
			defer server.Close()
			res, err := http.Post(server.URL+"/any/path", "application/json", strings.NewReader(tt.body))
			require.NoError(t, err)
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
			require.Equal(t, tt.status, res.StatusCode)
			for i, b := range tt.bodies {
				require.Equal(t, b, seen()[i].body)
			}
			if tt.bodies != nil {
				require.Len(t, seen(), len(tt.bodies))
			}
		})
	}
}

func TestASplitterHonoursItsWeights(t *testing.T) {
	n := &node{kind: handoff.Splitter, steps: []step{{key: "a", weight: 20}, {key: "b", weight: 0}, {key: "c", weight: 80}}}
	counts := map[string]int{}
	for p := range int64(100) {
		counts[n.pick(p).key]++
	}
	require.Equal(t, map[string]int{"a": 20, "c": 80}, counts)
}

func TestCompileNamesEveryFault(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"no root":         {`{"nodes":{"a":{"routerType":"Switch","steps":[{"serviceUrl":"http://x"}]}}}`, `there is no node "root"`},
		"unknown kind":    {`{"nodes":{"root":{"routerType":"Loop","steps":[{"serviceUrl":"http://x"}]}}}`, `nodes.root.routerType: "Loop"`},
		"unknown node":    {`{"nodes":{"root":{"routerType":"Switch","steps":[{"nodeName":"x"}]}}}`, `nodes.root.steps[0].nodeName: there is no node "x"`},
		"no target":       {`{"nodes":{"root":{"routerType":"Switch","steps":[{}]}}}`, `nodes.root.steps[0]: a step needs`},
		"no steps":        {`{"nodes":{"root":{"routerType":"Switch"}}}`, `nodes.root.steps: a node needs at least one step`},
		"unresolved":      {`{"nodes":{"root":{"routerType":"Switch","steps":[{"serviceName":"m"}]}}}`, `"m" was not resolved`},
		"bad URL":         {`{"nodes":{"root":{"routerType":"Switch","steps":[{"serviceUrl":"m"}]}}}`, `"m" is not an http or https URL`},
		"missing weight":  {`{"nodes":{"root":{"routerType":"Splitter","steps":[{"serviceUrl":"http://x"}]}}}`, `nodes.root.steps[0].weight`},
		"weights not 100": {`{"nodes":{"root":{"routerType":"Splitter","steps":[{"serviceUrl":"http://x","weight":60}]}}}`, `add up to 100, not 60`},
		"a cycle":         {`{"nodes":{"root":{"routerType":"Sequence","steps":[{"nodeName":"b"}]},"b":{"routerType":"Sequence","steps":[{"nodeName":"root"}]}}}`, `root → b → root is a cycle`},
		"weights that only add up past the end of the numbers": {
			`{"nodes":{"root":{"routerType":"Splitter","steps":[{"serviceUrl":"http://x","weight":9223372036854775807},{"serviceUrl":"http://x","weight":9223372036854775807},{"serviceUrl":"http://x","weight":102}]}}}`,
			`nodes.root.steps[0].weight`,
		},
		"calls that double with each node": {doubling(40), `more than 1000 calls`},
		"two at once, too":                 {`{"nodes":{"root":{"routerType":"Loop","steps":[{}]}}}`, "\nnodes.root.steps[0]: a step needs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var g handoff.Graph
			require.NoError(t, json.Unmarshal([]byte(tt.spec), &g))
			_, err := Compile(g)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// doubling is a graph of n ensembles, each of which calls the next one twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"nodes":{"root":{"routerType":"Ensemble","steps":[{"nodeName":"n0"},{"nodeName":"n0"}]}`)
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":{"routerType":"Ensemble","steps":[{"nodeName":"n%d"},{"nodeName":"n%d"}]}`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `,"n%d":{"routerType":"Sequence","steps":[{"serviceUrl":"http://x"}]}}}`, n)
	return b.String()
}

func TestASwitchCountsAsItsDearestStep(t *testing.T) {
	wide := `{"nodes":{"root":{"routerType":"Switch","steps":[` + strings.TrimSuffix(strings.Repeat(`{"serviceUrl":"http://x","condition":"a"},`, 2000), ",") + `]}}}`
	var g handoff.Graph
	require.NoError(t, json.Unmarshal([]byte(wide), &g))
	_, err := Compile(g)
	require.NoError(t, err)
}

func TestHeadersReachStepsOnlyByPattern(t *testing.T) {
	base, seen := services(t)
	g := graph(t, base, `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/echo"}]}}}`)
	patterns, err := ParsePropagate("authorization, ^X-Tenant$")
	require.NoError(t, err)
	server := httptest.NewServer(NewHandler(g, HandlerOptions{Propagate: patterns}))
	defer server.Close()
	req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(`{}`))
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer t"}, "X-Tenant": {"a", "b"}, "X-Tenant-Id": {"c"}, "Cookie": {"s=1"}, "Traceparent": {"00-1"}}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	res.Body.Close()
	h := seen()[0].header
	require.Equal(t, []string{"Bearer t"}, h["Authorization"])
	require.Equal(t, []string{"a", "b"}, h["X-Tenant"])
	require.Equal(t, []string{"00-1"}, h["Traceparent"])
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.NotContains(t, h, "Cookie")
	require.NotContains(t, h, "X-Tenant-Id")

	_, err = ParsePropagate("ok,(")
	require.ErrorContains(t, err, `header pattern "("`)
}

func TestLimitsAnswerClearly(t *testing.T) {
	base, _ := services(t)
	g := graph(t, base, `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/say/0123456789abcdef"}]}}}`)
	server := httptest.NewServer(NewHandler(g, HandlerOptions{MaxBody: 10}))
	defer server.Close()
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		`{"instances":[1,2,3]}`: {413, "the body has 21 bytes: this server accepts 10"},
		`{}`:                    {500, "is larger than 10 bytes"},
	} {
		res, err := http.Post(server.URL, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		require.Equal(t, want.status, res.StatusCode)
		require.Contains(t, string(got), want.text)
	}
}

func TestAClientThatStopsSendingIsGivenUp(t *testing.T) {
	base, seen := services(t)
	g := graph(t, base, `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/echo"}]}}}`)
	server := httptest.NewServer(NewHandler(g, HandlerOptions{ReadStall: 20 * time.Millisecond}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusRequestTimeout, res.StatusCode)
	require.Empty(t, seen())
}

func TestACompressedRequestReachesTheStepsAsText(t *testing.T) {
	base, seen := services(t)
	g := graph(t, base, `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/echo"}]}}}`)
	server := httptest.NewServer(NewHandler(g, HandlerOptions{}))
	defer server.Close()
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, err := io.WriteString(z, `{"instances":[1]}`)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	req, err := http.NewRequest(http.MethodPost, server.URL, &body)
	require.NoError(t, err)
	req.Header.Set("Content-Encoding", "gzip")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, `{"instances":[1]}`, seen()[0].body)
}

func TestAServiceThatIsDownIsNamed(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	g := graph(t, down.URL, `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE/x"}]}}}`)
	rec := httptest.NewRecorder()
	NewHandler(g, HandlerOptions{}).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`)))
	require.Equal(t, 500, rec.Code)
	require.Contains(t, rec.Body.String(), down.URL)
	require.Contains(t, rec.Body.String(), "connection refused")
}

func FuzzGraphJSON(f *testing.F) {
	f.Add([]byte(`{"nodes":{"root":{"routerType":"Sequence","steps":[{"nodeName":"b"}]},"b":{"routerType":"Splitter","steps":[{"serviceUrl":"http://x","weight":100}]}}}`))
	f.Add([]byte(`{"nodes":{"root":{"routerType":"Ensemble","steps":[{"nodeName":"root"}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var g handoff.Graph
		if json.Unmarshal(data, &g) != nil {
			return
		}
		if compiled, err := Compile(g); err == nil {
			require.NotNil(t, compiled.root)
		}
	})
}

func BenchmarkSequenceOfThree(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer server.Close()
	var g handoff.Graph
	spec := strings.ReplaceAll(`{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE"},{"serviceUrl":"BASE"},{"serviceUrl":"BASE"}]}}}`, "BASE", server.URL)
	require.NoError(b, json.Unmarshal([]byte(spec), &g))
	compiled, err := Compile(g)
	require.NoError(b, err)
	h := NewHandler(compiled, HandlerOptions{})
	b.ReportAllocs()
	for b.Loop() {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"instances":[[1,2,3,4]]}`)))
		if rec.Code != http.StatusOK {
			b.Fatal(rec.Code)
		}
	}
}
