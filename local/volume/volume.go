// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volume makes the folders behind a pod's volumes, fills those that hold objects of the API, and refreshes them while the pod
// runs: a program that watches a mounted ConfigMap sees the change.
//
// Called by: node.
// Next: sandbox, which mounts the folders.
package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	podresource "k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/volume/util"
)

// provisioned marks volumes that a provisioner made; others are folders of the machine, which keep their owners.
const provisioned = "pv.kubernetes.io/provisioned-by"

// tokenLife is a kubelet's default; tokens are renewed when 80 % of it is over.
const tokenLife = 3600

// Volume is a prepared volume: a folder or file of the machine.
type Volume struct {
	Path     string
	ReadOnly bool
}

// Objects are where the contents come from.
type Objects struct {
	Client     kubernetes.Interface
	ConfigMaps corelisters.ConfigMapLister
	Secrets    corelisters.SecretLister
	Claims     corelisters.PersistentVolumeClaimLister
	Volumes    corelisters.PersistentVolumeLister
	// Image returns the folder with an image's files.
	Image func(ref string) (string, error)
}

// files are what a volume will hold, by path.
type files = map[string]util.FileProjection

// Set is the volumes of one pod.
type Set struct {
	objects Objects
	dir     string
	field   func(pod *corev1.Pod, path string) (string, error)
	tokens  map[string]token
	mounted map[string]bool
	owned   map[string]bool
}

type token struct {
	value []byte
	renew time.Time
}

// NewSet does no I/O. field resolves references to the pod's own fields.
func NewSet(o Objects, dir string, field func(*corev1.Pod, string) (string, error)) *Set {
	return &Set{objects: o, dir: dir, field: field, tokens: map[string]token{}, mounted: map[string]bool{}, owned: map[string]bool{}}
}

// Prepare makes or refreshes every volume of the pod. It is safe to call again: contents are swapped in one step.
func (s *Set) Prepare(ctx context.Context, pod *corev1.Pod) (map[string]Volume, error) {
	out := map[string]Volume{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		got, err := s.prepare(ctx, pod, v)
		if err != nil {
			return nil, fmt.Errorf("set up volume %q: %w", v.Name, err)
		}
		out[v.Name] = got
	}
	return out, nil
}

func (s *Set) prepare(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (Volume, error) {
	dir := filepath.Join(s.dir, v.Name)
	switch {
	case v.HostPath != nil:
		return hostPath(v.HostPath)
	case v.PersistentVolumeClaim != nil:
		return s.claim(pod, v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly)
	case v.Ephemeral != nil:
		return s.claim(pod, pod.Name+"-"+v.Name, false)
	case v.Image != nil:
		path, err := s.objects.Image(v.Image.Reference)
		return Volume{Path: path, ReadOnly: true}, err
	case v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory:
		return Volume{Path: dir}, s.memory(dir, v.EmptyDir, fsGroup(pod))
	case v.EmptyDir != nil:
		return Volume{Path: dir}, open(dir, pod)
	}
	into := files{}
	if err := s.collect(ctx, pod, v, into); err != nil {
		return Volume{}, err
	}
	return Volume{Path: dir, ReadOnly: true}, publish(dir, into, fsGroup(pod))
}

// memory mounts a tmpfs in the cluster's own mount namespace: the pod's containers share it, and it cannot outlive the cluster.
func (s *Set) memory(dir string, e *corev1.EmptyDirVolumeSource, group *int64) error {
	if s.mounted[dir] {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	options := "mode=1777"
	if e.SizeLimit != nil {
		options += fmt.Sprintf(",size=%d", e.SizeLimit.Value())
	}
	if group != nil && mapped(*group) {
		options = fmt.Sprintf("mode=2777,gid=%d", *group) + strings.TrimPrefix(options, "mode=1777")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount memory: %w", err)
	}
	s.mounted[dir] = true
	return nil
}

// Close unmounts what Prepare mounted.
func (s *Set) Close() error {
	var errs []error
	for dir := range s.mounted {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount memory: %w", err))
		}
	}
	clear(s.mounted)
	return errors.Join(errs...)
}

// open makes a folder that every user of the pod may write to, as a kubelet does.
func open(dir string, pod *corev1.Pod) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if g := fsGroup(pod); g != nil && mapped(*g) {
		if err := os.Chown(dir, -1, int(*g)); err != nil {
			return fmt.Errorf("give folder to its group: %w", err)
		}
		return os.Chmod(dir, 0o777|os.ModeSetgid)
	}
	return os.Chmod(dir, 0o777)
}

