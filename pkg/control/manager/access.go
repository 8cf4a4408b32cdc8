// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// definitions are the CustomResourceDefinitions, as a resource.
//
//nolint:gochecknoglobals // nobody writes to it
var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// clusterKinds are the kinds outside of namespaces that a controller can do without: one that looks after some namespaces may have no role
// for them.
func clusterKinds() []schema.GroupResource {
	group := servingv1alpha1.SchemeGroupVersion.Group
	return []schema.GroupResource{
		{Group: group, Resource: "clusterservingruntimes"}, {Group: group, Resource: "clusterstoragecontainers"}, definitions,
	}
}

// access asks the API server what this process may list and watch. Everybody may ask that of themselves.
type access struct {
	client     authorizationclient.SelfSubjectAccessReviewInterface
	namespaces []string
}

// denied says what this process may not do with a kind, empty where it may list and watch it wherever it looks.
func (a *access) denied(ctx context.Context, kind schema.GroupResource, namespaced bool) (string, error) {
	namespaces := []string{""}
	if namespaced && len(a.namespaces) > 0 {
		namespaces = a.namespaces
	}
	for _, namespace := range namespaces {
		for _, verb := range []string{"list", "watch"} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: kind.Group, Resource: kind.Resource},
			}}
			answer, err := a.client.Create(ctx, review, metav1.CreateOptions{})
			switch {
			case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
				return "", nil // a cluster that tells nobody: what is tried will show it
			case err != nil:
				return "", fmt.Errorf("ask whether this process may %s %s: %w", verb, kind, err)
			case answer.Status.Allowed:
				continue
			case namespace == "":
				return fmt.Sprintf("the controller's role does not let it %s %s", verb, kind), nil
			default:
				return fmt.Sprintf("the controller's role does not let it %s %s in namespace %s", verb, kind, namespace), nil
			}
		}
	}
	return "", nil
}

// sight is what the controller can see outside of its namespaces.
type sight struct {
	runtimes, containers, definitions bool
}

// look asks what can be seen, and says in one line what cannot.
func (s *setup) look(ctx context.Context, a *access) (sight, error) {
	if len(s.options.Namespaces) == 0 {
		return sight{true, true, true}, nil // a controller of the whole cluster needs them all
	}
	var seen sight
	var missing []string
	for i, found := range []*bool{&seen.runtimes, &seen.containers, &seen.definitions} {
		kind := clusterKinds()[i]
		why, err := a.denied(ctx, kind, false)
		if err != nil {
			return sight{}, err
		}
		if *found = why == ""; !*found {
			missing = append(missing, kind.Resource)
		}
	}
	if len(missing) > 0 {
		s.log.Warn("the controller's role does not let it list and watch " + strings.Join(missing, ", ") + ": it goes on as if the cluster had no cluster-wide runtimes and storage containers, where those are named, " +
			"and looks for optional kinds every " + lookAround.String() + "; after the role has changed, start it again")
	}
	return seen, nil
}

// near is the cache without the kinds that are not seen: of those there are none.
type near struct {
	client.Reader
	sight sight
}

func (n *near) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list.(type) {
	case *servingv1alpha1.ClusterServingRuntimeList:
		if !n.sight.runtimes {
			return nil
		}
	case *servingv1alpha1.ClusterStorageContainerList:
		if !n.sight.containers {
			return nil
		}
	}
	return n.Reader.List(ctx, list, opts...)
}

// resourceOf is the name of the resource of an optional kind: that of its definition begins with it.
func resourceOf(o plan.Optional) schema.GroupResource {
	name, group, _ := strings.Cut(o.CRD, ".")
	return schema.GroupResource{Group: group, Resource: name}
}

// unsynced names the kinds whose first list has not come yet.
func (c *controllers) unsynced(ctx context.Context) []string {
	var names []string
	for _, o := range c.watched() {
		informer, err := c.cache.GetInformer(ctx, o, doNotWait())
		if err != nil && !meta.IsNoMatchError(err) || err == nil && !informer.HasSynced() {
			names = append(names, kindName(o))
		}
	}
	return names
}
