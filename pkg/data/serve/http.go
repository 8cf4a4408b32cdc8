// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// Header values are shared slices: setting one allocates nothing.
//
//nolint:gochecknoglobals // constants; net/http does not change them
var (
	typeJSON   = []string{"application/json"}
	typeBinary = []string{"application/octet-stream"}
)

const (
	bodyAlive      = `{"status":"alive"}`
	bodyNotFound   = `{"detail":"Not Found"}`
	bodyNotAllowed = `{"detail":"Method Not Allowed"}`
)

// NewHandler loads nothing and opens nothing: it is Handler of a Server made for its HTTP side alone.
func NewHandler(opts Options) http.Handler { return New(opts).Handler() }

// Handler serves V1, V2 REST, health and metrics. It works under any net/http server.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	v := visit{s: s, w: w, r: r, began: time.Now()}
	defer v.end()
	if !knownMethod(r.Method) {
		v.watch()
		v.status = noMethod(v.w)
		return
	}
	v.target = s.target(r)
	v.watch()
	v.status = s.dispatch(v.w, v.r, v.target) //nolint:contextcheck // what is loaded goes on when the client is gone
}

func noMethod(w http.ResponseWriter) int {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write([]byte("Invalid HTTP request received."))
	return http.StatusBadRequest
}

func (s *Server) panicked(p any, where string) {
	s.metrics.panics.Add(1)
	s.log.Error("a request panicked", zap.String("where", where), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
}

// knownMethod tells methods of HTTP from other words: a parser that knows its methods refuses those as no HTTP at all.
func knownMethod(m string) bool {
	switch m {
	case "GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE":
		return true
	default:
		return false
	}
}

func (s *Server) target(r *http.Request) target {
	if r.URL.RawPath != "" && strings.Contains(strings.ToUpper(r.URL.RawPath), "%2F") {
		return target{}
	}
	return s.match(r.URL.Path)
}

// dispatch answers and returns the status.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, t target) int {
	if t.route == noRoute {
		return s.noRoute(w, r)
	}
	method := t.route.method()
	if r.Method != method && (r.Method != http.MethodHead || method != http.MethodGet) {
		if t.route == routeIndex || t.route == routeV1Model && r.Method == http.MethodPost && strings.LastIndexByte(t.name, ':') > 0 {
			return writeJSON(w, http.StatusNotFound, []byte(bodyNotFound))
		}
		w.Header().Set("Allow", method)
		return writeJSON(w, http.StatusMethodNotAllowed, []byte(bodyNotAllowed))
	}
	r, done, err := withDeadline(r, t.route)
	if err != nil {
		return s.refuse(w, nil, err)
	}
	if done != nil {
		defer done()
	}
	switch t.route {
	case routeV1Predict:
		return s.v1(w, r, t.name, "predict", s.v1Predict)
	case routeV2Infer:
		return s.v2Infer(w, r, t)
	case routeV1Explain:
		return s.v1(w, r, t.name, "explain", s.v1Explain)
	case routeMetrics:
		s.scrape.ServeHTTP(w, r)
		return http.StatusOK
	case routeOpenAPI:
		return writeJSON(w, http.StatusOK, s.openAPI())
	case routeDocs:
		return s.docs(w)
	case routeLoad, routeUnload:
		return s.control(w, r, t)
	case routeIndex:
		return s.index(w, r)
	default:
		return s.tell(r.Context(), w, t)
	}
}

// noRoute redirects a path that is a route but for its slash at the end.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) int {
	if path := r.URL.Path; strings.HasSuffix(path, "/") && s.match(strings.TrimRight(path, "/")).route != noRoute {
		location := "http://" + r.Host + strings.TrimRight(r.URL.EscapedPath(), "/")
		if r.TLS != nil {
			location = "https" + strings.TrimPrefix(location, "http")
		}
		if r.URL.RawQuery != "" {
			location += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return http.StatusTemporaryRedirect
	}
	return writeJSON(w, http.StatusNotFound, []byte(bodyNotFound))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) int {
	h := w.Header()
	h["Content-Type"] = typeJSON
	return write(w, h, status, body)
}