func publish(dir string, content files, group *int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	w, err := util.NewAtomicWriter(dir, "volume "+filepath.Base(dir))
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	if err := w.Write(content, func(sub string) error { return own(filepath.Join(dir, sub), group, groupReads) }); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	return nil
}

func hostPath(h *corev1.HostPathVolumeSource) (Volume, error) {
	kind := corev1.HostPathUnset
	if h.Type != nil {
		kind = *h.Type
	}
	fi, err := os.Stat(h.Path)
	exists := err == nil
	if err != nil && !os.IsNotExist(err) {
		return Volume{}, fmt.Errorf("look at host path: %w", err)
	}
	switch kind {
	case corev1.HostPathDirectoryOrCreate:
		if !exists {
			return Volume{Path: h.Path}, os.MkdirAll(h.Path, 0o755)
		}
	case corev1.HostPathFileOrCreate:
		if !exists {
			return Volume{Path: h.Path}, os.WriteFile(h.Path, nil, 0o600)
		}
	case corev1.HostPathDirectory:
		if !exists || !fi.IsDir() {
			return Volume{}, fmt.Errorf("hostPath type check failed: %s is not a directory", h.Path)
		}
	case corev1.HostPathFile:
		if !exists || !fi.Mode().IsRegular() {
			return Volume{}, fmt.Errorf("hostPath type check failed: %s is not a file", h.Path)
		}
	default:
		if !exists {
			return Volume{}, fmt.Errorf("host path %s does not exist", h.Path)
		}
	}
	return Volume{Path: h.Path}, nil
}

func (s *Set) claim(pod *corev1.Pod, name string, readOnly bool) (Volume, error) {
	c, err := s.objects.Claims.PersistentVolumeClaims(pod.Namespace).Get(name)
	if err != nil {
		return Volume{}, fmt.Errorf("read claim: %w", err)
	}
	if c.Status.Phase != corev1.ClaimBound {
		return Volume{}, fmt.Errorf("claim %q is not bound", name)
	}
	pv, err := s.objects.Volumes.Get(c.Spec.VolumeName)
	if err != nil {
		return Volume{}, fmt.Errorf("read volume of claim %q: %w", name, err)
	}
	var path string
	switch {
	case pv.Spec.HostPath != nil:
		path = pv.Spec.HostPath.Path
	case pv.Spec.Local != nil:
		path = pv.Spec.Local.Path
	default:
		return Volume{}, fmt.Errorf("volume %q: this node mounts hostPath and local volumes only", pv.Name)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return Volume{}, fmt.Errorf("make folder of volume %q: %w", pv.Name, err)
	}
	if _, ours := pv.Annotations[provisioned]; ours && !readOnly {
		err = s.ownOnce(path, pod)
	}
	return Volume{Path: path, ReadOnly: readOnly}, err
}

