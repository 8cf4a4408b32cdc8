// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func graph(steps ...servingv1alpha1.InferenceStep) *servingv1alpha1.InferenceGraph {
	return &servingv1alpha1.InferenceGraph{
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", Annotations: map[string]string{serving.AnnotationDeploymentMode: string(serving.Standard)}},
		Spec:       servingv1alpha1.InferenceGraphSpec{Nodes: map[string]servingv1alpha1.InferenceRouter{"root": {RouterType: servingv1alpha1.Sequence, Steps: steps}}},
	}
}

func named(service string) servingv1alpha1.InferenceStep {
	return servingv1alpha1.InferenceStep{InferenceTarget: servingv1alpha1.InferenceTarget{ServiceName: service}}
}

// routerGraph is what the router of a plan will read.
func routerGraph(t *testing.T, p *plan.Plan) handoff.Graph {
	t.Helper()
	args := p.Components[0].Pod.Containers[0].Args
	require.Equal(t, "--"+handoff.FlagGraphJSON, args[0])
	var g handoff.Graph
	require.NoError(t, json.Unmarshal([]byte(args[1]), &g))
	return g
}

func TestAddressesOfSteps(t *testing.T) {
	v2, grpc := serving.ProtocolV2, serving.ProtocolGRPCV2
	grpcOnly := runtimeFor("grpc", speaks(serving.ProtocolGRPCV2))
	cases := map[string]struct {
		change      func(*servingv1beta1.InferenceService)
		path, fails string
	}{
		"v1 where nothing is said":           {func(*servingv1beta1.InferenceService) {}, "/v1/models/foo:predict", ""},
		"the protocol of the service":        {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.ProtocolVersion = &v2 }, "/v2/models/foo/infer", ""},
		"gRPC has no path":                   {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.ProtocolVersion = &grpc }, "", ""},
		"the named runtime's first":          {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.Runtime = new("v2rt") }, "/v2/models/foo/infer", ""},
		"a runtime that a graph cannot call": {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.Runtime = new("grpc") }, "", "speaks neither v1 nor v2"},
		"a name in one word":                 {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.Args = []string{"--model_name=x"} }, "/v1/models/x:predict", ""},
		"a name in two words":                {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.Args = []string{"--model_name", "x"} }, "/v1/models/x:predict", ""},
		"MLServer's own name": {func(s *servingv1beta1.InferenceService) {
			s.Spec.Predictor.Model.Env = []corev1.EnvVar{{Name: "MLSERVER_MODEL_NAME", Value: "x"}}
		}, "/v1/models/x:predict", ""},
		"many models have no path": {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.StorageURI = nil }, "", ""},
		"a container says its protocol itself": {func(s *servingv1beta1.InferenceService) {
			s.Spec.Predictor.Model = nil
			s.Spec.Predictor.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "PROTOCOL", Value: "v2"}}}}
		}, "/v2/models/foo/infer", ""},
		"a transformer comes first": {func(s *servingv1beta1.InferenceService) {
			s.Spec.Transformer = &servingv1beta1.TransformerSpec{}
			s.Spec.Transformer.Containers = []corev1.Container{{Args: []string{"--model_name=t"}, Env: []corev1.EnvVar{{Name: "PROTOCOL", Value: "v2"}}}}
		}, "/v2/models/t/infer", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			svc := sklearn(c.change)
			svc.Status.Address = &serving.Address{URL: "http://foo.test"}
			g := graph(named("foo"))
			before := g.DeepCopy()
			p, err := resolve.Graph(&plan.GraphSnapshot{
				Graph: g, Services: map[string]*servingv1beta1.InferenceService{"foo": svc},
				Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("v2rt", speaks(serving.ProtocolGRPCV2, v2)), grpcOnly},
			}, settings.Defaults())
			require.Equal(t, before, g, "the snapshot is not written to")
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "http://foo.test"+c.path, routerGraph(t, p).Nodes["root"].Steps[0].ServiceURL)
		})
	}
}

