// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/control"
	"github.com/kserve-go/kserve-go/local/controlplane"
	"github.com/kserve-go/kserve-go/local/pki"
	"github.com/kserve-go/kserve-go/local/place"
)

const (
	maxLog = 64 << 20
	// idleGC is the share of garbage that a running cluster may hold, in percent of what is alive.
	idleGC = 50
)

// Run starts the cluster, calls Ready, blocks until ctx ends or a part fails, and stops everything.
func Run(ctx context.Context, o Options, h Hooks) error {
	started := time.Now()
	log, err := openLog(o)
	if err != nil {
		return err
	}
	defer log.Close()

	inside := "https://127.0.0.1:" + strconv.Itoa(insidePort)
	if !o.Node {
		inside = o.Server
	}
	if err := issue(o, inside); err != nil {
		return err
	}
	h.Progress("certificates")

	listener, advertise := h.Listener, ""
	var node *nodeSide
	if o.Node {
		advertise = NodeAddress
		if node, err = openNode(o); err != nil {
			return err
		}
		defer node.close()
		h.Progress("network")
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(insidePort)); err != nil {
			return fmt.Errorf("listen for the API server: %w", err)
		}
	}
	auditFlags, err := audit(o)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		Dir: o.Place.Dir, PKI: o.Place.Path("pki"), Kubeconfig: insideKubeconfig(o), Listener: listener, Server: inside,
		Advertise: advertise, ServiceRange: ServiceRange, ExtraAPI: append(auditFlags, o.ExtraAPI...), NoControllers: o.NoControllers, Volumes: true, Progress: h.Progress,
	})
	if err != nil {
		return err
	}
	err = serve(ctx, o, h, node, plane, started)
	if node != nil {
		// Pods end before the API server: their last status must still be written.
		err = errors.Join(err, node.stop())
	}
	return errors.Join(err, plane.Stop())
}

func serve(ctx context.Context, o Options, h Hooks, node *nodeSide, plane *controlplane.ControlPlane, started time.Time) error {
	record := place.Record{Name: o.Place.Name, Kubeconfig: o.Place.Path("kubeconfig"), Server: o.Server, State: o.Place.Dir, PID: os.Getpid(), Node: o.Node, AuditLog: o.AuditLog}
	failed := make(<-chan error)
	if node != nil {
		if err := node.start(ctx); err != nil {
			return err
		}
		record.NotEnforced, record.MemoryLimits = node.notEnforced(), string(o.Limits.Mode)
		failed = node.failed
		h.Progress("node")
	}
	orders := make(chan error, 1)
	ordersCtx, stopOrders := context.WithCancel(ctx)
	defer stopOrders()
	go func() {
		orders <- control.Serve(ordersCtx, o.Place.Path(control.Socket), func(ctx context.Context, order control.Order) error {
			if order.Name != control.RestartAPIServer {
				return fmt.Errorf("unknown order %q", order.Name)
			}
			return plane.RestartAPIServer(ctx, order.For)
		})
	}()
	record.StartSeconds = time.Since(started).Seconds()
	if err := h.Ready(record); err != nil {
		return err
	}
	if o.Node {
		// Starting is where speed counts; afterwards a person's cluster mostly waits, and memory counts. A test's server never waits.
		debug.SetGCPercent(idleGC)
		debug.FreeOSMemory()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-orders:
		return err
	case err := <-failed:
		return fmt.Errorf("node: %w", err)
	case <-plane.Failed():
		return errors.New("a part of the control plane ended: see " + o.Place.Path("cluster.log"))
	}
}

func insideKubeconfig(o Options) string { return o.Place.Path("pki", "inside.kubeconfig") }

// issue makes what is missing of the certificates. The authorities and the service-account key are kept with the state: tokens and
// kubeconfigs of before a restart stay good.
func issue(o Options, inside string) error {
	dir := o.Place.Path("pki")
	ca, _, err := pki.OpenAuthority(dir, "ca")
	if err != nil {
		return err
	}
	front, _, err := pki.OpenAuthority(dir, "front-proxy-ca")
	if err != nil {
		return err
	}
	if err := pki.SigningKey(dir); err != nil {
		return err
	}
	local := net.ParseIP("127.0.0.1")
	ips := []net.IP{local, net.ParseIP(firstService), net.ParseIP(NodeAddress)}
	admin, err := ca.Issue(pki.Request{Name: "admin", User: "admin", Group: "system:masters"})
	if err != nil {
		return err
	}
	service := "kubernetes.default.svc"
	for _, r := range []pki.Request{
		{Name: "apiserver", User: "kube-apiserver", IPs: ips, Hosts: []string{"localhost", "kubernetes", "kubernetes.default", service, service + ".cluster.local"}},
		{Name: "node", User: "system:node:" + o.NodeName, Group: "system:nodes", IPs: ips, Hosts: []string{"localhost", o.NodeName, metricsHost}},
	} {
		if _, err := ca.Issue(r); err != nil {
			return err
		}
	}
	if _, err := front.Issue(pki.Request{Name: "front-proxy-client", User: "front-proxy-client"}); err != nil {
		return err
	}
	if err := pki.WriteKubeconfig(insideKubeconfig(o), o.Place.Name, inside, ca.PEM, admin); err != nil {
		return err
	}
	return pki.WriteKubeconfig(o.Place.Path("kubeconfig"), "kserve-"+o.Place.Name, o.Server, ca.PEM, admin)
}

// openLog sends the log of all of Kubernetes to a file.
func openLog(o Options) (io.Closer, error) {
	path := o.Place.Path("cluster.log")
	if fi, err := os.Stat(path); err == nil && fi.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotate log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	flags := flag.NewFlagSet("log", flag.ContinueOnError)
	klog.InitFlags(flags)
	// By default errors are printed to standard error as well.
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "v": strconv.Itoa(o.Verbosity)} {
		if err := flags.Set(name, value); err != nil {
			return nil, fmt.Errorf("set up log: %w", err)
		}
	}
	klog.SetOutput(f)
	return f, nil
}