func (s *Set) collect(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, into files) error {
	pick := func(m *int32) int32 {
		if m != nil {
			return *m
		}
		return 0o644
	}
	switch {
	case v.ConfigMap != nil:
		c := v.ConfigMap
		return s.configMap(pod.Namespace, c.Name, selection{c.Items, c.Optional, pick(c.DefaultMode)}, into)
	case v.Secret != nil:
		c := v.Secret
		return s.secret(pod.Namespace, c.SecretName, selection{c.Items, c.Optional, pick(c.DefaultMode)}, into)
	case v.DownwardAPI != nil:
		return s.downward(pod, v.DownwardAPI.Items, pick(v.DownwardAPI.DefaultMode), into)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			p, mode := &v.Projected.Sources[i], pick(v.Projected.DefaultMode)
			if p.ServiceAccountToken != nil {
				b, err := s.token(ctx, pod, v.Name, p.ServiceAccountToken)
				if err != nil {
					return err
				}
				into[p.ServiceAccountToken.Path] = util.FileProjection{Data: b, Mode: mode}
				continue
			}
			if err := s.projected(pod, p, mode, into); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("this node knows emptyDir, hostPath, configMap, secret, downwardAPI, projected, persistentVolumeClaim, ephemeral and image volumes only")
}

func (s *Set) projected(pod *corev1.Pod, p *corev1.VolumeProjection, mode int32, into files) error {
	switch {
	case p.ConfigMap != nil:
		return s.configMap(pod.Namespace, p.ConfigMap.Name, selection{p.ConfigMap.Items, p.ConfigMap.Optional, mode}, into)
	case p.Secret != nil:
		return s.secret(pod.Namespace, p.Secret.Name, selection{p.Secret.Items, p.Secret.Optional, mode}, into)
	case p.DownwardAPI != nil:
		return s.downward(pod, p.DownwardAPI.Items, mode, into)
	}
	return errors.New("unknown projection: want configMap, secret, downwardAPI or serviceAccountToken")
}

// selection is what a volume takes of an object.
type selection struct {
	items    []corev1.KeyToPath
	optional *bool
	mode     int32
}

func (s *Set) configMap(ns, name string, sel selection, into files) error {
	c, err := s.objects.ConfigMaps.ConfigMaps(ns).Get(name)
	if err != nil {
		return sel.missing(err)
	}
	data := map[string][]byte{}
	for k, v := range c.Data {
		data[k] = []byte(v)
	}
	for k, v := range c.BinaryData {
		data[k] = v
	}
	return sel.take("configmap "+name, data, into)
}

func (s *Set) secret(ns, name string, sel selection, into files) error {
	c, err := s.objects.Secrets.Secrets(ns).Get(name)
	if err != nil {
		return sel.missing(err)
	}
	return sel.take("secret "+name, c.Data, into)
}

func (sel selection) missing(err error) error {
	if apierrors.IsNotFound(err) && sel.optional != nil && *sel.optional {
		return nil
	}
	return err
}

func (sel selection) take(what string, data map[string][]byte, into files) error {
	if len(sel.items) == 0 {
		for k, v := range data {
			into[k] = util.FileProjection{Data: v, Mode: sel.mode}
		}
		return nil
	}
	for _, i := range sel.items {
		v, ok := data[i.Key]
		if !ok {
			if sel.optional != nil && *sel.optional {
				continue
			}
			return fmt.Errorf("%s has no key %q", what, i.Key)
		}
		mode := sel.mode
		if i.Mode != nil {
			mode = *i.Mode
		}
		into[i.Path] = util.FileProjection{Data: v, Mode: mode}
	}
	return nil
}

func (s *Set) downward(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode int32, into files) error {
	for _, i := range items {
		m := mode
		if i.Mode != nil {
			m = *i.Mode
		}
		var text string
		var err error
		switch {
		case i.FieldRef != nil:
			text, err = s.field(pod, i.FieldRef.FieldPath)
		case i.ResourceFieldRef != nil:
			text, err = podresource.ExtractResourceValueByContainerName(i.ResourceFieldRef, pod, i.ResourceFieldRef.ContainerName)
		}
		if err != nil {
			return fmt.Errorf("downward API %s: %w", i.Path, err)
		}
		into[i.Path] = util.FileProjection{Data: []byte(text), Mode: m}
	}
	return nil
}

// token asks for a service-account token that is bound to the pod, and again before it ends.
func (s *Set) token(ctx context.Context, pod *corev1.Pod, volume string, p *corev1.ServiceAccountTokenProjection) ([]byte, error) {
	key := volume + "/" + p.Path
	if t, ok := s.tokens[key]; ok && time.Now().Before(t.renew) {
		return t.value, nil
	}
	life := int64(tokenLife)
	if p.ExpirationSeconds != nil {
		life = *p.ExpirationSeconds
	}
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &life,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if p.Audience != "" {
		req.Spec.Audiences = []string{p.Audience}
	}
	tr, err := s.objects.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, req, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for a service-account token: %w", err)
	}
	left := time.Until(tr.Status.ExpirationTimestamp.Time)
	t := token{value: []byte(tr.Status.Token), renew: time.Now().Add(left * 8 / 10)}
	s.tokens[key] = t
	return t.value, nil
}
