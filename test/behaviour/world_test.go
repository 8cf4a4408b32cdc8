// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
	"github.com/kserve-go/kserve-go/test/parity"
)

const defaultNamespace = "default"

// world is everything that an example has put in and what came of it.
type world struct {
	settings *settings.Settings
	ready    bool
	cluster  *parity.Ready
	observed []doc
	release  string

	inputs map[string]doc // by Kind/namespace/name
	// snapshots by namespace, until something is applied.
	snapshots map[string]*plan.Snapshot
	tenants   map[string]*tenant
	outcome   outcome
}

// tenant is one service or graph and what was made of it.
type tenant struct {
	service *servingv1beta1.InferenceService
	graph   *servingv1alpha1.InferenceGraph
	plan    *plan.Plan
	objects []plan.Object
	stopped error // a *plan.Blocked or *plan.Waiting
	events  []string
}

// outcome is what an example is judged by.
type outcome struct {
	refusals  []string
	warnings  []string
	decisions []string
	events    []string
	stops     []error
	objects   []doc
	pods      []doc
	defaulted []doc
	status    []doc
}

func newWorld(e *example) (*world, error) {
	st, err := e.settings()
	if err != nil {
		return nil, err
	}
	w := &world{
		settings: st, ready: e.Ready == nil || *e.Ready, cluster: &parity.Ready{Namespace: defaultNamespace}, observed: e.Observed, release: e.Release,
		inputs: map[string]doc{}, snapshots: map[string]*plan.Snapshot{}, tenants: map[string]*tenant{},
	}
	if e.Shipped != nil && !*e.Shipped {
		return w, nil
	}
	docs, err := shipped()
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		w.inputs[id(d)] = d
	}
	return w, nil
}

// shipped are the runtimes and the storage container of an installation.
var shipped = sync.OnceValues(func() ([]doc, error) {
	var docs []doc
	for _, raw := range append(deploy.Runtimes(), deploy.StorageContainer()) {
		var d doc
		if err := yaml.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("read what is shipped: %w", err)
		}
		docs = append(docs, d)
	}
	return docs, nil
})

// apiVersions of the kinds that an example may hold.
func apiVersions() map[string]string {
	alpha, beta := servingv1alpha1.SchemeGroupVersion.String(), servingv1beta1.SchemeGroupVersion.String()
	return map[string]string{
		"InferenceService": beta, "InferenceGraph": alpha, "TrainedModel": alpha, "ServingRuntime": alpha, "ClusterServingRuntime": alpha,
		"ClusterStorageContainer": alpha, "LocalModelCache": alpha, "LocalModelNamespaceCache": alpha, "Secret": "v1", "ServiceAccount": "v1", "Pod": "v1",
	}
}

func isClusterScoped(kind string) bool {
	return kind == "ClusterServingRuntime" || kind == "ClusterStorageContainer" || kind == "LocalModelCache"
}

// complete fills in what an example may leave out.
func complete(d doc) error {
	kind, _ := d["kind"].(string)
	version, known := apiVersions()[kind]
	if !known {
		return fmt.Errorf("kind %q has no place in an example; known are %v", kind, slices.Sorted(maps.Keys(apiVersions())))
	}
	if _, ok := d["apiVersion"]; !ok {
		d["apiVersion"] = version
	}
	meta, _ := d["metadata"].(doc)
	if meta == nil || meta["name"] == nil {
		return fmt.Errorf("a %s has no metadata.name", kind)
	}
	if meta["namespace"] == nil && !isClusterScoped(kind) {
		meta["namespace"] = defaultNamespace
	}
	return nil
}

func id(d doc) string {
	meta, _ := d["metadata"].(doc)
	return fmt.Sprint(d["kind"], "/", meta["namespace"], "/", meta["name"])
}

func decode[T any](d doc) (*T, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	v := new(T)
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(v); err != nil {
		return nil, fmt.Errorf("read %s: %w", id(d), err)
	}
	return v, nil
}

func asDoc(v any) (doc, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var d doc
	return d, json.Unmarshal(raw, &d)
}

