// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	got, err := overlay(stable, canary)
	require.NoError(t, err)
	require.Equal(t, "sklearn", got.Model.ModelFormat.Name)
	require.Equal(t, []string{"c"}, got.Model.Args)
	require.Equal(t, map[string]string{"x": "1", "y": "3"}, got.NodeSelector)
	require.Equal(t, "chosen", *got.Model.Runtime)
	canary.Model.ModelFormat.Name = "xgboost"
	got, err = overlay(stable, canary)
	require.NoError(t, err)
	require.Nil(t, got.Model.Runtime, "another format needs another runtime")
}
