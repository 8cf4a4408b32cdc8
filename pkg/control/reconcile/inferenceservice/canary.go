// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/measure"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Measurer takes looks at canaries without keeping anybody waiting.
type Measurer interface {
	// Look returns the latest look, and when to ask again where nothing else will tell.
	Look(ask measure.Ask) (*rollout.Look, time.Duration)
	// Forget drops the canaries of a service but those that are named.
	Forget(uid types.UID, but ...string)
}

// verdicts are what one pass decided about the canaries of a service.
type verdicts struct {
	states map[string]*rollout.State
	judged map[string]time.Time
	after  time.Duration
	// measured says that looks are on their way, which no version tells of.
	measured bool
}

// remembered holds what this process decided last: the cache may not have the status with it yet, and a decision is not taken twice.
type remembered struct {
	mu sync.Mutex
	by map[types.UID]*verdicts
}

func (m *remembered) of(uid types.UID) *verdicts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.by[uid]; v != nil {
		return v
	}
	return &verdicts{}
}

func (m *remembered) set(uid types.UID, v *verdicts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v == nil || len(v.states) == 0 {
		delete(m.by, uid)
		return
	}
	if m.by == nil {
		m.by = map[types.UID]*verdicts{}
	}
	m.by[uid] = v
}

// judge decides what the canaries of a service may have, and bounds them in the snapshot by it. The service is as it was read: defaults of the
// operator are none of what a person changes.
func (r *Reconciler) judge(svc *servingv1beta1.InferenceService, snap *plan.Snapshot, st *settings.Settings) *verdicts {
	v := &verdicts{states: map[string]*rollout.State{}, judged: map[string]time.Time{}}
	if len(svc.Spec.Canary) == 0 || svc.Mode(st.Deploy.DefaultMode) != serving.Standard || svc.IsStopped() {
		return v
	}
	analysis, faults := svc.CanaryAnalysis()
	shadow, _ := svc.CanaryShadow()
	before := r.verdicts.of(svc.UID)
	snap.CanaryShares = map[string]int32{}
	for i := range svc.Spec.Canary {
		entry := &svc.Spec.Canary[i]
		name := entry.Predictor.Name
		if len(faults) > 0 || snap.CanaryFaults[i] != nil {
			snap.CanaryShares[name] = 0 // nobody watches it as was asked for
			if s := lastState(before, svc, name); s != nil {
				v.states[name] = s
			}
			continue
		}
		in := rollout.Input{
			Analysis: analysis, Measurable: st.CanaryAnalysis.Address != "" && r.Measure != nil, Before: lastState(before, svc, name),
			Spec: rollout.Hash(entry), Percent: entry.TrafficPercent, Ready: snap.ReadyCanaries[name], Now: r.now(),
		}
		if share := shadow[name]; share > 0 {
			in.Percent, in.Shadow = share, true
		}
		d := rollout.Decide(in)
		v.judged[name] = before.judged[name]
		if d.Measure && !resolve.Frozen(svc) { // nothing comes of a look at a service that is left as it is
			v.measured = true
			look, after := r.Measure.Look(r.ask(svc, name, in.Spec, analysis, st))
			d.After = soonest(d.After, after)
			if look != nil && look.Taken.After(before.judged[name]) {
				in.Look, v.judged[name] = look, look.Taken
				decided := rollout.Decide(in)
				decided.After = soonest(decided.After, d.After)
				d = decided
			}
		}
		if d.State != nil {
			v.states[name] = d.State
		}
		if d.State != nil || analysis != nil {
			snap.CanaryShares[name] = d.Percent
		}
		v.after = soonest(v.after, d.After)
	}
	return v
}

// lastState is what was decided last about a canary: by this process, else by the one before, which wrote it to the status.
func lastState(before *verdicts, svc *servingv1beta1.InferenceService, name string) *rollout.State {
	if s := before.states[name]; s != nil {
		return s
	}
	for i := range svc.Status.CanaryStatuses {
		if c := &svc.Status.CanaryStatuses[i]; c.Name == name {
			return c.Analysis
		}
	}
	return nil
}

func (r *Reconciler) ask(svc *servingv1beta1.InferenceService, name, spec string, a *servingv1beta1.CanaryAnalysis, st *settings.Settings) measure.Ask {
	return measure.Ask{
		Canary:   measure.Canary{Service: client.ObjectKeyFromObject(svc), UID: svc.UID, Name: name, Spec: spec},
		Every:    a.Interval.Duration,
		Queries:  rollout.Queries(a, rollout.Place{Namespace: svc.Namespace, Service: svc.Name, Workload: names.Predictor(svc.Name, name)}, &st.CanaryAnalysis),
		Settings: st.CanaryAnalysis,
	}
}

// verdictsOf are the verdicts that the status tells.
func verdictsOf(svc *servingv1beta1.InferenceService) *verdicts {
	v := &verdicts{states: map[string]*rollout.State{}}
	for i := range svc.Status.CanaryStatuses {
		if c := &svc.Status.CanaryStatuses[i]; c.Analysis != nil {
			v.states[c.Name] = c.Analysis
		}
	}
	return v
}

