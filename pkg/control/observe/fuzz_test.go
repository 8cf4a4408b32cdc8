// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/control/observe"
)

// FuzzService observes services whose Deployments and pods say anything at all: no panic, and the same again from the status that came of it.
func FuzzService(f *testing.F) {
	files, err := filepath.Glob("testdata/cases/*/in.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	inputs := make([]observe.Input, 0, len(files))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		inputs = append(inputs, read(f, raw))
	}
	for i := range uint16(400) {
		f.Add(i, fmt.Sprintf("seed %d", i))
	}
	f.Add(uint16(3), "\xff\xfe broken \x00 text \x1b[31m")
	f.Fuzz(func(t *testing.T, which uint16, text string) {
		d := dice{rand.New(rand.NewChaCha8(sha256.Sum256([]byte(text)))), text}
		in := inputs[int(which)%len(inputs)]
		in.Children.Deployments = nil
		for _, name := range []string{"m-predictor", "m-transformer", "m-explainer", "m-v2-predictor", "m-predictor-worker"} {
			if d.IntN(4) > 0 {
				in.Children.Deployments = append(in.Children.Deployments, d.deployment(name))
			}
		}
		in.Pods = nil
		for range d.IntN(5) {
			in.Pods = append(in.Pods, d.pod())
		}
		requireSane(t, in, observe.Service(in))
	})
}

// dice makes objects at random; text is one of the texts in them.
type dice struct {
	*rand.Rand
	text string
}

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func (d dice) status() corev1.ConditionStatus {
	return pick(d, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, "", "odd")
}

func (d dice) when() metav1.Time {
	return pick(d, metav1.Time{}, noon, metav1.NewTime(noon.Add(-30*time.Second)), metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(time.Hour)))
}

func (d dice) words() string {
	return pick(d, "", d.text, "0/3 nodes are available: 3 Insufficient cpu. preemption: no", `ReplicaSet "m-predictor-aaaa" is progressing.`,
		`{"outcome":"failed","kind":"denied","message":"`+"no"+`"}`, `{"outcome":"failed"`, "exceeded quota", "Back-off pulling image \"x\": ErrImagePull: rpc error: code = Unknown desc = a")
}

func (d dice) reason() string {
	return pick(d, "", "ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "ContainerCreating", "PodInitializing", "OOMKilled", "Error",
		"Completed", "Unschedulable", "SchedulingGated", "Evicted", "NodeLost", "ReadinessGatesNotReady", "NewReplicaSetAvailable", "ProgressDeadlineExceeded", d.text)
}

func (d dice) deployment(name string) *appsv1.Deployment {
	n := int32(d.IntN(4))
	o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Generation: int64(d.IntN(3)), Labels: map[string]string{"component": "predictor"}}}
	if d.IntN(3) > 0 {
		o.Spec.Replicas = &n
	}
	o.Status = appsv1.DeploymentStatus{
		ObservedGeneration: int64(d.IntN(3)), AvailableReplicas: int32(d.IntN(3)), UpdatedReplicas: int32(d.IntN(3)), ReadyReplicas: int32(d.IntN(3)) - 1,
	}
	for range d.IntN(4) {
		o.Status.Conditions = append(o.Status.Conditions, appsv1.DeploymentCondition{
			Type:   pick(d, appsv1.DeploymentAvailable, appsv1.DeploymentProgressing, appsv1.DeploymentReplicaFailure),
			Status: d.status(), Reason: d.reason(), Message: d.words(), LastTransitionTime: d.when(),
		})
	}
	return o
}

func (d dice) pod() corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pick(d, "", "a", "b", "c"), Namespace: "ns", CreationTimestamp: d.when(),
		Labels: map[string]string{
			"app":               pick(d, "isvc.m-predictor", "isvc.m-transformer", "isvc.m-v2-predictor", "isvc.m-predictor-worker"),
			"pod-template-hash": pick(d, "", "aaaa", "bbbb"), "serving.knative.dev/revision": pick(d, "", "m-predictor-00001"),
		},
	}}
	if d.IntN(8) == 0 {
		now := d.when()
		p.DeletionTimestamp = &now
	}
	p.Status = corev1.PodStatus{
		Phase:  pick(d, corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded, corev1.PodUnknown, ""),
		Reason: pick(d, "", "", "Evicted", "NodeLost", d.text), Message: d.words(),
	}
	for range d.IntN(6) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type:   pick(d, corev1.PodReady, corev1.ContainersReady, corev1.PodInitialized, corev1.PodScheduled, corev1.PodReadyToStartContainers),
			Status: d.status(), Reason: d.reason(), Message: d.words(), LastTransitionTime: d.when(),
		})
	}
	for range d.IntN(3) {
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, d.container("storage-initializer", "modelcar-init", "other"))
	}
	for range d.IntN(3) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, d.container("kserve-container", "agent", "transformer-container", "worker-container", ""))
	}
	return p
}

func (d dice) container(names ...string) corev1.ContainerStatus {
	c := corev1.ContainerStatus{Name: pick(d, names...), Image: d.words(), Ready: d.IntN(2) == 0, RestartCount: int32(d.IntN(9))}
	if d.IntN(2) == 0 {
		started := d.IntN(2) == 0
		c.Started = &started
	}
	c.State = d.state()
	if d.IntN(2) == 0 {
		c.LastTerminationState = d.state()
	}
	return c
}

func (d dice) state() corev1.ContainerState {
	var s corev1.ContainerState
	switch d.IntN(4) {
	case 0:
		s.Waiting = &corev1.ContainerStateWaiting{Reason: d.reason(), Message: d.words()}
	case 1:
		s.Running = &corev1.ContainerStateRunning{StartedAt: d.when()}
	case 2:
		s.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(d.IntN(300)), Reason: d.reason(), Message: d.words(), StartedAt: d.when(), FinishedAt: d.when()}
	}
	return s
}
