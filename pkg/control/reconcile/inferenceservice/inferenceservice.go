// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inferenceservice is the story of one InferenceService: gather, resolve, render, apply, observe, one status patch.
//
// Called by: control/manager.
// Next: control/gather.
package inferenceservice

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// reasonUpdateFailed is the reason of the event of a status that could not be written; clients know the word.
const reasonUpdateFailed = "UpdateFailed"

// Pauses before another attempt where no event would tell that it is worth one.
const (
	retryBlocked = time.Minute
	retryRefused = 5 * time.Minute
	// What is decided from and not watched (secrets, service accounts, authorities, Knative's settings) is looked at again after lookAgain; apart
	// is how far the services of a process that has just started come apart by then.
	lookAgain = 5 * time.Minute
	apart     = time.Minute
	// After a conflict the event of what somebody else wrote is mostly on the way. Where it does not come, because watches are cut off, the
	// pauses grow.
	firstCalm   = 100 * time.Millisecond
	longestCalm = 30 * time.Second
	// attemptTimeout is how long a pass may gather and apply.
	attemptTimeout = 40 * time.Second
	// A server with too much to do is left alone for at least so long.
	retryBusy = time.Second
	// lettingGo is how long a deletion waits for the trained models of a service; then it goes on without them.
	lettingGo = 2 * time.Minute
)

// Reconciler makes what is wanted true of one service at a time. Fill in the fields before the first use.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader
	Gather   *gather.Gatherer
	Apply    *apply.Applier
	Settings *gather.Settings
	Events   record.EventRecorder
	Metrics  *Metrics
	Log      *zap.Logger
	// Measure takes looks at canaries; nil takes none.
	Measure Measurer
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Release is the version of the cluster's Kubernetes, empty while nobody knows it; nil is never known.
	Release func() string

	verdicts remembered

	own     versions
	settled settled
	calm    calm
}

func (r *Reconciler) release() string {
	if r.Release == nil {
		return ""
	}
	return r.Release()
}

// attempt is what one pass over a service found out.
type attempt struct {
	plan    *plan.Plan
	failure error
	outcome *apply.Outcome
	retry   time.Duration
	// verdicts about the canaries, and by workload what keeps one from being made.
	verdicts *verdicts
	canaries map[string]error
	// soon says that somebody else was quicker, and that another look soon is worth it.
	soon bool
	// age of the service.
	age time.Duration
	// err is an error that is worth another attempt soon.
	err error
	// watched says that everything that was decided from is watched: as long as none of it changes, another pass would end like this one.
	watched bool
}

// Reconcile implements reconcile.Reconciler.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=inferenceservices,verbs=list;watch;patch
// +kubebuilder:rbac:groups=serving.kserve.io,resources=inferenceservices/status,verbs=patch
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	svc := &servingv1beta1.InferenceService{}
	if err := r.Client.Get(ctx, req.NamespacedName, svc); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName, "")
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read the service: %w", err)
	}
	if svc.DeletionTimestamp != nil {
		return r.finalize(ctx, svc)
	}
	r.forget(req.NamespacedName, svc.UID)
	r.own.catchUp(svc)
	st, fault := r.Settings.Current()
	if st == nil {
		r.Log.Debug("waits for good settings", zap.Stringer("service", req), zap.NamedError("fault", fault))
		return r.unsettled(ctx, svc, fault)
	}
	if done, err := r.holdOn(ctx, svc, st); done || err != nil {
		return r.later(req.NamespacedName, err)
	}
	return r.service(ctx, svc, st)
}

