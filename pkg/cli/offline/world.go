// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package offline stands in for an API server: the objects of some files, the shipped runtimes and settings are its whole world.
//
// Called by: cli/inspect, cli/run, cli/diff, cli/online.
// Next: control/resolve, which plans a service from what this package gathers.
package offline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// World is what there is to plan from. It is immutable.
type World struct {
	Settings *settings.Settings
	Services []Service
	Graphs   []Graph

	// SettingsFrom is the ConfigMap that Settings were read from; nil where the shipped ones stand in.
	SettingsFrom *manifest.Object
	// NoVirtualServices says that the cluster does not have the kind.
	NoVirtualServices bool

	// Invalid are the services and graphs that Without left out, each with its first fault, by ID.
	Invalid map[string]manifest.Fault

	objects    []*manifest.Object
	runtimes   map[string][]servingv1alpha1.ServingRuntime
	cluster    []servingv1alpha1.ClusterServingRuntime
	containers []servingv1alpha1.ClusterStorageContainer
	accounts   map[string]map[string]corev1.ServiceAccount
	secrets    map[string]map[string]corev1.Secret
}

// Service is one InferenceService as written and with its defaults.
type Service struct {
	Object    *manifest.Object
	Defaulted *servingv1beta1.InferenceService
}

// Graph is one InferenceGraph.
type Graph struct {
	Object *manifest.Object
	Value  *servingv1alpha1.InferenceGraph
}

// Load reads files into a World and tells every fault in them, in the order of the files.
func Load(stdin io.Reader, files []string) (*World, []manifest.Fault) {
	all, faults := manifest.LoadAll(stdin, files)
	return Whole(all, faults, Build)
}

// Whole builds a World of what could be read, and tells every fault: those of reading, and those of the rules, also of objects that could be read
// in part only.
func Whole(all []*manifest.Object, faults []manifest.Fault, build func([]*manifest.Object) (*World, []manifest.Fault)) (*World, []manifest.Fault) {
	sound := slices.DeleteFunc(slices.Clone(all), func(o *manifest.Object) bool { return o.Broken })
	world, more := build(sound)
	more = append(more, world.Faults()...)
	if len(sound) < len(all) {
		more = append(more, beyond(all, faults, build)...)
	}
	faults = append(faults, more...)
	manifest.Sort(faults)
	return world, faults
}

// Objects counts what the files hold.
func (w *World) Objects() int { return len(w.objects) }

// All are the objects that the world was built of, without the shipped ones.
func (w *World) All() []*manifest.Object { return w.objects }

// Build sorts objects into a World. The shipped runtimes are part of it; one of the same name in the files replaces it.
func Build(objects []*manifest.Object) (*World, []manifest.Fault) { return build(objects, true) }

// Observed is Build for objects that were read from a cluster: nothing stands in for what the cluster lacks.
func Observed(objects []*manifest.Object) (*World, []manifest.Fault) { return build(objects, false) }

func build(objects []*manifest.Object, shipped bool) (*World, []manifest.Fault) {
	w := &World{
		Settings: settings.Defaults(),
		objects:  objects,
		runtimes: map[string][]servingv1alpha1.ServingRuntime{},
		accounts: map[string]map[string]corev1.ServiceAccount{},
		secrets:  map[string]map[string]corev1.Secret{},
	}
	faults := w.settings()
	own := map[string]bool{}
	for _, o := range objects {
		switch v := o.Value.(type) {
		case *servingv1alpha1.ServingRuntime:
			w.runtimes[o.Namespace] = append(w.runtimes[o.Namespace], *named(v, o))
		case *servingv1alpha1.ClusterServingRuntime:
			w.cluster = append(w.cluster, *v)
			own[v.Name] = true
		case *servingv1alpha1.ClusterStorageContainer:
			w.containers = append(w.containers, *v)
		case *servingv1alpha1.InferenceGraph:
			w.Graphs = append(w.Graphs, Graph{o, named(v, o)})
		case *corev1.ServiceAccount:
			put(w.accounts, o, *named(v, o))
		case *corev1.Secret:
			put(w.secrets, o, *withStringData(named(v, o)))
		}
	}
	if shipped {
		w.addShipped(own)
	}
	for _, o := range objects {
		if v, ok := o.Value.(*servingv1beta1.InferenceService); ok {
			w.Services = append(w.Services, Service{o, w.defaulted(named(v, o))})
		}
	}
	return w, faults
}

