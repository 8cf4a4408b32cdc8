// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"net/http"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/cloudevent"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// EventOptions say how CloudEvents are answered.
type EventOptions struct {
	// Type and Source of answers. Defaults: io.kserve.inference.response, and io.kserve.inference. with the model's name behind it.
	Type, Source string
	// Merge keeps the attributes of the request in the answer.
	Merge bool
}

// eventOf is the CloudEvent that a V1 request is, and what it holds; for most requests, which are none, the body as it is.
func eventOf(h http.Header, body []byte) (cloudevent.Event, []byte, error) {
	structured := cloudevent.IsStructured(h.Get("Content-Type"))
	switch {
	case cloudevent.InHeaders(h) && structured:
		return cloudevent.Event{}, nil, protocol.Errorf(protocol.Invalid,
			"the request is a binary and a structured CloudEvent at once: send either the ce- headers or the Content-Type")
	case cloudevent.InHeaders(h):
		event, err := cloudevent.FromHeaders(h)
		return event, body, err
	case !structured:
		return cloudevent.Event{}, body, nil
	}
	event, data, err := cloudevent.FromJSON(body)
	if event == nil {
		return cloudevent.Event{Form: cloudevent.Structured}, body, nil // a plain body: the answer is an event all the same
	}
	return *event, data, err
}

// decodeV1 reads the request in sc.body.
func (sc *scope) decodeV1(h http.Header) (*tensor.Request, cloudevent.Event, error) {
	event, data, err := eventOf(h, sc.body)
	if err != nil {
		return nil, event, err
	}
	req, err := sc.v1.Decode(data)
	if event.Form == cloudevent.Plain && sc.v1.IsEvent() {
		// A structured event that is sent as JSON is read as one and answered as JSON.
		if e, data, bad := cloudevent.FromJSON(sc.body); bad != nil {
			err = bad
		} else if e != nil {
			req, err = sc.v1.Decode(data)
		}
	}
	if err != nil {
		return nil, event, event.Explain(err)
	}
	return req, event, nil
}

// writeV1 writes the answer to a V1 request, as an event when the request was one.
func (s *Server) writeV1(w http.ResponseWriter, model string, event *cloudevent.Event, body []byte) int {
	if event.Form == cloudevent.Plain {
		return writeJSON(w, http.StatusOK, body)
	}
	o := &s.opts.Events
	reply := event.Reply(cloudevent.Answer{
		ID: protocol.NewID(), Type: cmp.Or(o.Type, "io.kserve.inference.response"), Source: cmp.Or(o.Source, "io.kserve.inference."+model),
		Time: time.Now().UTC().Format("2006-01-02T15:04:05.000000-07:00"), Merge: o.Merge,
	})
	h := w.Header()
	if event.Form == cloudevent.Binary {
		reply.SetHeaders(h)
		return writeJSON(w, http.StatusOK, cloudevent.AppendSpaced(nil, body))
	}
	h.Set("Content-Type", cloudevent.ContentType)
	return write(w, h, http.StatusOK, reply.AppendJSON(nil, body))
}
