// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/gate"
	"github.com/kserve-go/kserve-go/local/image"
	"github.com/kserve-go/kserve-go/local/ingress"
	"github.com/kserve-go/kserve-go/local/kubelet"
	"github.com/kserve-go/kserve-go/local/names"
	"github.com/kserve-go/kserve-go/local/network"
	"github.com/kserve-go/kserve-go/local/node"
	"github.com/kserve-go/kserve-go/local/place"
	"github.com/kserve-go/kserve-go/local/provision"
	"github.com/kserve-go/kserve-go/local/proxy"
	"github.com/kserve-go/kserve-go/local/usage"
)

const (
	metricsService = "node-metrics"
	metricsHost    = metricsService + ".kube-system.svc"
	kubeletPort    = 10250
	// drainGrace is what pods get when the cluster stops; their own grace period is for their own deletion.
	drainGrace = 5 * time.Second
	clientQPS  = 500
)

// ImageMap is the map of images that were loaded into the cluster.
func ImageMap(p *place.Place) string { return p.Path("images.json") }

// nodeSide is everything that only a cluster with a node has.
type nodeSide struct {
	o       Options
	network *network.Network
	node    *node.Node
	failed  chan error

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// openNode makes the network: the API server wants its address.
func openNode(o Options) (*nodeSide, error) {
	n, err := network.Open(network.Options{Gateway: NodeAddress, Pods: PodRange, Services: ServiceRange})
	if err != nil {
		return nil, fmt.Errorf("make the cluster's network: %w", err)
	}
	const parts = 8 // no part blocks when several fail
	return &nodeSide{o: o, network: n, failed: make(chan error, parts)}, nil
}

// start runs the parts and returns when the node is registered.
func (n *nodeSide) start(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", insideKubeconfig(n.o))
	if err != nil {
		return fmt.Errorf("read own kubeconfig: %w", err)
	}
	config.QPS, config.Burst = clientQPS, 2*clientQPS
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	// The parts live until stop, which first drains the node.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	if err := n.parts(run, config, client); err != nil {
		return err
	}
	return n.node.Register(ctx)
}

func (n *nodeSide) parts(ctx context.Context, config *rest.Config, client *kubernetes.Clientset) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	watcher := usage.NewWatcher()
	images := image.NewStore(n.o.Place.Path("images"), append(append([]string{}, n.o.Images...), ImageMap(n.o.Place))...)
	if err := images.Sweep(); err != nil {
		return err
	}
	var err error
	n.node, err = node.New(node.Options{
		Name: n.o.NodeName, Address: NodeAddress, Port: kubeletPort, Dir: n.o.Place.Path("pods"), DNS: DNSAddress,
		CPU: n.o.CPU, Memory: n.o.Memory, Version: version.Get().GitVersion, Rootless: n.o.Rootless, OneUser: n.o.OneUser, KubeletTimes: n.o.KubeletTimes,
		Client: client, Informers: factory, Network: n.network, Usage: watcher, Limits: n.o.Limits,
		Recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: n.o.NodeName}),
		Images:   images,
	})
	if err != nil {
		return err
	}
	services, err := proxy.New(factory, NodeAddress, "127.0.0.1")
	if err != nil {
		return err
	}
	dns, err := names.New(ctx, factory, DNSAddress)
	if err != nil {
		return err
	}
	volumes, err := provision.New(client, factory, n.o.Place.Path("volumes"))
	if err != nil {
		return err
	}
	pki := func(name string) string { return n.o.Place.Path("pki", name) }
	server, err := kubelet.New(kubelet.Options{
		Node: n.node, NodeName: n.o.NodeName, Usage: watcher, Cert: pki("node.crt"), Key: pki("node.key"), CA: pki("ca.crt"), FrontCA: pki("front-proxy-ca.crt"),
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(NodeAddress, strconv.Itoa(kubeletPort)))
	if err != nil {
		return fmt.Errorf("listen for the node's API: %w", err)
	}
	gateway, gatewayListener, err := openGateway(ctx, config, client, factory)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("read %v from the API server: stopped", kind)
		}
	}
	for _, run := range []func(context.Context){n.node.Run, services.Run, dns.Run, volumes.Run, watcher.Run} {
		n.running.Go(func() { run(ctx) })
	}
	n.fallible(ctx, func() error { return server.Run(ctx, listener) })
	n.fallible(ctx, func() error { return gateway.Run(ctx, gatewayListener) })
	n.fallible(ctx, func() error { return gate.Serve(ctx, n.o.Place.Path("gate.sock"), DNSAddress) })
	return errors.Join(n.install(ctx, config), volumes.Install(ctx))
}

// openGateway makes the gateway and listens for it.
func openGateway(ctx context.Context, config *rest.Config, client kubernetes.Interface, factory informers.SharedInformerFactory) (*ingress.Gateway, net.Listener, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make client: %w", err)
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make client: %w", err)
	}
	gateway, err := ingress.New(ingress.Options{Client: client, Dynamic: objects, Metadata: names, Informers: factory, Address: NodeAddress, Port: gatewayPort})
	if err != nil {
		return nil, nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", GatewayAddress())
	if err != nil {
		return nil, nil, fmt.Errorf("listen for the gateway: %w", err)
	}
	return gateway, l, nil
}

func (n *nodeSide) fallible(ctx context.Context, run func() error) {
	n.running.Go(func() {
		if err := run(); err != nil && ctx.Err() == nil {
			n.failed <- err
		}
	})
}

// install makes the objects by which the API server finds the node's metrics, and keeps the address of DNS from being given away.
func (n *nodeSide) install(ctx context.Context, config *rest.Config) error {
	ca, err := os.ReadFile(n.o.Place.Path("pki", "ca.crt"))
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}
	return apply(ctx, config, systemObjects(base64.StdEncoding.EncodeToString(ca)))
}

func (n *nodeSide) notEnforced() []string { return n.node.NotEnforced() }

// stop ends the pods while the API server still answers, then the parts.
func (n *nodeSide) stop() error {
	if n.node != nil && n.cancel != nil {
		n.node.Drain(drainGrace)
	}
	if n.cancel != nil {
		n.cancel()
	}
	n.running.Wait()
	return nil
}

// close removes what pods left on disk; a process of the namespace cannot be left, the kernel sees to that.
func (n *nodeSide) close() {
	if err := os.RemoveAll(filepath.Clean(n.o.Place.Path("pods"))); err != nil {
		klog.ErrorS(err, "remove pod folders")
	}
}
