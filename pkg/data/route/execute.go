// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tidwall/gjson"
	"golang.org/x/sync/errgroup"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// Answer is what a step or a whole graph answered.
type Answer struct {
	Status int
	Body   []byte
}

// isFailure reports a status that a Hard dependency ends on.
func (a Answer) isFailure() bool { return a.Status < 200 || a.Status > 299 }

// Caller performs one step: it posts body to url and returns whatever HTTP answer comes, of any status.
// Its error means that there was no answer.
type Caller interface {
	Call(ctx context.Context, url string, header http.Header, body []byte) (Answer, error)
}

// Outcome errors of a graph, with the causes that clients of the reference know.
var (
	errNoSwitchMatch = errors.New("None of the routes matched with the switch condition") //nolint:staticcheck // the reference's text
	errNotJSON       = errors.New("invalid response")
)

// execution is one request on its way through a graph.
type execution struct {
	caller Caller
	header http.Header
	// percent draws a number in [0, 100) for a Splitter.
	percent func() int64
}

// Execute runs the graph on one request body.
func (g *Graph) Execute(ctx context.Context, caller Caller, header http.Header, body []byte) (Answer, error) {
	e := &execution{caller: caller, header: header, percent: randomPercent}
	return e.node(ctx, g.root, body)
}

func (e *execution) node(ctx context.Context, n *node, input []byte) (Answer, error) {
	switch n.kind {
	case handoff.Sequence:
		return e.sequence(ctx, n, input)
	case handoff.Switch:
		return e.choose(ctx, n, input)
	case handoff.Ensemble:
		return e.ensemble(ctx, n, input)
	default: // Compile let nothing else through
		return e.step(ctx, n.pick(e.percent()), input)
	}
}

func (e *execution) step(ctx context.Context, s *step, body []byte) (Answer, error) {
	if s.child != nil {
		return e.node(ctx, s.child, body)
	}
	return e.caller.Call(ctx, s.url, e.header, body)
}

func (e *execution) sequence(ctx context.Context, n *node, input []byte) (Answer, error) {
	var last Answer
	for i := range n.steps {
		s := &n.steps[i]
		if s.condition != "" {
			// The condition is asked of the answer before it; a first step has none.
			if i == 0 || !json.Valid(last.Body) {
				return Answer{}, errNotJSON
			}
			if !gjson.GetBytes(last.Body, s.condition).Exists() {
				return Answer{Status: http.StatusOK, Body: last.Body}, nil
			}
		}
		body := input
		if s.response && i > 0 {
			body = last.Body
		}
		if s.remap {
			body = predictionsToInstances(body)
		}
		answer, err := e.step(ctx, s, body)
		if err != nil {
			return Answer{}, err
		}
		last = answer
		if s.hard && answer.isFailure() {
			break
		}
	}
	return last, nil
}

// predictionsToInstances turns {"predictions": […]} into {"instances": […]}; anything else stays as it is.
func predictionsToInstances(body []byte) []byte {
	if !json.Valid(body) {
		return body
	}
	p := gjson.GetBytes(body, "predictions")
	if !p.IsArray() || p.Get("#").Int() == 0 {
		return body
	}
	out := make([]byte, 0, len(p.Raw)+16)
	out = append(out, `{"instances":`...)
	out = append(out, p.Raw...)
	return append(out, '}')
}

func (e *execution) choose(ctx context.Context, n *node, input []byte) (Answer, error) {
	if json.Valid(input) {
		for i := range n.steps {
			s := &n.steps[i]
			if s.condition != "" && gjson.GetBytes(input, s.condition).Exists() {
				return e.step(ctx, s, input)
			}
		}
	}
	return Answer{}, errNoSwitchMatch
}

func (e *execution) ensemble(ctx context.Context, n *node, input []byte) (Answer, error) {
	answers := make([]Answer, len(n.steps))
	group, ctx := errgroup.WithContext(ctx)
	for i := range n.steps {
		group.Go(func() error {
			answer, err := e.step(ctx, &n.steps[i], input)
			answers[i] = answer
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Answer{}, err
	}
	merged := make(map[string]json.RawMessage, len(answers))
	for i, a := range answers {
		if n.steps[i].hard && a.isFailure() {
			return a, nil
		}
		body := bytes.TrimSpace(a.Body)
		if !json.Valid(body) {
			// A text answer is kept as a JSON string: one odd step does not lose the others.
			quoted, err := json.Marshal(string(body))
			if err != nil {
				return Answer{}, err
			}
			body = quoted
		}
		merged[n.steps[i].key] = body
	}
	body, err := json.Marshal(merged)
	return Answer{Status: http.StatusOK, Body: body}, err
}
