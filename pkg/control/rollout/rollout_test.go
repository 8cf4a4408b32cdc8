// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func analysis(t *testing.T, text string) *servingv1beta1.CanaryAnalysis {
	t.Helper()
	s := &servingv1beta1.InferenceService{}
	s.Annotations = map[string]string{serving.AnnotationCanaryAnalysis: text}
	a, faults := s.CanaryAnalysis()
	require.Empty(t, faults)
	return a
}

// story tells one decision after the other, each from the state before.
type story struct {
	t    *testing.T
	in   rollout.Input
	last rollout.Decision
}

func tell(t *testing.T, text string, percent int32) *story {
	t.Helper()
	return &story{t: t, in: rollout.Input{
		Analysis: analysis(t, text), Measurable: true, Spec: "one", Percent: percent, Ready: true, Now: time.Unix(10_000, 0),
	}}
}

// after lets time pass, and decides with a look at the readings, if there are any.
func (s *story) after(d time.Duration, readings ...rollout.Reading) *rollout.State {
	s.t.Helper()
	s.in.Now = s.in.Now.Add(d)
	s.in.Look = nil
	if len(readings) > 0 {
		s.in.Look = &rollout.Look{Taken: s.in.Now, Readings: readings}
	}
	before := s.in.Before.DeepCopy()
	s.last = rollout.Decide(s.in)
	require.Equal(s.t, before, s.in.Before, "a decision changes nothing that it is given")
	again := s.in
	again.Before, again.Look = s.last.State, nil
	require.Equal(s.t, s.last.State, rollout.Decide(again).State, "without a new look nothing changes")
	s.in.Before = s.last.State
	return s.last.State
}

func (s *story) is(verdict servingv1beta1.CanaryVerdict, percent int32) {
	s.t.Helper()
	require.Equal(s.t, verdict, s.last.State.Verdict)
	require.Equal(s.t, percent, s.last.Percent)
	require.Equal(s.t, percent, s.last.State.AllowedPercent)
}

func rate(v float64) rollout.Reading { return rollout.Reading{Name: rollout.SuccessRate, Value: v} }

func missing(why string) rollout.Reading {
	return rollout.Reading{Name: rollout.SuccessRate, Missing: why, Detail: "nothing to measure"}
}

func TestWithoutAnAnalysisACanaryHasWhatItAsksFor(t *testing.T) {
	t.Parallel()
	require.Equal(t, rollout.Decision{Percent: 20}, rollout.Decide(rollout.Input{Percent: 20, Spec: "one", Ready: true}))
}

func TestACanaryWarmsUpIsJudgedAndAdvances(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 2m, steps: [5, 10, 50]}", 20)
	s.in.Ready = false
	require.Equal(t, "the canary is not ready yet", s.after(0).Message)
	s.is(servingv1beta1.CanaryWaiting, 5)
	require.False(t, s.last.Measure)
	require.Zero(t, s.last.After)

	s.in.Ready = true
	s.after(time.Minute)
	s.is(servingv1beta1.CanaryWarmingUp, 5)
	require.Equal(t, 2*time.Minute, s.last.After)
	since := s.last.State.Since
	s.after(time.Minute, rate(0))
	s.is(servingv1beta1.CanaryWarmingUp, 5)
	require.Equal(t, time.Minute, s.last.After)
	require.False(t, s.last.Measure, "nothing is measured that would not be judged")
	s.after(time.Minute)
	s.is(servingv1beta1.CanaryWarmingUp, 5)
	require.True(t, s.last.Measure)
	require.Equal(t, since, s.last.State.Since)

	require.Contains(t, s.after(time.Second, rate(99)).Message, "at step 1 of 2")
	s.is(servingv1beta1.CanaryPassing, 10)
	require.NotContains(t, s.after(time.Minute, rate(100)).Message, "step", "it has all that it asks for: a step above that is none")
	s.is(servingv1beta1.CanaryPassing, 20)
	written := s.last.State
	for _, value := range []float64{99.1, 99.2, 99.3} {
		require.Equal(t, written, s.after(time.Minute, rate(value)), "numbers alone are no news")
	}
}

