// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides how much a canary may have: from what was decided before, what was measured and what time it is. It asks nobody.
//
// Called by: control/reconcile/inferenceservice, which keeps each State in the status of the service.
// Next: control/resolve, which gives a canary no more than its share.
package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// Reasons of verdicts.
const (
	// ReasonOutOfBounds says that a measurement is not as it should be.
	ReasonOutOfBounds = "OutOfBounds"
	// ReasonNoPrometheus says that the operator has named no server to measure by.
	ReasonNoPrometheus = "NoPrometheus"
	// ReasonNoAnswer says that the server did not answer, or not with a number.
	ReasonNoAnswer = "NoAnswer"
	// ReasonNoData says that nothing was there to be measured; a canary without requests has no share of failures.
	ReasonNoData = "NoData"
)

// State is what is remembered of a canary; it is nil as long as nothing is.
type State = servingv1beta1.CanaryAnalysisStatus

// Reading is one measurement of a look.
type Reading struct {
	Name  string
	Value float64
	// Missing is why there is no value: ReasonNoAnswer or ReasonNoData; empty where there is one.
	Missing string
	// Detail says more about what is missing.
	Detail string
}

// Look is what was measured at one time. The readings are in the order of Queries.
type Look struct {
	Taken    time.Time
	Readings []Reading
}

// Input is everything that a decision is made from.
type Input struct {
	// Analysis that the service asks for; nil for none.
	Analysis *servingv1beta1.CanaryAnalysis
	// Measurable says that there is a server to measure by.
	Measurable bool
	// Before is what was decided last.
	Before *State
	// Spec is the hash of the canary's entry (Hash).
	Spec string
	// Percent is what the entry asks for: its share of the requests, or of copies of requests (Shadow).
	Percent int32
	Shadow  bool
	// Ready says that the canary can serve.
	Ready bool
	// Look is a new look at the measurements; nil where there is none.
	Look *Look
	Now  time.Time
}

// Decision is how things go on.
type Decision struct {
	// State to remember. It equals the one before where nothing has changed, whatever was measured.
	State *State
	// Percent that the canary may have once it is ready.
	Percent int32
	// Measure says that looks are wanted now.
	Measure bool
	// After is when time alone changes the decision; 0 for never.
	After time.Duration
}

