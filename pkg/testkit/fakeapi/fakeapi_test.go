// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

func pod(name, label string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: team, labels: {of: %s}}, type: %s}", name, label, label)
}

func TestItAnswersAsAnAPIServerDoes(t *testing.T) {
	s := New(t, pod("a", "x")+"\n---\n"+pod("b", "z"), pod("c", "x"))
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(Namespace)

	names := func(o metav1.ListOptions) (found []string, rest string) {
		list, err := pods.List(t.Context(), o)
		require.NoError(t, err)
		for _, u := range list.Items {
			found = append(found, u.GetName())
		}
		return found, list.GetContinue()
	}
	found, rest := names(metav1.ListOptions{Limit: 2})
	require.Equal(t, []string{"a", "b"}, found)
	found, rest = names(metav1.ListOptions{Limit: 2, Continue: rest})
	require.Equal(t, []string{"c"}, found)
	require.Empty(t, rest)
	found, _ = names(metav1.ListOptions{LabelSelector: "of=x"})
	require.Equal(t, []string{"a", "c"}, found)
	found, _ = names(metav1.ListOptions{FieldSelector: "type=z"})
	require.Equal(t, []string{"b"}, found)

	body := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"x": "1"}}}
	made, err := pods.Apply(t.Context(), "a", body, metav1.ApplyOptions{FieldManager: "me", DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"of": "x"}, made.GetLabels())
	require.Equal(t, 1, s.Asked()["PATCH /api/v1/namespaces/team/pods/a"])

	w, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=d"})
	require.NoError(t, err)
	s.Put(pod("d", "x"))
	require.Equal(t, watch.Added, (<-w.ResultChan()).Type)
	s.Delete("/api/v1/namespaces/team/pods/d")
	require.Equal(t, watch.Deleted, (<-w.ResultChan()).Type)
	s.Stop()
	_, open := <-w.ResultChan()
	require.False(t, open, "a death ends a watch")
	_, err = pods.Get(t.Context(), "a", metav1.GetOptions{})
	require.Error(t, err)
	s.Start()

	s.Refuse(http.StatusForbidden, Path("pods/a"))
	_, err = pods.Get(t.Context(), "a", metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	_, err = pods.Get(t.Context(), "none", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	s.Lacks("pods")
	_, err = pods.List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}
