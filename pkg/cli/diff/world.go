// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/online"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// placeholder is the UID of an owner that does not exist yet: a dry run asks for one and does not look for it.
const placeholder = "00000000-0000-0000-0000-000000000000"

// world is what services are planned from: the cluster's objects, and those of files in their place. It holds one page of the cluster's services.
type world struct {
	*offline.World
	client  dynamic.Interface
	reading *online.Reading
	// wanted are the services of files, and whether they are to be compared.
	wanted map[string]bool
	// faults are what admission would refuse a service for, by its ID.
	faults map[string]string
	// lists are what the namespace of the service at hand holds, read once: its services share it.
	lists    map[listKey][]unstructured.Unstructured
	progress *progress
}

type listKey struct {
	schema.GroupKind
	namespace string
}

// open reads the files and the operator's settings.
func open(ctx context.Context, client dynamic.Interface, o Options, namespace string, streams output.Streams) (*world, error) {
	var files []*manifest.Object
	if len(o.Files) > 0 {
		all, faults := manifest.Load(streams.In, o.Files)
		if len(faults) > 0 {
			for _, f := range faults {
				fmt.Fprintln(streams.Err, "fault: "+f.String())
			}
			return nil, exit.Silent(exit.Invalid)
		}
		online.Place(all, nil, namespace)
		files = all
	}
	w := &world{
		client: client, reading: online.New(client, o.System, files), wanted: map[string]bool{},
		lists: map[listKey][]unstructured.Unstructured{}, progress: newProgress(streams.Err),
	}
	for _, one := range w.reading.Objects {
		if s, ok := one.Value.(*servingv1beta1.InferenceService); ok {
			s.UID = placeholder
			w.wanted[id(one)] = len(o.Names) == 0 || slices.Contains(o.Names, one.Name)
			there, err := w.reading.Identify(ctx, one, s)
			if err == nil && there != nil {
				err = apply(s, one.Text, there)
			}
			if err != nil {
				return nil, online.Error(err)
			}
		}
	}
	return w, w.build(ctx)
}

func hasKey(m map[string]bool, key string) bool {
	_, ok := m[key]
	return ok
}

func id(o *manifest.Object) string { return o.Namespace + "/" + o.Name }

// build reads what the services at hand are planned from. Those of files have the identity and the status of the cluster's.
func (w *world) build(ctx context.Context) error {
	if err := w.reading.Surroundings(ctx, online.OfTemplates); err != nil {
		return online.Error(err)
	}
	built, faults := offline.Observed(w.reading.Objects)
	w.World, w.faults = built, map[string]string{}
	for _, f := range append(append(w.reading.Faults, faults...), built.Faults()...) {
		if strings.HasPrefix(f.Object, "configmap/") || strings.Contains(f.Object, "/configmap/") {
			return exit.Errorf(exit.Failed, "the operator's settings have a fault: %s", f)
		}
		if w.faults[f.Object] == "" {
			w.faults[f.Object] = strings.TrimPrefix(f.Path+": ", ": ") + f.Message
		}
	}
	return nil
}

// each calls a function with every service that is meant: those of files, then the cluster's, a page at a time, in the order of their names.
func (w *world) each(ctx context.Context, o Options, namespace string, do func(offline.Service) error) error {
	missing := slices.DeleteFunc(slices.Clone(o.Names), func(n string) bool { return hasKey(w.wanted, namespace+"/"+n) })
	if err := w.some(w.wanted, do); err != nil {
		return err
	}
	if len(w.wanted) > 0 && len(o.Names) == 0 && !o.All {
		return nil
	}
	within := namespace
	if o.All {
		within = metav1.NamespaceAll
	}
	err := w.reading.Services(ctx, within, func(page []unstructured.Unstructured) error {
		page = slices.DeleteFunc(page, func(u unstructured.Unstructured) bool {
			return len(o.Names) > 0 && !slices.Contains(o.Names, u.GetName()) || u.GetDeletionTimestamp() != nil
		})
		if len(page) == 0 {
			return nil
		}
		w.reading.Leave(page[0].GetNamespace())
		meant := map[string]bool{} // a graph of a file may name others
		for i := range page {
			if at := page[i].GetNamespace() + "/" + page[i].GetName(); !hasKey(w.wanted, at) {
				meant[at] = true
			}
			missing = slices.DeleteFunc(missing, func(n string) bool { return n == page[i].GetName() })
			if err := w.reading.Take(&page[i]); err != nil {
				return err
			}
		}
		if err := w.build(ctx); err != nil {
			return err
		}
		return w.some(meant, do)
	})
	if err == nil && len(missing) > 0 {
		return exit.Errorf(exit.Failed, "namespace %s has no InferenceService %s", namespace, strings.Join(missing, ", "))
	}
	return err
}

// some calls a function with those services at hand that are meant, in the order of their names.
func (w *world) some(meant map[string]bool, do func(offline.Service) error) error {
	services := slices.DeleteFunc(slices.Clone(w.Services), func(s offline.Service) bool { return !meant[id(s.Object)] })
	slices.SortFunc(services, func(a, b offline.Service) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	for _, s := range services {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}
