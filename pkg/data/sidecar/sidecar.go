// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sidecar is the agent beside a model server: it answers the kubelet's probes for it, forwards requests and drains.
//
// Called by: cmd/agent.
// Next: data/proxy, which carries a request to the model server.
package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/proxy"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are the agent's flags and environment.
type Options struct {
	Port, ComponentPort int
	// ReadinessProbe is the component's probe as JSON; with MultiProbes an array of them. Empty is always ready.
	ReadinessProbe string
	MultiProbes    bool

	Server httpserver.Options
	Log    telemetry.LogOptions

	enablePuller, enableBatcher bool
	logURL                      string
}

// NewOptions returns the defaults that rendered pods rely on.
func NewOptions() Options {
	return Options{
		Port: handoff.AgentPort, ComponentPort: handoff.HTTPPort,
		// Endpoints forget a terminating pod within seconds; until then it goes on answering.
		Server: httpserver.Options{DrainDelay: 5 * time.Second},
	}
}

// BindFlags adds every flag. Dashes and underscores in flag names are the same.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	fs.IntVar(&o.Port, handoff.FlagAgentPort, o.Port, "port to listen on: HTTP/1.1 and cleartext HTTP/2")
	fs.IntVar(&o.ComponentPort, handoff.FlagComponentPort, o.ComponentPort, "port of the model server on 127.0.0.1")
	fs.BoolVar(&o.enablePuller, handoff.FlagEnablePuller, false, "keep the models of a multi-model server (not built in yet)")
	fs.BoolVar(&o.enableBatcher, handoff.FlagEnableBatcher, false, "batch requests (not built in yet)")
	fs.StringVar(&o.logURL, handoff.FlagLogURL, "", "log payloads to this URL (not built in yet)")
	// A pod with one of these features comes with the feature's further flags. They are known, so that Validate can name the feature.
	for _, name := range furtherFlags() {
		fs.String(name, "", "of a feature that is not built in yet")
		_ = fs.MarkHidden(name) // the flag was added the line before
	}
	o.Server.BindFlags(fs)
	o.Log.BindFlags(fs)
}

func furtherFlags() []string {
	return []string{
		handoff.FlagConfigDir, handoff.FlagAgentModelDir, handoff.FlagLogWorkers, handoff.FlagSourceURI, handoff.FlagLogMode,
		handoff.FlagLogStorePath, handoff.FlagLogStoreFormat, handoff.FlagLogMarshallerURL, handoff.FlagLogMarshallerPort,
		handoff.FlagLogBatchSize, handoff.FlagLogBatchInterval, handoff.FlagInferenceService, handoff.FlagNamespace,
		handoff.FlagEndpoint, handoff.FlagComponent, handoff.FlagMetadataHeaders, handoff.FlagMetadataAnnotations,
		handoff.FlagMaxBatchSize, handoff.FlagMaxLatency, handoff.FlagLoggerCACertFile, handoff.FlagLoggerTLSSkipVerify,
		handoff.FlagProbePeriod,
	}
}

// Validate reports options that cannot be met. A feature that is asked for and missing is an error: a pod that silently
// logged or batched nothing would be found out late.
func (o *Options) Validate() error {
	var faults []error
	for _, port := range []struct {
		flag string
		n    int
	}{{handoff.FlagAgentPort, o.Port}, {handoff.FlagComponentPort, o.ComponentPort}} {
		if port.n < 1 || port.n > 65535 {
			faults = append(faults, fmt.Errorf("--%s %d: expected a port of 1 to 65535", port.flag, port.n))
		}
	}
	for _, feature := range []struct {
		flag  string
		asked bool
	}{{handoff.FlagEnablePuller, o.enablePuller}, {handoff.FlagEnableBatcher, o.enableBatcher}, {handoff.FlagLogURL, o.logURL != ""}} {
		if feature.asked {
			faults = append(faults, fmt.Errorf("--%s: not built into this version of the agent yet; remove it from the InferenceService", feature.flag))
		}
	}
	return errors.Join(faults...)
}

