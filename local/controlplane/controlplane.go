// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs etcd, the API server, the controller manager and the scheduler as goroutines of one process.
//
// The components are started by their options and run functions, never by their commands: two commands in one process both install
// signal handlers and logging, and the second panics. Their registries are global all the same: one control plane per process.
//
// Called by: cluster.
// Next: kubelet and node, which are clients of the API server started here.
package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	readyPoll    = 25 * time.Millisecond
	readyTimeout = 2 * time.Minute
	probeTimeout = 2 * time.Second
)

// Options say where the parts find their files and how they are reached.
type Options struct {
	// Dir holds etcd's data and sockets, PKI the certificates, by the names that package cluster issues.
	Dir, PKI string
	// Kubeconfig is what controller manager and scheduler connect with.
	Kubeconfig string
	// Listener is where the API server serves.
	Listener net.Listener
	// Server is the URL to reach it at from this process.
	Server string
	// Advertise is the address that pods reach the API server at; unset without a node.
	Advertise string
	// ServiceRange is the CIDR of service addresses.
	ServiceRange string
	// ExtraAPI are more flags of the API server.
	ExtraAPI []string
	// NoControllers says that nothing but etcd and the API server runs: no object appears or changes unless a client asks for it.
	NoControllers bool
	// Volumes says that claims are bound: the binder's controllers run.
	Volumes bool
	// Progress is told of each step.
	Progress func(step string)
}

// ControlPlane is what Start started.
type ControlPlane struct {
	options Options
	group   *errgroup.Group
	stops   []func()
	stopped sync.Once
	failed  chan struct{}

	mu  sync.Mutex // one restart at a time, and none after Stop
	api *apiServer
}

// Start brings the parts up in order and returns when the API server is ready. Stop ends them in reverse order.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	// The parts end in order, by Stop, and not all at once with the caller's context.
	base := context.WithoutCancel(ctx)
	group, gctx := errgroup.WithContext(base)
	c := &ControlPlane{options: o, group: group, failed: make(chan struct{})}
	context.AfterFunc(gctx, func() { close(c.failed) })

	endpoint, err := c.startEtcd(ctx, o)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	o.Progress("etcd")
	if err := c.openAPIServer(base, endpoint); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if err := c.waitReady(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	o.Progress("API server")
	if o.NoControllers {
		return c, nil
	}
	if err := c.startControllers(base, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if err := c.startScheduler(base, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	o.Progress("controllers and scheduler")
	return c, nil
}

// Failed is closed when a part ended, by Stop or on its own.
func (c *ControlPlane) Failed() <-chan struct{} { return c.failed }

// Stop ends the parts, the last started first, and returns the error of the first that failed.
func (c *ControlPlane) Stop() error {
	var err error
	c.stopped.Do(func() {
		for i := len(c.stops) - 1; i >= 0; i-- {
			c.stops[i]()
		}
		if werr := c.group.Wait(); werr != nil && !errors.Is(werr, context.Canceled) {
			err = werr
		}
	})
	return err
}

// part runs one component in the group; stop cancels it and waits.
func (c *ControlPlane) part(ctx context.Context, name string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	c.group.Go(func() error {
		defer close(done)
		if err := run(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ctx.Err() == nil {
			return fmt.Errorf("%s ended on its own", name)
		}
		return nil
	})
	return func() {
		cancel()
		<-done
	}
}

func (c *ControlPlane) waitReady(ctx context.Context, o Options) error {
	client, err := adminClient(o)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	var last error
	for {
		last = probe(ctx, client, o.Server+"/readyz", last)
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-c.failed:
			return errors.New("API server ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w (last answer: %w)", ctx.Err(), last)
		}
	}
}

func probe(ctx context.Context, client *http.Client, url string, last error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask for readiness: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil && last != nil {
			return last
		}
		return fmt.Errorf("ask for readiness: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answered %s", resp.Status)
	}
	return nil
}

// adminClient checks the authority before it sends anything: another cluster may sit on the port of a stale kubeconfig.
func adminClient(o Options) (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(file(o, "admin.crt"), file(o, "admin.key"))
	if err != nil {
		return nil, fmt.Errorf("load admin certificate: %w", err)
	}
	ca, err := readFile(file(o, "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{Timeout: probeTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}}, nil
}