// service does one pass over a service that is to live.
func (r *Reconciler) service(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings) (ctrl.Result, error) {
	name, watch := client.ObjectKeyFromObject(svc), r.Metrics.stopwatch()
	children, err := r.Gather.Children(ctx, svc.Namespace, svc.UID)
	if err != nil {
		return ctrl.Result{}, err
	}
	pods, err := r.Gather.Pods(ctx, svc.Namespace, svc.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	clash, err := r.Gather.Clash(ctx, children, svc.UID)
	if err != nil {
		return ctrl.Result{}, err
	}
	around := &surroundings{settings: st, release: r.release(), pods: pods, clash: clash}
	if around.definitions, err = r.Gather.Definitions(ctx, svc.Namespace); err != nil {
		around = nil // the attempt meets the same, and tells it
	}
	if r.settled.is(svc.UID, around.seen(svc.ResourceVersion, children)) {
		r.Metrics.unchanged()
		return ctrl.Result{}, nil
	}
	if children, err = gather.Whole(children); err != nil {
		return ctrl.Result{}, err
	}
	a := r.attempt(ctx, svc, st, children, watch)
	if ctx.Err() != nil {
		return ctrl.Result{}, errors.Join(ctx.Err(), a.err) // what was interrupted says nothing about the service
	}
	if a.outcome != nil {
		children = a.outcome.Children
	}
	_, fault := r.Settings.Current()
	seen := observe.Service(observe.Input{
		Service: svc, Plan: a.plan, Failure: a.failure, Children: *children, Pods: pods, Settings: st, Now: metav1.NewTime(r.now()), Release: r.release(),
		Verdicts: a.verdicts.states, CanaryFailures: a.canaries, SettingsFault: fault, Clash: clash,
	})
	watch.done(phaseObserve)
	version, err := r.writeStatus(ctx, svc, &seen.Status)
	watch.done(phaseStatus)
	if err != nil {
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			r.Events.Event(svc, corev1.EventTypeWarning, reasonUpdateFailed, gather.Words(err))
		}
		if a.err != nil {
			return r.again(name, errors.Join(a.err, err))
		}
		return r.later(name, err)
	}
	if version != svc.ResourceVersion {
		r.tell(svc, seen.Events)
	}
	r.Metrics.seen(name, &seen.Status, a.failure)
	switch {
	case a.err != nil:
		return r.again(name, a.err)
	case a.soon:
		return ctrl.Result{RequeueAfter: r.calm.next(name)}, nil
	}
	r.calm.forget(name)
	pause := soonest(a.retry, seen.RequeueAfter)
	if a.watched && pause == 0 && !a.verdicts.measured {
		r.settled.set(svc.UID, around.seen(version, children))
	}
	return ctrl.Result{RequeueAfter: pause}, nil
}

// tell sends events, and counts those about canaries.
func (r *Reconciler) tell(svc *servingv1beta1.InferenceService, events []observe.Event) {
	for _, e := range events {
		r.Events.Event(svc, e.Type, e.Reason, e.Message)
		r.Metrics.canary(e.Reason)
	}
}

// unsettled tells a new service why nothing comes of it: the operator's settings cannot be used, and there were none before. Others keep the
// status that they have.
func (r *Reconciler) unsettled(ctx context.Context, svc *servingv1beta1.InferenceService, fault error) (ctrl.Result, error) {
	if before := svc.Status.Condition(servingv1beta1.PredictorReady); before != nil && before.Reason != observe.ReasonInvalidSettings {
		return ctrl.Result{}, nil
	}
	seen := observe.Service(observe.Input{
		Service: svc, Now: metav1.NewTime(r.now()),
		Failure: &plan.Waiting{Reason: observe.ReasonInvalidSettings, Message: "the operator's settings cannot be used: " + fault.Error()},
	})
	_, err := r.writeStatus(ctx, svc, &seen.Status)
	return r.later(client.ObjectKeyFromObject(svc), err)
}

