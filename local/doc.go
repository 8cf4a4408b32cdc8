// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kserve-cluster is a real Kubernetes on one Linux machine, as one binary, without containers: etcd, API server, controller
// manager, scheduler, and a node whose pods are processes in namespaces.
//
//	kserve-cluster [up] [--name N] [--no-node] [--fresh] [--discard] [--stdin-lifeline] [--audit-log FILE]
//	kserve-cluster down | status | kubeconfig | load REF DIR | forward LOCAL TARGET | restart-apiserver [--for 5s] | kubectl ...
//
// `up` prints one line to standard output when it can be used: the word ready and a JSON record. It runs until SIGTERM, Ctrl-C or, with
// --stdin-lifeline, the end of standard input. A test starts it as a child and holds the pipe.
//
// # The record
//
// The ready line and `status` show it; place.Record is its type.
//
//	name, state     the cluster's name, and its folder
//	kubeconfig      path of an administrator's kubeconfig; the API server's address in it stays the same over restarts if it can
//	apiServer       URL of the API server, on 127.0.0.1
//	gateway         URL on 127.0.0.1 of the Ingress gateway; with a node
//	node, pid       whether there is a node; the process to signal
//	notEnforced     what pods may ask for and do not get here, one sentence each
//	memoryLimits    what holds memory limits: cgroup2, cgroup1, or watcher
//	auditLog        the file of --audit-log
//	startSeconds    time from start to ready
//
// # For tests
//
// --audit-log FILE appends a line of JSON (audit.k8s.io/v1 Event, level Metadata) for each answer of the API server: look for
// responseStatus.code 403. `restart-apiserver --for 5s` cuts every connection, ends the API server, keeps its port closed so long, and
// starts another one in the same process; it returns when that one is ready. What the first held in memory is not all given back.
// Without a node the API server is a process of this machine: webhooks by https://127.0.0.1:PORT are reached. With a node it is in the
// pods' network: webhooks by Service are reached, at their ready endpoints.
//
// # Processes
//
//	launch     the process that was started; holds the name's lock, serves the API server's port on 127.0.0.1
//	└ init     process 1 of fresh PID, network, mount, UTS and IPC namespaces (and user, for an ordinary user); collects orphans
//	  └ inside the control plane, the proxy, DNS and the node
//	    └ …    one process per container, process 1 of its own PID namespace, in the pod's network
//
// However launch ends, a pipe tells init, whose end makes the kernel kill the rest: processes, mounts and interfaces are all in
// namespaces that end with it. Control groups are no namespace: init removes them, or launch if init was killed, or the next `up` or
// `down` of the name. Without a node there is only launch.
//
// An ordinary user is root of a user namespace. With newuidmap, newgidmap and ranges in /etc/subuid and /etc/subgid there are other
// users in it, and pods get theirs; else every program of a pod runs as that root, and notEnforced says so.
//
// # Packages, in the order of a pod's way
//
// command → launch → cluster → controlplane, network, proxy, names, provision, ingress, node → volume, image, limit, runtime → sandbox;
// kubelet answers the API server about the node, usage watches memory and processors, podlog keeps output, gate lets the host in,
// control takes orders.
//
// # What differs from other nodes
//
// Images come from a map (package image), not from a registry: programs of this machine, folders, or OCI layouts. `load` keeps a
// layout in the state, before `up` or while it runs; layouts are unpacked once and shared. An image that is missing is ErrImagePull and
// ImagePullBackOff with the names of those that exist, and is looked for again every few seconds.
//
// Probes and back-offs are quicker than a kubelet's unless --kubelet-times is given. Names outside of the cluster do not exist. Memory
// limits are held by control groups where this user may make any, else by a watcher of resident memory, four times a second. The node
// offers at least 16 processors and 64Gi, so that requests meant for a data centre are schedulable.
package main
