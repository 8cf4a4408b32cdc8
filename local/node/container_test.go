// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestInitContainersAfterARestartOfTheCluster(t *testing.T) {
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	cases := map[string]struct {
		policy corev1.RestartPolicy
		phase  corev1.PodPhase
		main   corev1.ContainerState
		again  bool
	}{
		"a pod that ran fetches its files again":         {corev1.RestartPolicyAlways, corev1.PodRunning, running, true},
		"a pod that was about to run does so too":        {corev1.RestartPolicyNever, corev1.PodPending, waiting("PodInitializing", ""), true},
		"of a job's pod that was cut off nothing runs":   {corev1.RestartPolicyNever, corev1.PodRunning, running, false},
		"nor of a pod that is over":                      {corev1.RestartPolicyOnFailure, corev1.PodSucceeded, done, false},
		"a job's pod that may start again, starts whole": {corev1.RestartPolicyOnFailure, corev1.PodRunning, running, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				Spec: corev1.PodSpec{RestartPolicy: c.policy},
				Status: corev1.PodStatus{
					Phase:                 c.phase,
					InitContainerStatuses: []corev1.ContainerStatus{{Name: "fetch", State: done, RestartCount: 2}},
					ContainerStatuses:     []corev1.ContainerStatus{{Name: "main", State: c.main}},
				},
			}
			fetch := newContainer(&worker{pod: pod}, corev1.Container{Name: "fetch"}, true)
			require.Equal(t, !c.again, fetch.succeeded())
			if c.again {
				require.EqualValues(t, 3, fetch.status.RestartCount)
				require.Equal(t, done, fetch.status.LastTerminationState)
			}
		})
	}
}
