// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// placeholder is the UID of an owner that does not exist yet: a dry run asks for one and does not look for it.
const placeholder = "00000000-0000-0000-0000-000000000000"

// world is what services are planned from: the cluster's objects, and those of files in their place.
type world struct {
	*offline.World
	client   dynamic.Interface
	services []offline.Service
	// faults are what admission would refuse a service for, by its ID.
	faults map[string]string
	// lists are what namespaces hold, read once: services share it.
	lists map[listKey][]unstructured.Unstructured
}

type listKey struct {
	schema.GroupKind
	namespace string
}

// asked is an error of the API server: one that it answered, such as a right that is missing, is another than no answer.
func asked(err error) error {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsServiceUnavailable(err) {
		return exit.Errorf(exit.Failed, "%w", err)
	}
	return exit.Errorf(exit.Unreachable, "%w", err)
}

// reading gathers objects, the files' first.
type reading struct {
	client  dynamic.Interface
	objects []*manifest.Object
	have    map[string]bool
	faults  []manifest.Fault
}

func read(ctx context.Context, client dynamic.Interface, o Options, namespace string, streams output.Streams) (*world, error) {
	r := &reading{client: client, have: map[string]bool{}}
	if len(o.Files) > 0 {
		objects, faults := manifest.Load(streams.In, o.Files)
		if len(faults) > 0 {
			for _, f := range faults {
				fmt.Fprintln(streams.Err, "fault: "+f.String())
			}
			return nil, exit.Silent(exit.Invalid)
		}
		for _, one := range objects {
			r.add(one)
		}
	}
	wanted, err := r.services(ctx, o, namespace)
	if err != nil {
		return nil, err
	}
	if err := r.surroundings(ctx, o); err != nil {
		return nil, asked(err)
	}
	built, faults := offline.Observed(r.objects)
	w := &world{World: built, client: client, faults: map[string]string{}, lists: map[listKey][]unstructured.Unstructured{}}
	for _, f := range append(append(r.faults, faults...), built.Faults()...) {
		if strings.HasPrefix(f.Object, "configmap/") || strings.Contains(f.Object, "/configmap/") {
			return nil, exit.Errorf(exit.Failed, "the operator's settings have a fault: %s", f)
		}
		if w.faults[f.Object] == "" {
			w.faults[f.Object] = strings.TrimPrefix(f.Path+": ", ": ") + f.Message
		}
	}
	for _, s := range built.Services {
		if wanted[s.Object.Namespace+"/"+s.Object.Name] {
			w.services = append(w.services, s)
		}
	}
	slices.SortFunc(w.services, func(a, b offline.Service) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return w, nil
}

// add takes an object unless there is one of its name already.
func (r *reading) add(o *manifest.Object) {
	key := o.Kind.GroupKind().String() + " " + o.Namespace + "/" + o.Name
	if !r.have[key] {
		r.have[key] = true
		r.objects = append(r.objects, o)
	}
}

// take decodes an object of the cluster by the rules of files. What this version does not know in it is a fault.
func (r *reading) take(u *unstructured.Unstructured) error {
	u.SetManagedFields(nil)
	raw, err := u.MarshalJSON()
	if err != nil {
		return fmt.Errorf("read %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	objects, faults := manifest.Parse("cluster", raw)
	for _, o := range objects {
		r.add(o)
	}
	for i := range faults {
		faults[i].Object = (&manifest.Object{Kind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}).ID()
	}
	r.faults = append(r.faults, faults...)
	return nil
}

func resourceOf(version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: servingv1beta1.SchemeGroupVersion.Group, Version: version, Resource: resource}
}

// services reads those that are meant; those of files get the identity and the status of the cluster's.
func (r *reading) services(ctx context.Context, o Options, namespace string) (wanted map[string]bool, err error) {
	wanted = map[string]bool{}
	kind := r.client.Resource(resourceOf(servingv1beta1.SchemeGroupVersion.Version, "inferenceservices"))
	ofFiles := map[string]*servingv1beta1.InferenceService{}
	for _, one := range r.objects {
		if s, ok := one.Value.(*servingv1beta1.InferenceService); ok {
			ofFiles[one.Namespace+"/"+one.Name] = s
			s.UID = placeholder
			wanted[one.Namespace+"/"+one.Name] = len(o.Names) == 0 || slices.Contains(o.Names, one.Name)
			there, err := kind.Namespace(one.Namespace).Get(ctx, one.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				continue
			case err != nil:
				return nil, asked(fmt.Errorf("read InferenceService %s/%s: %w", one.Namespace, one.Name, err))
			}
			if err := identify(s, there); err != nil {
				return nil, err
			}
		}
	}
	if len(ofFiles) > 0 && len(o.Names) == 0 && !o.All {
		return wanted, nil
	}
	within := namespace
	if o.All {
		within = metav1.NamespaceAll
	}
	list, err := kind.Namespace(within).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, exit.Errorf(exit.Failed, "the cluster does not know the kind InferenceService: install its CustomResourceDefinition")
	case err != nil:
		return nil, asked(fmt.Errorf("list InferenceServices: %w", err))
	}
	missing := slices.Clone(o.Names)
	for i := range list.Items {
		u := &list.Items[i]
		if len(o.Names) > 0 && !slices.Contains(o.Names, u.GetName()) || u.GetDeletionTimestamp() != nil {
			continue
		}
		missing = slices.DeleteFunc(missing, func(n string) bool { return n == u.GetName() })
		wanted[u.GetNamespace()+"/"+u.GetName()] = true
		if err := r.take(u); err != nil {
			return nil, err
		}
	}
	missing = slices.DeleteFunc(missing, func(n string) bool { return ofFiles[namespace+"/"+n] != nil })
	if len(missing) > 0 {
		return nil, exit.Errorf(exit.Failed, "namespace %s has no InferenceService %s", namespace, strings.Join(missing, ", "))
	}
	return wanted, nil
}

// identify gives the service of a file what the API server and the controller have added to the one of the cluster.
func identify(s *servingv1beta1.InferenceService, there *unstructured.Unstructured) error {
	raw, err := there.MarshalJSON()
	if err != nil {
		return fmt.Errorf("read InferenceService %s: %w", s.Name, err)
	}
	objects, _ := manifest.Parse("cluster", raw)
	s.UID, s.Generation, s.CreationTimestamp = there.GetUID(), there.GetGeneration(), there.GetCreationTimestamp()
	for _, o := range objects {
		if before, ok := o.Value.(*servingv1beta1.InferenceService); ok {
			s.Status, s.Finalizers = before.Status, before.Finalizers
		}
	}
	return nil
}

// surroundings reads the runtimes, the storage containers, the settings, and what credentials come from.
func (r *reading) surroundings(ctx context.Context, o Options) error {
	namespaces := map[string]bool{}
	for _, one := range r.objects {
		if _, ok := one.Value.(*servingv1beta1.InferenceService); ok {
			namespaces[one.Namespace] = true
		}
	}
	alpha := servingv1alpha1.SchemeGroupVersion.Version
	for ns := range namespaces {
		if err := r.list(ctx, resourceOf(alpha, "servingruntimes"), ns); err != nil {
			return err
		}
	}
	for _, resource := range []string{"clusterservingruntimes", "clusterstoragecontainers"} {
		if err := r.list(ctx, resourceOf(alpha, resource), metav1.NamespaceAll); err != nil {
			return err
		}
	}
	if err := r.get(ctx, "configmaps", o.System, settings.ConfigMapName); err != nil {
		return err
	}
	return r.credentials(ctx)
}

// list reads what there is of a resource; a cluster that does not know it has none.
func (r *reading) list(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	list, err := r.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	for i := range list.Items {
		if err := r.take(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// get reads one object of the core group, if it is there.
func (r *reading) get(ctx context.Context, resource, namespace, name string) error {
	u, err := r.client.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %s/%s: %w", resource, namespace, name, err)
	}
	return r.take(u)
}

// credentials reads service accounts and their secrets for the services whose pod templates hold the credentials themselves. All others get
// them when a pod is admitted.
func (r *reading) credentials(ctx context.Context) error {
	st := r.settings()
	for _, one := range slices.Clone(r.objects) {
		s, ok := one.Value.(*servingv1beta1.InferenceService)
		if !ok {
			continue
		}
		names := resolve.CredentialsOf(s, st)
		if len(names.ServiceAccounts) == 0 {
			continue
		}
		secrets := names.Secrets
		for _, name := range names.ServiceAccounts {
			if err := r.get(ctx, "serviceaccounts", one.Namespace, name); err != nil {
				return err
			}
			for _, o := range r.objects {
				if sa, ok := o.Value.(*corev1.ServiceAccount); ok && o.Namespace == one.Namespace && o.Name == name {
					for _, ref := range sa.Secrets {
						secrets = append(secrets, ref.Name)
					}
				}
			}
		}
		for _, name := range secrets {
			if name == "" {
				continue
			}
			if err := r.get(ctx, "secrets", one.Namespace, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// settings are the operator's as far as they were read; what is wrong with them is told when everything has been.
func (r *reading) settings() *settings.Settings {
	st := settings.Defaults()
	for _, o := range r.objects {
		if cm, ok := o.Value.(*corev1.ConfigMap); ok && o.Name == settings.ConfigMapName {
			if parsed, err := settings.Parse(cm.Data); err == nil {
				st = parsed
			}
		}
	}
	return st
}
