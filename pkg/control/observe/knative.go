// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// soon is when a plan is made again that was made too early.
const soon = time.Second

// Conditions of a Knative Service.
const (
	ksvcRoutesReady         serving.ConditionType = "RoutesReady"
	ksvcConfigurationsReady serving.ConditionType = "ConfigurationsReady"
)

// knativeStatus is the part of a Knative Service's status that is read here.
type knativeStatus struct {
	ObservedGeneration        int64                   `json:"observedGeneration,omitempty"`
	Conditions                []serving.Condition     `json:"conditions,omitempty"`
	URL                       string                  `json:"url,omitempty"`
	Address                   *serving.Address        `json:"address,omitempty"`
	LatestReadyRevisionName   string                  `json:"latestReadyRevisionName,omitempty"`
	LatestCreatedRevisionName string                  `json:"latestCreatedRevisionName,omitempty"`
	Traffic                   []serving.TrafficTarget `json:"traffic,omitempty"`
}

// readKnative reads the status of a Knative Service; nil for other kinds.
func readKnative(u *unstructured.Unstructured) *knativeStatus {
	if gvk := u.GroupVersionKind(); gvk.Group != knativeGroup || gvk.Kind != "Service" {
		return nil
	}
	s := &knativeStatus{}
	if !readStatus(u, s) {
		return &knativeStatus{}
	}
	return s
}

// knative judges a component by its Knative Service, and takes over what that says about revisions, traffic and URLs.
func (o *observer) knative(c *plan.Component, entry *servingv1beta1.ComponentStatus) *part {
	p := &part{fact: fact{status: corev1.ConditionUnknown}}
	u := o.in.Children.OptionalObject(knativeGroup, "Service", c.Name)
	if u == nil || u.GetDeletionTimestamp() != nil {
		p.fact = fact{status: corev1.ConditionUnknown, reason: ReasonNotCreated, message: "Knative Service " + c.Name + " does not exist yet"}
		return p
	}
	k := readKnative(u)
	ready := find(k.Conditions, serving.ConditionReady)
	entry.LatestCreatedRevision, entry.LatestReadyRevision, entry.Traffic = k.LatestCreatedRevisionName, k.LatestReadyRevisionName, k.Traffic
	rolledOut(entry)
	stale := k.ObservedGeneration < u.GetGeneration() && !o.wasTrue(c)
	switch {
	case ready == nil:
		if old := o.old.Condition(readyCondition(c.Role)); old != nil {
			p.fact = fact{status: old.Status, reason: old.Reason, message: old.Message}
		}
	case ready.Status == corev1.ConditionTrue && stale:
		p.fact = fact{
			status: corev1.ConditionUnknown, reason: ReasonProgressing,
			message: "the status of Knative Service " + c.Name + " is older than its last change",
		}
	default:
		p.fact = fact{status: ready.Status, reason: ready.Reason, message: ready.Message, tell: ready.Status == corev1.ConditionFalse}
	}
	if ready != nil && ready.Status == corev1.ConditionTrue {
		if k.URL != "" {
			entry.URL = k.URL
		}
		if k.Address != nil {
			entry.Address = k.Address
		}
	}
	p.pods = o.podsOf(serving.LabelKnativeRevision, k.LatestCreatedRevisionName)
	p.newest = p.pods
	p.worst = o.worst(c, p.newest)
	if p.status != corev1.ConditionTrue {
		o.lookAgain(p.worst.after)
	}
	if p.status != corev1.ConditionTrue && p.worst.fails() {
		p.reason, p.message, p.weak, p.tell = p.worst.reason, p.worst.message, p.worst.weak, true
	}
	if len(p.pods) == 0 {
		for i := range k.Conditions {
			if bad := &k.Conditions[i]; bad.Status == corev1.ConditionFalse {
				p.behind = &finding{rank: rankSlow, reason: bad.Reason, failure: servingv1beta1.RuntimeUnhealthy, message: bad.Message, detail: bad.Message}
				break
			}
		}
	}
	o.propagate(routeCondition(c.Role), find(k.Conditions, ksvcRoutesReady))
	o.propagate(configurationCondition(c.Role), find(k.Conditions, ksvcConfigurationsReady))
	return p
}

// propagate takes over a condition; one that is missing leaves ours as it was.
func (o *observer) propagate(kind serving.ConditionType, theirs *serving.Condition) {
	if theirs == nil {
		if old := o.old.Condition(kind); old != nil {
			o.conditions.keep(*old)
		}
		return
	}
	o.conditions.put(kind, fact{status: theirs.Status, reason: theirs.Reason, message: theirs.Message})
}

// rolledOut keeps the books on which revision has, or last had, all traffic. They decide where the rest of the traffic goes while a
// canary has a share.
func rolledOut(entry *servingv1beta1.ComponentStatus) {
	latest := entry.LatestReadyRevision
	if latest == "" {
		return
	}
	for i := range entry.Traffic {
		t := &entry.Traffic[i]
		if t.LatestRevision == nil || !*t.LatestRevision || t.RevisionName != latest || t.Percent == nil {
			continue
		}
		switch {
		case entry.LatestRolledoutRevision != latest:
			if *t.Percent == 100 {
				entry.PreviousRolledoutRevision, entry.LatestRolledoutRevision = entry.LatestRolledoutRevision, latest
			}
		case latest == entry.LatestCreatedRevision && *t.Percent < 100 && entry.PreviousRolledoutRevision != "" && shares(entry.Traffic, latest) == 100:
			// A share was asked for after everything had been rolled out: the rest goes back to the revision before.
			entry.LatestRolledoutRevision = entry.PreviousRolledoutRevision
		}
	}
}

func shares(traffic []serving.TrafficTarget, revision string) int64 {
	var sum int64
	for i := range traffic {
		if traffic[i].RevisionName == revision && traffic[i].Percent != nil {
			sum += *traffic[i].Percent
		}
	}
	return sum
}

// summary joins one condition of every component into one of the service.
func (o *observer) summary(kind serving.ConditionType, of func(serving.ComponentRole) serving.ConditionType) {
	f := fact{status: corev1.ConditionTrue}
	for _, role := range roles() {
		if o.parts[role] == nil {
			continue
		}
		switch c := find(o.conditions.list, of(role)); {
		case c == nil || c.Status == corev1.ConditionUnknown:
			f = fact{status: corev1.ConditionUnknown, reason: string(of(role)) + " not ready"}
		case c.Status == corev1.ConditionFalse:
			f = fact{status: corev1.ConditionFalse, reason: string(of(role)) + " not ready", message: c.Message}
		}
	}
	o.conditions.put(kind, f)
}
