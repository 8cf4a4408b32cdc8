// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admit is the admission webhook process: its flags, its health and metrics, and its way to the API server.
// The webhooks are not in it yet; it admits and changes nothing, and its log says so.
//
// Called by: cmd/webhook.
// Next: control/probe.
package admit

import (
	"context"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/control/probe"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are the webhook's flags.
type Options struct {
	Probe probe.Options
	Log   telemetry.LogOptions
}

// NewOptions returns the defaults.
func NewOptions() Options {
	return Options{Probe: probe.Options{MetricsAddr: ":8080", HealthAddr: ":8081"}}
}

// BindFlags adds every flag.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	o.Probe.BindFlags(fs)
	o.Log.BindFlags(fs)
}

// Run blocks until ctx ends. It returns an error when an address is busy.
func Run(ctx context.Context, o Options, log *zap.Logger) error {
	log.Warn("this version of the webhook admits nothing yet: `kserve validate` runs the same rules")
	return probe.New(o.Probe, log).Run(ctx)
}
