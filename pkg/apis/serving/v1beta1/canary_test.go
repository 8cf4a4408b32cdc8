// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// tracks is a service with canary v2 of 20 percent and canary v3 of none.
func tracks(t *testing.T, annotation, value string) *v1beta1.InferenceService {
	t.Helper()
	s := service(t, "{"+standard+"spec: {predictor: {"+model+"}, canary: [{trafficPercent: 20, predictor: {name: v2, "+model+"}}, {trafficPercent: 0, predictor: {name: v3, "+model+"}}]}}")
	s.Name = "m"
	if annotation != "" {
		s.Annotations[annotation] = value
	}
	return s
}

func TestAnAnalysisHasDefaults(t *testing.T) {
	t.Parallel()
	a, faults := tracks(t, "", "").CanaryAnalysis()
	require.Empty(t, faults)
	require.Nil(t, a, "none is asked for")
	for _, text := range []string{"", "{}", "interval: 1m", `{"failureLimit": 3}`} {
		a, faults = tracks(t, serving.AnnotationCanaryAnalysis, text).CanaryAnalysis()
		require.Empty(t, faults, text)
		require.Equal(t, time.Minute, a.Interval.Duration)
		require.Equal(t, time.Minute, a.WarmUp.Duration)
		require.EqualValues(t, 3, *a.FailureLimit)
		require.InDelta(t, 99, *a.SuccessRate.Min, 0, "an analysis without a measurement judges by the answers")
	}
	a, faults = tracks(t, serving.AnnotationCanaryAnalysis, "{warmUp: 0s, latency: {max: 300ms}}").CanaryAnalysis()
	require.Empty(t, faults)
	require.Zero(t, a.WarmUp.Duration, "no warm-up is a choice")
	require.Nil(t, a.SuccessRate)
	require.InDelta(t, 0.95, *a.Latency.Quantile, 0)
}

