// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kserve-go/kserve-go/test/process"
)

// which asks w and says which of the two models answered.
func which(w way, client *http.Client, name string, before, after *process.Golden) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		got, err := w.askV1(ctx, client, name, before)
		switch {
		case err != nil:
			return "", fmt.Errorf("through the %s: %w", w.name, err)
		case before.Compare(got) == nil:
			return "before", nil
		case after.Compare(got) == nil:
			return "after", nil
		default:
			return "", fmt.Errorf("%v is the answer of neither model", got)
		}
	}
}

// Both ways to a service are asked all the time while the model changes: with new connections, and with kept ones.
func replacedUnderLoad(s *space) {
	before, after := golden(s.T, "sklearn-iris"), golden(s.T, "sklearn-iris-other")
	s.apply(model("changing", iris))
	v := s.ready("changing")
	through, gateway := s.throughService("changing"), s.throughGateway(v)
	fresh := s.steady(15, which(through, through.client(false), "changing", before, after))
	kept := s.steady(15, which(gateway, gateway.client(true), "changing", before, after))
	for _, l := range []*load{fresh, kept} {
		l.seen(s, "before", 10)
	}
	s.apply(model("changing", "s3://models/iris-other"))
	s.await("changing", "is Ready with the new model", patience, isReady)
	for _, l := range []*load{fresh, kept} {
		l.seen(s, "after", 30)
	}
	s.oneReplicaSet("changing-predictor")
	s.await("changing", "is Ready still", seconds, isReady)
	fresh.end(s, "new connections through the Service")
	kept.end(s, "kept connections through the gateway")
}

// oneReplicaSet waits until the pods of the model before are gone.
func (s *space) oneReplicaSet(deployment string) {
	s.Helper()
	s.eventually("the pods of the model before go", patience, func(ctx context.Context) error {
		d, err := s.core.AppsV1().Deployments(s.ns).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, err := s.core.CoreV1().Pods(s.ns).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
		if err != nil {
			return err
		}
		if n := len(list.Items); n != 1 || d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedReplicas != 1 {
			return fmt.Errorf("%d pods, %d of them new", n, d.Status.UpdatedReplicas)
		}
		return nil
	})
}

// The model's pod asks for so little processor that a modest load is twice its target.
func scaledByLoad(s *space) {
	s.apply(strings.Replace(model("busy", iris), "  predictor:\n", "  predictor:\n    minReplicas: 1\n    maxReplicas: 3\n    scaleTarget: 50\n    scaleMetric: cpu\n", 1))
	v := s.ready("busy")
	g := golden(s.T, "sklearn-iris")
	many := *g
	many.Request.Instances = slices.Repeat(g.Request.Instances, 100)
	w := s.throughGateway(v)
	client := w.client(true)
	l := s.steady(40, func(ctx context.Context) (string, error) {
		_, err := w.askV1(ctx, client, "busy", &many)
		return "any", err
	})
	s.replicas("busy-predictor", "grows", func(n int32) bool { return n > 1 })
	l.end(s, "load")
	s.await("busy", "is Ready with more pods", patience, func(v *isvc) bool {
		return isReady(v) && v.Status.ModelStatus.ModelCopies != nil && v.Status.ModelStatus.ModelCopies.TotalCopies > 1
	})
	s.replicas("busy-predictor", "shrinks", func(n int32) bool { return n == 1 })
	s.oneReplicaSet("busy-predictor")
	s.await("busy", "is Ready with one pod", patience, isReady)
}

func (s *space) replicas(hpa, what string, ok func(int32) bool) {
	s.Helper()
	var last *autoscalingv2.HorizontalPodAutoscaler
	s.eventually(hpa+" "+what, patience, func(ctx context.Context) error {
		h, err := s.core.AutoscalingV2().HorizontalPodAutoscalers(s.ns).Get(ctx, hpa, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if last == nil || last.Status.CurrentReplicas != h.Status.CurrentReplicas || last.Status.DesiredReplicas != h.Status.DesiredReplicas {
			s.note("%s has %d pods, wants %d", hpa, h.Status.CurrentReplicas, h.Status.DesiredReplicas)
		}
		last = h
		if !ok(h.Status.DesiredReplicas) {
			return fmt.Errorf("it wants %d pods; conditions %+v", h.Status.DesiredReplicas, h.Status.Conditions)
		}
		return nil
	})
}

// deletedWhole compares all objects of the namespace before and after.
func deletedWhole(s *space) {
	before := s.objects()
	s.apply(model("short", iris))
	s.apply(model("broken", "s3://models/no-such-folder"))
	s.ready("short")
	s.tells("broken", trouble{message: []string{"no-such-folder"}})
	require.Greater(s, len(s.objects()), len(before)+6, "the test sees what it looks for")
	out, err := s.kubectl(s.Context(), "", "delete", "inferenceservice", "short", "broken", "-n", s.ns, "--timeout=60s")
	require.NoError(s, err, "%s", out)
	s.podsGone()
	s.eventually("nothing is left", seconds, func(context.Context) error {
		var left []string
		for _, o := range s.objects() {
			if !slices.Contains(before, o) {
				left = append(left, o)
			}
		}
		if len(left) > 0 {
			return errors.New("left: " + strings.Join(left, ", "))
		}
		return nil
	})
}

// objects are all objects of the namespace but events, which are memories, and what is computed when it is asked for.
func (s *space) objects() []string {
	s.Helper()
	lists, err := s.kinds.ServerPreferredResources()
	require.NoError(s, err)
	var all []string
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		require.NoError(s, err)
		for _, r := range l.APIResources {
			if !r.Namespaced || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") || r.Kind == "Event" {
				continue
			}
			list, err := s.client.Resource(gv.WithResource(r.Name)).Namespace(s.ns).List(s.Context(), metav1.ListOptions{})
			require.NoError(s, err)
			for _, o := range list.Items {
				all = append(all, r.Kind+"/"+o.GetName())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