// apply takes in documents one by one, as an API server with our webhooks does. Stored ones are not judged.
func (w *world) apply(docs []doc, stored bool) error {
	for _, d := range docs {
		if err := complete(d); err != nil {
			return err
		}
		key := id(d)
		clear(w.snapshots)
		if d["$delete"] == true {
			delete(w.inputs, key)
			delete(w.tenants, key)
			continue
		}
		refusals, err := w.admit(key, d, stored)
		if err != nil {
			return err
		}
		if len(refusals) > 0 && !stored {
			for _, r := range refusals {
				w.outcome.refusals = append(w.outcome.refusals, r.Error())
			}
			continue
		}
		w.inputs[key] = d
		clear(w.snapshots)
	}
	return nil
}

// admit judges one document, and makes a tenant of a service or graph.
func (w *world) admit(key string, d doc, stored bool) (field.ErrorList, error) {
	switch d["kind"] {
	case "InferenceService":
		return w.admitService(key, d, stored)
	case "InferenceGraph":
		graph, err := decode[servingv1alpha1.InferenceGraph](d)
		if err != nil {
			return nil, err
		}
		graph.SetDefaults()
		faults, warnings := graph.Validate()
		if len(faults) == 0 || stored {
			w.tenants[key] = &tenant{graph: graph}
		}
		return faults, w.warn(warnings)
	case "TrainedModel":
		model, err := decode[servingv1alpha1.TrainedModel](d)
		if err != nil {
			return nil, err
		}
		return model.Validate(), nil
	case "ClusterStorageContainer":
		container, err := decode[servingv1alpha1.ClusterStorageContainer](d)
		if err != nil {
			return nil, err
		}
		return container.Validate(), nil
	case "ServingRuntime":
		return admitRuntime(w, key, d, func(rt *servingv1alpha1.ServingRuntime) *servingv1alpha1.ServingRuntimeSpec { return &rt.Spec })
	case "ClusterServingRuntime":
		return admitRuntime(w, key, d, func(rt *servingv1alpha1.ClusterServingRuntime) *servingv1alpha1.ServingRuntimeSpec { return &rt.Spec })
	}
	return nil, nil
}

func (w *world) warn(warnings []serving.Warning) error {
	for _, one := range warnings {
		w.outcome.warnings = append(w.outcome.warnings, one.Field+": "+one.Detail)
	}
	return nil
}

// runtime is what both kinds of runtime can do.
type runtime[T any] interface {
	*T
	GetNamespace() string
	GetName() string
	Validate(rules servingv1alpha1.RuntimeRules) (field.ErrorList, []serving.Warning)
	ValidateUpdate(old *T, rules servingv1alpha1.RuntimeRules) (field.ErrorList, []serving.Warning)
}

func admitRuntime[T any, P runtime[T]](w *world, key string, d doc, spec func(*T) *servingv1alpha1.ServingRuntimeSpec) (field.ErrorList, error) {
	now, err := decode[T](d)
	if err != nil {
		return nil, err
	}
	rules := servingv1alpha1.RuntimeRules{Others: map[string]servingv1alpha1.ServingRuntimeSpec{}, GPUResources: w.settings.MultiNode.GPUResources}
	for _, other := range w.inputs {
		if other["kind"] != d["kind"] {
			continue
		}
		rt, err := decode[T](other)
		if err != nil {
			return nil, err
		}
		if P(rt).GetNamespace() == P(now).GetNamespace() {
			rules.Others[P(rt).GetName()] = *spec(rt)
		}
	}
	if before, ok := w.inputs[key]; ok {
		old, err := decode[T](before)
		if err != nil {
			return nil, err
		}
		faults, warnings := P(now).ValidateUpdate(old, rules)
		return faults, w.warn(warnings)
	}
	faults, warnings := P(now).Validate(rules)
	return faults, w.warn(warnings)
}

