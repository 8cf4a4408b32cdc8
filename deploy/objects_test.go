// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kserve-go/kserve-go/deploy"
)

// decoded holds what the tests only read: the schemas take their time.
var decoded = sync.OnceValues(func() (map[string][]*unstructured.Unstructured, error) {
	ways := map[string][]*unstructured.Unstructured{}
	for _, folder := range []string{deploy.Base, deploy.Local, deploy.LocalGateway, deploy.CertManager} {
		all, err := deploy.Objects(deploy.Options{Folder: folder})
		if err != nil {
			return nil, err
		}
		ways[folder] = all
	}
	return ways, nil
})

// installations are everything that is installed, in each way there is.
func installations(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	ways, err := decoded()
	require.NoError(t, err)
	return ways
}

// typed are the objects of one kind, every field known.
func typed[T any](t *testing.T, all []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var out []T
	for _, u := range all {
		if u.GetKind() == kind {
			var o T
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &o, true), "%s %s", kind, u.GetName())
			out = append(out, o)
		}
	}
	return out
}

func TestObjectsFindWhatTheyReferTo(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			place := func(kind string) (first, last int) {
				first = slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind })
				last = first
				for i, u := range all {
					if u.GetKind() == kind {
						last = i
					}
				}
				return first, last
			}
			order := []string{
				"Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "ClusterServingRuntime", "Service",
				"Deployment", "ValidatingWebhookConfiguration",
			}
			for i, kind := range order[1:] {
				_, before := place(order[i])
				after, _ := place(kind)
				require.Positive(t, after, kind)
				require.Less(t, before, after, "%s come before %s", order[i], kind)
			}
			seen := map[string]bool{}
			for _, u := range all {
				id := strings.Join([]string{u.GetKind(), u.GetNamespace(), u.GetName()}, "/")
				require.False(t, seen[id], "%s is there twice", id)
				seen[id] = true
			}
			subjects := func(kind, name, namespace string, from []rbacv1.Subject) {
				require.True(t, seen[strings.Join([]string{kind, namespace, name}, "/")], "%s %s is granted and not there", kind, name)
				for _, s := range from {
					require.True(t, seen["ServiceAccount/"+s.Namespace+"/"+s.Name], "%s has a grant and is not there", s.Name)
				}
			}
			for _, b := range typed[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding") {
				subjects(b.RoleRef.Kind, b.RoleRef.Name, "", b.Subjects)
			}
			for _, b := range typed[rbacv1.RoleBinding](t, all, "RoleBinding") {
				subjects(b.RoleRef.Kind, b.RoleRef.Name, b.Namespace, b.Subjects)
			}
		})
	}
}

func TestImagesAreRenamedEverywhere(t *testing.T) {
	all, err := deploy.Objects(deploy.Options{ImagePrefix: "registry.example/models", ImageTag: "v9"})
	require.NoError(t, err)
	raw, err := (&unstructured.UnstructuredList{Object: map[string]any{"kind": "List", "apiVersion": "v1"}, Items: items(all)}).MarshalJSON()
	require.NoError(t, err)
	for _, binary := range []string{"controller", "webhook", "agent", "router", "storage-initializer", "model-server"} {
		require.Contains(t, string(raw), "registry.example/models/"+binary+":v9", "in a pod or in the settings")
		require.NotContains(t, string(raw), "kserve-go/"+binary+":")
	}
}

func items(all []*unstructured.Unstructured) []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for _, u := range all {
		out = append(out, *u)
	}
	return out
}

// TestOurPodsAreRestricted holds the pods to the strictest of the Pod Security Standards, and to what it leaves open.
func TestOurPodsAreRestricted(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			deployments := typed[appsv1.Deployment](t, all, "Deployment")
			require.Len(t, deployments, 2)
			for _, d := range deployments {
				pod := d.Spec.Template.Spec
				require.True(t, *pod.SecurityContext.RunAsNonRoot)
				require.EqualValues(t, 65532, *pod.SecurityContext.RunAsUser, "the user of the images")
				require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
				require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
				require.NotEqual(t, "default", pod.ServiceAccountName)
				for _, v := range pod.Volumes {
					require.Nil(t, v.HostPath)
				}
				require.NotEmpty(t, pod.Containers)
				for _, c := range pod.Containers {
					s := c.SecurityContext
					require.True(t, *s.ReadOnlyRootFilesystem && *s.RunAsNonRoot, c.Name)
					require.False(t, *s.AllowPrivilegeEscalation || *s.Privileged, c.Name)
					require.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, s.Capabilities, c.Name)
					require.NotNil(t, c.ReadinessProbe, c.Name)
					require.NotNil(t, c.LivenessProbe, c.Name)
					require.NotNil(t, c.StartupProbe, c.Name)
					require.False(t, c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero(), c.Name)
				}
			}
		})
	}
}

