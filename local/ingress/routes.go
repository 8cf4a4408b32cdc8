// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/kserve-go/kserve-go/local/ingress/gatewayapi"
)

// syncRoutes keeps the table of the HTTPRoutes and the statuses of the Gateway API's objects up to date. It reports whether a status could
// not be written and must be tried again.
func (g *Gateway) syncRoutes(ctx context.Context) (again bool) {
	if !g.kinds.ready() {
		return false // the last objects to come tell
	}
	w := gatewayapi.World{
		Classes: listed[*gatewayv1.GatewayClass](g.kinds.classes), Gateways: listed[*gatewayv1.Gateway](g.kinds.gateways),
		Routes: listed[*gatewayv1.HTTPRoute](g.kinds.routes), Grants: listed[*gatewayv1beta1.ReferenceGrant](g.kinds.grant),
		Service: func(namespace, name string) *corev1.Service {
			s, err := g.services.Services(namespace).Get(name)
			if err != nil {
				return nil // the cache knows no other error
			}
			return s
		},
		Labels: func(namespace string) labels.Set {
			n, err := g.namespaces.Get(namespace)
			if err != nil {
				return nil // the same
			}
			return n.Labels
		},
	}
	made := g.compiler.Compile(w)
	g.routes.Store(made.Table)
	for _, o := range w.Classes {
		if want, ok := made.Classes[o.Name]; ok {
			again = g.classStatus(ctx, o, want) || again
		}
	}
	for _, o := range w.Gateways {
		if want, ok := made.Gateways[gatewayapi.Name{Namespace: o.Namespace, Name: o.Name}]; ok {
			again = g.gatewayStatus(ctx, o, want) || again
		}
	}
	for _, o := range w.Routes {
		again = g.routeStatus(ctx, o, made.Routes[gatewayapi.Name{Namespace: o.Namespace, Name: o.Name}]) || again
	}
	return again
}

func (g *Gateway) classStatus(ctx context.Context, o *gatewayv1.GatewayClass, want gatewayv1.GatewayClassStatus) bool {
	next := o.DeepCopy()
	next.Status.Conditions = gatewayapi.Conditions(o.Status.Conditions, want.Conditions, metav1.Now())
	return g.publishKind(ctx, g.kinds.classes, next, equality.Semantic.DeepEqual(o.Status, next.Status))
}

func (g *Gateway) gatewayStatus(ctx context.Context, o *gatewayv1.Gateway, want gatewayv1.GatewayStatus) bool {
	next, now := o.DeepCopy(), metav1.Now()
	for i := range want.Listeners {
		l := &want.Listeners[i]
		var old []metav1.Condition
		for _, was := range o.Status.Listeners {
			if was.Name == l.Name {
				old = was.Conditions
			}
		}
		l.Conditions = gatewayapi.Conditions(old, l.Conditions, now)
	}
	next.Status.Addresses, next.Status.Listeners = want.Addresses, want.Listeners
	next.Status.Conditions = gatewayapi.Conditions(o.Status.Conditions, want.Conditions, now)
	return g.publishKind(ctx, g.kinds.gateways, next, equality.Semantic.DeepEqual(o.Status, next.Status))
}

// routeStatus writes what this gateway has to say of a route beside what others say; of a parent that is no longer one it takes its words back.
func (g *Gateway) routeStatus(ctx context.Context, o *gatewayv1.HTTPRoute, want []gatewayv1.RouteParentStatus) bool {
	next, now := o.DeepCopy(), metav1.Now()
	next.Status.Parents = []gatewayv1.RouteParentStatus{}
	for _, p := range o.Status.Parents {
		if p.ControllerName != Controller {
			next.Status.Parents = append(next.Status.Parents, p)
		}
	}
	for _, p := range want {
		i := slices.IndexFunc(o.Status.Parents, func(old gatewayv1.RouteParentStatus) bool {
			return old.ControllerName == Controller && equality.Semantic.DeepEqual(old.ParentRef, p.ParentRef)
		})
		var old []metav1.Condition
		if i >= 0 {
			old = o.Status.Parents[i].Conditions
		}
		p.Conditions = gatewayapi.Conditions(old, p.Conditions, now)
		next.Status.Parents = append(next.Status.Parents, p)
	}
	return g.publishKind(ctx, g.kinds.routes, next, equality.Semantic.DeepEqual(o.Status.Parents, next.Status.Parents))
}

// object is one whose status is written.
type object interface {
	runtime.Object
	metav1.Object
}

// publishKind writes a status that is not the same as before, and says whether that must be tried again.
func (g *Gateway) publishKind(ctx context.Context, i *kind, next object, same bool) (again bool) {
	seen := next.GetResourceVersion()
	if same {
		delete(g.written, next.GetUID())
		return false
	}
	if seen != "" && g.written[next.GetUID()] == seen {
		return false // what was written on top of this version is on its way here
	}
	err := g.kinds.write(ctx, i, next)
	switch {
	case err == nil:
		g.written[next.GetUID()] = seen
		return false
	case apierrors.IsNotFound(err) || ctx.Err() != nil:
		return false
	case !apierrors.IsConflict(err): // the change that came between is on its way here
		klog.ErrorS(err, "write status", "object", fmt.Sprintf("%T", next))
	}
	return true
}