// attempt decides and applies. What it could not do is a failure, which the status tells.
func (r *Reconciler) attempt(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings, children *plan.Children, watch *stopwatch) *attempt {
	// What remains of the time of the pass is for the status.
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	defaulted := svc.DeepCopy()
	defaulted.SetDefaults(st.ServiceDefaults())
	a := &attempt{verdicts: &verdicts{}, age: r.now().Sub(svc.CreationTimestamp.Time)}
	snap, err := r.gatherService(ctx, defaulted, st, children)
	watch.done(phaseGather)
	var blocked *plan.Blocked
	switch {
	case errors.As(err, &blocked):
		a.failure, a.retry = err, retryBlocked // service accounts are not watched
		return a
	case err != nil:
		a.failure, a.err = err, err
		return a
	}
	if a.failure = validate(defaulted, snap, st); a.failure != nil {
		watch.done(phaseResolve)
		return a
	}
	a.verdicts = r.judge(svc, snap, st)
	snap.Brief = true // nobody reads the reasons here
	a.plan, a.failure = resolve.Service(snap, st)
	watch.done(phaseResolve)
	if a.failure != nil {
		var waiting *plan.Waiting
		if errors.As(a.failure, &waiting) {
			a.retry = waiting.After
		}
		return a
	}
	if a.plan.Frozen || a.plan.Mode == serving.ModelMesh && len(a.plan.Components) == 0 {
		a.verdicts = verdictsOf(svc) // nothing comes of others
		return a
	}
	r.keepVerdicts(svc.UID, a.verdicts)
	a.retry = a.verdicts.after
	objects, err := renderObjects(a.plan, st)
	watch.done(phaseRender)
	if err != nil {
		a.failure = &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Message: err.Error()}
		a.retry = retryBlocked // a secret that is missing is not watched
		return a
	}
	defer watch.done(phaseApply)
	if !a.plan.Stopped {
		if err := r.Apply.Bundle(ctx, st, svc.Namespace); err != nil {
			a.outcome = &apply.Outcome{Children: children, Errors: []error{err}}
			a.judge()
			return a
		}
	}
	if len(a.plan.Unplanned) > 0 {
		a.retry = soonest(a.retry, retryBlocked) // secrets and service accounts are not watched
	}
	stay, rest := kept(a.plan, children)
	w := wanted(svc, a.plan, objects, rest)
	a.outcome = r.Apply.Objects(ctx, w)
	for _, o := range stay.All() {
		a.outcome.Children.Add(o)
	}
	a.judge()
	seen := a.plan.Mode == serving.Standard && snap.ServiceAccounts == nil && (st.Storage.CABundleConfigMap == "" || a.plan.Stopped)
	if !seen {
		a.retry = soonest(a.retry, lookAgain+spread(svc.UID))
	}
	a.watched = seen && sameCanaries(a.plan, a.outcome.Children) && len(a.outcome.Errors) == 0 && len(w.Unlisted) == 0 && len(a.outcome.Children.ConfigMaps) == 0 &&
		len(a.verdicts.states) == 0
	return a
}

// spread is a pause of a service's own.
func spread(uid types.UID) time.Duration {
	return time.Duration(maphash.String(worldSeed, string(uid)) % uint64(apart))
}

// validate holds a service that admission has not seen to the rules of admission.
func validate(svc *servingv1beta1.InferenceService, snap *plan.Snapshot, st *settings.Settings) error {
	rules := st.ServiceRules(snap.StorageContainers, resolve.Hosts(svc, st))
	rules.Stored = true // what another admission let pass and does no harm goes on
	faults, _ := svc.Validate(rules)
	if faults = canaryFaults(faults, svc, snap); len(faults) == 0 {
		return nil
	}
	return &plan.Blocked{Reason: string(servingv1beta1.InvalidPredictorSpec), Role: roleOfField(faults), Message: faults.ToAggregate().Error()}
}

func roleOfField(faults field.ErrorList) serving.ComponentRole {
	for _, f := range faults {
		for _, role := range []serving.ComponentRole{serving.Predictor, serving.Transformer, serving.Explainer} {
			if strings.HasPrefix(f.Field, "spec."+string(role)) {
				return role
			}
		}
	}
	return ""
}

// judge turns what applying met into the one failure that the status tells, and into when to try again.
func (a *attempt) judge() {
	a.retry = soonest(a.retry, a.outcome.Again)
	for _, err := range a.outcome.Errors {
		var blocked *plan.Blocked
		var waiting *plan.Waiting
		switch {
		case errors.As(err, &blocked):
			a.retry = soonest(a.retry, retryBlocked) // the object in the way is not watched
			if !a.ofCanary(err) {
				a.failure = err
			}
			continue
		case errors.As(err, &waiting):
			waiting.After = a.patient(waiting.After) // the status looks at it, too
			a.retry = soonest(a.retry, waiting.After)
		case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			a.retry = soonest(a.retry, retryRefused)
		case apierrors.IsConflict(err):
			a.soon = true // the next pass sees what somebody else did, and until then there is nothing to tell
			continue
		default:
			a.err = errors.Join(a.err, err)
		}
		if !a.ofCanary(err) && a.failure == nil {
			a.failure = err
		}
	}
}

// patient makes the pause longer for what an older service waits for: an object of an earlier service of its name that is still there after
// minutes is held by something, and its end is an event where it is watched.
func (a *attempt) patient(pause time.Duration) time.Duration {
	const share = 20
	return max(pause, min(a.age/share, retryBlocked))
}

