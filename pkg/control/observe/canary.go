// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Reasons of events about canaries.
const (
	EventRolledBack = "CanaryRolledBack"
	EventAdvanced   = "CanaryAdvanced"
	EventPromoted   = "CanaryPromoted"
)

// canaries tells of each canary predictor, and of all together. They do not decide whether the service is ready.
func (o *observer) canaries(p *plan.Plan) {
	o.status.CanaryStatuses = nil
	tracks := p.Tracks()
	if len(tracks) == 0 {
		o.unheededShare(p)
		return
	}
	route := o.in.Children.OptionalObject(gatewayGroup, "HTTPRoute", names.PredictorRoute(o.svc.Name))
	var worst fact
	for _, c := range tracks {
		s, serves := o.canary(p, c)
		weight, copies := sharesOf(route, c.Workload)
		s.Weight, s.ShadowPercent = &weight, copies
		f := o.canaryFact(p, c, &s, serves)
		s.Reason, s.Message = f.reason, bounded(f.message, maxMessage)
		if f.tell {
			o.tell = append(o.tell, s.Name)
		}
		if before := canaryStatus(o.old, s.Name); before != nil && before.Reason == s.Reason && (f.weak || sameButFigures(before.Message, s.Message)) {
			s.Message = before.Message
		}
		if f.status == corev1.ConditionFalse && worst.status != corev1.ConditionFalse || worst.status == "" && f.reason != "" {
			worst = fact{status: f.status, reason: f.reason, message: "canary predictor " + s.Name + ": " + s.Message}
		}
		o.status.CanaryStatuses = append(o.status.CanaryStatuses, s)
	}
	switch {
	case worst.status == "":
		worst = fact{status: corev1.ConditionTrue, reason: ReasonAllCanariesReady}
	case worst.status == corev1.ConditionFalse && worst.reason != ReasonCanaryRolledBack:
		worst.reason = ReasonCanariesNotReady
	case worst.reason == ReasonPredictorHostOnly:
		worst.reason = ReasonAllCanariesReady // clients know the word; the message and the canary's own status say more
	}
	o.conditions.put(servingv1beta1.CanaryPredictorReady, worst)
}

// unheededShare tells of a share that is asked for in the way of another mode, for as long as it stands there.
func (o *observer) unheededShare(p *plan.Plan) {
	share := o.svc.Spec.Predictor.CanaryTrafficPercent
	if p.Mode != serving.Standard || share == nil || *share >= 100 { // with 100 nothing is to be split
		return
	}
	o.conditions.put(servingv1beta1.CanaryPredictorReady, fact{
		status: corev1.ConditionFalse, reason: ReasonShareIgnored,
		message: "spec.predictor.canaryTrafficPercent has no effect in Standard mode, where the predictor gets every request: remove it, and list what shall have a share in spec.canary",
	})
}

// canary is the status of one canary predictor as its workload and its pods tell it.
func (o *observer) canary(p *plan.Plan, c plan.Track) (servingv1beta1.CanaryStatus, *part) {
	s := servingv1beta1.CanaryStatus{Name: c.Name, TrafficPercent: c.Percent, Analysis: o.in.Verdicts[c.Name].DeepCopy()}
	if d := o.in.Children.Deployment(c.Workload); d != nil {
		s.Ready = d.Status.AvailableReplicas > 0 && d.DeletionTimestamp.IsZero()
	}
	for _, component := range p.Canaries() {
		if component.Name != c.Workload {
			continue
		}
		var entry servingv1beta1.ComponentStatus
		part := o.component(component, &entry)
		if len(part.pods) > 0 {
			var before servingv1beta1.ModelStatus
			if old := canaryStatus(o.old, s.Name); old != nil {
				before = old.ModelStatus
			}
			s.ModelStatus = o.modelStatus(part, &before)
		}
		part.on(s.ModelStatus.ModelRevisionStates)
		return s, part
	}
	return s, nil
}

