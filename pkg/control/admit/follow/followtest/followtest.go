// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package followtest makes a stand-in for an API server that can be followed.
//
// Called by: tests of control/admit/follow and control/admit/certificates.
// Next: the fake client of controller-runtime.
package followtest

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is controller-runtime's fake client made fit for informers. The fake cannot stream a list, and its watches do not know what
// happened between a list and them: an informer would never hear of it. Here a watch says first what there is.
func Client(fake client.WithWatch) client.WithWatch { return listing{fake} }

type listing struct{ client.WithWatch }

func (l listing) Watch(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	inner, err := l.WithWatch.Watch(ctx, list, options...)
	if err != nil {
		return nil, err
	}
	now := list.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert // a copy
	o := (&client.ListOptions{}).ApplyOptions(options)
	if err := l.List(ctx, now, &client.ListOptions{Namespace: o.Namespace, FieldSelector: o.FieldSelector}); err != nil {
		return nil, err
	}
	events := make(chan watch.Event)
	proxy := watch.NewProxyWatcher(events)
	send := func(e watch.Event) bool {
		select {
		case events <- e:
			return true
		case <-proxy.StopChan():
			return false
		}
	}
	go func() {
		defer close(events)
		defer inner.Stop()
		_ = meta.EachListItem(now, func(object runtime.Object) error {
			send(watch.Event{Type: watch.Modified, Object: object})
			return nil
		})
		for {
			select {
			case e, ok := <-inner.ResultChan():
				if !ok || !send(e) {
					return
				}
			case <-proxy.StopChan():
				return
			}
		}
	}()
	return proxy, nil
}

func (listing) IsWatchListSemanticsUnSupported() bool { return true }
