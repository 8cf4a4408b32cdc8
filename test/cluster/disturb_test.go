// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kserve-go/kserve-go/test/process"
)

const (
	system     = "kserve"
	controller = "kserve-controller-manager"
	webhook    = "kserve-webhook-server"
)

// processes are the processes of the cluster that run a program of this name; all of them for no name.
func (w *world) processes(t *testing.T, name string) []process.Branch {
	t.Helper()
	all, err := process.Tree(w.record.PID)
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(b process.Branch) bool { return name != "" && b.Name != name })
}

// kill ends so many processes of that name in the cluster without a warning.
func (s *space) kill(name string, many int) {
	s.Helper()
	found := s.processes(s.T, name)
	require.GreaterOrEqual(s, len(found), many, "processes %s that run in the cluster", name)
	for _, p := range found[:many] {
		require.NoError(s, syscall.Kill(p.PID, syscall.SIGKILL))
	}
	s.note("killed %d of %d processes %s", many, len(found), name)
}

// systemPods are the running pods of a Deployment of the control plane.
func (s *space) systemPods(ctx context.Context, deployment string) ([]corev1.Pod, error) {
	d, err := s.core.AppsV1().Deployments(system).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	list, err := s.core.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// The process dies while a service is on its way, while another changes and while a third is deleted.
func controllerKilled(s *space) {
	before, after := golden(s.T, "sklearn-iris"), golden(s.T, "sklearn-iris-other")
	s.apply(model("changing", iris))
	s.apply(model("going", iris))
	v := s.ready("changing")
	s.ready("going")
	w := s.throughGateway(v)
	l := s.steady(20, which(w, w.client(false), "changing", before, after))
	l.seen(s, "before", 5)

	s.apply(model("coming", iris))
	s.apply(model("changing", "s3://models/iris-other"))
	s.kill("controller", 1)
	out, err := s.kubectl(s.Context(), "", "delete", "inferenceservice", "going", "-n", s.ns, "--wait=false")
	require.NoError(s, err, "%s", out)
	s.apply(model("late", iris))
	start := time.Now()
	s.ready("late")
	took := time.Since(start)
	s.note("the next controller works after %.1fs", took.Seconds())
	require.Less(s, took, 25*time.Second, "a restarted container leads in the name of its pod, and does not wait until its own lease ends")
	s.ready("coming")
	s.ready("changing")
	l.seen(s, "after", 20)
	s.goesWhole("going")
	s.oneReplicaSet("changing-predictor")
	l.end(s, "while the controller was away")
	s.answers(s.throughService("coming"), "coming", before)
}

// goesWhole waits until a deleted service and its pods are gone.
func (s *space) goesWhole(name string) {
	s.Helper()
	s.eventually(name+" goes", patience, func(ctx context.Context) error {
		if _, err := s.client.Resource(services).Namespace(s.ns).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		list, err := s.core.CoreV1().Pods(s.ns).List(ctx, metav1.ListOptions{LabelSelector: "serving.kserve.io/inferenceservice=" + name})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d pods are left", len(list.Items))
		}
		return err
	})
}

// leaderChanges ends the controller that leads while another stands by.
func leaderChanges(s *space) {
	s.scale(controller, 2)
	defer s.scale(controller, 1)
	first := s.leader()
	list, err := s.systemPods(s.Context(), controller)
	require.NoError(s, err)
	leads := ""
	for _, p := range list {
		if strings.HasPrefix(first, p.Name) {
			leads = p.Name
		}
	}
	require.NotEmpty(s, leads, "the lease's holder %q is no pod", first)
	s.apply(model("orphan", iris))
	require.NoError(s, s.core.CoreV1().Pods(system).Delete(s.Context(), leads, metav1.DeleteOptions{}))
	start := time.Now()
	s.eventually("another controller leads", patience, func(context.Context) error {
		if now := s.leader(); now == first || now == "" {
			return fmt.Errorf("%q leads", now)
		}
		return nil
	})
	s.note("another controller leads after %.1fs", time.Since(start).Seconds())
	s.ready("orphan")
	s.apply(model("second", iris))
	s.ready("second")
}