// Hash tells one entry of spec.canary from another. What else the service says does not matter.
func Hash(c *servingv1beta1.CanarySpec) string {
	raw, err := json.Marshal(c)
	if err != nil {
		return "unreadable" // impossible: it was read from JSON
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Known are the bounds that the status of a service tells, for those who decide nothing themselves.
func Known(svc *servingv1beta1.InferenceService) map[string]int32 {
	bounds := map[string]int32{}
	for i := range svc.Spec.Canary {
		entry := &svc.Spec.Canary[i]
		for j := range svc.Status.CanaryStatuses {
			s := &svc.Status.CanaryStatuses[j]
			if s.Name == entry.Predictor.Name && s.Analysis != nil && s.Analysis.ObservedSpec == Hash(entry) {
				bounds[s.Name] = s.Analysis.AllowedPercent
			}
		}
	}
	return bounds
}

// Decide is the whole of it.
func Decide(in Input) Decision {
	before := in.Before
	if before != nil && before.ObservedSpec != in.Spec {
		before = nil // what is said of another entry does not count
	}
	if before != nil && before.Verdict == servingv1beta1.CanaryRolledBack {
		return Decision{State: before}
	}
	if in.Analysis == nil {
		return Decision{Percent: in.Percent}
	}
	d := &decider{Input: in, shares: shares(in)}
	if before == nil {
		before = &State{Verdict: servingv1beta1.CanaryWaiting, ObservedSpec: in.Spec, Since: at(in.Now), AllowedPercent: d.shares[0], Message: "the canary is not ready yet"}
	}
	d.state = before.DeepCopy()
	d.state.Step = max(min(d.state.Step, int32(len(d.shares)-1)), 0)
	d.state.AllowedPercent = d.shares[d.state.Step]
	decision := d.decide()
	decision.State = d.state
	decision.Percent = d.state.AllowedPercent
	return decision
}

// decider carries one decision.
type decider struct {
	Input

	shares []int32
	state  *State
}

// shares are the percentages that a canary gets one after the other: the steps below what it asks for, then that.
func shares(in Input) []int32 {
	var list []int32
	if !in.Shadow {
		for _, step := range in.Analysis.Steps {
			if step < in.Percent {
				list = append(list, step)
			}
		}
	}
	return append(list, in.Percent)
}

func at(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

func (d *decider) decide() Decision {
	if !d.Ready {
		return Decision{} // it has no share now; what is known of it stays
	}
	if d.state.Verdict == servingv1beta1.CanaryWaiting {
		d.turn(servingv1beta1.CanaryWarmingUp, "", "judged "+d.Analysis.WarmUp.Duration.String()+" after the canary became ready", nil)
	}
	if d.state.Verdict == servingv1beta1.CanaryWarmingUp {
		if left := d.state.Since.Add(d.Analysis.WarmUp.Duration).Sub(d.Now); left > 0 && left <= d.Analysis.WarmUp.Duration {
			return Decision{After: left}
		}
	}
	if !d.Measurable {
		d.turn(servingv1beta1.CanaryInconclusive, ReasonNoPrometheus,
			"nothing is measured: canaryAnalysis.prometheusAddress of inferenceservice-config is not set; the canary keeps its share", nil)
		return Decision{}
	}
	if d.Look != nil {
		d.judge()
	}
	return Decision{Measure: d.state.Verdict != servingv1beta1.CanaryRolledBack}
}

// turn changes the verdict. Numbers alone are no change.
func (d *decider) turn(verdict servingv1beta1.CanaryVerdict, reason, message string, readings []servingv1beta1.CanaryMeasurement) {
	s := d.state
	if s.Verdict == verdict && s.Reason == reason {
		return
	}
	s.Verdict, s.Reason, s.Message, s.Measurements, s.Since = verdict, reason, message, readings, at(d.Now)
}

// judge draws the conclusion of one look: a failure counts whatever else is missing, and what is missing neither advances nor ends a canary.
func (d *decider) judge() {
	bounds := bounds(d.Analysis)
	readings := make([]servingv1beta1.CanaryMeasurement, 0, len(bounds))
	var failed, missing []string
	missingWhy := ""
	for _, b := range bounds {
		r := d.Look.reading(b.name)
		if r.Missing == "" && b.absurd(r.Value) {
			r.Missing, r.Detail = ReasonNoAnswer, number(r.Value)+" is not possible: see what canaryAnalysis of inferenceservice-config asks for"
		}
		m := servingv1beta1.CanaryMeasurement{Name: b.name, Wanted: b.String()}
		switch {
		case r.Missing != "":
			m.Value = r.Detail
			missing = append(missing, b.name+": "+r.Detail)
			if missingWhy != ReasonNoAnswer {
				missingWhy = r.Missing
			}
		case !b.holds(r.Value):
			m.Value = number(r.Value)
			failed = append(failed, fmt.Sprintf("%s is %s, wanted %s", b.name, b.text(r.Value), b))
		default:
			m.Value, m.Passed = number(r.Value), true
		}
		readings = append(readings, m)
	}
	switch {
	case len(failed) > 0:
		d.fail(strings.Join(failed, "; "), readings)
	case len(missing) > 0:
		d.turn(servingv1beta1.CanaryInconclusive, missingWhy, "the canary keeps its share, for it cannot be judged: "+strings.Join(missing, "; "), readings)
	default:
		d.pass(readings)
	}
}

func (d *decider) fail(what string, readings []servingv1beta1.CanaryMeasurement) {
	s, limit := d.state, *d.Analysis.FailureLimit
	s.Failures++
	s.Verdict = "" // each failure is a change
	if s.Failures < limit {
		d.turn(servingv1beta1.CanaryFailing, ReasonOutOfBounds, fmt.Sprintf("failed look %d of %d in a row: %s", s.Failures, limit, what), readings)
		return
	}
	s.AllowedPercent = 0
	d.turn(servingv1beta1.CanaryRolledBack, ReasonOutOfBounds,
		fmt.Sprintf("rolled back after %d failed looks in a row: %s; change its entry in spec.canary to try again, or remove it", s.Failures, what), readings)
}

func (d *decider) pass(readings []servingv1beta1.CanaryMeasurement) {
	s := d.state
	s.Failures = 0
	message := "every measurement is within its bounds"
	if int(s.Step) < len(d.shares)-1 {
		s.Step++
		s.AllowedPercent = d.shares[s.Step]
		s.Verdict = "" // each step is a change
	}
	if int(s.Step) < len(d.shares)-1 {
		message += fmt.Sprintf("; at step %d of %d", s.Step, len(d.shares)-1)
	}
	d.turn(servingv1beta1.CanaryPassing, "", message, readings)
}

// reading finds a measurement; one that was not taken is missing.
func (l *Look) reading(name string) Reading {
	if i := slices.IndexFunc(l.Readings, func(r Reading) bool { return r.Name == name }); i >= 0 {
		return l.Readings[i]
	}
	return Reading{Name: name, Missing: ReasonNoAnswer, Detail: "it was not asked for; canaryAnalysis.disableOwnQueries of inferenceservice-config may be true"}
}