func TestServicesAndBudgetsSelectPods(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			deployments := typed[appsv1.Deployment](t, all, "Deployment")
			selected := func(name string, selector labels.Selector) corev1.PodSpec {
				var found []corev1.PodSpec
				for _, d := range deployments {
					if selector.Matches(labels.Set(d.Spec.Template.Labels)) {
						found = append(found, d.Spec.Template.Spec)
					}
				}
				require.Len(t, found, 1, "%s selects the pods of one Deployment", name)
				return found[0]
			}
			for _, s := range typed[corev1.Service](t, all, "Service") {
				pod := selected(s.Name, labels.SelectorFromSet(s.Spec.Selector))
				for _, p := range s.Spec.Ports {
					require.True(t, slices.ContainsFunc(pod.Containers[0].Ports, func(c corev1.ContainerPort) bool { return c.Name == p.TargetPort.StrVal }),
						"%s: no container has a port %s", s.Name, p.TargetPort.StrVal)
				}
			}
			for _, b := range typed[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget") {
				selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
				require.NoError(t, err)
				selected(b.Name, selector)
			}
		})
	}
}

func TestTheWebhookOutlivesANode(t *testing.T) {
	all := installations(t)[deploy.Base]
	for _, d := range typed[appsv1.Deployment](t, all, "Deployment") {
		if d.Name != "kserve-webhook-server" {
			continue
		}
		require.EqualValues(t, 2, *d.Spec.Replicas)
		require.Equal(t, "kubernetes.io/hostname", d.Spec.Template.Spec.TopologySpreadConstraints[0].TopologyKey)
		require.Zero(t, d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue())
		budgets := typed[policyv1.PodDisruptionBudget](t, all, "PodDisruptionBudget")
		require.Len(t, budgets, 1)
		require.Equal(t, 1, budgets[0].Spec.MinAvailable.IntValue())
		return
	}
	t.Fatal("there is no webhook")
}

// hook is what clients and other installers know of a webhook.
type hook struct{ configuration, name, path, resource, operations string }

func TestWebhooksAreWhereTheReferenceHasThem(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			var got []hook
			add := func(configuration, name string, client admissionv1.WebhookClientConfig, rules []admissionv1.RuleWithOperations) {
				require.Equal(t, "kserve/kserve-webhook-server-service", client.Service.Namespace+"/"+client.Service.Name)
				require.Nil(t, client.CABundle, "the webhook writes it")
				require.Len(t, rules, 1)
				var operations []string
				for _, o := range rules[0].Operations {
					operations = append(operations, string(o))
				}
				got = append(got, hook{configuration, name, *client.Service.Path, rules[0].Resources[0], strings.Join(operations, " ")})
			}
			for _, c := range typed[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration") {
				for _, h := range c.Webhooks {
					add("mutating "+c.Name, h.Name, h.ClientConfig, h.Rules)
					require.Equal(t, admissionv1.Fail, *h.FailurePolicy)
					require.Equal(t, admissionv1.SideEffectClassNone, *h.SideEffects)
					require.Equal(t, []string{"v1", "v1beta1"}, h.AdmissionReviewVersions)
					require.LessOrEqual(t, *h.TimeoutSeconds, int32(10))
				}
			}
			for _, c := range typed[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration") {
				for _, h := range c.Webhooks {
					add("validating "+c.Name, h.Name, h.ClientConfig, h.Rules)
					policy := admissionv1.Fail
					if strings.HasPrefix(c.Name, "clusterstoragecontainer.") { // the shipped one is made before anybody answers
						policy = admissionv1.Ignore
					}
					require.Equal(t, policy, *h.FailurePolicy)
					require.Equal(t, admissionv1.SideEffectClassNone, *h.SideEffects)
					require.Equal(t, []string{"v1", "v1beta1"}, h.AdmissionReviewVersions)
					require.LessOrEqual(t, *h.TimeoutSeconds, int32(10))
				}
			}
			const group, server = ".serving.kserve.io", ".kserve-webhook-server."
			want := []hook{
				{"mutating inferenceservice" + group, "inferenceservice" + server + "defaulter", "/mutate-serving-kserve-io-v1beta1-inferenceservice", "inferenceservices", "CREATE UPDATE"},
				{"mutating inferenceservice" + group, "inferenceservice" + server + "pod-mutator", "/mutate-pods", "pods", "CREATE"},
				{"validating inferenceservice" + group, "inferenceservice" + server + "validator", "/validate-serving-kserve-io-v1beta1-inferenceservice", "inferenceservices", "CREATE UPDATE"},
			}
			for _, kind := range []string{"trainedmodel", "inferencegraph", "clusterservingruntime", "servingruntime", "clusterstoragecontainer"} {
				want = append(want, hook{"validating " + kind + group, kind + server + "validator", "/validate-serving-kserve-io-v1alpha1-" + kind, kind + "s", "CREATE UPDATE"})
			}
			require.ElementsMatch(t, want, got)
		})
	}
}

