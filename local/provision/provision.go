// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provision makes volumes for claims of the default storage class: a folder of the cluster for each, removed with the claim.
//
// Called by: cluster.
// Next: the binder of the controller manager, and node, which mounts the folder.
package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// Name is the provisioner of the storage class.
	Name  = "serving.kserve.io/local-folder"
	class = "local"

	annotationProvisioner = "volume.kubernetes.io/storage-provisioner"
	annotationProvisioned = "pv.kubernetes.io/provisioned-by"
)

// Provisioner watches claims and volumes.
type Provisioner struct {
	client  kubernetes.Interface
	dir     string
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	queue   workqueue.TypedRateLimitingInterface[item]
}

// item is a claim, or a volume when it has no namespace.
type item struct{ namespace, name string }

// New registers with the informers; folders are made below dir.
func New(c kubernetes.Interface, f informers.SharedInformerFactory, dir string) (*Provisioner, error) {
	core := f.Core().V1()
	p := &Provisioner{
		client: c, dir: dir, claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](100*time.Millisecond, time.Minute)),
	}
	add := func(o any) {
		if m, ok := o.(metav1.Object); ok {
			p.queue.Add(item{m.GetNamespace(), m.GetName()})
		}
	}
	h := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, o any) { add(o) }}
	for _, i := range []cache.SharedIndexInformer{core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer()} {
		if _, err := i.AddEventHandler(h); err != nil {
			return nil, fmt.Errorf("watch claims: %w", err)
		}
	}
	return p, nil
}

// Install makes the default storage class.
func (p *Provisioner) Install(ctx context.Context) error {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	_, err := p.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: class, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: Name, ReclaimPolicy: &reclaim, VolumeBindingMode: &binding,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make storage class: %w", err)
	}
	return nil
}

// Run works until ctx ends.
func (p *Provisioner) Run(ctx context.Context) {
	stop := context.AfterFunc(ctx, p.queue.ShutDown)
	defer stop()
	for {
		i, down := p.queue.Get()
		if down {
			return
		}
		if err := p.handle(ctx, i); err != nil {
			klog.ErrorS(err, "provision volume", "claim", klog.KRef(i.namespace, i.name))
			p.queue.AddRateLimited(i)
		} else {
			p.queue.Forget(i)
		}
		p.queue.Done(i)
	}
}

func (p *Provisioner) handle(ctx context.Context, i item) error {
	if i.namespace == "" {
		return p.reclaim(ctx, i.name)
	}
	c, err := p.claims.PersistentVolumeClaims(i.namespace).Get(i.name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read claim: %w", err)
	}
	if c.Annotations[annotationProvisioner] != Name || c.Spec.VolumeName != "" || c.DeletionTimestamp != nil {
		return nil
	}
	return p.provision(ctx, c)
}

func (p *Provisioner) provision(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(c.UID)
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.Chmod(path, 0o777); err != nil { //nolint:gosec // every user of the pods that mount it writes here
		return fmt.Errorf("open folder: %w", err)
	}
	storage := ""
	if c.Spec.StorageClassName != nil {
		storage = *c.Spec.StorageClassName
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisioned: Name}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: c.Spec.Resources.Requests, AccessModes: c.Spec.AccessModes, StorageClassName: storage,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete, VolumeMode: c.Spec.VolumeMode,
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make volume: %w", err)
	}
	return nil
}

// reclaim removes a volume whose claim is gone. Without a plugin the binder leaves it Released, or Failed when it tried to delete it.
func (p *Provisioner) reclaim(ctx context.Context, name string) error {
	v, err := p.volumes.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read volume: %w", err)
	}
	over := v.Status.Phase == corev1.VolumeReleased || v.Status.Phase == corev1.VolumeFailed
	if v.Annotations[annotationProvisioned] != Name || !over || v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	if !filepath.IsLocal(name) || v.Spec.HostPath == nil || v.Spec.HostPath.Path != filepath.Join(p.dir, name) {
		return errors.New("the volume's folder is not one of this cluster's")
	}
	if err := os.RemoveAll(v.Spec.HostPath.Path); err != nil {
		return fmt.Errorf("remove folder: %w", err)
	}
	uid := v.UID
	err = p.client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete volume: %w", err)
	}
	return nil
}
