// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gather reads what a decision is made from: in one pass, from the cache where there is one, and nothing that the service cannot use.
//
// Called by: control/reconcile/inferenceservice, control/manager, control/admit.
// Next: control/resolve.
package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Gatherer reads for a controller.
type Gatherer struct {
	// Cache answers without the network for the kinds that are watched; Live asks the API server.
	Cache, Live client.Reader
	// Kinds says which optional kinds there are.
	Kinds *Kinds
	// KnativeNamespace is where Knative Serving has its ConfigMaps.
	KnativeNamespace string
	// Now is the clock; nil is the system's.
	Now func() time.Time

	knative knative
}

// Definitions are what several services share. They belong to the cache.
type Definitions struct {
	// Runtimes are those of one namespace.
	Runtimes          []servingv1alpha1.ServingRuntime
	ClusterRuntimes   []servingv1alpha1.ClusterServingRuntime
	StorageContainers []servingv1alpha1.ClusterStorageContainer
	// Kinds are the optional kinds that the cluster has.
	Kinds []plan.Optional
}

// Definitions are those that services of a namespace can use.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=servingruntimes;clusterservingruntimes;clusterstoragecontainers,verbs=list;watch
func (g *Gatherer) Definitions(ctx context.Context, namespace string) (*Definitions, error) {
	var (
		runtimes   servingv1alpha1.ServingRuntimeList
		cluster    servingv1alpha1.ClusterServingRuntimeList
		containers servingv1alpha1.ClusterStorageContainerList
	)
	if err := g.Cache.List(ctx, &runtimes, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list serving runtimes: %w", err)
	}
	if err := g.Cache.List(ctx, &cluster, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list cluster serving runtimes: %w", err)
	}
	if err := g.Cache.List(ctx, &containers, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list cluster storage containers: %w", err)
	}
	return &Definitions{Runtimes: runtimes.Items, ClusterRuntimes: cluster.Items, StorageContainers: containers.Items, Kinds: g.Kinds.Present()}, nil
}

// Service reads what the plan of one service is made from. The service has its defaults; the children are those it has now.
func (g *Gatherer) Service(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings, children *plan.Children) (*plan.Snapshot, error) {
	definitions, err := g.Definitions(ctx, svc.Namespace)
	if err != nil {
		return nil, err
	}
	snap := &plan.Snapshot{Service: svc, ReadyCanaries: readyCanaries(svc, children), Runtimes: definitions.Runtimes, ClusterRuntimes: definitions.ClusterRuntimes}
	if from := resolve.CredentialsOf(svc, st); len(from.ServiceAccounts) > 0 {
		around, err := Surroundings(ctx, g.Live, Names{Namespace: svc.Namespace, ServiceAccounts: from.ServiceAccounts, Secrets: from.Secrets})
		if err != nil {
			return nil, err
		}
		snap.Surroundings = *around
	}
	snap.StorageContainers = definitions.StorageContainers
	snap.NoVirtualServices = !g.Kinds.Has(plan.VirtualService.GroupKind())
	if g.Kinds.Has(plan.KnativeService.GroupKind()) {
		if err := g.readKnative(ctx, snap); err != nil {
			return nil, err
		}
	}
	return snap, nil
}

// readyCanaries are the canary predictors with a pod that is available, behind a Service of the service's own.
func readyCanaries(svc *servingv1beta1.InferenceService, children *plan.Children) map[string]bool {
	ready := map[string]bool{}
	for i := range svc.Spec.Canary {
		name := svc.Spec.Canary[i].Predictor.Name
		workload := names.Predictor(svc.Name, name)
		d, s := children.Deployment(workload), children.Service(workload)
		if d != nil && d.Status.AvailableReplicas > 0 && d.DeletionTimestamp.IsZero() && s != nil && s.DeletionTimestamp.IsZero() {
			ready[name] = true
		}
	}
	return ready
}

// knative remembers Knative's settings for a while: they change about never, and are not ours to watch.
type knative struct {
	mu    sync.Mutex
	until time.Time
	last  *knativeSettings // nil until they were read once
}

type knativeSettings struct {
	zeroInitial bool
	domains     []string
}

const (
	knativeMemory = 30 * time.Second
	knativeRetry  = 5 * time.Second
)

func (g *Gatherer) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}

// due returns what is known, and whether the caller is to ask: of those who come by meanwhile nobody else is, once anything is known.
func (k *knative) due(now time.Time) (*knativeSettings, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last != nil && !now.After(k.until) {
		return k.last, false
	}
	k.until = now.Add(knativeRetry) // where asking fails, what was true a moment ago will do
	return k.last, true
}

func (k *knative) learn(s *knativeSettings, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.until = s, now.Add(knativeMemory)
}

// readKnative tells what Knative Serving's settings say.
func (g *Gatherer) readKnative(ctx context.Context, snap *plan.Snapshot) error {
	s, ask := g.knative.due(g.now())
	if ask {
		switch fresh, err := g.askKnative(ctx); {
		case err == nil:
			s = fresh
			g.knative.learn(s, g.now())
		case s == nil:
			return err
		}
	}
	snap.KnativeZeroInitialScale, snap.KnativeDomains = s.zeroInitial, s.domains
	return nil
}

// askKnative reads two ConfigMaps of Knative Serving. One that is not there, or not to be read, says nothing.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get
func (g *Gatherer) askKnative(ctx context.Context) (*knativeSettings, error) {
	var autoscaler, domain corev1.ConfigMap
	for name, cm := range map[string]*corev1.ConfigMap{"config-autoscaler": &autoscaler, "config-domain": &domain} {
		err := g.Live.Get(ctx, client.ObjectKey{Namespace: g.KnativeNamespace, Name: name}, cm)
		if client.IgnoreNotFound(err) != nil && !apierrors.IsForbidden(err) {
			return nil, &Error{Doing: "read ConfigMap " + g.KnativeNamespace + "/" + name + " of Knative", Err: err}
		}
	}
	domains := slices.Sorted(maps.Keys(domain.Data))
	domains = slices.DeleteFunc(domains, func(d string) bool { return d == "_example" })
	// A domain without a selector is the one that services get.
	slices.SortStableFunc(domains, func(a, b string) int {
		return len(strings.TrimSpace(domain.Data[a])) - len(strings.TrimSpace(domain.Data[b]))
	})
	return &knativeSettings{zeroInitial: autoscaler.Data["allow-zero-initial-scale"] == "true", domains: domains}, nil
}