func TestFailuresInARowEndACanary(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 0s, failureLimit: 2, steps: [5]}", 20)
	s.after(0)
	s.after(time.Minute, rate(100))
	s.is(servingv1beta1.CanaryPassing, 20)
	require.Equal(t, "failed look 1 of 2 in a row: success-rate is 98.5%, wanted at least 99%", s.after(time.Minute, rate(98.5)).Message)
	s.is(servingv1beta1.CanaryFailing, 20)
	s.after(time.Minute, rate(99))
	s.is(servingv1beta1.CanaryPassing, 20)
	require.Zero(t, s.last.State.Failures, "in a row")
	s.after(time.Minute, rate(0))
	s.after(time.Minute, missing(rollout.ReasonNoData))
	s.is(servingv1beta1.CanaryInconclusive, 20)
	require.EqualValues(t, 1, s.last.State.Failures, "no answer is no excuse")
	s.after(time.Minute, rate(0))
	s.is(servingv1beta1.CanaryRolledBack, 0)
	require.Contains(t, s.last.State.Message, "rolled back after 2 failed looks in a row: success-rate is 0%, wanted at least 99%; change its entry in spec.canary")
	require.Equal(t, []servingv1beta1.CanaryMeasurement{{Name: "success-rate", Value: "0", Wanted: "at least 99%"}}, s.last.State.Measurements)
	require.False(t, s.last.Measure)

	end := s.last.State
	s.after(time.Hour, rate(100))
	require.Equal(t, end, s.last.State, "whatever is measured now")
	s.in.Analysis = analysis(t, "{successRate: {min: 0}, failureLimit: 100}")
	s.in.Ready = false
	s.after(time.Hour)
	require.Equal(t, end, s.last.State, "whatever the analysis is now")
	s.in.Analysis = nil
	s.after(time.Hour)
	require.Equal(t, end, s.last.State, "even without one")

	s.in.Spec, s.in.Analysis, s.in.Ready = "two", analysis(t, "{warmUp: 0s, steps: [5]}"), true
	s.after(time.Hour)
	s.is(servingv1beta1.CanaryWarmingUp, 5)
	require.Equal(t, "two", s.last.State.ObservedSpec)
	require.Zero(t, s.last.State.Failures)
}

func TestWithoutAnAnswerNothingIsDecided(t *testing.T) {
	t.Parallel()
	for _, why := range []string{rollout.ReasonNoAnswer, rollout.ReasonNoData} {
		s := tell(t, "{warmUp: 0s, failureLimit: 1, steps: [5]}", 20)
		s.after(0)
		first := s.after(time.Minute, missing(why))
		s.is(servingv1beta1.CanaryInconclusive, 5)
		require.Equal(t, why, first.Reason)
		require.Contains(t, first.Message, "success-rate: nothing to measure")
		for range 50 {
			require.Equal(t, first, s.after(time.Hour, missing(why)))
		}
		require.True(t, s.last.Measure)
	}
	s := tell(t, "{warmUp: 0s, failureLimit: 1}", 20)
	s.in.Measurable = false
	s.after(0)
	s.is(servingv1beta1.CanaryInconclusive, 20)
	require.Equal(t, rollout.ReasonNoPrometheus, s.last.State.Reason)
	require.Contains(t, s.last.State.Message, "canaryAnalysis.prometheusAddress")
	require.False(t, s.last.Measure)
	s.in.Measurable = true
	s.after(time.Minute, rate(100))
	s.is(servingv1beta1.CanaryPassing, 20)
}

func TestWhatCannotBeIsNoVerdict(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reading rollout.Reading
		says    string
	}{
		"more than all requests":     {rate(250), "success-rate: 250 is not possible"},
		"less than none":             {rate(-1), "success-rate: -1 is not possible"},
		"a rate by nothing":          {rate(math.Inf(1)), "success-rate: +Inf is not possible"},
		"a rate below all numbers":   {rate(math.Inf(-1)), "success-rate: -Inf is not possible"},
		"an answer before the call":  {rollout.Reading{Name: rollout.Latency, Value: -0.1}, "latency: -0.1 is not possible"},
		"an answer before all time":  {rollout.Reading{Name: rollout.Latency, Value: math.Inf(-1)}, "latency: -Inf is not possible"},
		"an answer that never comes": {rollout.Reading{Name: rollout.Latency, Value: math.Inf(1)}, "latency: +Inf is not possible"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tell(t, "{warmUp: 0s, failureLimit: 1, steps: [5], successRate: {}, latency: {max: 300ms}}", 20)
			s.after(0)
			right := rollout.Reading{Name: rollout.Latency, Value: 0.2}
			if c.reading.Name == rollout.Latency {
				right = rate(100)
			}
			s.after(time.Minute, c.reading, right)
			s.is(servingv1beta1.CanaryInconclusive, 5)
			require.Equal(t, rollout.ReasonNoAnswer, s.last.State.Reason)
			require.Contains(t, s.last.State.Message, c.says)
		})
	}
	s := tell(t, "{warmUp: 0s, successRate: {}}", 20)
	s.after(0)
	s.after(time.Minute, rate(100.0000001))
	s.is(servingv1beta1.CanaryPassing, 20)
}

func TestAFailureCountsWhateverElseIsMissing(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 0s, failureLimit: 1, successRate: {}, latency: {max: 300ms}, queries: [{name: drift, query: x, min: -1, max: 1}]}", 20)
	s.after(0)
	s.after(time.Minute, missing(rollout.ReasonNoData), rollout.Reading{Name: rollout.Latency, Value: 0.2})
	s.is(servingv1beta1.CanaryInconclusive, 20)
	require.Equal(t, rollout.ReasonNoAnswer, s.last.State.Reason, "the drift was not even asked for")
	s.after(time.Minute, missing(rollout.ReasonNoData), rollout.Reading{Name: rollout.Latency, Value: 0.45}, rollout.Reading{Name: "drift", Value: math.Inf(1)})
	s.is(servingv1beta1.CanaryRolledBack, 0)
	require.Equal(t, []servingv1beta1.CanaryMeasurement{
		{Name: "success-rate", Value: "nothing to measure", Wanted: "at least 99%"},
		{Name: "latency", Value: "0.45", Wanted: "at most 300ms"},
		{Name: "drift", Value: "+Inf", Wanted: "-1 to 1"},
	}, s.last.State.Measurements)
	require.Contains(t, s.last.State.Message, "latency is 450ms, wanted at most 300ms; drift is +Inf, wanted -1 to 1")
}

