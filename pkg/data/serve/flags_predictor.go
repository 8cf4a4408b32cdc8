// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/client"
)

// Flags of this server's own.
const (
	flagPredictorBinary  = "predictor_binary"
	flagPredictorForward = "predictor_forward_headers"
)

// predictorFlags are the part of the command line that says which predictor a transformer calls, and how.
type predictorFlags struct {
	host, protocol string
	useSSL, binary strbool
	seconds        int
	retries        int
	check          bool
	forward        []string

	client *client.Client // nil when no flag names a predictor
}

// predictorFlagNames are the flags that mean something to a transformer only.
func predictorFlagNames() []string {
	return []string{
		handoff.FlagPredictorHost, handoff.FlagPredictorProtocol, handoff.FlagPredictorUseSSL, handoff.FlagPredictorTimeout,
		handoff.FlagPredictorRetries, handoff.FlagPredictorHealthCheck, flagPredictorBinary, flagPredictorForward,
	}
}

func (p *predictorFlags) bindFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.host, handoff.FlagPredictorHost, "", "the predictor that a transformer calls: host, host:port, or unix:///path of a socket")
	fs.StringVar(&p.protocol, handoff.FlagPredictorProtocol, string(client.V1), "what the predictor speaks: v1, v2 or grpc-v2")
	fs.Var(&p.useSSL, handoff.FlagPredictorUseSSL, "call the predictor over TLS")
	fs.IntVar(&p.seconds, handoff.FlagPredictorTimeout, handoff.DefaultPredictorTimeout, "seconds that a call to the predictor may take, with its retries; 0: no limit")
	fs.IntVar(&p.retries, handoff.FlagPredictorRetries, 0, "how often a call is made again that the predictor refused or that did not reach it")
	fs.BoolVar(&p.check, handoff.FlagPredictorHealthCheck, false, "be ready only while the predictor is")
	fs.Var(&p.binary, flagPredictorBinary, "send V2 tensors in the binary form")
	fs.StringSliceVar(&p.forward, flagPredictorForward, nil, "headers of requests that go on to the predictor, besides authorization, x-request-id and those of traces")
}

func (p *predictorFlags) validate() error {
	if _, err := client.ParseProtocol(p.protocol); err != nil {
		return fmt.Errorf("argument --%s: invalid choice: %w", handoff.FlagPredictorProtocol, err)
	}
	switch {
	case p.seconds < 0:
		return fmt.Errorf("argument --%s: %d: expected a number of seconds", handoff.FlagPredictorTimeout, p.seconds)
	case p.retries < 0:
		return fmt.Errorf("argument --%s: %d: expected 0 or more", handoff.FlagPredictorRetries, p.retries)
	case p.check && p.host == "":
		return fmt.Errorf("--%s needs --%s", handoff.FlagPredictorHealthCheck, handoff.FlagPredictorHost)
	}
	if scheme, _, ok := strings.Cut(p.host, "://"); ok && bool(p.useSSL) && scheme != "https" {
		return fmt.Errorf("argument --%s: %s:// is not encrypted, and --%s asks for TLS: leave one of them out", handoff.FlagPredictorHost, scheme, handoff.FlagPredictorUseSSL)
	}
	if _, err := names(p.forward); err != nil {
		return fmt.Errorf("argument --%s: %w", flagPredictorForward, err)
	}
	return nil
}

// open makes the predictor's client, if a flag names a predictor.
func (p *predictorFlags) open(getenv func(string) string) (err error) {
	if p.host == "" {
		return nil
	}
	o := client.Options{
		URL: p.host, Protocol: client.Protocol(p.protocol), Binary: bool(p.binary), Retries: p.retries,
		Timeout: time.Duration(p.seconds) * time.Second,
		CAFile:  cmp.Or(getenv(handoff.EnvRequestsCABundle), getenv(handoff.EnvCurlCABundle)),
	}
	if o.Timeout == 0 {
		o.Timeout = -1
	}
	if !strings.Contains(o.URL, "://") {
		scheme := "http://"
		if p.useSSL {
			scheme = "https://"
		}
		o.URL = scheme + o.URL
	}
	if p.client, err = client.New(o); err != nil {
		return fmt.Errorf("--%s: %w", handoff.FlagPredictorHost, err)
	}
	return nil
}

func (p *predictorFlags) close() {
	if p.client != nil {
		_ = p.client.Close()
	}
}
