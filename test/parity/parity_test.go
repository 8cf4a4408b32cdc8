// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// stale are cases whose recorded objects kept annotations of an earlier version of the service, because the reference never writes a Service or an
// Ingress again for its metadata alone. A planner has no memory; whether such a write is worth it is for the apply stage to decide.
func stale() []string { return []string{"hpa-to-none", "std-canary-percent", "std-update-uri"} }

func TestRecordedCases(t *testing.T) {
	results, err := RunPure("../data/parity")
	require.NoError(t, err)
	var failed []string
	judged := 0
	for _, r := range results {
		if r.OutOfScope != "" {
			continue
		}
		judged++
		if len(r.Problems) > 0 {
			failed = append(failed, r.Name)
			if !slices.Contains(stale(), r.Name) {
				t.Errorf("%s:\n  %s", r.Name, strings.Join(r.Problems, "\n  "))
			}
		}
	}
	require.Greater(t, judged, 150)
	require.Equal(t, stale(), failed, "a case that passes now is taken off the list")
}

func TestPrintSaysWhatFailedAndCounts(t *testing.T) {
	var out bytes.Buffer
	failed := Print(&out, []Result{
		{Name: "a"},
		{Name: "b", Problems: []string{"x: missing", "y: missing"}},
		{Name: "c", OutOfScope: "Knative mode"},
		{Name: "d", OutOfScope: "InferenceGraph", Ran: true},
		{Name: "e", OutOfScope: "InferenceGraph", Ran: true, Problems: []string{"z: missing"}},
	}, false)
	require.Equal(t, 1, failed)
	require.Equal(t, `FAIL b
     x: missing
     y: missing
out of scope, fails: e (InferenceGraph)
     z: missing
of the cases out of scope 1 pass, 1 fail
out of scope: 3 (InferenceGraph: 2, Knative mode: 1)
1 passed, 1 failed
`, out.String())
}

func TestScopeIsComputedFromTheInput(t *testing.T) {
	service := func(annotations, spec string) string {
		return "{kind: InferenceService, metadata: {name: m, annotations: {" + annotations + "}}, spec: {" + spec + "}}"
	}
	const standard = "serving.kserve.io/deploymentMode: Standard"
	shipped := reference()
	with := func(config string) map[string]string {
		data := maps.Clone(shipped)
		require.NoError(t, override(data, []byte(config)))
		return data
	}
	cases := map[string]struct {
		settings map[string]string
		input    string
		rule     string
	}{
		"a predictor in Standard mode":                    {input: service(standard, "predictor: {}")},
		"no predictor, so there is nothing to deploy":     {input: service("", "predictor: {}")},
		"the same under its old name":                     {input: service("serving.kserve.io/deploymentMode: RawDeployment", "predictor: {}")},
		"no mode, and the shipped default is Knative":     {input: service("", "predictor: {model: {modelFormat: {name: a}}}"), rule: ruleKnative},
		"no mode, and the operator's default is Standard": {settings: with(`{"deploy": {"defaultDeploymentMode": "Standard"}}`), input: service("", "predictor: {model: {}}")},
		"Knative under its old name":                      {input: service("serving.kserve.io/deploymentMode: Serverless", ""), rule: ruleKnative},
		"ModelMesh":                                       {input: service("serving.kserve.io/deploymentMode: ModelMesh", ""), rule: ruleModelMesh},
		"a mode that does not exist is for validation":    {input: service("serving.kserve.io/deploymentMode: Nothing", "")},
		"a transformer":                                   {input: service(standard, "transformer: {}")},
		"an explainer":                                    {input: service(standard, "explainer: {}")},
		"canaries":                                        {input: service(standard, "canary: []")},
		"workers":                                         {input: service(standard, "predictor: {workerSpec: {}}")},
		"a runtime with workers":                          {input: "{kind: ServingRuntime, metadata: {name: r}, spec: {workerSpec: {}}}"},
		"a runtime":                                       {input: "{kind: ServingRuntime, metadata: {name: r}, spec: {}}"},
		"a logger":                                        {input: service(standard, "predictor: {logger: {}}")},
		"a batcher":                                       {input: service(standard, "predictor: {batcher: {}}")},
		"KEDA":                                            {input: service(standard+", serving.kserve.io/autoscalerClass: keda", "")},
		"scraped metrics":                                 {input: service(standard+`, serving.kserve.io/enable-prometheus-scraping: "true"`, "")},
		"scraped metrics for all":                         {settings: with(`{"metricsAggregator": {"enableMetricAggregation": "true"}}`), input: service(standard, "")},
		"the Gateway API":                                 {settings: with(`{"ingress": {"enableGatewayApi": true}}`), input: service(standard, "")},
		"a graph":                                         {input: "{kind: InferenceGraph, metadata: {name: g}}", rule: ruleGraph},
		"a trained model":                                 {input: "{kind: TrainedModel, metadata: {name: t}}", rule: ruleTrained},
		"an InferenceService that admission refuses, Standard": {input: service(standard, "")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var d doc
			require.NoError(t, yaml.Unmarshal([]byte(c.input), &d))
			if c.settings == nil {
				c.settings = shipped
			}
			require.Equal(t, c.rule, scopeOf(c.settings, []doc{d}))
		})
	}
}

