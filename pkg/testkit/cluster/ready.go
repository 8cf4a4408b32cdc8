// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// GatewayController is the controller that simulated routes are accepted by.
	GatewayController = "example.com/gw"
	since             = "2026-01-01T00:00:00Z"
	writers           = 4
)

func (c *Cluster) get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(ref.GVK)
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", ref.GVK.Kind, ref.Name, err)
	}
	return o, nil
}

// MakeReady writes the statuses that a whole cluster would: workloads have all their replicas, routes are accepted, Knative Services
// have rolled out their newest generation. It tells whether it wrote any.
func (c *Cluster) MakeReady(ctx context.Context, ns string) (bool, error) {
	var wrote atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, ref := range c.Refs(ns) {
		simulate := simulation(ref)
		if simulate == nil {
			continue
		}
		group.Go(func() error {
			changed, err := c.makeReady(ctx, ref, simulate)
			if changed {
				wrote.Store(true)
			}
			return err
		})
	}
	err := group.Wait()
	return wrote.Load(), err
}

func (c *Cluster) makeReady(ctx context.Context, ref Ref, simulate func(*unstructured.Unstructured) map[string]any) (bool, error) {
	o, err := c.get(ctx, ref)
	if err != nil || o == nil {
		return false, err
	}
	status := simulate(o)
	if old, _, _ := unstructured.NestedMap(o.Object, "status"); reflect.DeepEqual(old, status) {
		return false, nil
	}
	o.Object["status"] = status
	c.activity.touch(ref.Namespace)
	err = c.Client.Status().Update(ctx, o, client.FieldOwner(manager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return true, nil // it changes just now: the next round meets it again
	}
	if err != nil {
		return false, fmt.Errorf("make %s %s ready: %w", ref.GVK.Kind, ref.Name, err)
	}
	c.activity.wrote(o)
	return true, nil
}

// simulation is how objects of a kind become ready; nil for kinds whose status nobody waits for.
func simulation(ref Ref) func(*unstructured.Unstructured) map[string]any {
	switch ref.GVK.Group + "/" + ref.GVK.Kind {
	case "apps/Deployment":
		return readyDeployment
	case "apps/StatefulSet":
		return counters
	case "gateway.networking.k8s.io/HTTPRoute":
		return readyRoute
	case "serving.knative.dev/Service":
		return readyKnative
	}
	return nil
}

func counters(o *unstructured.Unstructured) map[string]any {
	replicas, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil || !found {
		replicas = 1
	}
	status := map[string]any{"observedGeneration": o.GetGeneration(), "replicas": replicas}
	if replicas == 0 {
		return status // zero is not stored
	}
	for _, k := range []string{"updatedReplicas", "readyReplicas", "availableReplicas"} {
		status[k] = replicas
	}
	return status
}

func readyDeployment(o *unstructured.Unstructured) map[string]any {
	status := counters(o)
	condition := func(kind, reason, message string) map[string]any {
		return map[string]any{"type": kind, "status": "True", "reason": reason, "message": message, "lastUpdateTime": since, "lastTransitionTime": since}
	}
	status["conditions"] = []any{
		condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
		condition("Progressing", "NewReplicaSetAvailable", "ok"),
	}
	return status
}

func readyRoute(o *unstructured.Unstructured) map[string]any {
	refs, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
	parents := make([]any, 0, len(refs))
	for _, ref := range refs {
		condition := func(kind string) map[string]any {
			return map[string]any{
				"type": kind, "status": string(metav1.ConditionTrue), "reason": kind, "message": "", "lastTransitionTime": since,
				"observedGeneration": o.GetGeneration(),
			}
		}
		parents = append(parents, map[string]any{
			"parentRef": ref, "controllerName": GatewayController, "conditions": []any{condition("Accepted"), condition("ResolvedRefs")},
		})
	}
	return map[string]any{"parents": parents}
}

func readyKnative(o *unstructured.Unstructured) map[string]any {
	name, ns := o.GetName(), o.GetNamespace()
	revision := fmt.Sprintf("%s-%05d", name, o.GetGeneration())
	traffic, _, _ := unstructured.NestedSlice(o.Object, "spec", "traffic")
	for _, t := range traffic {
		target, ok := t.(map[string]any)
		if !ok {
			continue
		}
		if target["latestRevision"] == true {
			target["revisionName"] = revision
		}
		if tag, ok := target["tag"].(string); ok && tag != "" {
			target["url"] = "http://" + tag + "-" + name + "." + ns + ".example.com"
		}
	}
	var conditions []any
	for _, kind := range []string{"ConfigurationsReady", "Ready", "RoutesReady"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastTransitionTime": since})
	}
	status := map[string]any{
		"observedGeneration": o.GetGeneration(), "url": "http://" + name + "." + ns + ".example.com",
		"address":                   map[string]any{"url": "http://" + name + "." + ns + ".svc.cluster.local"},
		"latestCreatedRevisionName": revision, "latestReadyRevisionName": revision, "conditions": conditions,
	}
	if len(traffic) > 0 {
		status["traffic"] = traffic
	}
	return status
}
