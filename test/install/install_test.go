// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install_test applies what is shipped to a real API server: every object is valid, kustomize makes the same, the roles grant what
// they should and not more, and applying again changes nothing.
package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/binary"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{Controllers: true, NoController: true, NoWebhook: true, NoOptional: true}))
}

func objects(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	all, err := deploy.Objects(deploy.Options{Folder: folder})
	require.NoError(t, err)
	return all
}

// apply is `kubectl apply --server-side --force-conflicts`, with kubectl's strict validation.
func apply(ctx context.Context, c *cluster.Cluster, u *unstructured.Unstructured, manager string, dryRun ...string) (*unstructured.Unstructured, error) {
	mapping, err := c.Client.RESTMapper().RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", u.GetKind(), err)
	}
	raw, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	var resource dynamic.ResourceInterface = c.Dynamic.Resource(mapping.Resource)
	if u.GetNamespace() != "" {
		resource = c.Dynamic.Resource(mapping.Resource).Namespace(u.GetNamespace())
	}
	return resource.Patch(ctx, u.GetName(), types.ApplyPatchType, raw, metav1.PatchOptions{
		FieldManager: manager, Force: new(true), FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	})
}

func TestEveryObjectIsAccepted(t *testing.T) {
	c := cluster.Shared(t)
	base := named(objects(t, deploy.Base))
	for _, folder := range []string{deploy.Base, deploy.Local, deploy.LocalGateway, deploy.CertManager} {
		for name, u := range named(objects(t, folder)) {
			if slices.Contains([]string{"cert-manager.io", "gateway.networking.k8s.io"}, u.GroupVersionKind().Group) || folder != deploy.Base && equality.Semantic.DeepEqual(u, base[name]) {
				continue // not installed here; asked already
			}
			_, err := apply(t.Context(), c, u, "kubectl", metav1.DryRunAll)
			require.NoError(t, err, "%s: %s", folder, name)
		}
	}
}

func TestKustomizeMakesTheSame(t *testing.T) {
	path, err := binary.Find(t.Context(), binary.Here(os.Getenv(cluster.BinaryVariable)))
	require.NoError(t, err)
	for _, folder := range []string{deploy.LocalGateway, deploy.CertManager} { // both have all of the base, the first all of deploy.Local
		t.Run(folder, func(t *testing.T) {
			var said bytes.Buffer
			kustomize := exec.CommandContext(t.Context(), path, "kubectl", "kustomize", "../../deploy/"+folder)
			kustomize.Stderr = &said
			out, err := kustomize.Output()
			require.NoError(t, err, said.String())
			documents, err := cluster.Documents(string(out))
			require.NoError(t, err)
			want, got := named(documents), named(objects(t, folder))
			require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
			for name := range want {
				if !equality.Semantic.DeepEqual(want[name], got[name]) { // a readable difference takes its time with the schemas
					t.Error(name, cmp.Diff(want[name], got[name]))
				}
			}
		})
	}
}

func named(all []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	m := map[string]*unstructured.Unstructured{}
	for _, u := range all {
		m[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = u
	}
	return m
}

// TestApplyingAgainChangesNothing is an upgrade to the same version.
func TestApplyingAgainChangesNothing(t *testing.T) {
	c := cluster.Shared(t)
	for _, u := range objects(t, deploy.Base) {
		switch u.GetKind() {
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition":
			continue // below, and installed before
		case "Deployment":
			require.NoError(t, unstructured.SetNestedField(u.Object, int64(0), "spec", "replicas"), "no pods, whose status would change it")
		}
		unchanged(t, c, u)
	}
}

// TestAnUpgradeKeepsTheCertificate applies the webhooks again after the webhook has written its authority into them.
func TestAnUpgradeKeepsTheCertificate(t *testing.T) {
	c := cluster.Shared(t)
	for _, u := range objects(t, deploy.Base) {
		if !strings.HasSuffix(u.GetKind(), "WebhookConfiguration") {
			continue
		}
		live, err := apply(t.Context(), c, u, "kubectl")
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, c.Client.Delete(context.Background(), u.DeepCopy()), "there is no webhook to call")
		})
		trust(t, c, live)
		raw, err := json.Marshal(unchanged(t, c, u))
		require.NoError(t, err)
		require.Contains(t, string(raw), authority)
	}
}

