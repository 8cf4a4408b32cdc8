// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// node stands for what this API server lacks: Deployment controller, scheduler and kubelet. It makes pods of the Deployment of service m
// and writes the statuses that those would write. test/cluster has the same troubles with real ones.
type node struct {
	t  *testing.T
	c  *cluster.Cluster
	ns string
}

const sampleRuntime = "apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: sk}\n" +
	"spec: {supportedModelFormats: [{name: sklearn, version: '1', autoSelect: true}], containers: [{name: kserve-container, image: 'registry.test/sk:1', resources: {limits: {memory: 2Gi}}}]}"

// startService applies service m and waits for its Deployment.
func startService(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, c: cluster.Shared(t)}
	n.ns = n.c.Namespace(t)
	n.c.MustApply(t, n.ns, sampleRuntime, service("m", "model: {modelFormat: {name: sklearn}, storageUri: 's3://models/iris'}"))
	n.c.Eventually(t, "the Deployment", func(ctx context.Context) error {
		return n.c.Client.Get(ctx, client.ObjectKey{Namespace: n.ns, Name: "m-predictor"}, &appsv1.Deployment{})
	})
	return n
}

// pod makes a pod as the ReplicaSet of a template would; the webhook adds the initializer.
func (n *node) pod(hash string) *corev1.Pod {
	n.t.Helper()
	var d appsv1.Deployment
	require.NoError(n.t, n.c.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.ns, Name: "m-predictor"}, &d))
	p := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace = "m-predictor-"+hash+"-11111", n.ns
	p.Labels["pod-template-hash"] = hash
	require.NoError(n.t, n.c.Client.Create(n.t.Context(), p))
	require.NotEmpty(n.t, p.Spec.InitContainers, "the webhook gave the pod its initializer")
	return p
}

// podSays writes the status of a pod, as a kubelet (or the scheduler) does.
func (n *node) podSays(p *corev1.Pod, phase corev1.PodPhase, conditions map[corev1.PodConditionType]string, initial, main corev1.ContainerState, last *corev1.ContainerStateTerminated) {
	n.t.Helper()
	p.Status = corev1.PodStatus{Phase: phase}
	for kind, reason := range conditions {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
		if reason != "" {
			c.Status = corev1.ConditionFalse
			c.Reason, c.Message, _ = strings.Cut(reason, ": ")
		}
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
	if initial != (corev1.ContainerState{}) {
		s := corev1.ContainerStatus{Name: "storage-initializer", Image: "i", State: initial}
		if last != nil {
			s.LastTerminationState.Terminated = last
		}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{s}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kserve-container", Image: "i", State: main, Ready: phase == corev1.PodRunning}}
	}
	require.NoError(n.t, n.c.Client.Status().Update(n.t.Context(), p))
}

// deploymentSays writes the status of the Deployment, as its controller does.
func (n *node) deploymentSays(available int32, hash, progress string) {
	n.t.Helper()
	var d appsv1.Deployment
	require.NoError(n.t, n.c.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.ns, Name: "m-predictor"}, &d))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: available, AvailableReplicas: available}
	yes, reason := corev1.ConditionTrue, "MinimumReplicasAvailable"
	if available == 0 {
		yes, reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
	}
	d.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: yes, Reason: reason, Message: "as it is"},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: progress, Message: fmt.Sprintf("ReplicaSet %q is progressing.", "m-predictor-"+hash)},
	}
	require.NoError(n.t, n.c.Client.Status().Update(n.t.Context(), &d))
}

