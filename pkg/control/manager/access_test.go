// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// reviews answers that everything is allowed but some things, "verb resource namespace" each.
type reviews struct {
	authorizationclient.SelfSubjectAccessReviewInterface
	denied []string
	asked  []string
	err    error
}

func (r *reviews) Create(_ context.Context, review *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error) {
	a := review.Spec.ResourceAttributes
	question := a.Verb + " " + a.Resource + " " + a.Namespace
	r.asked = append(r.asked, question)
	review = review.DeepCopy()
	review.Status.Allowed = !slices.Contains(r.denied, question)
	return review, r.err
}

func TestWhatARoleDoesNotAllowIsNamed(t *testing.T) {
	routes := resourceOf(plan.HTTPRoute)
	require.Equal(t, schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}, routes)
	r := &reviews{denied: []string{"watch httproutes b", "list clusterservingruntimes "}}
	a := &access{client: r, namespaces: []string{"a", "b"}}
	why, err := a.denied(t.Context(), routes, true)
	require.NoError(t, err)
	require.Equal(t, "the controller's role does not let it watch httproutes.gateway.networking.k8s.io in namespace b", why)
	why, err = a.denied(t.Context(), clusterKinds()[0], false)
	require.NoError(t, err)
	require.Equal(t, "the controller's role does not let it list clusterservingruntimes.serving.kserve.io", why)
	why, err = a.denied(t.Context(), clusterKinds()[1], false)
	require.NoError(t, err)
	require.Empty(t, why)

	r.err = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("nobody may ask"))
	why, err = a.denied(t.Context(), routes, true)
	require.NoError(t, err)
	require.Empty(t, why, "where nobody may ask, it is tried")
	r.err = apierrors.NewInternalError(errors.New("down"))
	_, err = a.denied(t.Context(), routes, true)
	require.ErrorContains(t, err, "down")
}

func TestAControllerOfTheWholeClusterSeesAllAndAsksNothing(t *testing.T) {
	r := &reviews{}
	s := &setup{log: zap.NewNop()}
	seen, err := s.look(t.Context(), &access{client: r})
	require.NoError(t, err)
	require.Equal(t, sight{true, true, true}, seen)
	require.Empty(t, r.asked)
}

func TestWhatIsNotSeenIsSaidInOneLine(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	s := &setup{log: zap.New(core), options: Options{Namespaces: []string{"a"}}}
	r := &reviews{denied: []string{"list clusterservingruntimes ", "watch customresourcedefinitions "}}
	seen, err := s.look(t.Context(), &access{client: r, namespaces: []string{"a"}})
	require.NoError(t, err)
	require.Equal(t, sight{containers: true}, seen)
	require.Equal(t, 1, logged.Len())
	require.Contains(t, logged.All()[0].Message, "clusterservingruntimes, customresourcedefinitions")

	r.denied = nil
	seen, err = s.look(t.Context(), &access{client: r, namespaces: []string{"a"}})
	require.NoError(t, err)
	require.Equal(t, sight{true, true, true}, seen)
	require.Equal(t, 1, logged.Len())
}

// filled has one object of every kind that is asked for.
type filled struct{ client.Reader }

func (filled) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *servingv1alpha1.ClusterServingRuntimeList:
		list.Items = make([]servingv1alpha1.ClusterServingRuntime, 1)
	case *servingv1alpha1.ClusterStorageContainerList:
		list.Items = make([]servingv1alpha1.ClusterStorageContainer, 1)
	case *corev1.PodList:
		list.Items = make([]corev1.Pod, 1)
	}
	return nil
}

func TestOfKindsThatAreNotSeenThereAreNone(t *testing.T) {
	count := func(s sight) [3]int {
		n := &near{filled{}, s}
		runtimes, containers, pods := servingv1alpha1.ClusterServingRuntimeList{}, servingv1alpha1.ClusterStorageContainerList{}, corev1.PodList{}
		for _, list := range []client.ObjectList{&runtimes, &containers, &pods} {
			require.NoError(t, n.List(t.Context(), list))
		}
		return [3]int{len(runtimes.Items), len(containers.Items), len(pods.Items)}
	}
	require.Equal(t, [3]int{1, 1, 1}, count(sight{true, true, true}))
	require.Equal(t, [3]int{0, 1, 1}, count(sight{containers: true}))
	require.Equal(t, [3]int{1, 0, 1}, count(sight{runtimes: true}))
}

func TestTheCacheHoldsTheNamespacesThatAreLookedAfter(t *testing.T) {
	require.Empty(t, cacheOptions("kserve", nil).DefaultNamespaces, "none are all")
	o := cacheOptions("kserve", []string{"a", "b"})
	require.Len(t, o.DefaultNamespaces, 2)
	require.Contains(t, o.DefaultNamespaces, "a")
	for kind, by := range o.ByObject {
		if _, ok := kind.(*corev1.ConfigMap); ok {
			require.Len(t, by.Namespaces, 1)
			require.Contains(t, by.Namespaces, "kserve", "settings are the operator's, wherever services are")
			continue
		}
		require.Nil(t, by.Namespaces, "%T", kind)
	}
}

func TestEveryWatchIsLookedAtBeforeTheProcessIsReady(t *testing.T) {
	for _, s := range []sight{{}, {true, true, true}, {runtimes: true}} {
		c := &controllers{surroundings: &surroundings{sight: s}}
		require.Len(t, c.watched(), len(c.watches()))
	}
	require.Equal(t, "Ingress", kindName((&controllers{surroundings: &surroundings{}}).watched()[4]))
}
