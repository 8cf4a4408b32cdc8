// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

const (
	// still is how long the controller must not write until a phase is over. It is not part of the phase's time.
	still = 4 * time.Second
	look  = 200 * time.Millisecond
	limit = 15 * time.Minute
)

type bench struct {
	cluster   *cluster.Cluster
	options   options
	shape     shape
	profiler  *profiler
	namespace string
	// objects are those that the services have when they are ready, components the workloads among them. created are the objects after
	// the first phase, before anything is ready.
	created, objects, components int
	// routed are the services with HTTPRoutes.
	routed    int
	latencies *latencies
}

// step is one thing that is measured.
type step struct {
	name string
	// act sets it off; done tells when it has happened, nil is at once. After that the controller is waited for until it writes no more.
	act  func(context.Context) error
	done func(context.Context) (bool, error)
}

// prepare brings the runtimes and an empty namespace.
func (b *bench) prepare(ctx context.Context) error {
	for _, text := range deploy.Runtimes() {
		docs, err := cluster.Documents(string(text))
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := b.cluster.Apply(ctx, "", d); err != nil {
				return fmt.Errorf("install %s: %w", d.GetName(), err)
			}
		}
	}
	return b.cluster.MakeNamespace(ctx, b.namespace)
}

// Names of the phases that the targets speak of.
const (
	phaseCreate  = "create"
	phaseReady   = "make ready"
	phaseResync  = "resync: the operator's settings are written again"
	phaseRestart = "restart of the controller"
	phaseTouch   = "touch: an annotation that no object carries, on every service"
	phaseLabel   = "label that pods carry, on every service"
)

func (b *bench) phases() []step {
	return []step{
		{phaseCreate, b.create, b.allSeen},
		{phaseReady, b.makeReady, b.allReady},
		{phaseResync, b.touchSettings, nil},
		{phaseRestart, b.cluster.Controller.Restart, nil},
		{phaseTouch, b.touch, nil},
		{phaseLabel, b.label, nil},
		{"another model in every service", b.change, b.allReady},
		{"another model in one service after the other", b.changeSome, b.allReady},
		{"delete", b.delete, func(context.Context) (bool, error) { return b.count("InferenceService") == 0, nil }},
	}
}

// each does something with every service, several at a time.
func (b *bench) each(ctx context.Context, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.options.workers)
	for i := range b.options.n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func (b *bench) create(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error {
		o := &unstructured.Unstructured{Object: b.shape.object(i)}
		o.SetNamespace(b.namespace)
		return b.cluster.Client.Create(ctx, o)
	})
}

func (b *bench) patch(ctx context.Context, i int, patch []byte) error {
	svc := &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name(i)}}
	return b.cluster.Client.Patch(ctx, svc, client.RawPatch(types.MergePatchType, patch))
}

// touch changes the version of every service and nothing that any object is made from.
func (b *bench) touch(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error {
		return b.patch(ctx, i, []byte(`{"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}}`))
	})
}

// label is one that pods carry, too: it waits for the next change of anything else.
func (b *bench) label(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error {
		return b.patch(ctx, i, []byte(`{"metadata": {"labels": {"touched": "once"}}}`))
	})
}

func (b *bench) change(ctx context.Context) error {
	if err := b.each(ctx, func(ctx context.Context, i int) error { return b.changeOne(ctx, i, "new") }); err != nil {
		return err
	}
	return b.quiet(ctx)
}

func (b *bench) changeOne(ctx context.Context, i int, tag string) error {
	patch, err := b.shape.another(i, tag)
	if err != nil {
		return err
	}
	return b.patch(ctx, i, patch)
}

// allSeen tells whether every service has a status, which is written when its objects are.
func (b *bench) allSeen(ctx context.Context) (bool, error) {
	var list servingv1beta1.InferenceServiceList
	if err := b.cluster.Client.List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
		return false, err
	}
	for i := range list.Items {
		if len(list.Items[i].Status.Conditions) == 0 {
			return false, nil
		}
	}
	b.created = b.made()
	return len(list.Items) == b.options.n, nil
}

// made counts the objects that the controller has made.
func (b *bench) made() int {
	return b.count("Deployment", "Service", "HorizontalPodAutoscaler", "Ingress", "HTTPRoute", "ScaledObject")
}

func (b *bench) makeReady(ctx context.Context) error {
	_, err := b.cluster.MakeReady(ctx, b.namespace)
	return err
}

// delete asks for one service after the other: the API server would have to be through with all of them in the time of one request.
func (b *bench) delete(ctx context.Context) error {
	return b.each(ctx, func(ctx context.Context, i int) error {
		return b.cluster.Client.Delete(ctx, &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name(i)}})
	})
}

// touchSettings writes the operator's ConfigMap with a key that means nothing: every service is looked at again.
func (b *bench) touchSettings(ctx context.Context) error {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.System, Name: "inferenceservice-config"}}
	return b.cluster.Client.Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"data": {"_touched": "once"}}`)))
}

// allReady tells whether every service is ready, in its newest generation. Workloads that changed are made ready on the way.
func (b *bench) allReady(ctx context.Context) (bool, error) {
	if err := b.makeReady(ctx); err != nil {
		return false, err
	}
	var list servingv1beta1.InferenceServiceList
	if err := b.cluster.Client.List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
		return false, err
	}
	for i := range list.Items {
		s := &list.Items[i].Status
		ready := slices.ContainsFunc(s.Conditions, func(c serving.Condition) bool {
			return c.Type == serving.ConditionReady && c.Status == corev1.ConditionTrue
		})
		if !ready || s.ObservedGeneration != list.Items[i].Generation {
			return false, nil
		}
	}
	b.objects, b.components = b.made(), b.count("Deployment")
	if b.count("HTTPRoute") > 0 {
		b.routed = b.options.n
	}
	return len(list.Items) == b.options.n, nil
}

func (b *bench) count(kinds ...string) int {
	n := 0
	for _, ref := range b.cluster.Refs(b.namespace) {
		if slices.Contains(kinds, ref.GVK.Kind) {
			n++
		}
	}
	return n
}
