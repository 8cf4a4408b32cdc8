// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

func TestMain(m *testing.M) {
	if os.Getenv(cluster.Variable) == "" {
		os.Exit(m.Run()) // some tests need no server
	}
	os.Exit(cluster.Main(m, cluster.Options{NoController: true, NoWebhook: true}))
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, annotations: {a: "1"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: i}]}
`

func TestMadeReadyAndSettled(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	c.MustApply(t, ns, deployment)
	var d appsv1.Deployment
	key := client.ObjectKey{Namespace: ns, Name: "d"}
	require.NoError(t, c.Client.Get(t.Context(), key, &d))
	require.Zero(t, d.Status.ReadyReplicas)

	require.NoError(t, c.Settle(t.Context(), ns, 300*time.Millisecond, 10*time.Second))
	require.Len(t, c.Refs(ns), 1)
	wrote, err := c.MakeReady(t.Context(), ns)
	require.NoError(t, err)
	require.True(t, wrote)
	require.NoError(t, c.Client.Get(t.Context(), key, &d))
	require.EqualValues(t, 3, d.Status.ReadyReplicas)
	wrote, err = c.MakeReady(t.Context(), ns)
	require.NoError(t, err)
	require.False(t, wrote, "what is ready is not written again")
}

func TestAppliedAgain(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	c.MustApply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {kept: a, gone: b}}`)
	var m corev1.ConfigMap
	key := client.ObjectKey{Namespace: ns, Name: "m"}
	require.NoError(t, c.Client.Get(t.Context(), key, &m))
	m.Data["foreign"] = "c"
	require.NoError(t, c.Client.Update(t.Context(), &m))
	c.MustApply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {kept: d}}`)
	require.NoError(t, c.Client.Get(t.Context(), key, &m))
	require.Equal(t, map[string]string{"kept": "d", "foreign": "c"}, m.Data)
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	c := cluster.Shared(t)
	docs, err := cluster.Documents(`{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, dato: {}}`)
	require.NoError(t, err)
	require.ErrorContains(t, c.Apply(t.Context(), c.Namespace(t), docs[0]), `unknown field "dato"`)
}

func TestRolesAreTheShippedOnesAndAreAudited(t *testing.T) {
	c := cluster.Shared(t)
	config, err := c.As(t.Context(), cluster.ControllerAccount)
	require.NoError(t, err)
	own, err := client.New(config, client.Options{Scheme: cluster.Scheme()})
	require.NoError(t, err)
	require.NoError(t, own.List(t.Context(), &appsv1.DeploymentList{}))

	unused, err := c.Unused(t.Context())
	require.NoError(t, err)
	require.NotContains(t, unused, cluster.ControllerAccount+" apps/deployments list")
	require.Contains(t, unused, cluster.ControllerAccount+" apps/deployments delete")
	require.NoError(t, c.MustAllow())

	other, err := c.As(t.Context(), "default")
	require.Error(t, err, "there is no such account: %v", other)
	require.True(t, apierrors.IsNotFound(err))
}

func TestEventuallyReturnsAtOnce(t *testing.T) {
	c := cluster.Shared(t)
	asked := 0
	c.Eventually(t, "the third time", func(context.Context) error {
		if asked++; asked < 3 {
			return context.DeadlineExceeded
		}
		return nil
	})
	require.Equal(t, 3, asked)
}