// settings takes the operator's ConfigMap when it is among the files.
func (w *World) settings() []manifest.Fault {
	var faults []manifest.Fault
	for _, o := range w.objects {
		cm, ok := o.Value.(*corev1.ConfigMap)
		if !ok || o.Name != settings.ConfigMapName {
			continue
		}
		parsed, err := settings.Parse(cm.Data)
		if err != nil {
			faults = append(faults, settingsFaults(o, err)...)
			continue
		}
		w.Settings, w.SettingsFrom = parsed, o
	}
	return faults
}

// shipped are the runtimes and storage containers that every installation has.
type shipped struct {
	runtimes   []servingv1alpha1.ClusterServingRuntime
	containers []servingv1alpha1.ClusterStorageContainer
}

// readShipped reads them once: a folder of files is no reason to do so again.
var readShipped = sync.OnceValue(func() shipped { //nolint:gochecknoglobals // it is a constant, written as YAML
	var s shipped
	for _, doc := range append(deploy.Runtimes(), deploy.StorageContainer()) {
		objects, faults := manifest.Parse("shipped", doc)
		if len(faults) > 0 {
			// Impossible: a test of this package reads every shipped object.
			panic(fmt.Sprintf("offline: %s", faults[0]))
		}
		for _, o := range objects {
			switch v := o.Value.(type) {
			case *servingv1alpha1.ClusterServingRuntime:
				s.runtimes = append(s.runtimes, *v)
			case *servingv1alpha1.ClusterStorageContainer:
				s.containers = append(s.containers, *v)
			}
		}
	}
	return s
})

// addShipped adds what every installation has.
func (w *World) addShipped(own map[string]bool) {
	all := readShipped()
	for i := range all.runtimes {
		if rt := &all.runtimes[i]; !own[rt.Name] {
			w.cluster = append(w.cluster, *rt.DeepCopy())
		}
	}
	if len(w.containers) > 0 {
		return
	}
	for i := range all.containers {
		w.containers = append(w.containers, *all.containers[i].DeepCopy())
	}
}

// Snapshot is what one service is planned from.
func (w *World) Snapshot(s Service) *plan.Snapshot {
	namespace := s.Object.Namespace
	snap := &plan.Snapshot{
		Service:           s.Defaulted,
		Runtimes:          w.runtimes[namespace],
		ClusterRuntimes:   w.cluster,
		Surroundings:      w.Surroundings(namespace),
		NoVirtualServices: w.NoVirtualServices,
		ReadyCanaries:     map[string]bool{},
		CanaryShares:      rollout.Known(s.Defaulted),
	}
	for i := range s.Defaulted.Status.CanaryStatuses { // of a service of a cluster
		c := &s.Defaulted.Status.CanaryStatuses[i]
		snap.ReadyCanaries[c.Name] = c.Ready
	}
	return snap
}

// Surroundings is what pods of a namespace can draw on.
func (w *World) Surroundings(namespace string) plan.Surroundings {
	return plan.Surroundings{
		ServiceAccounts:   w.accounts[namespace],
		Secrets:           w.secrets[namespace],
		StorageContainers: w.containers,
	}
}

// Plan decides what a service becomes. The error is a *plan.Blocked or a *plan.Waiting.
func (w *World) Plan(s Service) (*plan.Plan, error) {
	return resolve.Service(w.Snapshot(s), w.Settings)
}

