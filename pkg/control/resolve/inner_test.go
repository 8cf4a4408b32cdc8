// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func TestImageTags(t *testing.T) {
	cases := map[string]struct {
		ref, version, kind string
		gpu                bool
		want               string
	}{
		"a version is appended":              {"tfserving", "2.6.2", "", false, "tfserving:2.6.2"},
		"a port is no tag":                   {"localhost:8888/tfserving", "2.6.2", "", false, "localhost:8888/tfserving:2.6.2"},
		"a tag is replaced":                  {"localhost:8888/tfserving:1.2.3", "2.6.2", "", false, "localhost:8888/tfserving:2.6.2"},
		"a digest is left alone":             {"x@sha256:00", "2.6.2", "", false, "x@sha256:00"},
		"a GPU gets its variant":             {"tfserving:1.14.0", "", tensorflowServing, true, "tfserving:1.14.0-gpu"},
		"but once only":                      {"hf:1-gpu", "", huggingfaceserver, true, "hf:1-gpu"},
		"vLLM keeps its image on a GPU":      {"vllm/vllm-openai:latest", "", vllmserver, true, "vllm/vllm-openai:latest"},
		"vLLM has an image for CPUs":         {"vllm/vllm-openai:latest", "", vllmserver, false, "vllm/vllm-openai-cpu:latest"},
		"which is taken as it is":            {"vllm/vllm-openai-cpu:latest", "", vllmserver, false, "vllm/vllm-openai-cpu:latest"},
		"without a tag nothing is known":     {"vllm/vllm-openai", "", vllmserver, false, "vllm/vllm-openai"},
		"other servers have no variants":     {"sk:1", "", "sklearnserver", true, "sk:1"},
		"a version beats the GPU's variant":  {"tfserving:1", "2", tensorflowServing, true, "tfserving:2"},
		"a version is no regular expression": {"tfserving:1", "$1", "", false, "tfserving:$1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, image(c.ref, c.version, c.kind, c.gpu))
		})
	}
	require.True(t, wantsGPU(corev1.ResourceList{"nvidia.com/mig-1g.5gb": {}}))
	require.False(t, wantsGPU(corev1.ResourceList{"amd.com/gpu": {}}))
}