func (s *space) leader() string {
	s.Helper()
	list, err := s.core.CoordinationV1().Leases(system).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		return ""
	}
	for _, l := range list.Items {
		if strings.Contains(l.Name, "kserve") && l.Spec.HolderIdentity != nil {
			return *l.Spec.HolderIdentity
		}
	}
	return ""
}

// scale sets the number of pods and waits until all are ready.
func (s *space) scale(deployment string, n int32) {
	s.Helper()
	ctx := context.WithoutCancel(s.Context())
	_, err := s.core.AppsV1().Deployments(system).Patch(ctx, deployment, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{})
	require.NoError(s, err)
	s.eventually(fmt.Sprintf("%s has %d pods", deployment, n), patience, func(context.Context) error {
		d, err := s.core.AppsV1().Deployments(system).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != n || d.Status.Replicas != n {
			return fmt.Errorf("%d pods, %d ready", d.Status.Replicas, d.Status.ReadyReplicas)
		}
		return nil
	})
}

// webhookKilled applies objects, and lets pods be made, while one of the webhook's pods goes: none of it may be refused.
func webhookKilled(s *space) {
	s.scale(webhook, 2) // one is none while it restarts
	defer s.scale(webhook, 1)
	list, err := s.systemPods(s.Context(), webhook)
	require.NoError(s, err)
	s.apply(model("touched", iris))
	var n atomic.Int64
	l := s.steady(5, func(ctx context.Context) (string, error) {
		// A change that the webhook judges and that makes no new pods.
		patch := fmt.Appendf(nil, `{"spec":{"predictor":{"maxReplicas":%d}}}`, 2+n.Add(1)%2)
		_, err := s.client.Resource(services).Namespace(s.ns).Patch(ctx, "touched", types.MergePatchType, patch, metav1.PatchOptions{})
		return "taken", err
	})
	l.seen(s, "taken", 5)
	require.NoError(s, s.core.CoreV1().Pods(system).Delete(s.Context(), list[0].Name, metav1.DeleteOptions{}))
	s.apply(model("meanwhile", iris))
	s.ready("meanwhile")
	l.seen(s, "taken", 10)
	l.end(s, "changes while a webhook was drained")
	s.ready("touched")
	s.scale(webhook, 2)
	// Without a warning too: who asks next is sent to the other one.
	s.kill("webhook", 1)
	s.apply(model("next", iris))
	s.ready("next")
}

// apiServerRestarts takes the API server away from everything that watches it.
func apiServerRestarts(s *space) {
	g := golden(s.T, "sklearn-iris")
	s.apply(model("standing", iris))
	v := s.ready("standing")
	w := s.throughGateway(v)
	l := s.steady(20, which(w, w.client(false), "standing", g, g))
	l.seen(s, "before", 5)
	s.apply(model("coming", iris))
	start := time.Now()
	s.restart = start
	out, err := s.restartAPI(s.Context(), 2*time.Second)
	require.NoError(s, err, "%s", out)
	s.eventually("the API server answers", patience, func(ctx context.Context) error {
		_, err := s.core.CoreV1().Namespaces().Get(ctx, s.ns, metav1.GetOptions{})
		return err
	})
	s.restarted = time.Now()
	s.note("the API server was away for %.1fs", time.Since(start).Seconds())
	s.ready("coming")
	s.await("standing", "is Ready still", patience, isReady)
	s.apply(model("later", iris))
	s.ready("later")
	out, err = s.kubectl(s.Context(), "", "delete", "inferenceservice", "coming", "-n", s.ns)
	require.NoError(s, err, "%s", out)
	s.goesWhole("coming")
	l.end(s, "while the API server restarted")
}
