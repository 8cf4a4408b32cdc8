// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/version"
)

// operation is one line of the API's description.
type operation struct{ method, path, summary string }

func operations() []operation {
	return []operation{
		{"get", "/", "Whether the process lives"},
		{"get", "/metrics", "Prometheus metrics"},
		{"get", "/v1/models", "The names of the models"},
		{"get", "/v1/models/{model_name}", "Whether a model is ready"},
		{"post", "/v1/models/{model_name}:predict", "A prediction, V1"},
		{"post", "/v1/models/{model_name}:explain", "An explanation, V1"},
		{"get", "/v2", "The server's name, version and extensions"},
		{"get", "/v2/health/live", "Whether the server lives"},
		{"get", "/v2/health/ready", "Whether the server is ready"},
		{"get", "/v2/models", "The names of the models"},
		{"get", "/v2/models/{model_name}", "A model's inputs and outputs"},
		{"get", "/v2/models/{model_name}/ready", "Whether a model is ready"},
		{"get", "/v2/models/{model_name}/versions/{model_version}", "The same of one version"},
		{"get", "/v2/models/{model_name}/versions/{model_version}/ready", "Whether a version is ready"},
		{"post", "/v2/models/{model_name}/infer", "A prediction, V2"},
		{"post", "/v2/models/{model_name}/versions/{model_version}/infer", "A prediction by one version, V2"},
		{"post", "/v2/repository/index", "Every model with its state"},
		{"post", "/v2/repository/models/{model_name}/load", "Load a model"},
		{"post", "/v2/repository/models/{model_name}/unload", "Unload a model"},
	}
}

const docsTitle = "KServe ModelServer"

func (s *Server) openAPI() []byte {
	type parameter struct {
		Name     string            `json:"name"`
		In       string            `json:"in"`
		Required bool              `json:"required"`
		Schema   map[string]string `json:"schema"`
	}
	type described struct {
		Summary    string                       `json:"summary"`
		Parameters []parameter                  `json:"parameters,omitempty"`
		Responses  map[string]map[string]string `json:"responses"`
	}
	paths := map[string]map[string]described{}
	for _, op := range operations() {
		d := described{Summary: op.summary, Responses: map[string]map[string]string{"200": {"description": "The answer"}}}
		for _, name := range []string{"model_name", "model_version"} {
			if strings.Contains(op.path, "{"+name+"}") {
				d.Parameters = append(d.Parameters, parameter{name, "path", true, map[string]string{"type": "string"}})
			}
		}
		paths[op.path] = map[string]described{op.method: d}
	}
	text, err := json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]string{"title": docsTitle, "version": version.Compatible},
		"paths":   paths,
	})
	if err != nil {
		panic(err) // strings and maps of strings always have a JSON form
	}
	return text
}

// docs is a page that needs nothing from elsewhere.
func (s *Server) docs(w http.ResponseWriter) int {
	var page strings.Builder
	page.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" + docsTitle + " - Swagger UI</title></head>\n<body>\n<h1>" +
		docsTitle + "</h1>\n<p>As data: <a href=\"/openapi.json\">/openapi.json</a></p>\n<table>\n")
	for _, op := range operations() {
		page.WriteString("<tr><td>" + strings.ToUpper(op.method) + "</td><td><code>" + op.path + "</code></td><td>" + op.summary + "</td></tr>\n")
	}
	page.WriteString("</table>\n</body>\n</html>\n")
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	return write(w, h, http.StatusOK, []byte(page.String()))
}