func TestAGraphWaitsForItsServices(t *testing.T) {
	var waiting *plan.Waiting
	_, err := resolve.Graph(&plan.GraphSnapshot{Graph: graph(named("foo"))}, settings.Defaults())
	require.ErrorAs(t, err, &waiting)
	require.ErrorContains(t, err, `spec.nodes.root.steps[0] names InferenceService "foo", which does not exist in namespace default`)
	_, err = resolve.Graph(&plan.GraphSnapshot{Graph: graph(named("foo")), Services: map[string]*servingv1beta1.InferenceService{"foo": sklearn()}}, settings.Defaults())
	require.ErrorAs(t, err, &waiting)
	require.ErrorContains(t, err, "has no address yet")
}

func TestRouterOfAGraph(t *testing.T) {
	g := graph(servingv1alpha1.InferenceStep{InferenceTarget: servingv1alpha1.InferenceTarget{ServiceURL: "http://a.test"}})
	g.Spec.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("3")}
	g.Spec.NodeSelector = map[string]string{"a": "b"}
	p, err := resolve.Graph(&plan.GraphSnapshot{Graph: g}, settings.Defaults())
	require.NoError(t, err)
	c := p.Components[0]
	require.Equal(t, "g", c.Pod.Containers[0].Name)
	require.Equal(t, g.Spec.Resources, c.Pod.Containers[0].Resources, "the graph's resources replace the operator's, all of them")
	require.Equal(t, g.Spec.NodeSelector, c.Pod.NodeSelector)
	require.NotContains(t, c.Labels, serving.LabelComponent)
	g.Annotations[serving.AnnotationDeploymentMode] = string(serving.ModelMesh)
	_, err = resolve.Graph(&plan.GraphSnapshot{Graph: g}, settings.Defaults())
	var blocked *plan.Blocked
	require.ErrorAs(t, err, &blocked)
	g.Annotations[serving.AnnotationDeploymentMode], g.Annotations[serving.AnnotationStop] = string(serving.Standard), "true"
	p, err = resolve.Graph(&plan.GraphSnapshot{Graph: g}, settings.Defaults())
	require.NoError(t, err)
	require.True(t, p.Stopped)
	require.Empty(t, p.Components)
}

func TestWhereCredentialsComeFrom(t *testing.T) {
	account := func(sa corev1.ServiceAccount) map[string]corev1.ServiceAccount {
		return map[string]corev1.ServiceAccount{"default": sa}
	}
	cases := map[string]struct {
		accounts map[string]corev1.ServiceAccount
		change   func(*servingv1beta1.InferenceService)
		chosen   string
		none     bool
	}{
		"no service account":            {nil, nil, "none", false},
		"a service account without any": {account(corev1.ServiceAccount{}), nil, "none", false},
		"the secrets that it lists":     {account(corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "a"}, {Name: "b"}}}), nil, "secrets a, b", false},
		"a role of AWS":                 {account(corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{serving.AnnotationEKSRoleARN: "arn"}}}), nil, "role arn", false},
		"the secret that is named": {
			account(corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "a"}}}),
			func(s *servingv1beta1.InferenceService) { s.Annotations[serving.AnnotationStorageSecretName] = "own" }, "secret own", false,
		},
		"the entry of a storage spec": {nil, func(s *servingv1beta1.InferenceService) {
			s.Spec.Predictor.Model.StorageURI = nil
			s.Spec.Predictor.Model.Storage = &servingv1beta1.ModelStorageSpec{StorageSpec: servingv1beta1.StorageSpec{StorageKey: new("k"), Path: new("p")}}
		}, "secret storage-config, entry k", false},
		"a claim needs none": {nil, func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model.StorageURI = new("pvc://claim") }, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			svc := sklearn()
			if c.change != nil {
				c.change(svc)
			}
			p, err := resolve.Service(&plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a")}, Surroundings: plan.Surroundings{ServiceAccounts: c.accounts}}, settings.Defaults())
			require.NoError(t, err)
			var found []string
			for _, d := range p.Decisions {
				if d.Subject == plan.SubjectCredentials {
					found = append(found, d.Chosen)
					require.NotEmpty(t, d.Why)
				}
			}
			if c.none {
				require.Empty(t, found)
				return
			}
			require.Equal(t, []string{c.chosen}, found)
		})
	}
}