// wants waits until a condition and the model's states are as they should be.
func (n *node) wants(kind serving.ConditionType, status corev1.ConditionStatus, reason string, states ...servingv1beta1.ModelState) *servingv1beta1.InferenceServiceStatus {
	n.t.Helper()
	var svc servingv1beta1.InferenceService
	n.c.Eventually(n.t, fmt.Sprintf("%s %s %s", kind, status, reason), func(ctx context.Context) error {
		svc = servingv1beta1.InferenceService{}
		if err := n.c.Client.Get(ctx, client.ObjectKey{Namespace: n.ns, Name: "m"}, &svc); err != nil {
			return err
		}
		c := svc.Status.Condition(kind)
		if c == nil || c.Status != status || c.Reason != reason && reason != "" {
			return fmt.Errorf("it is %+v", c)
		}
		model := svc.Status.ModelStatus.ModelRevisionStates
		if model == nil {
			return errors.New("there is no state of the model")
		}
		if is := []servingv1beta1.ModelState{model.ActiveModelState, model.TargetModelState}; len(states) > 0 && !slices.Equal(states, is) {
			return fmt.Errorf("the model is %q", is)
		}
		return nil
	})
	return &svc.Status
}

// writes counts how often the controller has written the status.
func (n *node) writes() int {
	n.t.Helper()
	requests, err := n.c.Requests(cluster.ControllerAccount)
	require.NoError(n.t, err)
	count := 0
	for _, r := range requests {
		if r.Writes() && r.Namespace == n.ns && r.Kind() == "inferenceservices/status" && r.Code < 300 {
			count++
		}
	}
	return count
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func waits(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off at " + time.Now().String()}}
}

var (
	scheduled = map[corev1.PodConditionType]string{corev1.PodScheduled: "", corev1.PodReadyToStartContainers: "", corev1.PodInitialized: "ContainersNotInitialized"}
	serves    = map[corev1.PodConditionType]string{corev1.PodScheduled: "", corev1.PodInitialized: "", corev1.ContainersReady: "", corev1.PodReady: ""}
)

func TestWhatPodsSayReachesTheStatus(t *testing.T) {
	t.Parallel()
	n := startService(t)
	const (
		none    = servingv1beta1.ModelState("")
		pending = servingv1beta1.Pending
		loading = servingv1beta1.Loading
		loaded  = servingv1beta1.Loaded
		failed  = servingv1beta1.FailedToLoad
	)
	n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "MinimumReplicasUnavailable", none, pending)
	n.deploymentSays(0, "aaaa", "ReplicaSetUpdated")

	pod := n.pod("aaaa")
	n.podSays(pod, corev1.PodPending, map[corev1.PodConditionType]string{corev1.PodScheduled: "Unschedulable: 0/1 nodes are available: 1 Insufficient memory."}, corev1.ContainerState{}, corev1.ContainerState{}, nil)
	status := n.wants(serving.ConditionReady, corev1.ConditionFalse, "Unschedulable", none, pending)
	require.Contains(t, status.Condition(serving.ConditionReady).Message, "1 Insufficient memory")

	n.podSays(pod, corev1.PodPending, scheduled, running(), waits("PodInitializing"), nil)
	n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "MinimumReplicasUnavailable", none, loading)

	ended := &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
		Message: `{"outcome":"failed","source":"s3://models/iris","kind":"not found","message":"no object has this name"}`,
	}
	n.podSays(pod, corev1.PodPending, scheduled, corev1.ContainerState{Terminated: ended}, waits("PodInitializing"), nil)
	status = n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "ModelLoadFailed", none, failed)
	require.Contains(t, status.Condition(servingv1beta1.PredictorReady).Message, "no object has this name")
	require.Equal(t, servingv1beta1.BlockedByFailedLoad, status.ModelStatus.TransitionStatus)
	require.Equal(t, int32(1), status.ModelStatus.LastFailureInfo.ExitCode)
	require.Equal(t, servingv1beta1.ModelLoadFailed, status.ModelStatus.LastFailureInfo.Reason)
	require.Equal(t, 1, status.ModelStatus.ModelCopies.FailedCopies)

	before := n.writes()
	for range 3 { // a back-off cycle is no news
		n.podSays(pod, corev1.PodPending, scheduled, waits("CrashLoopBackOff"), waits("PodInitializing"), ended)
		n.podSays(pod, corev1.PodPending, scheduled, running(), waits("PodInitializing"), ended)
		n.podSays(pod, corev1.PodPending, scheduled, corev1.ContainerState{Terminated: ended}, waits("PodInitializing"), ended)
	}

	fetched := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}
	n.podSays(pod, corev1.PodRunning, serves, fetched, running(), nil)
	n.deploymentSays(1, "aaaa", "NewReplicaSetAvailable")
	status = n.wants(serving.ConditionReady, corev1.ConditionTrue, "", loaded, loaded)
	require.Nil(t, status.ModelStatus.LastFailureInfo, "the failure is over")
	require.Equal(t, servingv1beta1.UpToDate, status.ModelStatus.TransitionStatus)
	require.Equal(t, 1, status.ModelStatus.ModelCopies.TotalCopies)
	require.NotEmpty(t, status.URL)
	require.NotNil(t, status.Address)
	require.LessOrEqual(t, n.writes()-before, 2, "the cycle was no news, the pod and then its Deployment were")
}