// Run serves until ctx ends, then drains. It returns an error for options that cannot be met, a busy port or a drain that cut requests.
func Run(ctx context.Context, o Options, log *zap.Logger) error {
	if err := o.Validate(); err != nil {
		return err
	}
	prober, err := newProber(o.ReadinessProbe, o.MultiProbes, o.ComponentPort)
	if err != nil {
		return err
	}
	o.Server.HTTP = httpserver.Endpoint{Addr: ":" + strconv.Itoa(o.Port), Flag: "--" + handoff.FlagAgentPort}
	h := &handler{prober: prober, log: log}
	server := httpserver.New(o.Server, h.chain(proxy.New(proxy.Options{
		Target: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.ComponentPort)), Log: log,
	})), nil, log)
	h.draining = server.Draining
	log.Info("agent started", zap.Int("port", o.Port), zap.Int("component_port", o.ComponentPort))
	return server.Run(ctx)
}

type handler struct {
	prober   *prober
	draining func() bool
	log      *zap.Logger
}

// chain lists what a request passes, from outside in.
func (h *handler) chain(next http.Handler) http.Handler {
	return h.probes(forwarded(next))
}

const (
	probeValue = "probe"
	hashHeader = "K-Network-Hash"
	probeUA    = "kube-probe/"
	activator  = "Knative-Activator-Probe"
)

// probes answers the kubelet, Knative's activator and its network probes; everything else goes on.
func (h *handler) probes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, ua := r.Header.Get(handoff.ProbeHeader), r.UserAgent()
		fromKubelet := strings.HasPrefix(ua, probeUA) || r.Header.Get("K-Kubelet-Probe") != "" || ua == activator
		if !fromKubelet && value != probeValue {
			next.ServeHTTP(w, r)
			return
		}
		switch {
		case h.draining():
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		case !fromKubelet:
			hash := r.Header.Get(hashHeader)
			if hash == "" {
				http.Error(w, "a probe must have a non-empty "+hashHeader+" header", http.StatusBadRequest)
				return
			}
			w.Header().Set(hashHeader, hash)
		case value != handoff.ProbeHeaderQueue:
			http.Error(w, "unexpected probe header value: "+value, http.StatusBadRequest)
		default:
			if err := h.prober.Ready(r.Context()); err != nil {
				h.log.Info("component is not ready", zap.Error(err))
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte(handoff.ProbeHeaderQueue)) // the prober is gone if this fails
		}
	})
}

// forwarded adds the standard Forwarded header where only the X-Forwarded family says where a request came from.
func forwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Forwarded") == "" {
			if v := forwardedValue(r.Header); v != "" {
				r.Header.Set("Forwarded", v)
			}
		}
		next.ServeHTTP(w, r)
	})
}

func forwardedValue(h http.Header) string {
	var pairs []string
	if f := h.Get("X-Forwarded-For"); f != "" {
		for hop := range strings.SplitSeq(f, ",") {
			hop = strings.TrimSpace(hop)
			if strings.Contains(hop, ":") && !strings.HasPrefix(hop, `"`) { // IPv6 is bracketed and quoted (RFC 7239, 6)
				hop = `"[` + strings.Trim(hop, "[]") + `]"`
			}
			pairs = append(pairs, "for="+hop)
		}
	}
	var rest []string
	if proto := h.Get("X-Forwarded-Proto"); proto != "" {
		rest = append(rest, "proto="+proto)
	}
	if host := h.Get("X-Forwarded-Host"); host != "" {
		rest = append(rest, "host="+host)
	}
	if len(pairs) == 0 {
		return strings.Join(rest, ";")
	}
	pairs[0] = strings.Join(append([]string{pairs[0]}, rest...), ";")
	return strings.Join(pairs, ", ")
}
