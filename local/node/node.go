// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node is the kubelet of this cluster: it registers a Node, follows the pods that the scheduler bound to it, and runs each as
// one state machine whose containers are processes.
//
// Called by: cluster.
// Next: volume, image and runtime for what a container needs; kubelet serves what a node knows.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/image"
	"github.com/kserve-go/kserve-go/local/limit"
	"github.com/kserve-go/kserve-go/local/network"
	"github.com/kserve-go/kserve-go/local/usage"
	"github.com/kserve-go/kserve-go/local/volume"
)

const (
	// refresh is how often mounted objects and tokens are looked at when no change was seen.
	refresh   = time.Minute
	maxPods   = 250
	heartbeat = 5 * time.Minute
)

// Options are what the node is made of.
type Options struct {
	Name    string
	Address string
	Port    int32
	// Dir holds a folder per pod.
	Dir string
	DNS string

	CPU, Memory string
	// Version is what the Node says as its kubelet's version.
	Version string
	// Rootless says that root is root of a user namespace only.
	Rootless bool
	// OneUser says that only root is mapped there: users and groups of pods cannot be honoured.
	OneUser bool
	// KubeletTimes keeps a kubelet's probe and back-off times.
	KubeletTimes bool

	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	Recorder  record.EventRecorder
	Network   *network.Network
	Images    *image.Store
	Usage     *usage.Watcher
	// Limits holds memory limits, unless its mode leaves that to Usage.
	Limits limit.Group
}

// Node runs pods.
type Node struct {
	Options
	objects  volume.Objects
	services corelisters.ServiceLister
	pods     cache.SharedIndexInformer

	mu      sync.Mutex
	workers map[types.UID]*worker
	closing bool
	running sync.WaitGroup
}

// New registers with the informers; it does no I/O.
func New(o Options) (*Node, error) {
	core := o.Informers.Core().V1()
	n := &Node{
		Options: o, workers: map[types.UID]*worker{}, services: core.Services().Lister(),
		objects: volume.Objects{
			Client: o.Client, ConfigMaps: core.ConfigMaps().Lister(), Secrets: core.Secrets().Lister(),
			Claims: core.PersistentVolumeClaims().Lister(), Volumes: core.PersistentVolumes().Lister(), Image: func(ref string) (string, error) { return imageFiles(o.Images, ref) },
		},
	}
	mine := informers.NewSharedInformerFactoryWithOptions(o.Client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", o.Name).String()
	}))
	n.pods = mine.Core().V1().Pods().Informer()
	if _, err := n.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: n.update, UpdateFunc: func(_, p any) { n.update(p) }, DeleteFunc: n.gone}); err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	changed := cache.ResourceEventHandlerFuncs{AddFunc: n.objectChanged, UpdateFunc: func(_, o any) { n.objectChanged(o) }}
	for _, i := range []cache.SharedIndexInformer{core.ConfigMaps().Informer(), core.Secrets().Informer(), core.PersistentVolumeClaims().Informer()} {
		if _, err := i.AddEventHandler(changed); err != nil {
			return nil, fmt.Errorf("watch objects: %w", err)
		}
	}
	core.PersistentVolumes().Informer()
	core.Services().Informer()
	return n, nil
}

func imageFiles(images *image.Store, ref string) (string, error) {
	img, err := images.Find(ref)
	if err != nil {
		return "", err
	}
	if img.RootFS == "" {
		return "", fmt.Errorf("image %q has no files of its own: it is a program of this machine", ref)
	}
	return img.RootFS, nil
}

// Register writes the Node object.
func (n *Node) Register(ctx context.Context) error {
	node, err := n.object()
	if err != nil {
		return err
	}
	status := node.Status
	got, err := n.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if got, err = n.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("read node: %w", err)
		}
	} else if err != nil {
		return fmt.Errorf("register node: %w", err)
	}
	got.Status = status
	if _, err = n.Client.CoreV1().Nodes().UpdateStatus(ctx, got, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("write node status: %w", err)
	}
	return nil
}

// Run follows pods until ctx ends; Drain then ends them.
func (n *Node) Run(ctx context.Context) {
	go n.pods.Run(ctx.Done())
	again, beat := time.NewTicker(refresh), time.NewTicker(heartbeat)
	defer again.Stop()
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			n.each(func(w *worker) { w.post(w.refreshVolumes) })
		case <-beat.C:
			if err := n.Register(ctx); err != nil {
				klog.ErrorS(err, "renew node status")
			}
		}
	}
}

