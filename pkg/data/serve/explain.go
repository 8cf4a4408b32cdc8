// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// explainerOf is the model's explainer; nil when it has none.
func explainerOf(m *repository.Loaded) engine.Explainer {
	if c, ok := m.Model.(*chain); ok && c.explain == nil {
		return nil
	}
	e, _ := m.Model.(engine.Explainer)
	return e
}

// v1Explain answers what each part of an input contributed to its prediction.
func (s *Server) v1Explain(w http.ResponseWriter, r *http.Request, m *repository.Loaded, sc *scope) int {
	t := timing{began: time.Now()}
	e := explainerOf(m)
	if kind := r.Header.Get("Content-Type"); e == nil && kind != "" && !protocol.IsJSON(kind) {
		return s.refuse(w, m, errNoExplainer())
	}
	req, event, err := sc.decodeV1(r.Header)
	switch {
	case err != nil:
		return s.refuse(w, m, err)
	case e == nil:
		return s.refuse(w, m, errNoExplainer())
	}
	req.Model, req.Version = m.Name, m.Version
	ctx := exchanged(r.Context(), m, exchange{request: r.Header, response: w.Header(), timing: &t})
	l := m.Attached.(*lane)
	t.decoded = time.Now()
	if err := willing(m); err != nil {
		return s.refuse(w, m, err)
	}
	if err := l.enter(ctx); err != nil {
		return s.refuse(w, m, err)
	}
	began := time.Now()
	sc.resp.Reset()
	func() {
		defer func() { // a model that panics leaves its place, too
			took := time.Since(began)
			l.leave(took)
			l.preprocess.Observe((t.decoded.Sub(t.began) + t.own).Seconds())
			s.metrics.explain.WithLabelValues(m.Name).Observe((took - t.own - t.ownAfter).Seconds())
		}()
		if err = e.Explain(ctx, req, &sc.resp); err == nil && m.Custom {
			err = m.Check(&sc.resp)
		}
	}()
	t.predicted = time.Now()
	if err != nil && ctx.Err() != nil {
		err = gaveUp(err, "during the explanation")
	}
	if err != nil {
		return s.refuse(w, m, err)
	}
	if sc.out, err = v1.AppendExplanations(sc.out[:0], &sc.resp); err != nil {
		return s.refuse(w, m, err)
	}
	s.writeV1(w, m.Name, &event, sc.out)
	l.postprocess.Observe((time.Since(t.predicted) + t.ownAfter).Seconds())
	s.giveBack(m, sc)
	return http.StatusOK
}
