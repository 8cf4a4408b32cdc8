// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/test/conformance/twins"
)

// twinServer is this project's server with the models of the folder whose models are written in code.
type twinServer struct {
	target target
	end    context.CancelFunc
	ended  chan struct{}
}

// startTwins serves the models, as the recorded server did, in its order.
func startTwins(ctx context.Context) (*twinServer, error) {
	options := serve.Options{
		Server: httpserver.Options{HTTP: httpserver.Endpoint{Addr: "127.0.0.1:0"}, GRPC: httpserver.Endpoint{Addr: "127.0.0.1:0"}, DrainTimeout: 5 * time.Second},
	}
	s := serve.New(options)
	for _, m := range twins.Models() {
		if err := s.Add(ctx, m); err != nil && m.Name != twins.Sleepy {
			return nil, fmt.Errorf("add model %s: %w", m.Name, err)
		}
	}
	if err := s.Listen(ctx); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	t := &twinServer{
		target: target{url: "http://" + s.HTTPAddr().String(), grpc: s.GRPCAddr().String()},
		end:    end, ended: make(chan struct{}),
	}
	go func() {
		defer close(t.ended)
		_ = s.Run(ctx) // what was played has been judged
	}()
	return t, nil
}

func (t *twinServer) stop() {
	t.end()
	<-t.ended
}