func TestAnnotationsOfCanariesAreRefusedWithPathValueRuleAndFix(t *testing.T) {
	t.Parallel()
	const analysis, shadow = serving.AnnotationCanaryAnalysis, serving.AnnotationCanaryShadow
	query := func(more string) string { return "queries: [{name: q, query: up, " + more + "}]" }
	tests := map[string]struct {
		key, value, below string
		says              []string
	}{
		"no YAML":                      {analysis, "interval: [", "", []string{"is no analysis"}},
		"a list":                       {analysis, "[]", "", []string{"is no analysis: it must be an object with fields, not array; it may have interval"}},
		"a second document":            {analysis, "interval: 5s\n---\nbogus: 1", "", []string{"must be one document"}},
		"a second list":                {analysis, "interval: 5s\n---\n[1]", "", []string{"must be one document"}},
		"text after the end":           {analysis, "interval: 5s\n...\nbogus: 1", "", []string{"must be one document"}},
		"two objects of JSON":          {analysis, `{"interval": "5s"} {"bogus": 1}`, "", []string{"must be one document"}},
		"a text for a number":          {analysis, "queries: [{name: a, query: up, min: 1e999}]", "", []string{"queries.min must be a number, not string"}},
		"a number that is too big":     {analysis, "failureLimit: 99999999999999999999", "", []string{"failureLimit must be a whole number, not number 1"}},
		"an object for a list":         {analysis, "queries: {}", "", []string{"queries must be a list, not object"}},
		"a long text":                  {analysis, "interval: " + strings.Repeat("x", 10000), "", []string{strings.Repeat("x", 100) + "…\""}},
		"an unknown field":             {analysis, "intervall: 1m", "", []string{`unknown field "intervall"`}},
		"a field twice":                {analysis, "interval: 1m\ninterval: 2m", "", []string{"interval"}},
		"an address of one's own":      {analysis, "prometheusAddress: http://10.0.0.1", "", []string{`unknown field "prometheusAddress"`}},
		"a number for a duration":      {analysis, "interval: 60", "", []string{"is no analysis: interval must be a text, not number"}},
		"an interval too short":        {analysis, "interval: 1s", ".interval", []string{"1s", "between 5s and 1h", "write it as"}},
		"a warm-up below 0":            {analysis, "warmUp: -1s", ".warmUp", []string{"-1s", "between 0s"}},
		"a failure limit of 0":         {analysis, "failureLimit: 0", ".failureLimit", []string{"0", "between 1 and 100"}},
		"a success rate over 100":      {analysis, "successRate: {min: 101}", ".successRate.min", []string{"101", "between 0 and 100"}},
		"a quantile of 1":              {analysis, "latency: {quantile: 1, max: 1s}", ".latency.quantile", []string{"between 0 and 1"}},
		"a latency without a maximum":  {analysis, "latency: {}", ".latency.max", []string{"greater than 0", "500ms"}},
		"steps out of order":           {analysis, "steps: [5, 5]", ".steps[1]", []string{"5", "greater than the step before", "sort"}},
		"a step over 100":              {analysis, "steps: [101]", ".steps[0]", []string{"101", "between 1 and 100"}},
		"too many steps":               {analysis, "steps: [" + strings.Repeat("1, ", 20) + "1]", ".steps", []string{"at most 20"}},
		"a query without a name":       {analysis, "queries: [{query: up, min: 1}]", ".queries[0].name", []string{"set one"}},
		"a query with a bad name":      {analysis, "queries: [{name: A B, query: up, min: 1}]", ".queries[0].name", []string{"A B", "lower-case"}},
		"two queries of one name":      {analysis, "queries: [{name: q, query: up, min: 1}, {name: q, query: up, min: 1}]", ".queries[1].name", []string{"Duplicate"}},
		"a query that is built in":     {analysis, "queries: [{name: latency, query: up, min: 1}]", ".queries[0].name", []string{"latency", "choose another"}},
		"a query without a query":      {analysis, "queries: [{name: q, min: 1}]", ".queries[0].query", []string{"PromQL"}},
		"a query without a bound":      {analysis, "queries: [{name: q, query: up}]", ".queries[0].min", []string{"set min, max or both"}},
		"bounds that exclude each one": {analysis, query("min: 2, max: 1"), ".queries[0].min", []string{"2", "max, which is 1"}},
		"an unknown placeholder":       {analysis, "queries: [{name: q, query: 'up{x=\"$(pod)\"}', min: 1}]", ".queries[0].query", []string{"$(pod)", "$(namespace)"}},
		"a query too long":             {analysis, "queries: [{name: q, query: " + strings.Repeat("u", 2001) + ", min: 1}]", ".queries[0].query", []string{"2000"}},
		"a text too long":              {analysis, strings.Repeat("#", 17<<10), "", []string{"Too long"}},
		"a shadow without a share":     {shadow, "v3", "", []string{"v3", "v2=100"}},
		"a shadow with a text":         {shadow, "v3=all", "", []string{"v3=all", "percentage"}},
		"a shadow of 0":                {shadow, "v3=0", "", []string{"v3=0", "between 1 and 100"}},
		"a shadow of an unknown name":  {shadow, "v4=1", "", []string{"v4", `"v2", "v3"`}},
		"a shadow twice":               {shadow, "v3=1,v3=2", "", []string{"Duplicate", "v3"}},
		"a shadow that has a share":    {shadow, "v2=100", "", []string{"v2=100", "not both", "spec.canary[0].trafficPercent to 0"}},
		"a shadow of nothing":          {shadow, "", "", []string{"v2=100"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, _ := tracks(t, test.key, test.value).Validate(v1beta1.Rules{Mode: serving.Standard})
			require.NotEmpty(t, faults)
			for _, says := range test.says {
				requireFault(t, faults, "metadata.annotations["+test.key+"]"+test.below, says)
			}
		})
	}
	faults, _ := tracks(t, analysis, query("max: 1")).Validate(v1beta1.Rules{Mode: serving.Standard, NoOwnQueries: true})
	requireFault(t, faults, "metadata.annotations["+analysis+"].queries", "disableOwnQueries")
	for key, value := range map[string]string{
		analysis: "{interval: 30s, warmUp: 2m, failureLimit: 5, successRate: {min: 99.5}, latency: {quantile: 0.99, max: 500ms}, steps: [1, 5, 100], " + query("min: 0, max: 1") + "}",
		shadow:   " v3 = 100 ",
	} {
		faults, warnings := tracks(t, key, value).Validate(v1beta1.Rules{Mode: serving.Standard})
		require.Empty(t, faults, key)
		require.Empty(t, warnings, key)
	}
}