// wanted is what the applier has to know.
func wanted(svc *servingv1beta1.InferenceService, p *plan.Plan, objects []plan.Object, children *plan.Children) apply.Wanted {
	w := apply.Wanted{
		Owner: &p.Owner, Objects: objects, Have: children, Unlisted: unlisted(p, children),
		Role: func(o plan.Object) serving.ComponentRole { return p.RoleOf(o.GetName()) },
	}
	if !everyComponentServed(p, children) {
		w.Later = isRoute
	}
	if p.Mode == serving.Standard {
		w.Served = func(service string) bool { return serves(children.Deployment(service)) }
		w.Relieves = func(service, other string) bool {
			return wasCanary(svc, other) || relieves(p, children, service, other)
		}
	}
	return w
}

// finalize lets a service go: what belongs to it by name only is deleted, everything else goes with its owner.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=trainedmodels,verbs=list;delete
// +kubebuilder:rbac:groups=serving.kserve.io,resources=inferenceservices/finalizers,verbs=update
func (r *Reconciler) finalize(ctx context.Context, svc *servingv1beta1.InferenceService) (ctrl.Result, error) {
	r.forget(client.ObjectKeyFromObject(svc), "")
	if !hasFinalizer(svc) {
		return ctrl.Result{}, nil
	}
	if err := r.deleteModels(ctx, svc); err != nil {
		if left := lettingGo - r.now().Sub(svc.DeletionTimestamp.Time); left > 0 {
			r.Events.Event(svc, corev1.EventTypeWarning, observe.ReasonInternalError, "the deletion waits for the trained models of the service: "+gather.Words(err))
			return ctrl.Result{}, err
		}
		r.Events.Event(svc, corev1.EventTypeWarning, observe.ReasonInternalError, "the service is deleted, its trained models may not be: "+gather.Words(err))
		r.Log.Warn("a service is deleted without its trained models", zap.String("namespace", svc.Namespace), zap.String("name", svc.Name), zap.Error(err))
	}
	err := r.setFinalizer(ctx, svc, false)
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		r.Events.Event(svc, corev1.EventTypeWarning, observe.ReasonInternalError, "the deletion waits for its finalizer to be taken off: "+gather.Words(err))
	}
	return r.later(client.ObjectKeyFromObject(svc), err)
}

// forget drops what is remembered of the services of a name but the one that has the name now; an empty UID is nobody's. A service may go
// without having been seen on its way out: somebody takes the finalizer away, or one of the same name comes at once.
func (r *Reconciler) forget(name types.NamespacedName, now types.UID) {
	if before, gone := r.own.named(name, now); gone {
		r.Apply.Forget(before)
		r.keepVerdicts(before, &verdicts{})
		r.settled.forget(before)
	}
	if now == "" {
		r.Metrics.gone(name)
		r.calm.forget(name)
	}
}

// later says when to try again after an error of writing the service itself. One that is gone is no error.
func (r *Reconciler) later(name types.NamespacedName, err error) (ctrl.Result, error) {
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: r.calm.next(name)}, nil
	}
	return r.again(name, err)
}

// again says when to try again after an error. A server that has too much to do says itself when to come back.
func (r *Reconciler) again(name types.NamespacedName, err error) (ctrl.Result, error) {
	if !apierrors.IsTooManyRequests(err) {
		return ctrl.Result{}, err
	}
	seconds, _ := apierrors.SuggestsClientDelay(err)
	pause := max(retryBusy, time.Duration(seconds)*time.Second, r.calm.next(name))
	r.Log.Warn("the API server asks to come back later", zap.String("namespace", name.Namespace), zap.String("name", name.Name), zap.Duration("after", pause), zap.Error(err))
	return ctrl.Result{RequeueAfter: pause}, nil
}

// calm makes pauses longer each time, for each service by itself.
type calm struct {
	once    sync.Once
	limiter workqueue.TypedRateLimiter[types.NamespacedName]
}

func (c *calm) pauses() workqueue.TypedRateLimiter[types.NamespacedName] {
	c.once.Do(func() {
		c.limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstCalm, longestCalm)
	})
	return c.limiter
}

func (c *calm) next(name types.NamespacedName) time.Duration { return c.pauses().When(name) }

func (c *calm) forget(name types.NamespacedName) { c.pauses().Forget(name) }

func (r *Reconciler) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// soonest is the shorter of two pauses; 0 is none.
func soonest(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