func TestAnUpdateThatFailsIsToldWhileTheOldPodsServe(t *testing.T) {
	t.Parallel()
	n := startService(t)
	old := n.pod("aaaa")
	fetched := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}
	n.podSays(old, corev1.PodRunning, serves, fetched, running(), nil)
	n.deploymentSays(1, "aaaa", "NewReplicaSetAvailable")
	n.wants(serving.ConditionReady, corev1.ConditionTrue, "", servingv1beta1.Loaded, servingv1beta1.Loaded)

	n.c.MustApply(t, n.ns, service("m", "model: {modelFormat: {name: sklearn}, storageUri: 's3://models/iris-2'}"))
	n.c.Eventually(t, "the Deployment to change", func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := n.c.Client.Get(ctx, client.ObjectKey{Namespace: n.ns, Name: "m-predictor"}, &d); err != nil {
			return err
		}
		if d.Generation == d.Status.ObservedGeneration {
			return errors.New("not yet")
		}
		return nil
	})
	next := n.pod("bbbb")
	n.deploymentSays(1, "bbbb", "ReplicaSetUpdated")
	ended := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", StartedAt: metav1.Now(), FinishedAt: metav1.Now()}
	n.podSays(next, corev1.PodPending, scheduled, waits("CrashLoopBackOff"), waits("PodInitializing"), ended)
	status := n.wants(servingv1beta1.LatestDeploymentReady, corev1.ConditionFalse, "OOMKilled", servingv1beta1.Loaded, servingv1beta1.FailedToLoad)
	require.Equal(t, corev1.ConditionTrue, status.Condition(serving.ConditionReady).Status)
	require.Equal(t, servingv1beta1.BlockedByFailedLoad, status.ModelStatus.TransitionStatus)
	require.Contains(t, status.Condition(servingv1beta1.LatestDeploymentReady).Message, "limit of")

	n.podSays(next, corev1.PodRunning, serves, fetched, running(), nil)
	require.NoError(t, n.c.Client.Delete(t.Context(), old, client.GracePeriodSeconds(0)))
	n.deploymentSays(1, "bbbb", "NewReplicaSetAvailable")
	status = n.wants(serving.ConditionReady, corev1.ConditionTrue, "", servingv1beta1.Loaded, servingv1beta1.Loaded)
	require.Nil(t, status.Condition(servingv1beta1.LatestDeploymentReady))
	require.Nil(t, status.ModelStatus.LastFailureInfo)

	var events corev1.EventList
	require.NoError(t, n.c.Client.List(t.Context(), &events, client.InNamespace(n.ns)))
	told := map[string]int{}
	for i := range events.Items {
		told[events.Items[i].Reason]++
	}
	require.Equal(t, 1, told["InferenceServiceReady"], "%v", told)
	require.Zero(t, told["InferenceServiceNotReady"], "%v", told)
}

func TestFromCreationToReadyTheStatusIsWrittenTwice(t *testing.T) {
	t.Parallel()
	n := startService(t)
	n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "MinimumReplicasUnavailable")
	n.deploymentSays(0, "aaaa", "ReplicaSetUpdated")
	n.deploymentSays(1, "aaaa", "NewReplicaSetAvailable")
	n.wants(serving.ConditionReady, corev1.ConditionTrue, "")
	require.Equal(t, 2, n.writes(), "made, ready")
}