func TestWhatCanariesCannotHaveIsSaid(t *testing.T) {
	t.Parallel()
	warned := func(s *v1beta1.InferenceService, rules v1beta1.Rules) string {
		faults, warnings := s.Validate(rules)
		require.Empty(t, faults)
		return fmt.Sprint(warnings)
	}
	rules := v1beta1.Rules{Mode: serving.Standard}
	require.Equal(t, "[]", warned(tracks(t, "", ""), rules))

	s := tracks(t, "", "")
	s.Labels = map[string]string{serving.LabelVisibility: serving.VisibilityClusterLocal}
	require.Contains(t, warned(s, rules), "spec.canary: canary predictors run but get no requests: the service is cluster-local")

	split := v1beta1.Rules{Mode: serving.Standard, NoSplit: "there is no gateway"}
	require.Contains(t, warned(tracks(t, "", ""), split), "get no requests: there is no gateway")
	s = tracks(t, "", "")
	s.Spec.Canary = s.Spec.Canary[1:]
	require.Equal(t, "[]", warned(s, split), "a canary that asks for nothing lacks nothing")
	s.Annotations[serving.AnnotationCanaryShadow] = "v3=5"
	require.Contains(t, warned(s, split), "there is no gateway")

	blind := v1beta1.Rules{Mode: serving.Standard, NoMeasurements: true}
	require.Equal(t, "[]", warned(tracks(t, "", ""), blind))
	require.Contains(t, warned(tracks(t, serving.AnnotationCanaryAnalysis, "{}"), blind), "canaryAnalysis.prometheusAddress")
	s.Spec.Canary = nil
	delete(s.Annotations, serving.AnnotationCanaryShadow)
	s.Annotations[serving.AnnotationCanaryAnalysis] = "{}"
	require.Contains(t, warned(s, rules), "add spec.canary")
}

func TestACanaryWithALongNameIsTheCanarysFault(t *testing.T) {
	t.Parallel()
	s := tracks(t, "", "")
	s.Spec.Canary[0].Predictor.Name = "v" + strings.Repeat("x", 50)
	faults, _ := s.Validate(v1beta1.Rules{Mode: serving.Standard})
	requireFault(t, faults, "spec.canary[0].predictor.name", "63")
	for _, fault := range faults {
		require.Contains(t, fault.Field, "spec.canary[0]")
	}
}

// FuzzCanaryAnnotations: no text panics, and what is accepted stays within its bounds.
func FuzzCanaryAnnotations(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "interval: 30s", "steps: [1, 5, 100]", "queries: [{name: q, query: 'sum(x{n=\"$(namespace)\"})', max: 1}]", "v2=100", "v2=1,v3=2", "latency: {max: 1s}",
		"successRate: {min: .nan}", "{interval: 9e99}", "&a [*a]", "failureLimit: -1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := &v1beta1.InferenceService{}
		s.Spec.Canary = []v1beta1.CanarySpec{{}, {}}
		s.Spec.Canary[0].Predictor.Name, s.Spec.Canary[1].Predictor.Name = "v2", "v3"
		s.Annotations = map[string]string{serving.AnnotationCanaryAnalysis: text, serving.AnnotationCanaryShadow: text}
		if a, faults := s.CanaryAnalysis(); len(faults) == 0 {
			require.GreaterOrEqual(t, a.Interval.Duration, 5*time.Second)
			require.Positive(t, *a.FailureLimit)
			require.True(t, a.SuccessRate != nil || a.Latency != nil || len(a.Queries) > 0)
			require.LessOrEqual(t, len(a.Steps), 20)
		}
		shadow, faults := s.CanaryShadow()
		require.NotEqual(t, len(shadow) == 0, len(faults) == 0)
	})
}

func TestAnAnalysisMayBeWrittenInEveryWayThatYAMLHas(t *testing.T) {
	t.Parallel()
	for sentence, text := range map[string]string{
		"nothing":                "",
		"null":                   "null",
		"a mark at the start":    "---\ninterval: 5s\n",
		"a block of text":        "queries:\n- name: a\n  min: 1\n  query: |\n    sum(\n      up{a=\"b\"}\n    )\n",
		"a folded block":         "queries:\n  - name: a\n    min: 1\n    query: >-\n      sum(\n\n      up)\n  # the end\n",
		"a text of many lines":   "queries:\n- {name: a, min: 1, query: 'sum(\n  up)'}",
		"JSON of many lines":     "{\n  \"interval\": \"5s\",\n  \"queries\": [\n    {\"name\": \"a\", \"min\": 1,\n\"query\": \"up\"}\n  ]\n}\n",
		"comments":               "# one\ninterval: 5s # two\n\n# three\n",
		"lines of other systems": "interval: 5s\r\nwarmUp: 0s\r\n",
		"indented as a whole":    "  interval: 5s\n  warmUp: 0s\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := &v1beta1.InferenceService{}
			s.Annotations = map[string]string{serving.AnnotationCanaryAnalysis: text}
			_, faults := s.CanaryAnalysis()
			require.Empty(t, faults)
		})
	}
}
