// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network makes the cluster's network inside its namespace: a bridge for the pods, a route that makes every service address
// local, and for each pod a set of namespaces with one address.
//
// Called by: cluster (Open) and node (NewPod, Close).
// Next: proxy and names, which listen on the service addresses.
package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	bridgeName  = "br0"
	dialTimeout = 5 * time.Second
)

// Network hands out pod addresses.
type Network struct {
	bridge  netlink.Link
	gateway netip.Addr
	pods    netip.Prefix

	mu   sync.Mutex
	used map[netip.Addr]bool
	last netip.Addr
}

// Options are the addresses of the network.
type Options struct {
	Gateway  string
	Pods     string
	Services string
}

// Open makes the bridge and the routes in the network namespace of the calling process.
func Open(o Options) (*Network, error) {
	gateway, err := netip.ParseAddr(o.Gateway)
	if err != nil {
		return nil, fmt.Errorf("parse gateway: %w", err)
	}
	pods, err := netip.ParsePrefix(o.Pods)
	if err != nil {
		return nil, fmt.Errorf("parse pod range: %w", err)
	}
	_, services, err := net.ParseCIDR(o.Services)
	if err != nil {
		return nil, fmt.Errorf("parse service range: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, fmt.Errorf("find loopback: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return nil, fmt.Errorf("bring loopback up: %w", err)
	}
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}); err != nil {
		return nil, fmt.Errorf("add bridge: %w", err)
	}
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return nil, fmt.Errorf("find bridge: %w", err)
	}
	if err := netlink.AddrAdd(bridge, addr(gateway, pods)); err != nil {
		return nil, fmt.Errorf("give the bridge its address: %w", err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("bring bridge up: %w", err)
	}
	err = netlink.RouteAdd(&netlink.Route{LinkIndex: lo.Attrs().Index, Dst: services, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: unix.RT_SCOPE_HOST})
	if err != nil {
		return nil, fmt.Errorf("make service addresses local: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return nil, fmt.Errorf("turn forwarding on: %w", err)
	}
	return &Network{bridge: bridge, gateway: gateway, pods: pods, used: map[netip.Addr]bool{gateway: true}, last: gateway}, nil
}

func addr(a netip.Addr, p netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(p.Bits(), a.BitLen())}}
}

// Pod is the namespaces of one pod. They live as long as their files are open or a process is in them.
type Pod struct {
	Address netip.Addr
	// Net, UTS and IPC are open namespaces, in the order that sandbox joins them.
	Net, UTS, IPC *os.File

	network *Network
	host    bool
	close   sync.Once
}

// NewPod makes namespaces with loopback, an address on the bridge and a host name.
func (n *Network) NewPod(hostname string) (*Pod, error) {
	a, err := n.take()
	if err != nil {
		return nil, err
	}
	p := &Pod{Address: a, network: n}
	made := make(chan error, 1)
	go func() {
		// The thread is changed for good: it is never unlocked, so it ends with the goroutine.
		runtime.LockOSThread()
		made <- p.unshare(hostname)
	}()
	if err := <-made; err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// unshare runs on a thread of its own.
func (p *Pod) unshare(hostname string) error {
	origin, err := openNamespace("net")
	if err != nil {
		return err
	}
	defer origin.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("make pod namespaces: %w", err)
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	for kind, f := range map[string]**os.File{"net": &p.Net, "uts": &p.UTS, "ipc": &p.IPC} {
		if *f, err = openNamespace(kind); err != nil {
			return err
		}
	}
	// Model servers of ordinary users listen on 80 as they may in a container.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o600); err != nil {
		return fmt.Errorf("open low ports: %w", err)
	}
	if err := p.attach(origin); err != nil {
		return err
	}
	return p.configure()
}

// attach makes the pair of interfaces: one end in this thread's (the pod's) namespace, the other on the bridge outside.
func (p *Pod) attach(origin *os.File) error {
	if err := unix.Setns(int(origin.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("step out of the pod's network: %w", err)
	}
	b := p.Address.As4()
	veth := netlink.NewVeth(netlink.LinkAttrs{Name: fmt.Sprintf("pod%d-%d", b[2], b[3]), MasterIndex: p.network.bridge.Attrs().Index, TxQLen: -1})
	veth.PeerName = "eth0"
	veth.PeerNamespace = netlink.NsFd(int(p.Net.Fd()))
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("add pod interface: %w", err)
	}
	if err := netlink.LinkSetUp(veth); err != nil {
		return fmt.Errorf("bring pod interface up: %w", err)
	}
	if err := unix.Setns(int(p.Net.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("step into the pod's network: %w", err)
	}
	return nil
}

func (p *Pod) configure() error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find pod interface %s: %w", name, err)
		}
		if name == "eth0" {
			if err := netlink.AddrAdd(link, addr(p.Address, p.network.pods)); err != nil {
				return fmt.Errorf("give the pod its address: %w", err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("bring pod interface %s up: %w", name, err)
		}
	}
	if err := netlink.RouteAdd(&netlink.Route{Gw: p.network.gateway.AsSlice()}); err != nil {
		return fmt.Errorf("add the pod's default route: %w", err)
	}
	return nil
}

func openNamespace(kind string) (*os.File, error) {
	f, err := os.Open("/proc/thread-self/ns/" + kind)
	if err != nil {
		return nil, fmt.Errorf("open %s namespace: %w", kind, err)
	}
	return f, nil
}

// Close lets the namespaces go; the kernel removes the interfaces with them.
func (p *Pod) Close() {
	p.close.Do(func() {
		for _, f := range []*os.File{p.Net, p.UTS, p.IPC} {
			if f != nil {
				f.Close()
			}
		}
		if !p.host {
			p.network.release(p.Address)
		}
	})
}

// take hands out the next free address after the last one, so that an address rests before it is used again.
func (n *Network) take() (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for a := n.last.Next(); a != n.last; a = a.Next() {
		if !n.pods.Contains(a) || !n.pods.Contains(a.Next()) { // the last one is the broadcast address
			a = n.pods.Addr()
			continue
		}
		if !n.used[a] {
			n.used[a], n.last = true, a
			return a, nil
		}
	}
	return netip.Addr{}, errors.New("no free pod address")
}

func (n *Network) release(a netip.Addr) {
	// The interface must be gone before another pod takes its name.
	b := a.As4()
	if link, err := netlink.LinkByName(fmt.Sprintf("pod%d-%d", b[2], b[3])); err == nil {
		_ = netlink.LinkDel(link) // it may vanish with its namespace meanwhile
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.used, a)
}

// HostPod is the namespaces of the node itself, for pods that ask for them.
func (n *Network) HostPod() (*Pod, error) {
	p := &Pod{Address: n.gateway, network: n, host: true}
	for kind, f := range map[string]**os.File{"net": &p.Net, "uts": &p.UTS, "ipc": &p.IPC} {
		var err error
		if *f, err = openNamespace(kind); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// Dial connects from inside the pod: programs that listen on loopback only are reached too.
func (p *Pod) Dial(ctx context.Context, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Setns(int(p.Net.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{err: fmt.Errorf("step into the pod's network: %w", err)}
			return
		}
		// The address is a number, so the socket is made on this thread.
		c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
		done <- result{c, err}
	}()
	r := <-done
	return r.conn, r.err
}