// keepVerdicts remembers what was decided, once it is to come about.
func (r *Reconciler) keepVerdicts(uid types.UID, v *verdicts) {
	r.verdicts.set(uid, v)
	if r.Measure != nil {
		r.Measure.Forget(uid, slices.Collect(maps.Keys(v.states))...)
	}
}

var canaryField = regexp.MustCompile(`^spec\.canary(?:\[(\d+)\])?`)

// canaryFaults takes the faults that are a canary's out of a list and gives them to the canaries: the stable predictor has nothing to do with them.
func canaryFaults(faults field.ErrorList, svc *servingv1beta1.InferenceService, snap *plan.Snapshot) field.ErrorList {
	of := map[int]field.ErrorList{}
	var rest field.ErrorList
	for _, f := range faults {
		where := canaryField.FindStringSubmatch(f.Field)
		isAnnotation := strings.HasPrefix(f.Field, "metadata.annotations["+serving.AnnotationCanaryAnalysis+"]") ||
			strings.HasPrefix(f.Field, "metadata.annotations["+serving.AnnotationCanaryShadow+"]")
		switch {
		case where == nil && !isAnnotation:
			rest = append(rest, f)
		case where != nil && where[1] != "":
			if i, err := strconv.Atoi(where[1]); err == nil {
				of[i] = append(of[i], f)
			}
		default:
			for i := range svc.Spec.Canary {
				of[i] = append(of[i], f)
			}
		}
	}
	for i, list := range of {
		snap.CanaryFaults = withFault(snap.CanaryFaults, i, string(servingv1beta1.InvalidPredictorSpec), list.ToAggregate().Error())
	}
	return rest
}

func withFault(faults map[int]*plan.Blocked, i int, reason, message string) map[int]*plan.Blocked {
	if faults == nil {
		faults = map[int]*plan.Blocked{}
	}
	faults[i] = &plan.Blocked{Reason: reason, Role: serving.Predictor, Message: message}
	return faults
}

// gatherService reads what a decision is made from. What only a canary needs and cannot have is the canary's fault.
func (r *Reconciler) gatherService(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings, children *plan.Children) (*plan.Snapshot, error) {
	snap, err := r.Gather.Service(ctx, svc, st, children)
	var blocked *plan.Blocked
	if err == nil || !errors.As(err, &blocked) || len(svc.Spec.Canary) == 0 {
		return snap, err //nolint:wrapcheck // the caller tells it
	}
	without := svc.DeepCopy()
	var faults map[int]*plan.Blocked
	for i := range without.Spec.Canary {
		p := &without.Spec.Canary[i].Predictor
		if len(p.StorageURIs) > 0 || p.ServiceAccountName != "" && len(svc.Spec.Predictor.StorageURIs) > 0 {
			p.StorageURIs, p.ServiceAccountName = nil, ""
			faults = withFault(faults, i, blocked.Reason, blocked.Message)
		}
	}
	if snap, err = r.Gather.Service(ctx, without, st, children); err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	snap.Service, snap.CanaryFaults = svc, faults
	return snap, nil
}

// renderObjects renders a plan. A canary that cannot be rendered leaves it.
func renderObjects(p *plan.Plan, st *settings.Settings) ([]plan.Object, error) {
	for {
		objects, err := render.Objects(p, st)
		var of *render.ComponentError
		if err == nil || !errors.As(err, &of) || !p.Drop(of.Name, &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Role: serving.Predictor, Message: of.Err.Error()}) {
			return objects, err //nolint:wrapcheck // the caller tells it
		}
	}
}

// kept parts the children of canaries that cannot be planned now from the others: they stay as they are.
func kept(p *plan.Plan, children *plan.Children) (stay, rest *plan.Children) {
	if len(p.Unplanned) == 0 || p.Stopped {
		return &plan.Children{}, children
	}
	stay, rest = &plan.Children{}, &plan.Children{}
	for _, o := range children.All() {
		if p.Keeps(o.GetName()) && !isRoute(o) {
			stay.Add(o)
		} else {
			rest.Add(o)
		}
	}
	return stay, rest
}

// canaryOf is the workload of the canary that an error of applying is about; empty where it is about something else.
func canaryOf(p *plan.Plan, err error) string {
	if p == nil {
		return ""
	}
	name := ""
	var failed *apply.Error
	var blocked *plan.Blocked
	var waiting *plan.Waiting
	switch {
	case errors.As(err, &failed):
		if failed.Kind != "HTTPRoute" && failed.Kind != "Ingress" {
			name = failed.Name
		}
	case errors.As(err, &blocked):
		name = blocked.Object
	case errors.As(err, &waiting):
		name = waiting.Object
	}
	for _, c := range p.Canaries() {
		if c.Name == name {
			return name
		}
	}
	return ""
}

// ofCanary keeps an error that is a canary's for the status of that canary.
func (a *attempt) ofCanary(err error) bool {
	name := canaryOf(a.plan, err)
	if name == "" {
		return false
	}
	if a.canaries == nil {
		a.canaries = map[string]error{}
	}
	if a.canaries[name] == nil {
		a.canaries[name] = err
	}
	return true
}
