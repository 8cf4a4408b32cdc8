// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/cloudevent"
	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// v1Raw answers a V1 request with a model that is an engine.Raw. sc.body has been read.
func (s *Server) v1Raw(w http.ResponseWriter, r *http.Request, m *repository.Loaded, sc *scope, verb string) int {
	t := timing{began: time.Now()}
	event, data, err := eventOf(r.Header, sc.body)
	if err != nil {
		return s.refuse(w, m, err)
	}
	in := &engine.RawRequest{Verb: verb, Body: data}
	if in.JSON, err = isJSON(r.Header.Get("Content-Type"), &event, data); err == nil && in.JSON {
		// As KServe's servers do, an event that is sent as JSON is taken apart for the model, too.
		if e, inner, bad := cloudevent.FromJSON(data); e != nil && bad == nil && event.Form == cloudevent.Plain {
			in.Body = inner
		}
		err = v1.Check(in.Body)
	}
	if err != nil {
		return s.refuse(w, m, event.Explain(err))
	}
	ctx := exchanged(r.Context(), m, exchange{request: r.Header, response: w.Header(), timing: &t})
	l := m.Attached.(*lane)
	t.decoded = time.Now()
	l.preprocess.Observe(t.decoded.Sub(t.began).Seconds())
	if err := willing(m); err != nil {
		return s.refuse(w, m, err)
	}
	if err := l.enter(ctx); err != nil {
		return s.refuse(w, m, err)
	}
	began := time.Now()
	left := false
	leave := func() {
		if left {
			return
		}
		left = true
		t.predicted = time.Now()
		l.leave(t.predicted.Sub(began))
		l.predict.Observe(t.predicted.Sub(began).Seconds())
	}
	defer leave()
	out, err := m.Model.(engine.Raw).V1(ctx, in)
	switch {
	case err != nil:
		return s.refuse(w, m, err)
	case out == nil:
		return s.refuse(w, m, protocol.Errorf(protocol.Internal, "the model has no answer"))
	case out.Chunks != nil:
		s.stream(w, out, m.Name)
		leave()
	default:
		leave()
		s.writeRaw(w, m.Name, &event, out)
	}
	s.sent(r.Context(), m, r.Header.Get("X-Request-Id"), &t)
	s.giveBack(m, sc)
	return http.StatusOK
}

// isJSON says whether a body is to be read as JSON, and that it is none where it has to be: by its type, or, where that says nothing
// that one may trust, by what it is.
func isJSON(contentType string, event *cloudevent.Event, body []byte) (bool, error) {
	must := contentType == "" || protocol.IsJSON(contentType)
	if event.Form == cloudevent.Binary {
		if event.IsOther() {
			return false, nil
		}
		must = event.IsJSON()
	}
	if !must {
		return json.Valid(body), nil
	}
	if json.Valid(body) {
		return true, nil
	}
	return false, v1.Check(body)
}

func (s *Server) writeRaw(w http.ResponseWriter, model string, event *cloudevent.Event, out *engine.RawAnswer) {
	if out.ContentType == "" || protocol.IsJSON(out.ContentType) && event.Form != cloudevent.Plain {
		s.writeV1(w, model, event, bytes.TrimSpace(out.Body))
		return
	}
	h := w.Header()
	h["Content-Type"] = []string{out.ContentType}
	write(w, h, http.StatusOK, out.Body)
}

// stream sends chunks as they come.
func (s *Server) stream(w http.ResponseWriter, out *engine.RawAnswer, model string) {
	if out.ContentType != "" {
		w.Header()["Content-Type"] = []string{out.ContentType}
	}
	flush := http.NewResponseController(w)
	for chunk, err := range out.Chunks {
		if err == nil {
			_, err = w.Write(chunk)
		}
		if err == nil {
			err = flush.Flush()
		}
		if err != nil {
			s.log.Warn("an answer was cut off", zap.String("model", model), zap.Error(err))
			panic(http.ErrAbortHandler) // the one way to tell the client
		}
	}
}
