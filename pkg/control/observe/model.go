// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// transition is what a state of the wanted model means for the change to it.
func transition(state servingv1beta1.ModelState) servingv1beta1.TransitionStatus {
	switch state {
	case servingv1beta1.Loaded:
		return servingv1beta1.UpToDate
	case servingv1beta1.FailedToLoad:
		return servingv1beta1.BlockedByFailedLoad
	default:
		return servingv1beta1.InProgress
	}
}

// modelStatus tells of the model that is served and of the one that is wanted, by their pods. A failure is told as long as it lasts.
func (o *observer) modelStatus(p *part, old *servingv1beta1.ModelStatus) servingv1beta1.ModelStatus {
	before := servingv1beta1.ModelRevisionStates{}
	if old.ModelRevisionStates != nil {
		before = *old.ModelRevisionStates
	}
	var failing *finding
	failed := o.failed(p)
	if p.worst.failure != "" {
		failing = &p.worst
	}
	states := servingv1beta1.ModelRevisionStates{TargetModelState: servingv1beta1.Pending}
	serves := p.status == corev1.ConditionTrue
	if serves && ready(p.pods) > 0 {
		states.ActiveModelState = servingv1beta1.Loaded
	}
	switch {
	case serves && ready(p.newest) > 0:
		states.TargetModelState = servingv1beta1.Loaded
	case failing != nil:
		states.TargetModelState = servingv1beta1.FailedToLoad
	case p.behind != nil && p.behind.failure != "":
		states.TargetModelState, failing = servingv1beta1.FailedToLoad, p.behind
	case p.worst.rank == rankLoading, len(p.newest) > 0 && before.TargetModelState == servingv1beta1.Loading:
		// A server that has its files and reads them is loading still.
		states.TargetModelState = servingv1beta1.Loading
	}
	return servingv1beta1.ModelStatus{
		TransitionStatus: transition(states.TargetModelState), ModelRevisionStates: &states,
		LastFailureInfo: o.failureInfo(failing, old.LastFailureInfo),
		ModelCopies:     &servingv1beta1.ModelCopies{FailedCopies: failed, TotalCopies: ready(p.pods)},
	}
}

// failed counts the newest pods whose model failed. A model over several nodes fails as a whole, whichever of them does.
func (o *observer) failed(p *part) int {
	if p.worst.failure == "" {
		return 0
	}
	if p.nodes {
		return 1
	}
	n := 0
	for _, pod := range p.newest {
		if ended(pod) && slices.ContainsFunc(p.newest, func(other *corev1.Pod) bool { return !ended(other) }) {
			continue
		}
		if f := o.diagnose(nil, pod); f.failure != "" {
			n++
		}
	}
	return n
}

// failureInfo tells of a failure, with the time at which it was first seen.
func (o *observer) failureInfo(f *finding, old *servingv1beta1.FailureInfo) *servingv1beta1.FailureInfo {
	if f == nil {
		return nil
	}
	message := f.detail
	if message == "" {
		message = f.message
	}
	now := o.conditions.now
	info := &servingv1beta1.FailureInfo{
		Location: f.pod, Reason: f.failure, Message: ending(message, maxFailure), ExitCode: f.exitCode, Time: &now,
	}
	if old != nil && old.Reason == info.Reason && old.ExitCode == info.ExitCode && old.Location == info.Location &&
		(old.Message == info.Message || f.weak || sameButFigures(old.Message, info.Message)) {
		info.Message, info.Time = old.Message, old.Time.DeepCopy()
	}
	return info
}