// TestThePodMutatorCannotStopTheCluster evaluates its selectors: a webhook that is down must not keep the pods away that would bring it up.
func TestThePodMutatorCannotStopTheCluster(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			var mutator *admissionv1.MutatingWebhook
			for _, c := range typed[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration") {
				for _, h := range c.Webhooks {
					if strings.HasSuffix(h.Name, "pod-mutator") {
						mutator = &h
					}
				}
			}
			require.NotNil(t, mutator)
			require.Equal(t, admissionv1.IfNeededReinvocationPolicy, *mutator.ReinvocationPolicy)
			matches := func(s *metav1.LabelSelector, set map[string]string) bool {
				selector, err := metav1.LabelSelectorAsSelector(s)
				require.NoError(t, err)
				return selector.Matches(labels.Set(set))
			}
			require.Nil(t, mutator.NamespaceSelector, "a service may live in any namespace, and its pods get their model there")
			for _, d := range typed[appsv1.Deployment](t, all, "Deployment") {
				require.False(t, matches(mutator.ObjectSelector, d.Spec.Template.Labels), "%s waits for the webhook", d.Name)
			}
			require.False(t, matches(mutator.ObjectSelector, map[string]string{"app": "any"}))
			require.True(t, matches(mutator.ObjectSelector, map[string]string{"serving.kserve.io/inferenceservice": "iris"}))
		})
	}
}

// TestGrantsAreSmall refuses rules that nobody reads twice: everything, secrets by list, other people's permissions.
func TestGrantsAreSmall(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			check := func(role string, rules []rbacv1.PolicyRule) {
				for _, r := range rules {
					for _, list := range [][]string{r.APIGroups, r.Resources, r.Verbs} {
						require.NotContains(t, list, "*", role)
					}
					require.NotContains(t, r.APIGroups, "rbac.authorization.k8s.io", role)
					if slices.Contains(r.Resources, "secrets") && len(r.ResourceNames) == 0 {
						require.Empty(t, intersect(r.Verbs, "list", "watch", "update", "patch", "delete"), "%s may do that to every secret", role)
					}
					if slices.Contains(r.Resources, "pods") {
						require.Empty(t, intersect(r.Verbs, "create", "update", "patch", "delete"), role)
					}
					for _, resource := range r.Resources {
						require.NotContains(t, resource, "exec", role)
					}
				}
			}
			for _, r := range typed[rbacv1.ClusterRole](t, all, "ClusterRole") {
				check(r.Name, r.Rules)
				for _, rule := range r.Rules {
					if slices.Contains(rule.Resources, "secrets") {
						require.Equal(t, []string{"get"}, rule.Verbs, "%s outside our namespace", r.Name)
					}
				}
			}
			for _, r := range typed[rbacv1.Role](t, all, "Role") {
				require.Equal(t, "kserve", r.Namespace)
				check(r.Name, r.Rules)
			}
		})
	}
}

func intersect(list []string, of ...string) []string {
	var both []string
	for _, s := range list {
		if slices.Contains(of, s) {
			both = append(both, s)
		}
	}
	return both
}

// TestTheGrantsAreTold keeps the page for those who must approve an installation whole.
func TestTheGrantsAreTold(t *testing.T) {
	page, err := os.ReadFile("../docs/installing.md")
	require.NoError(t, err)
	tell := func(role string, rules []rbacv1.PolicyRule) {
		for _, r := range rules {
			for _, resource := range r.Resources {
				kind, _, _ := strings.Cut(resource, "/")
				require.True(t, strings.Contains(strings.ToLower(string(page)), kind), "%s grants something with %s, docs/installing.md does not say so", role, kind)
			}
		}
	}
	all := installations(t)[deploy.Base]
	for _, r := range typed[rbacv1.ClusterRole](t, all, "ClusterRole") {
		if strings.HasSuffix(r.Name, "-role") { // of a process, not for people
			tell(r.Name, r.Rules)
		}
	}
	for _, r := range typed[rbacv1.Role](t, all, "Role") {
		tell(r.Name, r.Rules)
	}
}
