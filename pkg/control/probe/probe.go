// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe serves a control-plane process's health, readiness and metrics while it looks for its API server, and says
// plainly what is missing when there is none.
//
// Called by: control/manager, control/admit.
// Next: the API server, which the process watches once it is reached.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are the addresses of a process and the way to its API server.
type Options struct {
	// Kubeconfig is a file; empty means $KUBECONFIG, then ~/.kube/config, then the pod's service account.
	Kubeconfig  string
	MetricsAddr string
	HealthAddr  string
	// Retry is the pause between two attempts to reach the API server; 0 means 10 s.
	Retry time.Duration
}

// BindFlags adds --kubeconfig, --metrics-addr and --health-probe-addr, named as in the reference's manager.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig file; default: $KUBECONFIG, ~/.kube/config, the pod's service account")
	fs.StringVar(&o.MetricsAddr, "metrics-addr", o.MetricsAddr, "address of the Prometheus metrics (/metrics)")
	fs.StringVar(&o.HealthAddr, "health-probe-addr", o.HealthAddr, "address of the probes (/healthz, /readyz)")
}

// Process is a running control-plane process.
type Process struct {
	options   Options
	log       *zap.Logger
	reachable prometheus.Gauge
	metrics   http.Handler

	registry *prometheus.Registry

	mu      sync.Mutex
	release string
	missing string // why the API server is not reached; empty when it is
	checks  []func() string
}

// New makes a process; it does no I/O.
func New(o Options, log *zap.Logger) *Process {
	if o.Retry == 0 {
		o.Retry = 10 * time.Second
	}
	registry := telemetry.NewRegistry()
	reachable := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kserve_api_server_reachable", Help: "1 while the Kubernetes API server answers, else 0.",
	})
	registry.MustRegister(reachable)
	return &Process{
		options: o, log: log, reachable: reachable, metrics: telemetry.Handler(registry), registry: registry,
		missing: "the API server was not asked yet",
	}
}

// Registry holds the metrics that are served.
func (p *Process) Registry() *prometheus.Registry { return p.registry }

// Require adds a condition of readiness: a function that says what is missing, and nothing when nothing is.
func (p *Process) Require(missing func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checks = append(p.checks, missing)
}

// Run serves health and metrics until ctx ends, and keeps asking for the API server. A busy address is an error at once.
func (p *Process) Run(ctx context.Context) error {
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	health.HandleFunc("GET /readyz", p.ready)
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", p.metrics)

	healthPort, err := listen(ctx, "--health-probe-addr", p.options.HealthAddr)
	if err != nil {
		return err
	}
	metricsPort, err := listen(ctx, "--metrics-addr", p.options.MetricsAddr)
	if err != nil {
		_ = healthPort.Close()
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	p.serve(ctx, group, healthPort, health)
	p.serve(ctx, group, metricsPort, metrics)
	group.Go(func() error { p.watch(ctx); return nil })
	return group.Wait()
}

func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another with %s", addr, err, flag)
	}
	return l, nil
}

// serve answers on a port until ctx ends, then lets running requests finish.
func (p *Process) serve(ctx context.Context, group *errgroup.Group, port net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	p.log.Info("serving", zap.String("address", port.Addr().String()))
	group.Go(func() error {
		if err := server.Serve(port); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return server.Shutdown(drain)
	})
}

// Release is the version of the API server, as it last told it; empty while it has not.
func (p *Process) Release() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.release
}

func (p *Process) ready(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	missing, checks := p.missing, p.checks
	p.mu.Unlock()
	for _, check := range checks {
		if missing != "" {
			break
		}
		missing = check()
	}
	if missing != "" {
		http.Error(w, missing, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// watch asks the API server for its version until ctx ends, and logs each change once. A server that goes away later takes nobody's
// readiness: a webhook that leaves its Service while the API server restarts would be missed by the first requests after that.
func (p *Process) watch(ctx context.Context) {
	reached, last := false, "the API server was not asked yet"
	for ctx.Err() == nil {
		release, err := p.ask(ctx)
		if ctx.Err() != nil {
			break
		}
		problem := ""
		if err != nil {
			problem = "needs a Kubernetes API server: " + err.Error()
		}
		changed := problem != last
		last = problem
		reached = reached || err == nil
		pause := p.options.Retry
		if !reached { // somebody waits for this process to be ready
			pause = min(pause, time.Second)
		}
		p.mu.Lock()
		p.missing = problem
		if reached {
			p.missing = ""
		}
		if err == nil {
			p.release = release
		}
		p.mu.Unlock()
		switch {
		case err != nil:
			p.reachable.Set(0)
			if changed {
				p.log.Error("no API server; retrying", zap.Error(err), zap.Duration("every", pause))
			}
		case changed:
			p.log.Info("API server reached", zap.String("version", release))
			p.reachable.Set(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Environment is a variable of the process, or what stands for it when it is empty.
func Environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// Config finds the way to the API server: a kubeconfig, or the pod's service account.
func (o *Options) Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find its address (give --kubeconfig, or run in a pod): %w", err)
	}
	return config, nil
}

func (p *Process) ask(ctx context.Context) (release string, err error) {
	config, err := p.options.Config()
	if err != nil {
		return "", err
	}
	config = rest.CopyConfig(config)
	config.Timeout = 5 * time.Second
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("use the kubeconfig: %w", err)
	}
	// Not client.ServerVersion, which has no context and would hold up the end of the process.
	text, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	var info version.Info
	if err := json.Unmarshal(text, &info); err != nil {
		return "", fmt.Errorf("read the version of %s: %w", config.Host, err)
	}
	return info.GitVersion, nil
}
