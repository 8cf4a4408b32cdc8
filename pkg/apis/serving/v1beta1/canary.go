// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// CanaryAnalysis says by which measurements the canary predictors of a service are judged. It is the value of the annotation
// kserve-go.dev/canary-analysis, as YAML or JSON.
//
// +kubebuilder:object:generate=false
type CanaryAnalysis struct {
	// Interval between two looks at the measurements, which is also the span that rates are taken over ($(window)).
	Interval *metav1.Duration `json:"interval,omitempty"`
	// WarmUp is how long a canary that has become ready serves before it is judged.
	WarmUp *metav1.Duration `json:"warmUp,omitempty"`
	// FailureLimit is the number of failed looks in a row that ends a canary.
	FailureLimit *int32 `json:"failureLimit,omitempty"`
	// SuccessRate is the least share of requests that must be answered without a fault of the server.
	SuccessRate *SuccessRate `json:"successRate,omitempty"`
	// Latency is the most that a quantile of the times to answer may be.
	Latency *Latency `json:"latency,omitempty"`
	// Queries are measurements of the user's own.
	Queries []CanaryQuery `json:"queries,omitempty"`
	// Steps are the percentages that a canary gets before its trafficPercent, one more with each look that passes.
	Steps []int32 `json:"steps,omitempty"`
}

// SuccessRate is a bound in percent.
//
// +kubebuilder:object:generate=false
type SuccessRate struct {
	Min *float64 `json:"min,omitempty"`
}

// Latency is a bound for one quantile.
//
// +kubebuilder:object:generate=false
type Latency struct {
	Quantile *float64        `json:"quantile,omitempty"`
	Max      metav1.Duration `json:"max,omitzero"`
}

