// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// lookAgain is the pause before a kind is looked for again whose definition is there and which is not served yet.
const lookAgain = time.Second

// notUsed begins the line of the log about a kind that is there and may not be watched.
const notUsed = "an optional kind is not used: "

// kinds starts the watch of an optional kind when the cluster gets it, and ends it when the cluster loses it. It is the reconciler of a
// controller on CustomResourceDefinitions.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
type kinds struct {
	*controllers
	// changed wakes every service.
	changed chan event.GenericEvent

	mu      sync.Mutex
	indexed map[string]bool
}

// served asks the API server whether it serves a kind now.
func served(ctx context.Context, d discovery.DiscoveryInterface, o plan.Optional) (bool, error) {
	list := &struct {
		Resources []struct {
			Kind string `json:"kind"`
		} `json:"resources"`
	}{}
	raw, err := d.RESTClient().Get().AbsPath("/apis/" + o.GroupVersion().String()).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for %s: %w", o.CRD, err)
	}
	if err := json.Unmarshal(raw, list); err != nil {
		return false, fmt.Errorf("look for %s: %w", o.CRD, err)
	}
	for _, r := range list.Resources {
		if r.Kind == o.Kind {
			return true, nil
		}
	}
	return false, nil
}

// discover looks for every optional kind before anything is reconciled, so that no service is told of a missing kind that is there.
func discover(ctx context.Context, d discovery.DiscoveryInterface) ([]plan.Optional, error) {
	var present []plan.Optional
	for _, o := range plan.OptionalKinds() {
		switch is, err := served(ctx, d, o); {
		case err != nil:
			return nil, err
		case is:
			present = append(present, o)
		}
	}
	return present, nil
}

// Reconcile implements reconcile.Reconciler: the request names a CustomResourceDefinition.
func (k *kinds) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	all := plan.OptionalKinds()
	i := slices.IndexFunc(all, func(o plan.Optional) bool { return o.CRD == req.Name })
	if i < 0 {
		return ctrl.Result{}, nil
	}
	o := all[i]
	present, err := k.settle(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	// A definition comes a little before its kind is served, and goes a little before it is served no longer.
	defined := k.cache.Get(ctx, req.NamespacedName, crdMetadata()) == nil
	switch {
	case defined != present:
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	case k.kinds.Denied(o.GroupKind()) != "":
		return ctrl.Result{RequeueAfter: lookAround}, nil // no event tells that a role has changed
	}
	return ctrl.Result{}, nil
}

// settle makes the controller know a kind as the API server does now, and says whether that serves it.
func (k *kinds) settle(ctx context.Context, o plan.Optional) (present bool, err error) {
	present, err = served(ctx, k.discovery, o)
	if err != nil {
		return false, err
	}
	before, why := k.kinds.Has(o.GroupKind()), k.kinds.Denied(o.GroupKind())
	switch {
	case present && !before:
		err = k.take(ctx, o)
	case !present && before:
		err = k.leave(ctx, o)
	case !present:
		k.kinds.Deny(o, "")
	}
	if err != nil || before == k.kinds.Has(o.GroupKind()) && why == k.kinds.Denied(o.GroupKind()) {
		return present, err
	}
	k.log.Info("optional kind", zap.String("crd", o.CRD), zap.Bool("present", present))
	select {
	case k.changed <- event.GenericEvent{Object: objectOf(o)}:
		return present, nil
	case <-ctx.Done():
		return present, ctx.Err()
	}
}

// take starts the watch of a kind, if the role allows that. A watch that is refused would never have its first list, and every pass would
// wait for it.
func (k *kinds) take(ctx context.Context, o plan.Optional) error {
	why, err := k.access.denied(ctx, resourceOf(o), true)
	if err != nil {
		return err
	}
	if why != "" {
		if k.kinds.Deny(o, why) {
			k.log.Warn(notUsed+why, zap.String("crd", o.CRD))
		}
		return nil
	}
	if err := k.watch(ctx, o); err != nil {
		return err
	}
	k.kinds.Set(o, true)
	return nil
}

// leave ends the watch of a kind that is not there any more.
func (k *kinds) leave(ctx context.Context, o plan.Optional) error {
	k.kinds.Set(o, false)
	k.mu.Lock()
	delete(k.indexed, o.CRD)
	k.mu.Unlock()
	if err := k.cache.RemoveInformer(ctx, objectOf(o)); err != nil {
		return fmt.Errorf("end the watch of %s: %w", o.CRD, err)
	}
	return nil
}

// Start looks around for kinds from time to time, where their definitions cannot be watched. It implements manager.Runnable.
func (k *kinds) Start(ctx context.Context) error {
	tick := time.NewTicker(lookAround)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, o := range plan.OptionalKinds() {
			if _, err := k.settle(ctx, o); err != nil && ctx.Err() == nil {
				k.log.Warn("cannot look for an optional kind", zap.String("crd", o.CRD), zap.Error(err))
			}
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica looks around.
func (k *kinds) NeedLeaderElection() bool { return false }

func objectOf(o plan.Optional) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.GroupVersionKind)
	return u
}

// watch makes the cache hold a kind, and its changes wake their services.
func (k *kinds) watch(ctx context.Context, o plan.Optional) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.indexed[o.CRD] {
		return nil
	}
	if err := k.indexer.IndexField(ctx, objectOf(o), gather.IndexController, gather.ControllerOf); err != nil {
		return fmt.Errorf("index %s: %w", o.CRD, err)
	}
	changes := childHandler()
	if o.GroupKind() == plan.HTTPRoute.GroupKind() {
		if err := k.indexer.IndexField(ctx, objectOf(o), gather.IndexWay, gather.WaysOf); err != nil {
			return fmt.Errorf("index %s: %w", o.CRD, err)
		}
		changes = k.routeHandler()
	}
	if err := k.main.Watch(source.Kind[client.Object](k.cache, objectOf(o), changes)); err != nil {
		return fmt.Errorf("watch %s: %w", o.CRD, err)
	}
	k.indexed[o.CRD] = true
	return nil
}

// addKinds adds what follows CustomResourceDefinitions. Every replica does, leader or not.
func addKinds(mgr ctrl.Manager, k *kinds) error {
	every := handler.Funcs{GenericFunc: func(ctx context.Context, _ event.GenericEvent, q queue) { k.eachService(ctx, "", q, nil) }}
	if err := k.main.Watch(source.Channel(k.changed, every)); err != nil {
		return fmt.Errorf("watch optional kinds: %w", err)
	}
	if !k.sight.definitions {
		if err := mgr.Add(k); err != nil {
			return fmt.Errorf("look around for optional kinds: %w", err)
		}
		return nil
	}
	no := false
	c, err := controller.New("optional-kinds", mgr, controller.Options{Reconciler: k, NeedLeaderElection: &no, SkipNameValidation: yes()})
	if err != nil {
		return fmt.Errorf("make the controller of optional kinds: %w", err)
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return slices.ContainsFunc(plan.OptionalKinds(), func(k plan.Optional) bool { return k.CRD == o.GetName() })
	})
	if err := c.Watch(source.Kind[client.Object](mgr.GetCache(), crdMetadata(), &handler.EnqueueRequestForObject{}, ours)); err != nil {
		return fmt.Errorf("watch definitions: %w", err)
	}
	return nil
}

func yes() *bool { v := true; return &v }