// canaryFact says what keeps a canary from its share, or makes the share less than it seems; nothing where all is well.
func (o *observer) canaryFact(p *plan.Plan, c plan.Track, s *servingv1beta1.CanaryStatus, serves *part) fact {
	if why := unplanned(p, c.Workload); why != nil {
		o.refuse(s, why)
		return fact{status: corev1.ConditionFalse, reason: why.Reason, message: why.Message, tell: true}
	}
	if err := o.in.CanaryFailures[c.Workload]; err != nil {
		t := o.troubleIn(err)
		return fact{status: corev1.ConditionFalse, reason: t.reason, message: t.message, tell: t.event != ""}
	}
	asks := c.Percent > 0 || c.Shadow > 0
	switch a := s.Analysis; {
	case !s.Ready:
		return fact{status: corev1.ConditionFalse, reason: serves.reason, message: serves.message, weak: serves.weak, tell: serves.tell}
	case a != nil && a.Verdict == servingv1beta1.CanaryRolledBack:
		return fact{status: corev1.ConditionFalse, reason: ReasonCanaryRolledBack, message: a.Message}
	case serves.behind != nil:
		return fact{status: corev1.ConditionTrue, reason: serves.behind.reason, weak: serves.behind.weak, tell: true, message: "it " + servesAsBefore + why + serves.behind.message}
	case asks && p.Route.NoSplit != "":
		return fact{status: corev1.ConditionTrue, reason: ReasonTrafficNotSplit, tell: true, message: "it runs but gets no requests: " + p.Route.NoSplit}
	case asks && !meet(p, c.Workload):
		return fact{status: corev1.ConditionTrue, reason: ReasonOtherProtocol, tell: true, message: "it runs but gets no requests: it has no port for what the stable predictor speaks; name its ports as those are (a name with grpc or h2c is gRPC)"}
	case asks && p.Component(serving.Transformer) != nil:
		return fact{status: corev1.ConditionTrue, reason: ReasonPredictorHostOnly, message: "it has its share of the requests for the predictor's own host; those that pass the transformer reach the stable predictor"}
	}
	return fact{}
}

// meet says that a canary has a port for something that the stable predictor speaks.
func meet(p *plan.Plan, workload string) bool {
	stable := p.Component(serving.Predictor)
	i := slices.IndexFunc(p.Components, func(c plan.Component) bool { return c.Name == workload })
	if stable == nil || i < 0 {
		return true
	}
	rest, grpc := stable.Ports()
	ownRest, ownGRPC := p.Components[i].Ports()
	return rest != nil && ownRest != nil || grpc != nil && ownGRPC != nil
}

// refuse tells in the model's status why there will be none.
func (o *observer) refuse(s *servingv1beta1.CanaryStatus, why *plan.Blocked) {
	reason, ok := failureReason(why.Reason)
	if !ok {
		return
	}
	var before *servingv1beta1.FailureInfo
	if old := canaryStatus(o.old, s.Name); old != nil {
		before = old.ModelStatus.LastFailureInfo
	}
	s.ModelStatus = servingv1beta1.ModelStatus{
		TransitionStatus:    servingv1beta1.InvalidSpec,
		ModelRevisionStates: &servingv1beta1.ModelRevisionStates{TargetModelState: servingv1beta1.FailedToLoad},
		LastFailureInfo:     o.failureInfo(&finding{failure: reason, message: why.Message}, before),
	}
}

func unplanned(p *plan.Plan, workload string) *plan.Blocked {
	for i := range p.Unplanned {
		if p.Unplanned[i].Workload == workload {
			return p.Unplanned[i].Why
		}
	}
	return nil
}

func canaryStatus(s *servingv1beta1.InferenceServiceStatus, name string) *servingv1beta1.CanaryStatus {
	for i := range s.CanaryStatuses {
		if s.CanaryStatuses[i].Name == name {
			return &s.CanaryStatuses[i]
		}
	}
	return nil
}

