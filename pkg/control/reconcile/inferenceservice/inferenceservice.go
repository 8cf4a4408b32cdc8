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
	"strings"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// reasonUpdateFailed is the reason of the event of a status that could not be written; clients know the word.
const reasonUpdateFailed = "UpdateFailed"

// Pauses before another attempt where no event would tell that it is worth one.
const (
	retryConflict = 100 * time.Millisecond
	retryBlocked  = time.Minute
	retryRefused  = 5 * time.Minute
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
	// Now is the clock; nil is the system's.
	Now func() time.Time

	own versions
}

// attempt is what one pass over a service found out.
type attempt struct {
	plan    *plan.Plan
	failure error
	outcome *apply.Outcome
	retry   time.Duration
	// err is an error that is worth another attempt soon.
	err error
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
	st, fault := r.Settings.Current()
	if st == nil {
		r.Log.Debug("waits for good settings", zap.Stringer("service", req), zap.NamedError("fault", fault))
		return ctrl.Result{}, nil
	}
	if done, err := r.holdOn(ctx, svc, st); done || err != nil {
		return conflictIsLater(ctrl.Result{}, err)
	}
	return r.service(ctx, svc, st)
}

// service does one pass over a service that is to live.
func (r *Reconciler) service(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings) (ctrl.Result, error) {
	children, err := r.Gather.Children(ctx, svc.Namespace, svc.UID)
	if err != nil {
		return ctrl.Result{}, err
	}
	pods, err := r.Gather.Pods(ctx, svc.Namespace, svc.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	a, err := r.attempt(ctx, svc, st, children)
	if err != nil {
		return ctrl.Result{}, err
	}
	if a.outcome != nil {
		children = a.outcome.Children
	}
	seen := observe.Service(observe.Input{
		Service: svc, Plan: a.plan, Failure: a.failure, Children: *children, Pods: pods, Settings: st, Now: metav1.NewTime(r.now()),
	})
	written, err := r.writeStatus(ctx, svc, &seen.Status)
	if err != nil {
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			r.Events.Event(svc, corev1.EventTypeWarning, reasonUpdateFailed, err.Error())
		}
		return conflictIsLater(ctrl.Result{}, errors.Join(a.err, err))
	}
	if written {
		for _, e := range seen.Events {
			r.Events.Event(svc, e.Type, e.Reason, e.Message)
		}
	}
	r.Metrics.seen(client.ObjectKeyFromObject(svc), &seen.Status, a.failure)
	return ctrl.Result{RequeueAfter: soonest(a.retry, seen.RequeueAfter)}, a.err
}

// attempt decides and applies. Its own error is one that says nothing about the service: the API server could not be asked.
func (r *Reconciler) attempt(ctx context.Context, svc *servingv1beta1.InferenceService, st *settings.Settings, children *plan.Children) (*attempt, error) {
	defaulted := svc.DeepCopy()
	defaulted.SetDefaults(st.ServiceDefaults())
	a := &attempt{}
	snap, err := r.Gather.Service(ctx, defaulted, st, children)
	var blocked *plan.Blocked
	switch {
	case errors.As(err, &blocked):
		a.failure, a.retry = err, retryBlocked // service accounts are not watched
		return a, nil
	case err != nil:
		return nil, err
	}
	if a.failure = validate(defaulted, snap, st); a.failure != nil {
		return a, nil //nolint:nilerr // the status tells the failure
	}
	if a.plan, a.failure = resolve.Service(snap, st); a.failure != nil {
		var waiting *plan.Waiting
		if errors.As(a.failure, &waiting) {
			a.retry = waiting.After
		}
		return a, nil
	}
	if a.plan.Frozen || a.plan.Mode == serving.ModelMesh && len(a.plan.Components) == 0 {
		return a, nil
	}
	objects, err := render.Objects(a.plan, st)
	if err != nil {
		a.failure = &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Message: err.Error()}
		a.retry = retryBlocked // a secret that is missing is not watched
		return a, nil          //nolint:nilerr // the status tells the failure
	}
	if !a.plan.Stopped {
		if err := r.Apply.Bundle(ctx, st, svc.Namespace); err != nil {
			a.outcome = &apply.Outcome{Children: children, Errors: []error{err}}
			a.judge()
			return a, nil //nolint:nilerr // the status tells the failure
		}
	}
	a.outcome = r.Apply.Objects(ctx, wanted(a.plan, objects, children))
	a.judge()
	return a, nil
}

// validate holds a service that admission has not seen to the rules of admission.
func validate(svc *servingv1beta1.InferenceService, snap *plan.Snapshot, st *settings.Settings) error {
	faults, _ := svc.Validate(st.ServiceRules(snap.StorageContainers, resolve.Hosts(svc, st)))
	if len(faults) == 0 {
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
	for _, err := range a.outcome.Errors {
		var blocked *plan.Blocked
		var waiting *plan.Waiting
		switch {
		case errors.As(err, &blocked):
			a.retry = soonest(a.retry, retryBlocked) // the object in the way is not watched
			a.failure = err
			continue
		case errors.As(err, &waiting):
			a.retry = soonest(a.retry, waiting.After)
		case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			a.retry = soonest(a.retry, retryRefused)
		case apierrors.IsConflict(err):
			a.retry = soonest(a.retry, retryConflict)
		default:
			a.err = errors.Join(a.err, err)
		}
		if a.failure == nil {
			a.failure = err
		}
	}
}

// wanted is what the applier has to know.
func wanted(p *plan.Plan, objects []plan.Object, children *plan.Children) apply.Wanted {
	w := apply.Wanted{
		Owner: &p.Owner, Objects: objects, Have: children, Unlisted: unlisted(p, children),
		Role: func(o plan.Object) serving.ComponentRole { return p.RoleOf(o.GetName()) },
	}
	if !everyComponentServed(p, children) {
		w.Later = isRoute
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
		return ctrl.Result{}, err
	}
	return conflictIsLater(ctrl.Result{}, r.setFinalizer(ctx, svc, false))
}

// forget drops what is remembered of the services of a name but the one that has the name now; an empty UID is nobody's. A service may go
// without having been seen on its way out: somebody takes the finalizer away, or one of the same name comes at once.
func (r *Reconciler) forget(name types.NamespacedName, now types.UID) {
	if before, gone := r.own.named(name, now); gone {
		r.Apply.Forget(before)
	}
	if now == "" {
		r.Metrics.gone(name)
	}
}

// conflictIsLater: somebody else was quicker, and its event is on the way.
func conflictIsLater(result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return result, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: retryConflict}, nil
	}
	return ctrl.Result{}, err
}

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
