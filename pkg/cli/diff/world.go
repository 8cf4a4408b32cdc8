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

// world is what services are planned from: the cluster's objects, and those of files in their place.
type world struct {
	*offline.World
	client   dynamic.Interface
	services []offline.Service
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

func read(ctx context.Context, client dynamic.Interface, o Options, namespace string, streams output.Streams) (*world, error) {
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
	r := online.New(client, o.System, files)
	w := &world{client: client, faults: map[string]string{}, lists: map[listKey][]unstructured.Unstructured{}, progress: newProgress(streams.Err)}
	defer w.progress.clear()
	wanted, err := w.wanted(ctx, r, o, namespace)
	if err != nil {
		return nil, err
	}
	if err := r.Surroundings(ctx, online.OfTemplates); err != nil {
		return nil, online.Error(err)
	}
	built, faults := offline.Observed(r.Objects)
	w.World = built
	for _, f := range append(append(r.Faults, faults...), built.Faults()...) {
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

// wanted reads the services that are meant; those of files get the identity and the status of the cluster's.
func (w *world) wanted(ctx context.Context, r *online.Reading, o Options, namespace string) (map[string]bool, error) {
	wanted, ofFiles := map[string]bool{}, map[string]bool{}
	for _, one := range r.Objects {
		if s, ok := one.Value.(*servingv1beta1.InferenceService); ok {
			id := one.Namespace + "/" + one.Name
			ofFiles[id] = true
			s.UID = placeholder
			wanted[id] = len(o.Names) == 0 || slices.Contains(o.Names, one.Name)
			if _, err := r.Identify(ctx, one, s); err != nil {
				return nil, online.Error(err)
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
	missing := slices.Clone(o.Names)
	err := r.Services(ctx, within, func(u *unstructured.Unstructured) error {
		if len(o.Names) > 0 && !slices.Contains(o.Names, u.GetName()) || u.GetDeletionTimestamp() != nil {
			return nil
		}
		missing = slices.DeleteFunc(missing, func(n string) bool { return n == u.GetName() })
		wanted[u.GetNamespace()+"/"+u.GetName()] = true
		w.progress.show("%d services read", len(wanted))
		return r.Take(u)
	})
	if err != nil {
		return nil, err
	}
	missing = slices.DeleteFunc(missing, func(n string) bool { return ofFiles[namespace+"/"+n] })
	if len(missing) > 0 {
		return nil, exit.Errorf(exit.Failed, "namespace %s has no InferenceService %s", namespace, strings.Join(missing, ", "))
	}
	return wanted, nil
}
