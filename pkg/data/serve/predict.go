// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// scope is the memory of one REST request, kept for the next.
type scope struct {
	body, out []byte
	parts     [][]byte // of the answer, behind out
	v1        v1.Decoder
	v2        v2.Decoder
	resp      tensor.Response
	times     timing
}

// begin starts the clock of a prediction.
func (sc *scope) begin() *timing {
	sc.times = timing{began: time.Now()}
	return &sc.times
}

// keepBody is the largest request whose memory is kept: one big request must not make the server big for ever.
const keepBody = 4 << 20

func (s *Server) borrow() *scope { return s.scopes.Get().(*scope) }

// giveBack keeps a request's memory for the next. The tensors that a model written in Go was given are not kept: its answer may be made of
// them, and would then be used twice.
func (s *Server) giveBack(m *repository.Loaded, sc *scope) {
	if cap(sc.body) > keepBody || cap(sc.out) > keepBody {
		return
	}
	clear(sc.parts)
	if m != nil && m.Custom {
		sc = &scope{body: sc.body, out: sc.out, parts: sc.parts}
	}
	s.scopes.Put(sc)
}

// timing is when the steps of one prediction ended.
type timing struct {
	// entered is when the prediction left the queue; zero when it never did.
	began, decoded, entered, predicted, encoded time.Time
	rows                                        int
	span                                        trace.Span // the request's, where it is traced
	// own and ownAfter are what a transformer took before and after its call, which are no part of the prediction.
	own, ownAfter time.Duration
}

// steps are the times that are reported.
func (t *timing) steps() (preprocess, predict, postprocess time.Duration) {
	return t.decoded.Sub(t.began) + t.own, t.predicted.Sub(t.decoded) - t.own - t.ownAfter, t.encoded.Sub(t.predicted) + t.ownAfter
}

// predict is the one path to a model, for every wire: the queue, then the model. The caller has Reset resp.
func (s *Server) predict(ctx context.Context, m *repository.Loaded, req *tensor.Request, resp *tensor.Response, t *timing) (err error) {
	if s.opts.Tracer != nil {
		t.follow(ctx, req)
		defer func() {
			if err != nil {
				s.traceSteps(ctx, m, t, err)
			}
		}()
	}
	if s.opts.Proba && m.Proba && req.Method == "" {
		req.Method = "predict_proba"
	}
	req.Model, req.Version = m.Name, m.Version
	l := m.Attached.(*lane)
	t.decoded = time.Now()
	if err := willing(m); err != nil {
		return err
	}
	if err := l.enter(ctx); err != nil {
		l.preprocess.Observe(t.decoded.Sub(t.began).Seconds())
		return err
	}
	t.entered = time.Now()
	var waited time.Duration
	defer func() {
		t.predicted = time.Now()
		took := t.predicted.Sub(t.entered)
		l.leave(took)
		t.entered = t.entered.Add(waited)
		l.waits.observe(int64(t.entered.Sub(t.decoded)))
		l.preprocess.Observe((t.decoded.Sub(t.began) + t.own).Seconds())
		l.predict.Observe((took - waited - t.own - t.ownAfter).Seconds())
	}()
	if waited, err = l.compute(ctx, m, req, resp, t.entered.Sub(t.decoded)); err != nil {
		return err
	}
	if resp.Absent > 0 && l.incomplete.Add(1) == 1 {
		s.log.Warn("rows have fewer columns than the model was trained on: the others count as missing; told once, kserve_predictions_incomplete_total counts",
			zap.String("model", m.Name), zap.Int("missing", resp.Absent))
	}
	resp.ID, resp.Model, resp.Version = req.ID, m.Name, m.Version
	return nil
}

// sent ends a prediction that was answered.
func (s *Server) sent(ctx context.Context, m *repository.Loaded, requestID string, t *timing) {
	t.encoded = time.Now()
	preprocess, predict, postprocess := t.steps()
	m.Attached.(*lane).postprocess.Observe(postprocess.Seconds())
	if t.span != nil {
		s.traceSteps(ctx, m, t, nil)
	}
	if s.opts.Trace == nil {
		return
	}
	if requestID == "" {
		requestID = "N.A."
	}
	if e := s.opts.Trace.Check(zap.InfoLevel, "prediction"); e != nil {
		e.Write(zap.String("requestId", requestID), zap.String("model", m.Name),
			zap.Float64("preprocess_ms", ms(preprocess)), zap.Float64("predict_ms", ms(predict)), zap.Float64("postprocess_ms", ms(postprocess)))
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
