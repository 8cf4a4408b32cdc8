// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

func cache(kind, namespace, name, uri string) unstructured.Unstructured {
	o := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"sourceModelUri": uri, "nodeGroups": []any{"gpu"}}}}
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func TestLocalModels(t *testing.T) {
	t.Parallel()
	all := map[string][]unstructured.Unstructured{
		localModelNamespaceCacheKind: {cache(localModelNamespaceCacheKind, "team", "near", "s3://a/b")},
		localModelCacheKind: {
			cache(localModelCacheKind, "", "far", "s3://a/b"), cache(localModelCacheKind, "", "empty", ""), cache(localModelCacheKind, "", strings.Repeat("a", 64), "s3://c"),
		},
	}
	reader := func(fail error) client.Client {
		return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if fail != nil {
					return fail
				}
				kind := strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")
				o := client.ListOptions{}
				o.ApplyOptions(options)
				require.Equal(t, kind == localModelNamespaceCacheKind, o.Namespace == "team")
				into, ok := list.(*unstructured.UnstructuredList)
				require.True(t, ok)
				into.Items = all[kind]
				return nil
			},
		}).Build()
	}
	got, err := localModels(reader(nil))(t.Context(), "team")
	require.NoError(t, err)
	require.Equal(t, []servingv1beta1.LocalModelCache{
		{Name: "near", Namespace: "team", SourceURI: "s3://a/b", NodeGroups: []string{"gpu"}}, {Name: "far", SourceURI: "s3://a/b", NodeGroups: []string{"gpu"}},
	}, got)

	got, err = localModels(reader(apierrors.NewNotFound(schema.GroupResource{}, "")))(t.Context(), "team")
	require.NoError(t, err)
	require.NotNil(t, got, "that there is none is known")
	require.Empty(t, got)

	_, err = localModels(reader(errors.New("forbidden")))(t.Context(), "team")
	require.ErrorContains(t, err, "localModel is enabled")
}
