// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kserve-cluster is a real Kubernetes on one Linux machine, as one binary, without containers: etcd, API server, controller
// manager, scheduler, and a node whose pods are processes in namespaces.
//
//	kserve-cluster [up] [--name N] [--no-node] [--fresh] [--discard] [--stdin-lifeline]
//	kserve-cluster down | status | kubeconfig | load REF DIR | forward LOCAL TARGET | kubectl ...
//
// `up` prints one line to standard output when it can be used: the word ready and a JSON record with the path of the kubeconfig. It
// runs until SIGTERM, Ctrl-C or, with --stdin-lifeline, the end of standard input. A test starts it as a child and holds the pipe.
//
// # Processes
//
//	launch     the process that was started; holds the name's lock, serves the API server's port on 127.0.0.1
//	└ init     process 1 of fresh PID, network, mount, UTS and IPC namespaces (and user, for an ordinary user); collects orphans
//	  └ inside the control plane, the proxy, DNS and the node
//	    └ …    one process per container, process 1 of its own PID namespace, in the pod's network
//
// However launch ends, a pipe tells init, whose end makes the kernel kill the rest: processes, mounts and interfaces are all in
// namespaces that end with it. Without a node there is only launch.
//
// # Packages, in the order of a pod's way
//
// command → launch → cluster → controlplane, network, proxy, names, provision, node → volume, image, runtime → sandbox; kubelet
// answers the API server about the node, usage watches memory and processors, podlog keeps output, gate lets the host in.
//
// # What differs from other nodes
//
// Images come from a map (package image), not from a registry. Probes and back-offs are quicker unless --kubelet-times is given. The
// record's notEnforced lists what pods may ask for and do not get. Memory limits are held by a watcher of resident memory, four times a
// second. The node offers at least 16 processors and 64Gi, so that requests meant for a data centre are schedulable.
package main