// CanaryQuery is a PromQL query that gives one number, and what that number may be.
//
// +kubebuilder:object:generate=false
type CanaryQuery struct {
	Name  string   `json:"name"`
	Query string   `json:"query"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
}

// What an analysis means where a field is absent, and what it may ask for.
const (
	DefaultCanaryInterval     = time.Minute
	DefaultCanaryWarmUp       = time.Minute
	DefaultCanaryFailureLimit = 3
	DefaultCanarySuccessRate  = 99
	DefaultCanaryQuantile     = 0.95

	minCanaryInterval  = 5 * time.Second
	maxCanaryInterval  = time.Hour
	maxCanaryWarmUp    = 24 * time.Hour
	maxCanaryLatency   = time.Hour
	maxFailureLimit    = 100
	maxCanaryQueries   = 10
	maxCanaryQuery     = 2000
	maxCanarySteps     = 20
	maxAnnotationValue = 16 << 10
)

// Names of the measurements that are not the user's own.
const (
	CanarySuccessRate = "success-rate"
	CanaryLatency     = "latency"
)

// CanaryPlaceholders are the words that a query may have between $( and ).
func CanaryPlaceholders() []string { return []string{"namespace", "service", "canary", "window"} }

var (
	placeholder = regexp.MustCompile(`\$\(([^()]*)\)`)
	queryName   = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// CanaryAnalysis reads the annotation; nil when it is not there. With faults the analysis is not to be used.
func (s *InferenceService) CanaryAnalysis() (*CanaryAnalysis, field.ErrorList) {
	text, ok := s.Annotations[serving.AnnotationCanaryAnalysis]
	if !ok {
		return nil, nil
	}
	at := annotation(serving.AnnotationCanaryAnalysis)
	if len(text) > maxAnnotationValue {
		return nil, field.ErrorList{field.TooLong(at, "", maxAnnotationValue)}
	}
	a := &CanaryAnalysis{}
	if err := yaml.UnmarshalStrict([]byte(text), a); err != nil {
		return nil, field.ErrorList{field.Invalid(at, shortly(text), "is no analysis: "+yamlProblem(err)+
			"; it may have interval, warmUp, failureLimit, successRate, latency, queries and steps")}
	}
	if !isOneDocument(text) {
		return nil, field.ErrorList{field.Invalid(at, shortly(text), "must be one document of YAML or JSON; remove what follows the first")}
	}
	a.setDefaults()
	if faults := a.validate(at); len(faults) > 0 {
		return nil, faults
	}
	return a, nil
}

// isOneDocument says that there is nothing after the first document of a text, which the YAML library does not look at. As the value of a field,
// indented, the text has no second document: what follows the first is then read with it, and gives another value or an error.
func isOneDocument(text string) bool {
	const field = "value"
	text = strings.TrimPrefix(text, "---\n")
	var first any
	var whole map[string]any
	indented := field + ":\n " + strings.ReplaceAll(text, "\n", "\n ")
	return yaml.Unmarshal([]byte(text), &first) == nil && yaml.Unmarshal([]byte(indented), &whole) == nil && reflect.DeepEqual(first, whole[field])
}

// yamlProblem is what the YAML library says, on one line and without its own names for things.
func yamlProblem(err error) string {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, noise := range []string{"error unmarshaling JSON: ", "while decoding JSON: ", "error converting YAML to JSON: ", "yaml: ", "json: "} {
		text = strings.ReplaceAll(text, noise, "")
	}
	found := wrongType.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	right := "an object with fields"
	switch kind := found[3]; {
	case strings.HasPrefix(kind, "int"):
		right = "a whole number"
	case strings.HasPrefix(kind, "float"):
		right = "a number"
	case kind == "string":
		right = "a text"
	case strings.HasPrefix(kind, "[]"):
		right = "a list"
	}
	what := "it"
	if found[2] != "" {
		what = found[2]
	}
	return fmt.Sprintf("%s must be %s, not %s", what, right, found[1])
}

// wrongType is how the JSON library says that a value has another type than its field, which it names by type and path.
var wrongType = regexp.MustCompile(`^cannot unmarshal (.+?) into Go (?:struct field [^. ]+\.(\S+)|value) of type (\S+)$`)

// shortly is the beginning of a value that a refusal repeats.
func shortly(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func (a *CanaryAnalysis) setDefaults() {
	if a.Interval == nil {
		a.Interval = &metav1.Duration{Duration: DefaultCanaryInterval}
	}
	if a.WarmUp == nil {
		a.WarmUp = &metav1.Duration{Duration: DefaultCanaryWarmUp}
	}
	if a.FailureLimit == nil {
		a.FailureLimit = new(int32(DefaultCanaryFailureLimit))
	}
	if a.SuccessRate == nil && a.Latency == nil && len(a.Queries) == 0 {
		a.SuccessRate = &SuccessRate{}
	}
	if a.SuccessRate != nil && a.SuccessRate.Min == nil {
		a.SuccessRate.Min = new(float64(DefaultCanarySuccessRate))
	}
	if a.Latency != nil && a.Latency.Quantile == nil {
		a.Latency.Quantile = new(float64(DefaultCanaryQuantile))
	}
}

func (a *CanaryAnalysis) validate(at *field.Path) field.ErrorList {
	var faults field.ErrorList
	within := func(name string, d, least, most time.Duration) {
		if d < least || d > most {
			faults = append(faults, field.Invalid(at.Child(name), d.String(), fmt.Sprintf("must be between %s and %s; write it as 30s or 2m", least, most)))
		}
	}
	within("interval", a.Interval.Duration, minCanaryInterval, maxCanaryInterval)
	within("warmUp", a.WarmUp.Duration, 0, maxCanaryWarmUp)
	if *a.FailureLimit < 1 || *a.FailureLimit > maxFailureLimit {
		faults = append(faults, field.Invalid(at.Child("failureLimit"), *a.FailureLimit,
			fmt.Sprintf("must be between 1 and %d; it is the number of failed looks in a row that ends the canary", maxFailureLimit)))
	}
	if r := a.SuccessRate; r != nil && !(*r.Min >= 0 && *r.Min <= 100) {
		faults = append(faults, field.Invalid(at.Child("successRate", "min"), *r.Min, "must be between 0 and 100; it is a share in percent, such as 99.5"))
	}
	if l := a.Latency; l != nil {
		if !(*l.Quantile > 0 && *l.Quantile < 1) {
			faults = append(faults, field.Invalid(at.Child("latency", "quantile"), *l.Quantile, "must be between 0 and 1, such as 0.99"))
		}
		if l.Max.Duration <= 0 || l.Max.Duration > maxCanaryLatency {
			faults = append(faults, field.Invalid(at.Child("latency", "max"), l.Max.Duration.String(),
				fmt.Sprintf("must be greater than 0 and at most %s; write it as 500ms or 2s", maxCanaryLatency)))
		}
	}
	faults = append(faults, a.validateQueries(at.Child("queries"))...)
	return append(faults, a.validateSteps(at.Child("steps"))...)
}

func (a *CanaryAnalysis) validateSteps(at *field.Path) field.ErrorList {
	if len(a.Steps) > maxCanarySteps {
		return field.ErrorList{field.TooMany(at, len(a.Steps), maxCanarySteps)}
	}
	var faults field.ErrorList
	for i, percent := range a.Steps {
		switch {
		case percent < 1 || percent > 100:
			faults = append(faults, field.Invalid(at.Index(i), percent, "must be between 1 and 100; it is a share in percent"))
		case i > 0 && percent <= a.Steps[i-1]:
			faults = append(faults, field.Invalid(at.Index(i), percent, fmt.Sprintf("must be greater than the step before it, which is %d; sort the steps", a.Steps[i-1])))
		}
	}
	return faults
}

func (a *CanaryAnalysis) validateQueries(at *field.Path) field.ErrorList {
	if len(a.Queries) > maxCanaryQueries {
		return field.ErrorList{field.TooMany(at, len(a.Queries), maxCanaryQueries)}
	}
	var faults field.ErrorList
	seen := map[string]bool{}
	for i := range a.Queries {
		q, where := &a.Queries[i], at.Index(i)
		switch {
		case q.Name == "":
			faults = append(faults, field.Required(where.Child("name"), "the status tells the measurement by its name; set one"))
		case !queryName.MatchString(q.Name):
			faults = append(faults, field.Invalid(where.Child("name"), q.Name, "must be at most 63 lower-case letters, digits and '-', starting with a letter"))
		case q.Name == CanarySuccessRate || q.Name == CanaryLatency:
			faults = append(faults, field.Invalid(where.Child("name"), q.Name, "is the name of a built-in measurement; choose another"))
		case seen[q.Name]:
			faults = append(faults, serving.Duplicate(where.Child("name"), q.Name, "queries need names of their own; choose another"))
		}
		seen[q.Name] = true
		faults = append(faults, q.validate(where)...)
	}
	return faults
}

func (q *CanaryQuery) validate(at *field.Path) field.ErrorList {
	var faults field.ErrorList
	switch {
	case strings.TrimSpace(q.Query) == "":
		faults = append(faults, field.Required(at.Child("query"), "a measurement is a PromQL query that gives one number; write it"))
	case len(q.Query) > maxCanaryQuery:
		faults = append(faults, field.TooLong(at.Child("query"), "", maxCanaryQuery))
	}
	for _, word := range placeholder.FindAllStringSubmatch(q.Query, -1) {
		if !slices.Contains(CanaryPlaceholders(), word[1]) {
			faults = append(faults, field.Invalid(at.Child("query"), word[0], "is no placeholder; use $("+strings.Join(CanaryPlaceholders(), "), $(")+")"))
		}
	}
	switch {
	case q.Min == nil && q.Max == nil:
		faults = append(faults, field.Required(at.Child("min"), "a measurement needs a bound; set min, max or both"))
	case q.Min != nil && q.Max != nil && *q.Min > *q.Max:
		faults = append(faults, field.Invalid(at.Child("min"), *q.Min, fmt.Sprintf("must not be greater than max, which is %v; swap them", *q.Max)))
	}
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"min", q.Min}, {"max", q.Max}} {
		if bound.value != nil && (math.IsNaN(*bound.value) || math.IsInf(*bound.value, 0)) {
			faults = append(faults, field.Invalid(at.Child(bound.name), *bound.value, "must be a number"))
		}
	}
	return faults
}

// CanaryShadow reads the annotation that names canaries which get a copy of requests: their names, each with a percentage.
func (s *InferenceService) CanaryShadow() (map[string]int32, field.ErrorList) {
	text, ok := s.Annotations[serving.AnnotationCanaryShadow]
	if !ok {
		return nil, nil
	}
	at := annotation(serving.AnnotationCanaryShadow)
	if len(text) > maxAnnotationValue {
		return nil, field.ErrorList{field.TooLong(at, "", maxAnnotationValue)}
	}
	shares := map[string]int32{}
	var faults field.ErrorList
	for part := range strings.SplitSeq(text, ",") {
		name, share, found := strings.Cut(part, "=")
		name, share = strings.TrimSpace(name), strings.TrimSpace(share)
		percent, err := strconv.ParseInt(share, 10, 32)
		index := slices.IndexFunc(s.Spec.Canary, func(c CanarySpec) bool { return c.Predictor.Name == name })
		switch _, twice := shares[name]; {
		case !found || name == "" || err != nil:
			faults = append(faults, field.Invalid(at, strings.TrimSpace(part), "must be the name of a canary, = and a percentage, as in v2=100; put a comma between two"))
		case percent < 1 || percent > 100:
			faults = append(faults, field.Invalid(at, strings.TrimSpace(part), "the percentage must be between 1 and 100; take the name out to copy nothing"))
		case twice:
			faults = append(faults, serving.Duplicate(at, name, "a canary gets one share of copies; keep one"))
		case index < 0:
			faults = append(faults, field.NotSupported(at, name, s.canaryNames()))
		case s.Spec.Canary[index].TrafficPercent != 0:
			faults = append(faults, field.Invalid(at, strings.TrimSpace(part),
				fmt.Sprintf("a canary gets copies of requests or requests, not both; set spec.canary[%d].trafficPercent to 0", index)))
		default:
			shares[name] = int32(percent)
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return shares, nil
}

func (s *InferenceService) canaryNames() []string {
	names := make([]string, 0, len(s.Spec.Canary))
	for i := range s.Spec.Canary {
		names = append(names, s.Spec.Canary[i].Predictor.Name)
	}
	return names
}

// canaryTraffic checks the two annotations about canaries, and says where what they or spec.canary ask for cannot come about.
func (v *validator) canaryTraffic(at *field.Path) {
	s := v.service
	analysis, faults := s.CanaryAnalysis()
	v.add(faults...)
	shadow, faults := s.CanaryShadow()
	v.add(faults...)
	if len(s.Spec.Canary) == 0 {
		if _, ok := s.Annotations[serving.AnnotationCanaryAnalysis]; ok {
			v.warn(annotation(serving.AnnotationCanaryAnalysis), "has no effect without canary predictors; add spec.canary")
		}
		return
	}
	if v.mode != serving.Standard {
		return
	}
	if analysis != nil && v.rules.NoMeasurements {
		v.warn(annotation(serving.AnnotationCanaryAnalysis), "nothing is measured: canaryAnalysis.prometheusAddress of inferenceservice-config is not set; until it is, no canary is advanced or rolled back")
	}
	if analysis != nil && len(analysis.Queries) > 0 && v.rules.NoOwnQueries {
		v.refuse(field.Forbidden(annotation(serving.AnnotationCanaryAnalysis).Child("queries"), "canaryAnalysis.disableOwnQueries of inferenceservice-config is true; remove queries"))
	}
	share := len(shadow) > 0 || slices.ContainsFunc(s.Spec.Canary, func(c CanarySpec) bool { return c.TrafficPercent > 0 })
	why := v.rules.NoSplit
	if s.Labels[serving.LabelVisibility] == serving.VisibilityClusterLocal {
		why = "the service is cluster-local (label " + serving.LabelVisibility + "), so it has no HTTPRoute"
	}
	switch {
	case share && why != "":
		v.warn(at, "canary predictors run but get no requests: %s", why)
	case share && s.Spec.Transformer != nil:
		v.warn(at, "requests that pass the transformer reach the stable predictor only; canary predictors have a share of the requests for the predictor's own host")
	}
}
