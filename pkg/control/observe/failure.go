// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// failureReason tells the reasons that modelStatus.lastFailureInfo may have.
func failureReason(reason string) (servingv1beta1.FailureReason, bool) {
	switch r := servingv1beta1.FailureReason(reason); r {
	case servingv1beta1.ModelLoadFailed, servingv1beta1.RuntimeUnhealthy, servingv1beta1.RuntimeDisabled,
		servingv1beta1.NoSupportingRuntime, servingv1beta1.RuntimeNotRecognized, servingv1beta1.InvalidPredictorSpec:
		return r, true
	}
	return "", false
}

// trouble is a Failure in the words of a condition.
type trouble struct {
	reason  string
	message string
	role    serving.ComponentRole // empty: the predictor, for want of a better place
	// event is the reason of the event that tells it; empty for none.
	event string
}

func (o *observer) trouble() trouble { return o.troubleIn(o.in.Failure) }

// troubleIn is any error in the words of a condition.
func (o *observer) troubleIn(err error) trouble {
	var blocked *plan.Blocked
	var waiting *plan.Waiting
	switch {
	case errors.As(err, &blocked):
		return trouble{reason: blocked.Reason, message: o.withSettings(blocked.Message), role: blocked.Role, event: blocked.Reason}
	case errors.As(err, &waiting):
		o.lookAgain(waiting.After)
		return trouble{reason: waiting.Reason, message: waiting.Message}
	}
	return trouble{reason: servingv1beta1.ReasonReconcileFailed, message: o.withSettings(err.Error()), event: ReasonInternalError}
}

// withSettings adds to a trouble what its service has to know of the operator's ConfigMap: an edit of it that should help may not be in force.
func (o *observer) withSettings(message string) string {
	if o.in.SettingsFault == nil {
		return message
	}
	note := " (ConfigMap " + settings.ConfigMapName + " cannot be used as it is now, and what it said before is in force: " + bounded(o.in.SettingsFault.Error(), maxDetail/2) + ")"
	return bounded(message, maxMessage-len(note)) + note
}

// undecided is the status of a service that has no plan. What an earlier plan made may serve on; then Ready stays True, and the model's
// status and LatestDeploymentReady say that the latest edit is not in force.
func (o *observer) undecided() {
	t := o.trouble()
	o.conditions.put(servingv1beta1.Stopped, fact{status: corev1.ConditionFalse})
	no := fact{status: corev1.ConditionFalse, reason: t.reason, message: t.message}
	serves := o.servesOn()
	if serves {
		for i := range o.old.Conditions {
			o.conditions.keep(o.old.Conditions[i])
		}
		no.message = "the service " + servesAsBefore + why + no.message
		o.conditions.put(servingv1beta1.LatestDeploymentReady, no)
	} else {
		o.conditions.put(servingv1beta1.PredictorReady, no)
		if t.role == serving.Transformer || t.role == serving.Explainer {
			o.conditions.put(readyCondition(t.role), no)
		}
		if old := o.old.Condition(servingv1beta1.IngressReady); old != nil && old.Status == corev1.ConditionTrue {
			o.conditions.put(servingv1beta1.IngressReady, fact{status: corev1.ConditionFalse, reason: notRouted(serving.Predictor), message: "the predictor is not ready"})
		} else if old != nil {
			o.conditions.keep(*old)
		}
	}
	reason, ok := failureReason(t.reason)
	if !ok {
		return
	}
	states := servingv1beta1.ModelRevisionStates{TargetModelState: servingv1beta1.FailedToLoad}
	if before := o.old.ModelStatus.ModelRevisionStates; serves && before != nil {
		states.ActiveModelState = before.ActiveModelState
	}
	info := o.failureInfo(&finding{failure: reason, message: t.message}, o.old.ModelStatus.LastFailureInfo)
	o.status.ModelStatus = servingv1beta1.ModelStatus{TransitionStatus: servingv1beta1.InvalidSpec, ModelRevisionStates: &states, LastFailureInfo: info}
	if serves {
		o.status.ModelStatus.ModelCopies = o.old.ModelStatus.ModelCopies.DeepCopy()
	}
}

// servesOn says that a service that was ready has kept every workload it was ready with.
func (o *observer) servesOn() bool {
	if was := o.old.Condition(serving.ConditionReady); was == nil || was.Status != corev1.ConditionTrue {
		return false
	}
	alive := map[serving.ComponentRole]bool{}
	for _, d := range o.in.Children.Deployments {
		role := serving.ComponentRole(d.Labels[serving.LabelComponent])
		if d.Status.AvailableReplicas > 0 && d.DeletionTimestamp.IsZero() {
			alive[role] = true
		}
	}
	for _, d := range o.in.Children.Deployments {
		// A model over several nodes needs every one of them.
		if strings.HasSuffix(d.Name, "-worker") && conditionOf(d, "Available").Status != corev1.ConditionTrue {
			alive[serving.Predictor] = false
		}
	}
	for _, u := range o.in.Children.Optional {
		if k := readKnative(u); k != nil && find(k.Conditions, serving.ConditionReady) != nil && find(k.Conditions, serving.ConditionReady).Status == corev1.ConditionTrue {
			alive[serving.ComponentRole(u.GetLabels()[serving.LabelComponent])] = true
		}
	}
	if len(o.old.Components) == 0 {
		return alive[serving.Predictor]
	}
	for role := range o.old.Components {
		if !alive[role] {
			return false
		}
	}
	return true
}

// applyFailure puts an error of applying where it belongs: at the component whose object it is about, at the route, or at the predictor.
func (o *observer) applyFailure() {
	if o.in.Failure == nil {
		return
	}
	t := o.trouble()
	kind, name := objectOf(o.in.Failure)
	role := t.role
	for i := range o.in.Plan.Components {
		c := &o.in.Plan.Components[i]
		if role == "" && c.Canary == nil && !isRoute(kind) && (name == c.Name || c.Workers != nil && (name == c.Workers.Name || name == c.Workers.HeadService || name == c.Workers.Service)) {
			role = c.Role
		}
		if c.Canary != nil && name == c.Name && !isRoute(kind) {
			// A canary that cannot be made is told by its own condition.
			o.conditions.put(servingv1beta1.CanaryPredictorReady, fact{status: corev1.ConditionFalse, reason: t.reason, message: t.message})
			return
		}
	}
	if role == "" && isRoute(kind) {
		return // route() tells it
	}
	p := o.parts[role]
	if p == nil {
		role = serving.Predictor
		p = o.parts[role]
	}
	if p == nil {
		return
	}
	f := finding{rank: rankContainer, reason: t.reason, message: t.message, applying: true, beside: kind != "Deployment"}
	if p.status == corev1.ConditionTrue {
		p.behind = &f
		return
	}
	p.fact, p.progress = fact{status: corev1.ConditionFalse, reason: t.reason, message: t.message}, ""
}

// isRoute tells the kinds by which requests reach a service.
func isRoute(kind string) bool {
	return kind == "Ingress" || kind == "HTTPRoute" || kind == "VirtualService"
}
