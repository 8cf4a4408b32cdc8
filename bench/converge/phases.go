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
	namespace string
	// objects are what the services need until they are ready, components the parts that they have.
	objects, components int
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
	for i := range b.options.n {
		// A Deployment, a Service and an autoscaler for each component, and an Ingress.
		b.components += components(i)
		b.objects += 1 + 3*components(i)
	}
	return b.cluster.MakeNamespace(ctx, b.namespace)
}

func (b *bench) phases() []step {
	return []step{
		{"create", b.create, func(context.Context) (bool, error) {
			return b.count("Deployment", "Service", "HorizontalPodAutoscaler") >= b.objects-b.options.n, nil
		}},
		{"make ready", b.makeReady, b.allReady},
		{"resync: the operator's settings are written again", b.touchSettings, nil},
		{"restart of the controller", b.cluster.Controller.Restart, nil},
		{"a label on every service", b.label, nil},
		{"another storageUri in every service", b.change, b.allReady},
		{"delete", b.delete, func(context.Context) (bool, error) { return b.count("InferenceService") == 0, nil }},
	}
}

// components tells how many the service has: every fifth has a transformer.
func components(i int) int {
	if i%5 == 3 {
		return 2
	}
	return 1
}

func name(i int) string { return fmt.Sprintf("s%05d", i) }

// service is one of five kinds: other formats, bounds of scaling, metadata, a transformer.
func service(i int) map[string]any {
	format := []string{"sklearn", "xgboost", "lightgbm", "sklearn", "pmml"}[i%5]
	predictor := map[string]any{"model": map[string]any{
		"modelFormat": map[string]any{"name": format}, "storageUri": fmt.Sprintf("s3://models/%s/%d", format, i),
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"cpu": "1", "memory": "1Gi"},
		},
	}}
	spec := map[string]any{"predictor": predictor}
	switch i % 5 {
	case 1:
		predictor["minReplicas"], predictor["maxReplicas"], predictor["scaleMetric"], predictor["scaleTarget"] = int64(2), int64(5), "cpu", int64(60)
	case 2:
		predictor["labels"], predictor["annotations"] = map[string]any{"team": "a"}, map[string]any{"example.com/owner": "b"}
	case 3:
		spec["transformer"] = map[string]any{"containers": []any{map[string]any{
			"name": "kserve-container", "image": "example.test/transformer:1", "args": []any{"--model_name", "{{.Name}}"},
		}}}
	}
	return map[string]any{
		"apiVersion": servingv1beta1.SchemeGroupVersion.String(), "kind": servingv1beta1.InferenceServiceKind,
		"metadata": map[string]any{"name": name(i), "annotations": map[string]any{serving.AnnotationDeploymentMode: string(serving.Standard)}},
		"spec":     spec,
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
		o := &unstructured.Unstructured{Object: service(i)}
		o.SetNamespace(b.namespace)
		return b.cluster.Client.Create(ctx, o)
	})
}

func (b *bench) patch(ctx context.Context, patch func(i int) string) error {
	return b.each(ctx, func(ctx context.Context, i int) error {
		svc := &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name(i)}}
		return b.cluster.Client.Patch(ctx, svc, client.RawPatch(types.MergePatchType, []byte(patch(i))))
	})
}

func (b *bench) label(ctx context.Context) error {
	return b.patch(ctx, func(int) string { return `{"metadata": {"labels": {"touched": "once"}}}` })
}

func (b *bench) change(ctx context.Context) error {
	if err := b.patch(ctx, func(i int) string {
		return fmt.Sprintf(`{"spec": {"predictor": {"model": {"storageUri": "s3://models/new/%d"}}}}`, i)
	}); err != nil {
		return err
	}
	return b.quiet(ctx)
}

func (b *bench) makeReady(ctx context.Context) error {
	_, err := b.cluster.MakeReady(ctx, b.namespace)
	return err
}

func (b *bench) delete(ctx context.Context) error {
	return b.cluster.Client.DeleteAllOf(ctx, &servingv1beta1.InferenceService{}, client.InNamespace(b.namespace))
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
