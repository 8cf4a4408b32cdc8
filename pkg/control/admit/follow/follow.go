// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow keeps an up-to-date copy of one object that is known by name, or of every object of a small kind, so that a
// process needs no right to list what does not concern it.
//
// Called by: control/admit, control/admit/certificates.
// Next: the API server, by list and watch with a field selector.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Target says what is followed.
type Target struct {
	// List is an empty list of the kind, Object an empty object of it.
	List   client.ObjectList
	Object client.Object
	// Namespace and Name choose; an empty Name means every object.
	Namespace, Name string
}

func (t Target) String() string {
	kind := reflect.TypeOf(t.Object).Elem().Name()
	switch {
	case t.Name == "":
		return kind + "s"
	case t.Namespace == "":
		return kind + " " + t.Name
	}
	return kind + " " + t.Namespace + "/" + t.Name
}

// Follower holds what was last seen of its target.
type Follower[T client.Object] struct {
	target   Target
	informer toolscache.SharedInformer
}

// New prepares a follower; it does no I/O. changed is called after every change of the copy, from one goroutine; it must not block.
func New[T client.Object](c client.WithWatch, target Target, log *zap.Logger, changed func()) (*Follower[T], error) {
	options := func(raw metav1.ListOptions) *client.ListOptions {
		o := &client.ListOptions{Raw: &raw, Namespace: target.Namespace, Limit: raw.Limit, Continue: raw.Continue}
		if target.Name != "" {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, target.Name)
		}
		return o
	}
	lists := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			list := target.List.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert // a copy has the type of its original
			return list, c.List(ctx, list, options(raw))
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, target.List.DeepCopyObject().(client.ObjectList), options(raw)) //nolint:forcetypeassert // see above
		},
	}
	f := &Follower[T]{target: target, informer: toolscache.NewSharedInformer(toolscache.ToListWatcherWithWatchListSemantics(lists, c), target.Object, 0)}
	if err := f.informer.SetWatchErrorHandlerWithContext(complain(target, log)); err != nil {
		return nil, fmt.Errorf("follow %s: %w", target, err)
	}
	_, err := f.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", target, err)
	}
	return f, nil
}

// complain logs why a target cannot be followed, at most once in a while: the informer tries again by itself.
func complain(target Target, log *zap.Logger) toolscache.WatchErrorHandlerWithContext {
	var last time.Time
	return func(_ context.Context, _ *toolscache.Reflector, err error) {
		ended := apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF) // as every watch does now and then
		if ended || time.Since(last) < time.Minute {
			return
		}
		last = time.Now()
		hint := ""
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			hint = "; the process's role needs list and watch on it"
		}
		log.Warn("cannot follow "+target.String()+hint, zap.Error(err))
	}
}

// Run follows until ctx ends.
func (f *Follower[T]) Run(ctx context.Context) { f.informer.RunWithContext(ctx) }

// Synced reports whether the target was read at least once.
func (f *Follower[T]) Synced() bool { return f.informer.HasSynced() }

// What names the target.
func (f *Follower[T]) What() string { return f.target.String() }

// One is the object of the target's name, if it is there. Nobody may change it.
func (f *Follower[T]) One() (T, bool) {
	for _, item := range f.informer.GetStore().List() {
		if object, ok := item.(T); ok {
			return object, true
		}
	}
	var none T
	return none, false
}

// All are the objects of the target. Nobody may change them.
func (f *Follower[T]) All() []T {
	items := f.informer.GetStore().List()
	all := make([]T, 0, len(items))
	for _, item := range items {
		if object, ok := item.(T); ok {
			all = append(all, object)
		}
	}
	return all
}