func TestACanaryThatIsNotReadyNowKeepsWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 0s, failureLimit: 3}", 20)
	s.after(0)
	s.after(time.Minute, rate(0))
	before := s.last.State
	s.in.Ready = false
	require.Equal(t, before, s.after(time.Minute, rate(0)))
	require.False(t, s.last.Measure)
	s.in.Ready = true
	s.after(time.Minute, rate(0))
	require.EqualValues(t, 2, s.last.State.Failures)
}

func TestCopiesOfRequestsComeWithoutSteps(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 0s, failureLimit: 1, steps: [5, 10]}", 100)
	s.in.Shadow = true
	s.after(0)
	s.is(servingv1beta1.CanaryWarmingUp, 100)
	s.after(time.Minute, rate(0))
	s.is(servingv1beta1.CanaryRolledBack, 0)
}

func TestAClockThatJumpsBackHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 1m}", 20)
	s.after(0)
	s.after(-24 * time.Hour)
	require.True(t, s.last.Measure, "a warm-up that would last longer than it should is over")
}

func TestStepsThatAreTakenAwayLeadToTheNextShare(t *testing.T) {
	t.Parallel()
	s := tell(t, "{warmUp: 0s, steps: [1, 2, 3]}", 20)
	s.after(0)
	s.after(time.Minute, rate(100))
	s.after(time.Minute, rate(100))
	s.is(servingv1beta1.CanaryPassing, 3)
	s.in.Analysis = analysis(t, "{warmUp: 0s, steps: [7]}")
	s.after(time.Minute)
	s.is(servingv1beta1.CanaryPassing, 20)
	s.in.Analysis = analysis(t, "{warmUp: 0s, steps: [1, 5, 9, 10]}")
	s.after(time.Minute)
	s.is(servingv1beta1.CanaryPassing, 5)
}

func TestTheHashIsOfTheEntryAlone(t *testing.T) {
	t.Parallel()
	c := servingv1beta1.CanarySpec{TrafficPercent: 20}
	c.Predictor.Name = "v2"
	one := rollout.Hash(&c)
	require.Equal(t, one, rollout.Hash(c.DeepCopy()))
	c.TrafficPercent = 10
	require.NotEqual(t, one, rollout.Hash(&c))
}

func TestQueriesAreAboutTheCanary(t *testing.T) {
	t.Parallel()
	a := analysis(t, `{interval: 30s, successRate: {}, latency: {quantile: 0.999, max: 1s}, queries: [{name: own, query: 'x{ns="$(namespace)",s="$(service)",w="$(canary)"}[$(window)] $(', max: 1}]}`)
	st := settings.Defaults().CanaryAnalysis
	st.SuccessRateQuery = `ok{pod=~"$(canary)-.+"}[$(window)]`
	got := rollout.Queries(a, rollout.Place{Namespace: "ns", Service: "m", Workload: "m-v2-predictor"}, &st)
	require.Equal(t, []rollout.Query{
		{Name: "success-rate", Text: `ok{pod=~"m-v2-predictor-.+"}[60s]`},
		{Name: "latency", Text: `histogram_quantile(0.999, sum by (le) (rate(request_predict_seconds_bucket{namespace="ns",pod=~"m-v2-predictor-[a-z0-9]+-[a-z0-9]+"}[60s])))`},
		{Name: "own", Text: `x{ns="ns",s="m",w="m-v2-predictor"}[60s] $(`},
	}, got)
	st.DisableOwnQueries = true
	require.Len(t, rollout.Queries(a, rollout.Place{}, &st), 2, "the operator has switched them off")
	a.Interval.Duration = 5 * time.Minute
	require.Contains(t, rollout.Queries(a, rollout.Place{}, &st)[0].Text, "[300s]")
}

func TestWhatIsKnownOfACanaryIsKnownOfItsPresentEntry(t *testing.T) {
	t.Parallel()
	s := &servingv1beta1.InferenceService{}
	for _, name := range []string{"v2", "v3", "v4"} {
		c := servingv1beta1.CanarySpec{TrafficPercent: 20}
		c.Predictor.Name = name
		s.Spec.Canary = append(s.Spec.Canary, c)
	}
	s.Status.CanaryStatuses = []servingv1beta1.CanaryStatus{
		{Name: "v2", Analysis: &rollout.State{Verdict: servingv1beta1.CanaryRolledBack, ObservedSpec: rollout.Hash(&s.Spec.Canary[0])}},
		{Name: "v3", Analysis: &rollout.State{Verdict: servingv1beta1.CanaryRolledBack, ObservedSpec: "another"}},
		{Name: "v4"},
	}
	require.Equal(t, map[string]int32{"v2": 0}, rollout.Known(s))
}
