// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

const protocolsPage = "../../../docs/protocols.md"

// meanings are of the codes, in their order.
var meanings = map[protocol.Code]string{
	protocol.Internal:        "the server's own failure; its cause is in the log",
	protocol.Invalid:         "the request is wrong",
	protocol.NotFound:        "no such model or version; what there is of it is named",
	protocol.Conflict:        "what was asked for meets something that is there",
	protocol.TooLarge:        "a body, or an answer, beyond a limit",
	protocol.TooMany:         "a queue or the memory for requests is full: again later, after `Retry-After`",
	protocol.Unsupported:     "the model, or the server, cannot do this",
	protocol.UnsupportedType: "a content encoding that is not read",
	protocol.Unavailable:     "the model or the server is not ready",
	protocol.Deadline:        "the time that the caller gave is over",
	protocol.SlowClient:      "the request stopped arriving",
	protocol.Failed:          "a model written in code says why it cannot predict",
}

type nothing struct{}

func (nothing) Metadata() engine.Metadata { return engine.Metadata{Methods: []string{"predict"}} }
func (nothing) Close() error              { return nil }
func (nothing) Predict(context.Context, *tensor.Request, *tensor.Response) error {
	return nil
}

func errorTable() string {
	var b strings.Builder
	b.WriteString("| error | HTTP | gRPC | means |\n|---|---|---|---|\n")
	for _, code := range protocol.Codes() {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", code, code.HTTPStatus(), snake(v2.GRPCCode(code).String()), meanings[code])
	}
	return b.String()
}

// snake writes InvalidArgument as INVALID_ARGUMENT.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && unicode.IsUpper(c) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(c))
	}
	return b.String()
}

// endpointTable also checks that each operation is a route.
func endpointTable(t *testing.T) string {
	t.Helper()
	s := New(Options{})
	found := map[route]bool{}
	var b strings.Builder
	b.WriteString("| method and path | answers |\n|---|---|\n")
	for _, op := range operations() {
		path := strings.NewReplacer("{model_name}", "m", "{model_version}", "1").Replace(op.path)
		target := s.match(path)
		require.NotEqual(t, noRoute, target.route, op.path)
		require.Equal(t, strings.ToUpper(op.method), target.route.method(), op.path)
		found[target.route] = true
		path = strings.NewReplacer("{model_name}", "NAME", "{model_version}", "VERSION").Replace(op.path)
		fmt.Fprintf(&b, "| `%s %s` | %s |\n", strings.ToUpper(op.method), path, op.summary)
	}
	for r := routeRoot; r < routeCount; r++ {
		if !slices.Contains([]route{routeOpenAPI, routeDocs, routeLivez, routeReadyz}, r) {
			require.True(t, found[r], "route %d is not described", r)
		}
	}
	return b.String()
}

// metricTable has the families that tell of requests.
func metricTable(t *testing.T) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	s := New(Options{Registry: registry})
	require.NoError(t, s.Add(t.Context(), Model{Name: "m", Model: nothing{}}))
	request := httptest.NewRequest(http.MethodPost, "/v1/models/m:predict", strings.NewReader(`{"instances":[1]}`))
	s.Handler().ServeHTTP(httptest.NewRecorder(), request)
	families, err := registry.Gather()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("| family | type | labels | help |\n|---|---|---|---|\n")
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "request_") && !strings.Contains(f.GetName(), "_request") {
			continue
		}
		var labels []string
		if len(f.GetMetric()) > 0 {
			for _, l := range f.GetMetric()[0].GetLabel() {
				labels = append(labels, "`"+l.GetName()+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
	}
	return b.String()
}

// TestThePageOfTheProtocolsIsTrue compares the tables of docs/protocols.md with the code.
func TestThePageOfTheProtocolsIsTrue(t *testing.T) {
	text, err := os.ReadFile(protocolsPage)
	require.NoError(t, err)
	page := string(text)
	for name, table := range map[string]string{"errors": errorTable(), "endpoints": endpointTable(t), "metrics": metricTable(t)} {
		before, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
		require.True(t, ok, name)
		old, after, ok := strings.Cut(rest, "<!-- /"+name+" -->\n")
		require.True(t, ok, name)
		if os.Getenv("KSERVE_UPDATE_DOCS") == "" {
			require.Equal(t, table, old, "with KSERVE_UPDATE_DOCS=1 this test writes the table")
		}
		page = before + "<!-- " + name + " -->\n" + table + "<!-- /" + name + " -->\n" + after
	}
	if page != string(text) {
		require.NoError(t, os.WriteFile(protocolsPage, []byte(page), 0o600))
	}
}