func TestSpreadOfGPUs(t *testing.T) {
	cases := map[string]struct {
		pp, tp, head, worker int
		executor             string
		want                 shares
		fails                bool
	}{
		"one each where nothing is said":      {pp: 2, tp: 16, want: shares{32, 1, 1}},
		"the head says":                       {pp: 2, tp: 4, head: 2, want: shares{7, 2, 1}},
		"the workers say":                     {pp: 2, tp: 4, worker: 2, want: shares{4, 2, 2}},
		"the head has enough":                 {pp: 2, tp: 4, head: 8, want: shares{1, 8, 1}},
		"a worker would have enough":          {pp: 2, tp: 4, worker: 8, want: shares{1, 8, 0}},
		"more than needed is allowed":         {pp: 2, tp: 16, head: 4, worker: 3, want: shares{11, 4, 3}},
		"less than needed is not":             {pp: 1, tp: 7, head: 2, worker: 4, fails: true},
		"multi-processing is one node a step": {pp: 2, tp: 4, executor: "mp", want: shares{2, 4, 4}},
		"a product beyond all numbers":        {pp: 1 << 62, tp: 1 << 62, fails: true},
		"no nodes at all":                     {pp: 0, tp: 1, fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := spread(c.pp, c.tp, c.head, c.worker, c.executor)
			if c.fails {
				var blocked *plan.Blocked
				require.ErrorAs(t, err, &blocked)
				require.Equal(t, servingv1beta1.ReasonInvalidGPUAllocation, blocked.Reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestPlaceholders(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "foo", Namespace: "ns", Generation: 3, Labels: map[string]string{"dir": "/mnt", "quote": `a"b&c`}}
	cases := map[string]struct{ text, want, fails string }{
		"a name":                       {"--model={{.Name}}", "--model=foo", ""},
		"a label":                      {"{{ .Labels.dir }}/x", "/mnt/x", ""},
		"a missing label":              {"[{{.Labels.absent}}]", "[]", ""},
		"a number":                     {"{{.Generation}}", "3", ""},
		"quotes stay as they are":      {"{{.Labels.quote}}", `a"b&c`, ""},
		"a quote inside a placeholder": {`{{index .Labels "dir"}}`, "/mnt", ""},
		"a condition":                  {`{{if eq .Name "foo"}}yes{{else}}no{{end}}`, "yes", ""},
		"an unknown field":             {"{{.Foo}}", "", "it may name .Name"},
		"half a placeholder":           {"{{.Name", "", "cannot be read"},
		"a loop":                       {"{{range 1000000000}}x{{end}}", "", "not allowed"},
		"a loop in a condition":        {"{{if true}}{{with .Name}}{{range $.Labels}}x{{end}}{{end}}{{end}}", "", "not allowed"},
		"a definition":                 {`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`, "", "not allowed"},
		"too long a text":              {`{{printf "%65537d" 1}}`, "", "grows past"},
		"a text that is put together":  {`{{printf "%s-%05d" .Name .Generation}}{{print .Name}}{{.Name | js | html | urlquery}}`, "foo-00003foofoo", ""},
		"a width that is an argument":  {`{{printf "%*d" 65537 1}}`, "", "grows past"},
		"many wide texts in one":       {`{{len (printf "` + strings.Repeat("%999d", 1000) + `" 1)}}`, "", "grows past"},
		"a text that doubles":          {`{{$a := printf "%999d" 1}}` + strings.Repeat("{{$a = print $a $a}}", 40) + "{{len $a}}", "", "grows past"},
		"an escape that doubles":       {`{{"\\" ` + strings.Repeat("| js ", 40) + "| len}}", "", "grows past"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			container := corev1.Container{Name: "c", Image: "i", Args: []string{c.text}, Env: []corev1.EnvVar{{Name: "E", Value: c.text}}}
			err := fillIn(&container, meta)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{c.want}, container.Args)
			require.Equal(t, c.want, container.Env[0].Value)
		})
	}
}

func FuzzPlaceholders(f *testing.F) {
	for _, seed := range []string{"{{.Name}}", "{{.Labels.a}}", "{{range .Labels}}{{end}}", `{{printf "%d" 1}}`, "{{", `{{block "a" .}}{{end}}`, "{{with .Name}}{{else}}{{end}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := expand(text, metav1.ObjectMeta{Name: "foo", Labels: map[string]string{"a": "b"}})
		if err == nil && strings.Contains(text, "{{") {
			require.LessOrEqual(t, len(out), maxExpanded)
		}
	})
}

func TestOverlayOfCanaries(t *testing.T) {
	stable := &servingv1beta1.PredictorSpec{Model: &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}}
	stable.Model.Runtime = new("chosen")
	stable.Model.Args = []string{"a", "b"}
	stable.NodeSelector = map[string]string{"x": "1", "y": "2"}
	canary := &servingv1beta1.PredictorSpec{Name: "v2", Model: &servingv1beta1.ModelSpec{}}
	canary.Model.Args = []string{"c"}
	canary.NodeSelector = map[string]string{"y": "3"}
	got := overlay(stable, canary)
	require.Equal(t, "sklearn", got.Model.ModelFormat.Name)
	require.Equal(t, []string{"c"}, got.Model.Args)
	require.Equal(t, map[string]string{"x": "1", "y": "3"}, got.NodeSelector)
	require.Equal(t, "chosen", *got.Model.Runtime)
	canary.Model.ModelFormat.Name = "xgboost"
	got = overlay(stable, canary)
	require.Nil(t, got.Model.Runtime, "another format needs another runtime")
}

