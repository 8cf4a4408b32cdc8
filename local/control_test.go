// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/local/place"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}
}

// The parts of this test build on one another: one cluster is started thrice, which is what takes the time.
func TestControlPlaneKeepsItsStateAndItsName(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	first := start(t, state, "one", "--no-node")
	_, err := first.client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("kept"), metav1.CreateOptions{})
	require.NoError(t, err)

	t.Run("a second cluster under the same name is refused", func(t *testing.T) {
		c, err := tryStart(state, "one", "--no-node")
		require.Error(t, err)
		require.Contains(t, c.errOut.String(), "a cluster of this name is running")
	})
	t.Run("a second cluster under another name runs beside it", func(t *testing.T) {
		other := start(t, state, "two", "--no-node", "--no-controllers", "--discard")
		require.NotEqual(t, first.Server, other.Server)
		_, err := other.client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
		require.Error(t, err)
		other.stop(t)
		require.NoDirExists(t, filepath.Join(state, "two"))
		require.NoFileExists(t, filepath.Join(state, "two.lock"))
	})
	t.Run("controllers work and pods stay pending", func(t *testing.T) {
		one := int32(1)
		labels := map[string]string{"a": "b"}
		_, err := first.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "d"},
			Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}},
			}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		until(t, "the pod of a deployment", func() bool {
			pods, err := first.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			return err == nil && len(pods.Items) == 1 && pods.Items[0].Status.Phase == corev1.PodPending
		})
	})
	t.Run("status tells its record", func(t *testing.T) {
		out, err := program("status", "--state", state, "--name", "one").Output()
		require.NoError(t, err)
		var r place.Record
		require.NoError(t, json.Unmarshal(out, &r))
		require.Equal(t, first.Record, r)
	})

	kill(t, first.cmd.Process.Pid, syscall.SIGKILL)
	require.Error(t, first.cmd.Wait())
	again := start(t, state, "one", "--no-node")
	t.Run("a killed one is followed by one with its state and its port", func(t *testing.T) {
		require.Equal(t, first.Server, again.Server)
		_, err := first.client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
		require.NoError(t, err)
	})
	t.Run("down stops it", func(t *testing.T) {
		out, err := program("down", "--state", state, "--name", "one").CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, again.cmd.Wait())
		require.NoError(t, program("down", "--state", state, "--name", "one").Run(), "twice is harmless")
	})
	fresh := start(t, state, "one", "--no-node", "--no-controllers", "--fresh", "--discard")
	_, err = fresh.client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	require.Error(t, err, "fresh throws the state away")
	fresh.stop(t)
	entries, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Empty(t, entries)
}