func write(w http.ResponseWriter, h http.Header, status int, body []byte) int {
	if len(body) > 2000 {
		// net/http counts shorter ones itself, without memory for the text.
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, _ = w.Write(body) //nolint:gosec // G705: JSON, tensors or a page without input, each with its content type
	return status
}

// refuse answers an error in the shape that both REST protocols share.
func (s *Server) refuse(w http.ResponseWriter, m *repository.Loaded, err error) int {
	if s.opts.PlainSchemaErrors {
		err = v2.Plain(err)
	}
	body, status := v2.AppendError(nil, err)
	switch {
	case status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter(m, err)))
	case status == http.StatusServiceUnavailable && protocol.From(err).RetryAfter > 0:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter(m, err)))
	case status == http.StatusInternalServerError:
		s.log.Error("a prediction failed", zap.NamedError("cause", errors.Unwrap(protocol.From(err))), zap.Error(err))
	}
	return writeJSON(w, status, body)
}

// v1Answer answers a V1 request whose body has been read.
type v1Answer func(w http.ResponseWriter, r *http.Request, m *repository.Loaded, sc *scope) int

// v1 reads the body of a request for a model, which answers it itself where it can read V1, and otherwise by the answer given.
func (s *Server) v1(w http.ResponseWriter, r *http.Request, name, verb string, answer v1Answer) int {
	m, err := s.models.Acquire(r.Context(), name, "")
	if err != nil {
		return s.refuse(w, nil, err)
	}
	defer m.Release()
	sc := s.borrow()
	if sc.body, err = s.bodies.Read(w, r, sc.body); err != nil {
		return s.refuse(w, m, err)
	}
	defer s.bodies.Release(sc.body)
	if _, ok := m.Model.(engine.Raw); ok {
		return s.v1Raw(w, r, m, sc, verb)
	}
	return answer(w, r, m, sc)
}

func (s *Server) v1Predict(w http.ResponseWriter, r *http.Request, m *repository.Loaded, sc *scope) int {
	t := sc.begin()
	req, event, err := sc.decodeV1(r.Header)
	if err != nil {
		return s.refuse(w, m, err)
	}
	sc.resp.Reset()
	if err = s.predict(exchanged(r.Context(), m, exchange{request: r.Header, response: w.Header(), timing: t}), m, req, &sc.resp, t); err != nil {
		return s.refuse(w, m, err)
	}
	if sc.out, err = v1.AppendResponse(sc.out[:0], &sc.resp); err != nil {
		return s.refuse(w, m, err)
	}
	s.writeV1(w, m.Name, &event, sc.out)
	s.sent(r.Context(), m, r.Header.Get("X-Request-Id"), t)
	s.giveBack(m, sc)
	return http.StatusOK
}

func isSchema(err error) bool {
	var schema *v2.SchemaError
	return errors.As(err, &schema)
}

func (s *Server) v2Infer(w http.ResponseWriter, r *http.Request, target target) int {
	sc := s.borrow()
	var err error
	if sc.body, err = s.bodies.Read(w, r, sc.body); err != nil {
		return s.refuse(w, nil, err)
	}
	defer s.bodies.Release(sc.body)
	t := sc.begin()
	req, err := sc.v2.Decode(sc.body, v2.Options{
		Model: target.name, ContentType: r.Header.Get("Content-Type"), HeaderLength: r.Header.Get(v2.HeaderLength), KeepTextShape: true,
	})
	if err != nil && isSchema(err) {
		// A body of the wrong form is answered before any question about the model.
		return s.refuse(w, nil, err)
	}
	m, notFound := s.models.Acquire(r.Context(), target.name, s.pin(target.name, target.version))
	if notFound != nil {
		return s.refuse(w, nil, notFound)
	}
	defer m.Release()
	if err != nil {
		return s.refuse(w, m, err)
	}
	if !m.Custom {
		v2.FlattenText(req)
	}
	if req.ID == "" {
		req.ID = protocol.NewID()
	}
	sc.resp.Reset()
	if err = s.predict(exchanged(r.Context(), m, exchange{request: r.Header, response: w.Header(), timing: t}), m, req, &sc.resp, t); err != nil {
		return s.refuse(w, m, err)
	}
	answer, err := v2.AppendParts(sc.out[:0], sc.parts[:0], req, &sc.resp)
	sc.out, sc.parts = answer.Head, answer.Rest
	if err != nil {
		return s.refuse(w, m, err)
	}
	h := w.Header()
	h["Content-Type"] = typeJSON
	if answer.JSONLength > 0 {
		h["Content-Type"] = typeBinary
		h[v2.HeaderLength] = []string{strconv.Itoa(answer.JSONLength)}
	}
	if len(sc.parts) > 0 {
		writeParts(w, h, sc.out, sc.parts)
	} else {
		write(w, h, http.StatusOK, sc.out)
	}
	s.sent(r.Context(), m, r.Header.Get("X-Request-Id"), t)
	s.giveBack(m, sc)
	return http.StatusOK
}

