// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

const inside = "KSERVE_TEST_INSIDE_NAMESPACES"

// TestHardwareAddressesStay opens a network in namespaces of its own and lets pods come and go: the gateway of those that stay keeps its hardware
// address, and a pod has the one of its address.
func TestHardwareAddressesStay(t *testing.T) {
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHardwareAddressesStay$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			t.Skipf("this kernel lets nobody here make namespaces: %v", err)
		}
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestHardwareAddressesStay")
		return
	}
	n, err := Open(Options{Gateway: "10.88.0.1", Pods: "10.88.0.0/16", Services: "10.96.0.0/16"})
	require.NoError(t, err)
	gateway := func() string {
		link, err := netlink.LinkByName(bridgeName)
		require.NoError(t, err)
		return link.Attrs().HardwareAddr.String()
	}
	const want = "0a:58:0a:58:00:01"
	require.Equal(t, want, gateway())
	var pods []*Pod
	for range 8 { // of random ports' addresses about one in two is a new lowest
		p, err := n.NewPod("pod")
		require.NoError(t, err)
		require.Equal(t, want, gateway())
		pods = append(pods, p)
	}
	for _, p := range pods[:6] {
		p.Close()
		require.Equal(t, want, gateway())
	}
	pod, err := netlink.NewHandleAt(netns.NsHandle(pods[7].Net.Fd()))
	require.NoError(t, err)
	defer pod.Close()
	link, err := pod.LinkByName("eth0")
	require.NoError(t, err)
	require.Equal(t, "0a:58:0a:58:00:09", link.Attrs().HardwareAddr.String())
}