// sharesOf reads in the route what a workload gets: its share of requests in percent, and of copies of them.
func sharesOf(route *unstructured.Unstructured, workload string) (weight, copies int32) {
	if route == nil {
		return 0, 0
	}
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	for _, rule := range rules {
		r, _ := rule.(map[string]any)
		var mine, sum int64
		refs, _ := r["backendRefs"].([]any)
		for _, ref := range refs {
			b, _ := ref.(map[string]any)
			w, given := b["weight"].(int64)
			if !given {
				w = 1
			}
			sum += w
			if b["name"] == workload {
				mine += w
			}
		}
		if sum > 0 {
			weight = max(weight, int32(mine*100/sum))
		}
		filters, _ := r["filters"].([]any)
		for _, filter := range filters {
			f, _ := filter.(map[string]any)
			if name, _, _ := unstructured.NestedString(f, "requestMirror", "backendRef", "name"); name == workload {
				percent, given, _ := unstructured.NestedInt64(f, "requestMirror", "percent")
				if !given {
					percent = 100
				}
				copies = max(copies, int32(percent))
			}
		}
	}
	return weight, copies
}

// stoppedCanaries keeps of the canaries of a stopped service what must not be forgotten: that they were rolled back.
func (o *observer) stoppedCanaries() []servingv1beta1.CanaryStatus {
	var list []servingv1beta1.CanaryStatus
	for i := range o.old.CanaryStatuses {
		old := &o.old.CanaryStatuses[i]
		wanted := slices.ContainsFunc(o.svc.Spec.Canary, func(c servingv1beta1.CanarySpec) bool { return c.Predictor.Name == old.Name })
		if wanted && old.Analysis != nil && old.Analysis.Verdict == servingv1beta1.CanaryRolledBack {
			list = append(list, servingv1beta1.CanaryStatus{
				Name: old.Name, TrafficPercent: old.TrafficPercent, Reason: servingv1beta1.ReasonStopped, Analysis: old.Analysis.DeepCopy(),
			})
		}
	}
	return list
}

// canaryEvents tell what has changed for canaries by their measurements, what keeps one from its share, and that one has been promoted.
func (o *observer) canaryEvents() []Event {
	var events []Event
	for i := range o.status.CanaryStatuses {
		s := &o.status.CanaryStatuses[i]
		old := canaryStatus(o.old, s.Name)
		if a := s.Analysis; a != nil {
			var before servingv1beta1.CanaryAnalysisStatus
			if old != nil && old.Analysis != nil {
				before = *old.Analysis
			}
			switch {
			case a.Verdict == servingv1beta1.CanaryRolledBack && before.Verdict != servingv1beta1.CanaryRolledBack:
				events = append(events, Event{Type: corev1.EventTypeWarning, Reason: EventRolledBack, Message: bounded("canary predictor "+s.Name+": "+a.Message, maxFailure)})
			case a.ObservedSpec == before.ObservedSpec && a.Step > before.Step:
				events = append(events, Event{Type: corev1.EventTypeNormal, Reason: EventAdvanced, Message: "canary predictor " + s.Name + " may have " + strconv.Itoa(int(a.AllowedPercent)) + " percent"})
			}
		}
		if slices.Contains(o.tell, s.Name) && (old == nil || !sameCause(old.Reason, old.Message, s.Reason, s.Message)) {
			events = append(events, Event{Type: corev1.EventTypeWarning, Reason: s.Reason, Message: bounded("canary predictor "+s.Name+": "+s.Message, maxFailure)})
		}
	}
	if name := o.promoted(); name != "" {
		events = append(events, Event{Type: corev1.EventTypeNormal, Reason: EventPromoted, Message: "canary predictor " + name + " is the predictor now"})
	}
	return events
}

// promoted is the name of the canary that has become the predictor since the status was last written; empty for none.
func (o *observer) promoted() string {
	if o.in.Plan == nil || o.in.Plan.Stopped {
		return ""
	}
	predictor := o.in.Plan.Component(serving.Predictor)
	for i := range o.old.CanaryStatuses {
		name := o.old.CanaryStatuses[i].Name
		if predictor != nil && predictor.Name == names.Predictor(o.svc.Name, name) {
			return name
		}
	}
	return ""
}