// TestOverlayMergesAtEveryDepth lays a canary over a predictor that both say something of probes, resources, a rollout and of where pods may be.
func TestOverlayMergesAtEveryDepth(t *testing.T) {
	stable := &servingv1beta1.PredictorSpec{Model: &servingv1beta1.ModelSpec{}}
	stable.MinReplicas, stable.TimeoutSeconds = new(int32(4)), new(int64(30))
	stable.Model.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("2Gi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
	}
	stable.Model.ReadinessProbe = &corev1.Probe{PeriodSeconds: 5, TimeoutSeconds: 2, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)},
	}}
	stable.Model.Env = []corev1.EnvVar{{Name: "A", Value: "stable"}}
	stable.Model.StorageURI = new("s3://bucket/stable")
	stable.Model.Runtime, stable.Model.RuntimeVersion = new("chosen"), new("1.2")
	stable.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(7)), FSGroup: new(int64(8))}
	stable.DeploymentStrategy = &appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1))}}
	stable.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}

	canary := &servingv1beta1.PredictorSpec{Name: "v2", Model: &servingv1beta1.ModelSpec{}}
	canary.TimeoutSeconds = new(int64(0))
	canary.Model.Runtime, canary.Model.RuntimeVersion = new(""), new("")
	canary.Model.Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("4Gi")}
	canary.Model.ReadinessProbe = &corev1.Probe{PeriodSeconds: 9, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v2/ready"}}}
	canary.Model.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}}
	canary.Model.StorageURI = new("s3://bucket/canary")
	canary.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(9))}
	canary.DeploymentStrategy = &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	canary.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	stableBefore, canaryBefore := stable.DeepCopy(), canary.DeepCopy()

	got := overlay(stable, canary)
	require.Equal(t, "v2", got.Name)
	require.EqualValues(t, 4, *got.MinReplicas)
	require.Equal(t, "chosen", *got.Model.Runtime, "an empty text says nothing")
	require.Equal(t, "1.2", *got.Model.RuntimeVersion)
	require.Zero(t, *got.TimeoutSeconds, "a number that is said counts, if it is zero")
	require.True(t, got.Model.Resources.Limits.Memory().Equal(resource.MustParse("4Gi")))
	require.True(t, got.Model.Resources.Limits.Cpu().Equal(resource.MustParse("1")))
	require.True(t, got.Model.Resources.Requests.Cpu().Equal(resource.MustParse("1")))
	probe := got.Model.ReadinessProbe
	require.EqualValues(t, 9, probe.PeriodSeconds)
	require.EqualValues(t, 2, probe.TimeoutSeconds)
	require.Equal(t, "/v2/ready", probe.HTTPGet.Path)
	require.Equal(t, intstr.FromInt32(8080), probe.HTTPGet.Port, "a port that is not said is the stable one's")
	require.Equal(t, canary.Model.LivenessProbe, got.Model.LivenessProbe)
	require.Equal(t, stable.Model.Env, got.Model.Env)
	require.Equal(t, "s3://bucket/canary", *got.Model.StorageURI)
	require.EqualValues(t, 9, *got.SecurityContext.RunAsUser)
	require.EqualValues(t, 8, *got.SecurityContext.FSGroup)
	require.Equal(t, canary.DeploymentStrategy, got.DeploymentStrategy)
	require.NotNil(t, got.Affinity.NodeAffinity)
	require.NotNil(t, got.Affinity.PodAntiAffinity)

	canary.Model.StorageURI = new("")
	require.Equal(t, "s3://bucket/stable", *overlay(stable, canary).Model.StorageURI)
	canary.Model.StorageURI = new("s3://bucket/canary")

	got.Model.Env[0].Value, got.Model.ReadinessProbe.HTTPGet.Path, *got.MinReplicas = "written", "written", 99
	got.Model.LivenessProbe.TCPSocket.Port, got.Model.Resources.Limits["cpu"] = intstr.FromInt32(1), resource.MustParse("9")
	require.Equal(t, stableBefore, stable, "nothing is shared")
	require.Equal(t, canaryBefore, canary, "nothing is shared")
}
