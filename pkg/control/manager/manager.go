// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager is the controller process: its flags, its health and metrics, and its way to the API server.
// The reconcilers are not in it yet; without them it watches nothing and writes nothing, and its log says so.
//
// Called by: cmd/controller.
// Next: control/probe.
package manager

import (
	"context"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/control/probe"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are the controller's flags.
type Options struct {
	Probe probe.Options
	Log   telemetry.LogOptions
}

// NewOptions returns the defaults, which are the reference manager's.
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
	log.Warn("this version of the controller reconciles nothing yet: use `kserve run` to serve an InferenceService")
	return probe.New(o.Probe, log).Run(ctx)
}