func (w *world) admitService(key string, d doc, stored bool) (field.ErrorList, error) {
	svc, err := decode[servingv1beta1.InferenceService](d)
	if err != nil {
		return nil, err
	}
	if svc.Generation == 0 {
		svc.Generation = 1
	}
	if svc.UID == "" {
		svc.UID = "u"
	}
	old := w.tenants[key]
	status := svc.Status
	if old != nil {
		status = old.service.Status
		svc.Generation = old.service.Generation + 1
	}
	svc.Status = servingv1beta1.InferenceServiceStatus{}
	if old != nil {
		svc.Status = status
	}
	defaults := w.settings.ServiceDefaults()
	if defaults.LocalModels.Caches, err = w.caches(svc.Namespace); err != nil {
		return nil, err
	}
	if !stored {
		svc.SetDefaults(defaults)
	}
	snap, err := w.snapshot(svc.Namespace)
	if err != nil {
		return nil, err
	}
	rules := w.settings.ServiceRules(snap.StorageContainers, resolve.Hosts(svc, w.settings))
	faults, warnings := svc.Validate(rules)
	if old != nil {
		faults, warnings = svc.ValidateUpdate(old.service, rules)
	}
	svc.Status = status
	if stored {
		w.tenants[key] = &tenant{service: svc}
		return nil, nil
	}
	if len(faults) > 0 {
		return faults, nil
	}
	if old == nil {
		old = &tenant{}
		w.tenants[key] = old
	}
	old.service = svc
	return nil, w.warn(warnings)
}

// caches are the local model caches that a service of a namespace can use: those of the namespace first.
func (w *world) caches(namespace string) ([]servingv1beta1.LocalModelCache, error) {
	var near, far []servingv1beta1.LocalModelCache
	for _, key := range slices.Sorted(maps.Keys(w.inputs)) {
		d := w.inputs[key]
		if d["kind"] != "LocalModelCache" && d["kind"] != "LocalModelNamespaceCache" {
			continue
		}
		var cache struct {
			Metadata struct{ Name, Namespace string }
			Spec     struct {
				SourceModelURI string `json:"sourceModelUri"`
				NodeGroups     []string
			}
		}
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &cache); err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		one := servingv1beta1.LocalModelCache{Name: cache.Metadata.Name, Namespace: cache.Metadata.Namespace, SourceURI: cache.Spec.SourceModelURI, NodeGroups: cache.Spec.NodeGroups}
		switch one.Namespace {
		case namespace:
			near = append(near, one)
		case "":
			far = append(far, one)
		}
	}
	return append(near, far...), nil
}

// snapshot is what decisions of a namespace are made from. Its lists may be turned round.
func (w *world) snapshot(namespace string) (*plan.Snapshot, error) {
	s := w.snapshots[namespace]
	if s == nil {
		var err error
		if s, err = w.gather(namespace); err != nil {
			return nil, err
		}
		w.snapshots[namespace] = s
	}
	own := *s
	own.Runtimes, own.ClusterRuntimes, own.StorageContainers = slices.Clone(s.Runtimes), slices.Clone(s.ClusterRuntimes), slices.Clone(s.StorageContainers)
	own.ReadyCanaries = map[string]bool{}
	return &own, nil
}

func (w *world) gather(namespace string) (*plan.Snapshot, error) {
	s := &plan.Snapshot{
		KnativeZeroInitialScale: true,
		KnativeDomains:          []string{"example.com"},
		Surroundings:            plan.Surroundings{ServiceAccounts: map[string]corev1.ServiceAccount{}, Secrets: map[string]corev1.Secret{}},
	}
	for _, key := range slices.Sorted(maps.Keys(w.inputs)) {
		d := w.inputs[key]
		meta, _ := d["metadata"].(doc)
		kind, _ := d["kind"].(string)
		if meta["namespace"] != namespace && !isClusterScoped(kind) {
			continue
		}
		if err := into(s, kind, d); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func into(s *plan.Snapshot, kind string, d doc) error {
	switch kind {
	case "ServingRuntime":
		return add(d, &s.Runtimes)
	case "ClusterServingRuntime":
		return add(d, &s.ClusterRuntimes)
	case "ClusterStorageContainer":
		return add(d, &s.StorageContainers)
	case "Secret":
		secret, err := decode[corev1.Secret](d)
		if err != nil {
			return err
		}
		for k, v := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[k] = []byte(v)
		}
		s.Secrets[secret.Name] = *secret
	case "ServiceAccount":
		account, err := decode[corev1.ServiceAccount](d)
		if err != nil {
			return err
		}
		s.ServiceAccounts[account.Name] = *account
	}
	return nil
}

func add[T any](d doc, list *[]T) error {
	v, err := decode[T](d)
	if err != nil {
		return err
	}
	*list = append(*list, *v)
	return nil
}