// unchanged applies an object twice and compares, but for what controllers write.
func unchanged(t *testing.T, c *cluster.Cluster, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	before, err := apply(t.Context(), c, u, "kubectl")
	require.NoError(t, err, "%s %s", u.GetKind(), u.GetName())
	after, err := apply(t.Context(), c, u, "kubectl")
	require.NoError(t, err, "%s %s", u.GetKind(), u.GetName())
	for _, x := range []*unstructured.Unstructured{before, after} {
		unstructured.RemoveNestedField(x.Object, "status")
		unstructured.RemoveNestedField(x.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(x.Object, "metadata", "resourceVersion")
		x.SetAnnotations(nil) // the revision of a Deployment
	}
	require.Empty(t, cmp.Diff(before, after), "%s %s", u.GetKind(), u.GetName())
	return after
}

// authority is what the webhook writes, here nothing that an API server could use.
const authority = "bm90IG9uZQ=="

// trust writes a certificate into every webhook, as the webhook does.
func trust(t *testing.T, c *cluster.Cluster, u *unstructured.Unstructured) {
	t.Helper()
	hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
	require.NoError(t, err)
	require.NotEmpty(t, hooks)
	for _, h := range hooks {
		hook, ok := h.(map[string]any)
		require.True(t, ok)
		require.NoError(t, unstructured.SetNestedField(hook, authority, "clientConfig", "caBundle"))
	}
	require.NoError(t, unstructured.SetNestedSlice(u.Object, hooks, "webhooks"))
	err = c.Client.Update(t.Context(), u, client.FieldOwner("kserve-webhook"))
	require.NoError(t, err)
}

// TestWhoMayDoWhat asks the API server what the shipped roles allow.
func TestWhoMayDoWhat(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	const controller, webhook = cluster.ControllerAccount, cluster.WebhookAccount
	account := func(name string) authorizationv1.SubjectAccessReviewSpec {
		return authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + cluster.System + ":" + name,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + cluster.System, "system:authenticated"},
		}
	}
	for name, q := range map[string]struct {
		who                          authorizationv1.SubjectAccessReviewSpec
		verb, group, resource, named string
		namespace                    string
		want                         bool
	}{
		"the controller makes Deployments":                 {account(controller), "create", "apps", "deployments", "", ns, true},
		"the controller writes a service's status":         {account(controller), "patch", "serving.kserve.io", "inferenceservices/status", "", ns, true},
		"the controller deletes no service of a person":    {account(controller), "delete", "serving.kserve.io", "inferenceservices", "", ns, false},
		"the controller does not list secrets":             {account(controller), "list", "", "secrets", "", ns, false},
		"the controller does not read the webhook's key":   {account(controller), "update", "", "secrets", "kserve-webhook-server-cert", cluster.System, false},
		"the controller makes no pods":                     {account(controller), "create", "", "pods", "", ns, false},
		"the controller enters no pods":                    {account(controller), "create", "", "pods/exec", "", ns, false},
		"the controller grants nothing":                    {account(controller), "create", "rbac.authorization.k8s.io", "clusterrolebindings", "", "", false},
		"the controller does not impersonate":              {account(controller), "impersonate", "", "users", "", "", false},
		"the controller reads the settings":                {account(controller), "watch", "", "configmaps", "inferenceservice-config", cluster.System, true},
		"the controller holds its lease":                   {account(controller), "update", "coordination.k8s.io", "leases", "kserve-controller-manager-leader-lock", cluster.System, true},
		"the controller holds no lease elsewhere":          {account(controller), "update", "coordination.k8s.io", "leases", "kserve-controller-manager-leader-lock", "kube-system", false},
		"the webhook keeps its certificate":                {account(webhook), "update", "", "secrets", "kserve-webhook-server-cert", cluster.System, true},
		"the webhook writes no other secret":               {account(webhook), "update", "", "secrets", "other", cluster.System, false},
		"the webhook does not list secrets":                {account(webhook), "list", "", "secrets", "", ns, false},
		"the webhook trusts itself in its configuration":   {account(webhook), "patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "inferenceservice.serving.kserve.io", "", true},
		"the webhook changes no other configuration":       {account(webhook), "patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "other", "", false},
		"the webhook updates no other configuration":       {account(webhook), "update", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "other", "", false},
		"the webhook makes no Deployments":                 {account(webhook), "create", "apps", "deployments", "", ns, false},
		"the webhook changes no service":                   {account(webhook), "update", "serving.kserve.io", "inferenceservices", "", ns, false},
		"an account of a model has nothing":                {account("default"), "get", "serving.kserve.io", "inferenceservices", "", ns, false},
		"who edits a namespace makes services":             {person("eve"), "create", "serving.kserve.io", "inferenceservices", "", ns, true},
		"who edits a namespace makes none in another":      {person("eve"), "create", "serving.kserve.io", "inferenceservices", "", cluster.System, false},
		"who edits a namespace changes no cluster runtime": {person("eve"), "update", "serving.kserve.io", "clusterservingruntimes", "", "", false},
		"who edits a namespace does not write status":      {person("eve"), "update", "serving.kserve.io", "inferenceservices/status", "", ns, false},
		"who views a namespace sees services":              {person("vic"), "list", "serving.kserve.io", "inferenceservices", "", ns, true},
		"who views a namespace makes none":                 {person("vic"), "create", "serving.kserve.io", "inferenceservices", "", ns, false},
	} {
		t.Run(name, func(t *testing.T) {
			grant(t, c, ns, "eve", "edit")
			grant(t, c, ns, "vic", "view")
			resource, sub, _ := strings.Cut(q.resource, "/")
			q.who.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: q.namespace, Verb: q.verb, Group: q.group, Resource: resource, Subresource: sub, Name: q.named,
			}
			ask := func(ctx context.Context) error {
				review := &authorizationv1.SubjectAccessReview{Spec: q.who}
				if err := c.Client.Create(ctx, review); err != nil {
					return err
				}
				if review.Status.Allowed != q.want {
					return fmt.Errorf("allowed is %v: %s", review.Status.Allowed, review.Status.Reason)
				}
				return nil
			}
			if q.want {
				c.Eventually(t, "the grant", ask) // roles are aggregated by a controller
				return
			}
			require.NoError(t, ask(t.Context()))
		})
	}
}