// Drain ends every pod's processes, and returns when all are gone.
func (n *Node) Drain(grace time.Duration) {
	n.mu.Lock()
	n.closing = true
	n.mu.Unlock()
	n.each(func(w *worker) { w.post(func() { w.halt(grace) }) })
	n.running.Wait()
}

func (n *Node) each(f func(*worker)) {
	n.mu.Lock()
	all := make([]*worker, 0, len(n.workers))
	for _, w := range n.workers {
		all = append(all, w)
	}
	n.mu.Unlock()
	for _, w := range all {
		f(w)
	}
}

func (n *Node) update(o any) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	w := n.workers[p.UID]
	if w == nil && !n.closing {
		w = newWorker(n, p)
		n.workers[p.UID] = w
		n.running.Go(w.run)
	}
	n.mu.Unlock()
	if w != nil {
		w.post(func() { w.updated(p) })
	}
}

func (n *Node) gone(o any) {
	if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = d.Obj
	}
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	n.mu.Lock()
	w := n.workers[p.UID]
	n.mu.Unlock()
	if w != nil {
		w.post(func() { w.removed() })
	}
}

func (n *Node) forget(w *worker) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.workers, w.uid)
}

// objectChanged wakes the pods of a namespace that mount or wait for what changed.
func (n *Node) objectChanged(o any) {
	m, ok := o.(metav1.Object)
	if !ok {
		return
	}
	n.each(func(w *worker) {
		if w.namespace == m.GetNamespace() && w.uses(o) {
			w.post(w.refreshVolumes)
		}
	})
}

// Find returns a pod by its name; for the kubelet's server.
func (n *Node) find(ns, name string) *worker {
	var found *worker
	n.each(func(w *worker) {
		if w.namespace == ns && w.name == name && (found == nil || !w.isEnding()) {
			found = w
		}
	})
	return found
}

func (n *Node) object() (*corev1.Node, error) {
	capacity, err := n.capacity()
	if err != nil {
		return nil, err
	}
	now := metav1.Now()
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: map[string]string{
			corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: goruntime.GOARCH,
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address}, {Type: corev1.NodeHostName, Address: n.Name}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: n.Port}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: goruntime.GOARCH, KubeletVersion: n.Version, ContainerRuntimeVersion: "process://1",
				OSImage: "host", KernelVersion: kernel(),
			},
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
			},
		},
	}, nil
}

// capacity is generous where nothing was asked for: requests written for a data centre should fit on a laptop, and processes share it
// as the kernel sees fit.
func (n *Node) capacity() (corev1.ResourceList, error) {
	cpu := *resource.NewQuantity(int64(max(goruntime.NumCPU(), 16)), resource.DecimalSI)
	memory := resource.MustParse("64Gi")
	if machine := machineMemory(); machine > memory.Value() {
		memory = *resource.NewQuantity(machine, resource.BinarySI)
	}
	for _, set := range []struct {
		text string
		to   *resource.Quantity
	}{{n.CPU, &cpu}, {n.Memory, &memory}} {
		if set.text == "" {
			continue
		}
		q, err := resource.ParseQuantity(set.text)
		if err != nil {
			return nil, fmt.Errorf("node capacity %q: %w", set.text, err)
		}
		*set.to = q
	}
	return corev1.ResourceList{
		corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory,
		corev1.ResourcePods: *resource.NewQuantity(maxPods, resource.DecimalSI), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}, nil
}

func machineMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kib int64
	if _, err := fmt.Sscanf(string(b), "MemTotal: %d kB", &kib); err != nil {
		return 0
	}
	return kib << 10
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return string(slices.DeleteFunc(b, func(c byte) bool { return c == '\n' }))
}

// NotEnforced lists what pods may ask for and do not get here.
func (n *Node) NotEnforced() []string {
	out := []string{"cpu limits", "network policies", "ephemeral-storage limits", "seccomp, AppArmor and SELinux profiles", "terminals of containers (tty; kubectl exec has them)"}
	if n.Limits.Mode == limit.Watcher {
		out = append(out, "memory limits between two looks (a watcher kills four times a second; no control group of this user's may be made)")
	}
	if n.OneUser {
		out = append(out, "runAsUser, runAsGroup, supplementalGroups and fsGroup (only one user is mapped: newuidmap, newgidmap and ranges in /etc/subuid and /etc/subgid give more)")
	}
	return out
}

// ErrNotFound says that the node has no such pod or container.
var ErrNotFound = errors.New("not found on this node")
