// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// relisten bounds how long a restart waits for its port.
const relisten = 10 * time.Second

// apiServer is the API server of now and what its successor needs.
type apiServer struct {
	base     context.Context //nolint:containedctx // the life of the parts, which no caller of a restart ends
	endpoint string
	listener *door
	informer *cache.InformerName
	stop     func()
}

// openAPIServer does what may be done once per process, and starts the server.
func (c *ControlPlane) openAPIServer(base context.Context, endpoint string) error {
	name, err := cache.NewInformerName("kube-apiserver")
	if err != nil {
		return fmt.Errorf("name API server informers: %w", err)
	}
	c.api = &apiServer{base: base, endpoint: endpoint, listener: newDoor(c.options.Listener), informer: name}
	if err := c.startAPIServer(true); err != nil {
		return err
	}
	c.stops = append(c.stops, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.api.stop()
		c.api.base = nil
	})
	return nil
}

func (c *ControlPlane) startAPIServer(first bool) error {
	a := c.api
	options := apioptions.NewServerRunOptions()
	addr, ok := a.listener.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("API server listener: want TCP, got %s", a.listener.Addr().Network())
	}
	if err := parse("API server", options.Flags(), append(apiArgs(c.options, a.endpoint), fmt.Sprintf("--secure-port=%d", addr.Port))); err != nil {
		return err
	}
	options.SecureServing.Listener, options.InformerName = a.listener, a.informer
	if first {
		if err := options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
			return fmt.Errorf("set feature gates: %w", err)
		}
	}
	completed, err := options.Complete(a.base)
	if err != nil {
		return fmt.Errorf("complete API server options: %w", err)
	}
	if err := errors.Join(completed.Validate()...); err != nil {
		return fmt.Errorf("check API server options: %w", err)
	}
	a.stop = c.part(a.base, "API server", func(ctx context.Context) error { return apiserver.Run(ctx, completed) })
	return nil
}

// RestartAPIServer cuts every connection, ends the API server, lets nobody in for the time down, and starts another on the same port.
// It returns when that one is ready. Etcd, controllers, scheduler and node go on and have to cope, as clients do.
func (c *ControlPlane) RestartAPIServer(ctx context.Context, down time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api == nil || c.api.base == nil {
		return errors.New("the API server does not run")
	}
	address := c.api.listener.Addr().String()
	c.api.listener.shut()
	c.api.stop()
	c.api.listener.Close()
	select {
	case <-time.After(down):
	case <-ctx.Done():
		return fmt.Errorf("restart API server: %w", ctx.Err())
	}
	l, err := listenAgain(ctx, address)
	if err != nil {
		return err
	}
	c.api.listener = newDoor(l)
	if err := c.startAPIServer(false); err != nil {
		return errors.Join(err, l.Close())
	}
	return c.waitReady(ctx, c.options)
}

func listenAgain(ctx context.Context, address string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, relisten)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			return l, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("take the API server's port again: %w", err)
		}
	}
}

// door is a listener whose connections can be cut all at once, as they are when a server crashes.
type door struct {
	net.Listener
	mu     sync.Mutex
	closed bool
	conns  map[*passage]struct{}
}

func newDoor(l net.Listener) *door { return &door{Listener: l, conns: map[*passage]struct{}{}} }

type passage struct {
	net.Conn
	door *door
}

// Accept takes connections, and when the door is shut cuts them.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := &passage{Conn: c, door: d}
		d.mu.Lock()
		shut := d.closed
		if !shut {
			d.conns[p] = struct{}{}
		}
		d.mu.Unlock()
		if !shut {
			return p, nil
		}
		cut(c)
	}
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for p := range d.conns {
		cut(p.Conn)
	}
}

// cut resets the connection: the peer sees at once that nothing more will come.
func cut(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // it is closed all the same
	}
	c.Close()
}

// Close forgets the connection.
func (p *passage) Close() error {
	p.door.mu.Lock()
	delete(p.door.conns, p)
	p.door.mu.Unlock()
	return p.Conn.Close()
}