// PlanGraph decides what a graph becomes when every service of the files that it names is up.
func (w *World) PlanGraph(g Graph) (*plan.Plan, error) {
	snap := &plan.GraphSnapshot{
		Graph: g.Value, Services: map[string]*servingv1beta1.InferenceService{},
		Runtimes: w.runtimes[g.Object.Namespace], ClusterRuntimes: w.cluster,
	}
	for _, s := range w.Services {
		if s.Object.Namespace != g.Object.Namespace {
			continue
		}
		service := s.Defaulted.DeepCopy()
		if p, err := w.Plan(s); err == nil {
			service.Status.Address = &serving.Address{URL: p.Route.Address}
		}
		snap.Services[service.Name] = service
	}
	return resolve.Graph(snap, w.Settings)
}

// Item is a service or graph and the way to plan it.
type Item struct {
	Object *manifest.Object
	Plan   func() (*plan.Plan, error)
}

// Items are the services and then the graphs.
func (w *World) Items() []Item {
	var all []Item
	for _, s := range w.Services {
		all = append(all, Item{s.Object, func() (*plan.Plan, error) { return w.Plan(s) }})
	}
	for _, g := range w.Graphs {
		all = append(all, Item{g.Object, func() (*plan.Plan, error) { return w.PlanGraph(g) }})
	}
	return all
}

// namespaced is the part of metav1.Object that named needs.
type namespaced interface{ SetNamespace(string) }

// named gives an object the namespace that it was taken to be in.
func named[T namespaced](v T, o *manifest.Object) T {
	v.SetNamespace(o.Namespace)
	return v
}

func put[T any](m map[string]map[string]T, o *manifest.Object, v T) {
	if m[o.Namespace] == nil {
		m[o.Namespace] = map[string]T{}
	}
	m[o.Namespace][o.Name] = v
}

// withStringData does what an API server does with stringData.
func withStringData(s *corev1.Secret) *corev1.Secret {
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
	return s
}

// Without is the world without the services and graphs that have a fault.
func (w *World) Without(faults []manifest.Fault) *World {
	bad := map[string]bool{}
	rest := *w
	rest.Invalid = map[string]manifest.Fault{}
	for _, f := range faults {
		_, told := rest.Invalid[f.Object]
		if kind, _, name := SplitID(f.Object); kind != "" && name != "" && !told {
			rest.Invalid[f.Object] = f
		}
		bad[f.Object] = true
	}
	rest.Services = slices.DeleteFunc(slices.Clone(w.Services), func(s Service) bool { return bad[s.Object.ID()] })
	rest.Graphs = slices.DeleteFunc(slices.Clone(w.Graphs), func(g Graph) bool { return bad[g.Object.ID()] })
	return &rest
}

// Keeping is the world with the services and graphs of an earlier one that faults took from it: those with a fault of their own, and
// those of a file with faults, which may be of objects that could not even be read. The earlier world may be nil.
func (w *World) Keeping(before *World, faults []manifest.Fault) *World {
	if before == nil || len(faults) == 0 {
		return w
	}
	hurt := map[string]bool{} // IDs and files
	for _, f := range faults {
		hurt[f.Object], hurt[f.Source] = true, true
	}
	delete(hurt, "") // a fault of no object in particular
	there := map[string]bool{}
	for _, item := range w.Items() {
		there[item.Object.ID()] = true
	}
	keep := func(o *manifest.Object) bool { return !there[o.ID()] && (hurt[o.ID()] || hurt[o.Source]) }
	all := *w
	for _, s := range before.Services {
		if keep(s.Object) {
			all.Services = append(slices.Clip(all.Services), s)
		}
	}
	for _, g := range before.Graphs {
		if keep(g.Object) {
			all.Graphs = append(slices.Clip(all.Graphs), g)
		}
	}
	return &all
}

// SplitID takes the ID of a service or graph apart; kind is empty for any other.
func SplitID(id string) (kind, namespace, name string) {
	namespace = manifest.DefaultNamespace
	parts := strings.Split(id, "/")
	if len(parts) == 3 {
		namespace, parts = parts[0], parts[1:]
	}
	for _, known := range []string{"InferenceService", "InferenceGraph"} {
		if len(parts) == 2 && parts[0] == strings.ToLower(known) {
			return known, namespace, parts[1]
		}
	}
	return "", "", ""
}