func person(name string) authorizationv1.SubjectAccessReviewSpec {
	return authorizationv1.SubjectAccessReviewSpec{User: name, Groups: []string{"system:authenticated"}}
}

// grant gives a person one of the cluster's own roles in a namespace.
func grant(t *testing.T, c *cluster.Cluster, ns, name, role string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}
	require.NoError(t, client.IgnoreAlreadyExists(c.Client.Create(t.Context(), binding)))
}

// TestThePodsAreAdmittedWhereOnlyRestrictedOnesAre makes the pods of our Deployments in a namespace that enforces the strictest standard.
func TestThePodsAreAdmittedWhereOnlyRestrictedOnesAre(t *testing.T) {
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	live := &corev1.Namespace{}
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Name: ns}, live))
	live.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	require.NoError(t, c.Client.Update(t.Context(), live))
	made := 0
	for _, u := range objects(t, deploy.Base) {
		if u.GetKind() != "Deployment" {
			continue
		}
		spec, _, err := unstructured.NestedMap(u.Object, "spec", "template", "spec")
		require.NoError(t, err)
		delete(spec, "serviceAccountName")
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec}}
		pod.SetName(u.GetName())
		pod.SetNamespace(ns)
		_, err = apply(t.Context(), c, pod, "kubectl", metav1.DryRunAll)
		require.NoError(t, err, u.GetName())
		made++
	}
	require.Equal(t, 2, made)
}
