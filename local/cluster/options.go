// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster assembles one cluster inside the process that runs it: certificates, control plane and, with a node, its network,
// services, names, volumes and pods.
//
// Called by: launch, in the process that a person started (no node) or in a child inside fresh namespaces (with a node).
// Next: controlplane.
package cluster

import (
	"net"
	"strconv"

	"github.com/kserve-go/kserve-go/local/limit"
	"github.com/kserve-go/kserve-go/local/place"
)

// Addresses inside the cluster. Its network is a namespace of its own: they cannot collide with anything of the machine, nor with
// those of a second cluster.
const (
	NodeAddress  = "10.88.0.1"
	PodRange     = "10.88.0.0/16"
	ServiceRange = "10.96.0.0/16"
	DNSAddress   = "10.96.0.10"
	firstService = "10.96.0.1"
	insidePort   = 6443
	gatewayPort  = 80
)

// Options are what a caller sets. They travel as JSON to the process inside the namespaces.
type Options struct {
	Place *place.Place `json:"place"`
	// Node says that the cluster runs pods.
	Node     bool   `json:"node"`
	NodeName string `json:"nodeName"`
	// Server is the API server's URL as the host reaches it.
	Server string `json:"server"`
	// Rootless says that the process is root in its own user namespace only.
	Rootless bool `json:"rootless"`
	// OneUser says that root is the only user there: pods cannot have others.
	OneUser bool `json:"oneUser,omitempty"`
	// Limits holds containers to their memory limits.
	Limits limit.Group `json:"limits"`
	// Images are files with image maps; later ones win.
	Images []string `json:"images,omitempty"`
	// CPU and Memory are what the node offers to the scheduler; zero means the default.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// KubeletTimes says that probes and back-offs keep a kubelet's times; without it they are quicker.
	KubeletTimes bool `json:"kubeletTimes,omitempty"`
	// NoControllers leaves out controller manager and scheduler; only without a node.
	NoControllers bool `json:"noControllers,omitempty"`
	// AuditLog is where the API server notes each answer; empty for nowhere.
	AuditLog string `json:"auditLog,omitempty"`
	// ExtraAPI are more flags of the API server.
	ExtraAPI []string `json:"extraAPI,omitempty"`
	// Verbosity is that of the log of Kubernetes.
	Verbosity int `json:"verbosity,omitempty"`
}

// Hooks connect Run with its caller.
type Hooks struct {
	// Listener is where the API server serves when there is no node.
	Listener net.Listener
	// Progress is told of each step, Ready once.
	Progress func(step string)
	Ready    func(place.Record) error
}

// GatewayAddress is where the gateway for Ingresses listens inside a cluster with a node.
func GatewayAddress() string { return net.JoinHostPort(NodeAddress, strconv.Itoa(gatewayPort)) }

// APIAddress is where the API server listens inside a cluster with a node.
func APIAddress() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(insidePort)) }