// writeParts sends large tensors from where they are.
func writeParts(w http.ResponseWriter, h http.Header, head []byte, parts [][]byte) {
	length := len(head)
	for _, part := range parts {
		length += len(part)
	}
	h["Content-Length"] = []string{strconv.Itoa(length)}
	_, err := w.Write(head)
	for _, part := range parts {
		if err == nil {
			_, err = w.Write(part)
		}
	}
}

// control loads or unloads a model.
func (s *Server) control(w http.ResponseWriter, r *http.Request, t target) int {
	defer s.tellHealth()
	if t.route == routeUnload {
		if err := s.models.Remove(t.name); err != nil {
			return s.refuse(w, nil, err)
		}
		return writeJSON(w, http.StatusOK, v2.AppendModelUnload(nil, t.name))
	}
	if err := s.models.Reload(r.Context(), t.name); err != nil {
		s.log.Warn("load refused", zap.String("model", t.name), zap.Error(err))
		return s.refuse(w, nil, err)
	}
	return writeJSON(w, http.StatusOK, v2.AppendModelLoad(nil, t.name))
}

// tell answers the routes that only report.
func (s *Server) tell(ctx context.Context, w http.ResponseWriter, t target) int {
	switch t.route {
	case routeRoot, routeLivez:
		return writeJSON(w, http.StatusOK, []byte(bodyAlive))
	case routeV2Live:
		return writeJSON(w, http.StatusOK, v2.AppendLive(nil, true))
	case routeV2Ready, routeReadyz:
		if err := s.readyNow(ctx); err != nil {
			return s.refuse(w, nil, err)
		}
		return writeJSON(w, http.StatusOK, v2.AppendReady(nil, true))
	case routeV1Models, routeV2Models:
		return writeJSON(w, http.StatusOK, v2.AppendModels(nil, s.models.Names()))
	case routeV1Model, routeV2ModelReady:
		if err := s.modelReady(ctx, t.name, t.version); err != nil {
			return s.refuse(w, nil, err)
		}
		return writeJSON(w, http.StatusOK, v2.AppendModelReady(nil, t.name, true))
	case routeV2Server:
		return writeJSON(w, http.StatusOK, serverMetadata().AppendJSON(nil))
	default: // routeV2Model
		meta, err := s.metadata(t.name, t.version)
		if err != nil {
			return s.refuse(w, nil, err)
		}
		return writeJSON(w, http.StatusOK, meta.AppendJSON(nil))
	}
}

func (s *Server) modelReady(ctx context.Context, name, version string) error {
	if _, err := s.models.Metadata(name, s.pin(name, version)); err != nil {
		return err
	}
	return s.dependencyReady(ctx, name, s.pin(name, version))
}

func serverMetadata() v2.ServerMetadata {
	return v2.ServerMetadata{Name: "kserve", Version: version.Compatible, Extensions: []string{"model_repository_extension"}}
}

// metadata of a model that is not ready has no tensors.
func (s *Server) metadata(name, version string) (v2.ModelMetadata, error) {
	version = s.pin(name, version)
	if _, err := s.models.Status(name, version); err != nil {
		return v2.ModelMetadata{}, err
	}
	meta := v2.ModelMetadata{Name: name, Versions: s.models.Versions(name)}
	known, err := s.models.Metadata(name, version)
	if err != nil {
		return meta, nil //nolint:nilerr // known, only not ready: what is known is told
	}
	meta.Platform, meta.Features = known.Platform, known.Features
	for _, in := range known.Inputs {
		meta.Inputs = append(meta.Inputs, v2.TensorMetadata(in))
	}
	for _, out := range known.Outputs {
		meta.Outputs = append(meta.Outputs, v2.TensorMetadata(out))
	}
	return meta, nil
}
