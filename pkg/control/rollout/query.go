// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math"
	"strconv"
	"strings"
	"time"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Names of the measurements that need no query.
const (
	SuccessRate = servingv1beta1.CanarySuccessRate
	Latency     = servingv1beta1.CanaryLatency
)

// Query is one measurement to take.
type Query struct{ Name, Text string }

// Place is what queries are about. All of it are names that Kubernetes accepts, so that nothing in them ends a string of PromQL.
type Place struct{ Namespace, Service, Workload string }

// Queries are the measurements of an analysis, ready to be sent.
func Queries(a *servingv1beta1.CanaryAnalysis, p Place, st *settings.CanaryAnalysis) []Query {
	words := []string{"$(namespace)", p.Namespace, "$(service)", p.Service, "$(canary)", p.Workload, "$(window)", promDuration(a.Interval.Duration)}
	var list []Query
	if a.SuccessRate != nil {
		list = append(list, Query{SuccessRate, st.SuccessRateQuery})
	}
	if a.Latency != nil {
		list = append(list, Query{Latency, st.LatencyQuery})
		words = append(words, "$(quantile)", strconv.FormatFloat(*a.Latency.Quantile, 'f', -1, 64))
	}
	for _, q := range a.Queries {
		if !st.DisableOwnQueries {
			list = append(list, Query{q.Name, q.Query})
		}
	}
	fill := strings.NewReplacer(words...)
	for i := range list {
		list[i].Text = fill.Replace(list[i].Text)
	}
	return list
}

// leastWindow is the shortest span of a rate: with Prometheus' usual pauses between two scrapes a shorter one sees nothing.
const leastWindow = time.Minute

// promDuration writes a span as PromQL does, in whole seconds.
func promDuration(d time.Duration) string {
	return strconv.FormatInt(int64(max(d, leastWindow)/time.Second), 10) + "s"
}

// bound is what a measurement may be.
type bound struct {
	name     string
	min, max *float64
	// seconds and percent say in which unit people read it.
	seconds, percent bool
}

func bounds(a *servingv1beta1.CanaryAnalysis) []bound {
	var list []bound
	if a.SuccessRate != nil {
		list = append(list, bound{name: SuccessRate, min: a.SuccessRate.Min, percent: true})
	}
	if a.Latency != nil {
		list = append(list, bound{name: Latency, max: new(a.Latency.Max.Seconds()), seconds: true})
	}
	for _, q := range a.Queries {
		list = append(list, bound{name: q.Name, min: q.Min, max: q.Max})
	}
	return list
}

// mostPercent leaves room for what sums of rates are off by.
const mostPercent = 100.01

// absurd says that a value cannot be what is measured, such as a rate of 250 percent: a query that measures something else is no judge of a canary.
func (b bound) absurd(v float64) bool {
	return b.percent && (v < 0 || v > mostPercent) || b.seconds && (v < 0 || math.IsInf(v, 0))
}

func (b bound) holds(v float64) bool {
	return (b.min == nil || v >= *b.min) && (b.max == nil || v <= *b.max)
}

func (b bound) String() string {
	switch {
	case b.min != nil && b.max != nil:
		return b.text(*b.min) + " to " + b.text(*b.max)
	case b.min != nil:
		return "at least " + b.text(*b.min)
	default:
		return "at most " + b.text(*b.max)
	}
}

func (b bound) text(v float64) string {
	switch {
	case b.seconds && !math.IsInf(v, 0):
		return time.Duration(v * float64(time.Second)).Round(time.Millisecond / 10).String()
	case b.percent:
		return number(v) + "%"
	default:
		return number(v)
	}
}

// number is short for people: six digits tell all that is to be told.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if size := math.Abs(v); size >= 1e-4 && size < 1e9 {
		if short, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(short, 'f', -1, 64)
		}
	}
	return text
}