func TestScopeOfTheRecordedCases(t *testing.T) {
	cases, err := load("../data/parity")
	require.NoError(t, err)
	inside := 0
	for _, c := range cases {
		if c.scope == "" {
			inside++
		}
	}
	require.Equal(t, 159, inside, "of %d", len(cases))
}

func TestAnEmptyFolderIsAnError(t *testing.T) {
	dir := t.TempDir()
	_, err := RunPure(dir)
	require.Error(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cases"), 0o750))
	_, err = RunPure(dir)
	require.ErrorContains(t, err, "holds no cases")
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: m, labels: {app: x, empty: ""}, resourceVersion: "1"}
spec:
  replicas: 1
  template:
    spec:
      volumes: [{name: v, emptyDir: {}}]
      initContainers: [{name: a, image: i}, {name: b, image: i}]
      containers:
      - name: c
        args: [x, y]
        env: [{name: A, value: "1"}, {name: B, value: '{"k": [1, 2]}'}]
        resources: {limits: {cpu: "1", memory: 2Gi}}
        securityContext: {}
      tolerations: [{key: a}, {key: b}]
`

func outcome(t *testing.T, replacements ...string) Outcome {
	t.Helper()
	var d doc
	require.NoError(t, yaml.Unmarshal([]byte(strings.NewReplacer(replacements...).Replace(deployment)), &d))
	return Outcome{Objects: []doc{d}}
}

func TestWhatCountsAsEqual(t *testing.T) {
	cases := map[string]struct {
		change []string
		says   string // empty: equal
	}{
		"the same":                              {},
		"metadata of the API server":            {change: []string{`resourceVersion: "1"`, `resourceVersion: "2"`}},
		"a quantity in another unit":            {change: []string{`cpu: "1", memory: 2Gi`, `cpu: 1000m, memory: 2048Mi`}},
		"another quantity":                      {change: []string{`memory: 2Gi`, `memory: 3Gi`}, says: "Deployment/m.spec.template.spec.containers.c.resources.limits.memory: expected"},
		"variables in another order":            {change: []string{`{name: A, value: "1"}, {name: B, value: '{"k": [1, 2]}'}`, `{name: B, value: '{"k":[1,2]}'}, {name: A, value: "1"}`}},
		"JSON with another value":               {change: []string{`[1, 2]`, `[2, 1]`}, says: "env.B.value.(json).k.0"},
		"arguments in another order":            {change: []string{`[x, y]`, `[y, x]`}, says: "args.0"},
		"one argument less":                     {change: []string{`[x, y]`, `[x]`}, says: "args: expected"},
		"init containers in another order":      {change: []string{`{name: a, image: i}, {name: b, image: i}`, `{name: b, image: i}, {name: a, image: i}`}, says: "initContainers.(order).0"},
		"tolerations in another order":          {change: []string{`{key: a}, {key: b}`, `{key: b}, {key: a}`}},
		"an empty object for an absent one":     {change: []string{`        securityContext: {}`, ``}},
		"no emptyDir":                           {change: []string{`, emptyDir: {}`, ``}, says: "emptyDir: missing"},
		"a label less":                          {change: []string{`, empty: ""`, ``}, says: "labels.empty: missing"},
		"a label more":                          {change: []string{`empty: ""`, `empty: "", more: x`}, says: "labels.more: not expected"},
		"a field more where the API may add":    {change: []string{`replicas: 1`, "replicas: 1\n  minReadySeconds: 1"}},
		"a variable more":                       {change: []string{`{name: A, value: "1"}`, `{name: A, value: "1"}, {name: C, value: "1"}`}, says: "env.C: not expected"},
		"a volume mount where there was none":   {change: []string{`args: [x, y]`, "args: [x, y]\n        volumeMounts: [{name: v, mountPath: /m}]"}, says: "volumeMounts: not expected"},
		"another number of replicas":            {change: []string{`replicas: 1`, `replicas: 2`}, says: "spec.replicas: expected 1, is 2"},
		"an object of another name":             {change: []string{`name: m,`, `name: n,`}, says: "Deployment/m: missing"},
		"a text where a number was, in a field": {change: []string{`replicas: 1`, `replicas: "1"`}, says: "spec.replicas"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(Compare(outcome(t), outcome(t, c.change...), Difference{}, "some-ns"), "\n")
			if c.says == "" {
				require.Empty(t, problems)
				return
			}
			require.Contains(t, problems, c.says)
		})
	}
}

func TestIntendedDifferences(t *testing.T) {
	once := func(path string, value any) []place {
		return []place{{Object: "Deployment/m", Path: path, Value: value}}
	}
	cases := map[string]struct {
		diff   Difference
		change []string
		says   string
	}{
		"the right value is expected":              {diff: Difference{Set: once("spec.replicas", 2)}, says: "spec.replicas: expected 2, is 1"},
		"the right value passes":                   {diff: Difference{Set: once("spec.replicas", 2)}, change: []string{"replicas: 1", "replicas: 2"}},
		"a value that must not occur":              {diff: Difference{Forbid: once("spec.replicas", 1)}, says: "must not be 1"},
		"what is ignored may be anything":          {diff: Difference{Ignore: once("spec.template.spec.containers[c].args", nil)}, change: []string{"[x, y]", "[z]"}},
		"what must be absent":                      {diff: Difference{Unset: once("spec.replicas", nil)}, says: "must be absent"},
		"an object that must not exist":            {diff: Difference{Absent: []string{"Deployment/m"}}, says: "Deployment/m: not expected"},
		"an object that may exist":                 {diff: Difference{Absent: []string{"Deployment/m"}, Allow: []string{"Deployment/*"}}},
		"an object that must exist, with fields":   {diff: Difference{Require: []place{{Object: "Deployment/m", Fields: doc{"spec": doc{"replicas": 3}}}}}, says: "Deployment/m.spec.replicas: expected 3, is 1"},
		"an object that must exist and does not":   {diff: Difference{Require: []place{{Object: "Ingress/m"}}}, says: "Ingress/m: missing"},
		"an object that admission must refuse":     {diff: Difference{Refuse: &Rejection{Step: "input.yaml", Kind: "Deployment", Name: "m"}}, says: "admission must refuse input.yaml Deployment/m"},
		"the recorded value is accepted too":       {diff: Difference{Set: []place{{Object: "Deployment/m", Path: "spec.replicas", Value: 2, OrReference: true}}}},
		"neither the right value nor the recorded": {diff: Difference{Set: []place{{Object: "Deployment/m", Path: "spec.replicas", Value: 2, OrReference: true}}}, change: []string{"replicas: 1", "replicas: 3"}, says: "expected 2, is 3"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems := strings.Join(Compare(outcome(t), outcome(t, c.change...), c.diff, ""), "\n")
			if c.says == "" {
				require.Empty(t, problems)
				return
			}
			require.Contains(t, problems, c.says)
		})
	}
}

func TestRefusals(t *testing.T) {
	refused := Outcome{Rejected: []Rejection{{Step: "input.yaml", Kind: "InferenceService", Name: "m", Error: "spec.predictor is required"}}}
	require.Empty(t, Compare(refused, refused, Difference{}, ""))
	require.Len(t, Compare(refused, Outcome{}, Difference{}, ""), 1)
	require.Len(t, Compare(Outcome{}, refused, Difference{}, ""), 1)
	require.Empty(t, Compare(Outcome{}, refused, Difference{MayRefuse: &refused.Rejected[0]}, ""))
	panicked := Outcome{Rejected: []Rejection{{Step: "input.yaml", Kind: "InferenceService", Name: "m", Error: "panic: nil"}}}
	require.Contains(t, strings.Join(Compare(refused, panicked, Difference{}, ""), ""), "needs a clear message")
}
