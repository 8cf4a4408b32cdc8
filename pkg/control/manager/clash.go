// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"slices"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
)

// mostWoken bounds how many services look again when one of those that share a host goes. Where so many do, each has others to tell of.
const mostWoken = 16

// routeHandler is childHandler for routes: one that comes, goes, or matches something else also concerns the other services that claim the same host.
func (c *controllers) routeHandler() handler.EventHandler {
	own := childHandler()
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList { // at first, every service is looked at anyway
				c.claimed(ctx, e.Object, gather.WaysOf(e.Object), q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			own.Delete(ctx, e, q)
			c.released(ctx, e.Object, gather.WaysOf(e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			own.Update(ctx, e, q)
			before, after := gather.WaysOf(e.ObjectOld), gather.WaysOf(e.ObjectNew)
			if slices.Equal(before, after) && owner(e.ObjectOld) == owner(e.ObjectNew) {
				return
			}
			c.claimed(ctx, e.ObjectNew, after, q)
			c.released(ctx, e.ObjectOld, before, q)
		},
	}
}

// claimed wakes the services that a route has just come to share a host with: the other one, and its own. Where there are more, they have told it.
func (c *controllers) claimed(ctx context.Context, route client.Object, ways []string, q queue) {
	for _, way := range ways {
		others := c.claimants(ctx, route, way)
		if len(others) == 0 {
			continue
		}
		for _, own := range controllerName(route) {
			q.AddAfter(reconcile.Request{NamespacedName: own}, gathering)
		}
		if len(others) == 1 {
			q.AddAfter(reconcile.Request{NamespacedName: others[0]}, gathering)
		}
	}
}

// released wakes the services that a route has shared a host with.
func (c *controllers) released(ctx context.Context, route client.Object, ways []string, q queue) {
	for _, way := range ways {
		others := c.claimants(ctx, route, way)
		for _, other := range others[:min(len(others), mostWoken)] {
			q.AddAfter(reconcile.Request{NamespacedName: other}, gathering)
		}
	}
}

func (c *controllers) claimants(ctx context.Context, route client.Object, way string) []types.NamespacedName {
	found, err := c.services.Gather.Claimants(ctx, route, way, owner(route))
	if err != nil {
		c.log.Error("look for services of the same host", zap.Error(err))
	}
	return found
}

func controllerName(o client.Object) []types.NamespacedName {
	for _, ref := range o.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			return []types.NamespacedName{{Namespace: o.GetNamespace(), Name: ref.Name}}
		}
	}
	return nil
}
