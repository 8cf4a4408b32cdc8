// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

// Service is all that is shown of one InferenceService.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready is the status of the condition Ready.
	Ready  string                                 `json:"ready"`
	Status *servingv1beta1.InferenceServiceStatus `json:"status"`
	// Stale says that the status is of an earlier version of the service.
	Stale bool  `json:"stale,omitempty"`
	Pods  []Pod `json:"pods"`
	// Warnings are events, the newest first.
	Warnings []string `json:"warnings,omitempty"`
	// Hidden says what may not be read.
	Hidden []string `json:"hidden,omitempty"`

	now time.Time
}

// Pod is a pod and what its failing container said last.
type Pod struct {
	live.Pod
	// Container whose log is shown.
	Container string   `json:"container,omitempty"`
	Log       []string `json:"log,omitempty"`
	// LogFault says why there is no log.
	LogFault string `json:"logFault,omitempty"`
}

const (
	shownWarnings = 3
	shownLogs     = 2 // of how many pods logs are shown: those of others say the same
)

// hides keeps a refusal to show something for the screen: the rest is shown all the same.
func (s *Service) hides(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	s.Hidden = append(s.Hidden, err.Error())
	return nil
}

func (s *Service) ready() bool { return s.Ready == "True" && !s.Stale }

// service reads one service.
func (a *asking) service(ctx context.Context) (*Service, error) {
	u, err := a.client.Resource(live.InferenceServices()).Namespace(a.namespace).Get(ctx, a.Name, metav1.GetOptions{})
	if err != nil {
		return nil, a.unreachable(err)
	}
	s := &Service{Namespace: u.GetNamespace(), Name: u.GetName(), Status: &servingv1beta1.InferenceServiceStatus{}, Pods: []Pod{}, now: time.Now()}
	if raw, ok, _ := unstructured.NestedMap(u.Object, "status"); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, s.Status); err != nil {
			return nil, exit.Errorf(exit.Failed, "the status of InferenceService %s is none that this version knows: %w", a.Name, err)
		}
	}
	s.Ready = cmp.Or(live.Condition(u, string(serving.ConditionReady)), "Unknown")
	s.Stale = s.Status.ObservedGeneration != 0 && s.Status.ObservedGeneration < u.GetGeneration()
	pods, err := live.PodsOf(ctx, a.client, a.namespace, serving.LabelInferenceService+"="+a.Name)
	if err = s.hides(err); err != nil {
		return nil, a.unreachable(err)
	}
	logs := 0
	for _, p := range pods {
		one := Pod{Pod: p}
		if !p.Ready && p.Suspect.Container != "" && logs < shownLogs && a.Lines > 0 {
			logs++
			one.Container = p.Suspect.Container
			if one.Log, err = live.LastLines(ctx, a.config, p, p.Suspect, a.Lines); err != nil {
				one.LogFault = err.Error()
			}
		}
		s.Pods = append(s.Pods, one)
	}
	if s.Ready != "True" {
		s.Warnings, err = a.warnings(ctx, pods)
		if err = s.hides(err); err != nil {
			return nil, a.unreachable(err)
		}
	}
	return s, nil
}

// warnings are the events about the service and its pods.
func (a *asking) warnings(ctx context.Context, pods []live.Pod) ([]string, error) {
	about := []string{"InferenceService " + a.Name}
	for _, p := range pods {
		about = append(about, "Pod "+p.Name)
	}
	return live.WarningsAbout(ctx, a.client, a.namespace, about, shownWarnings)
}

// Line is a service in a table of many.
type Line struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     string `json:"ready"`
	URL       string `json:"url,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Age       string `json:"age"`
	// Stale says that the status is of an earlier version of the service.
	Stale bool `json:"stale,omitempty"`
}

// Lines are services, sorted.
type Lines []Line

func (l Lines) ready() bool {
	return !slices.ContainsFunc(l, func(one Line) bool { return one.Ready != "True" || one.Stale })
}

// list reads a line for each service.
func (a *asking) list(ctx context.Context) (Lines, error) {
	all, err := a.client.Resource(live.InferenceServices()).Namespace(a.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, a.unreachable(err)
	}
	lines := make(Lines, 0, len(all.Items))
	now := time.Now()
	for i := range all.Items {
		u := &all.Items[i]
		line := Line{
			Namespace: u.GetNamespace(), Name: u.GetName(), URL: live.URL(u), Age: age(now, u.GetCreationTimestamp().Time),
			Ready: cmp.Or(live.Condition(u, string(serving.ConditionReady)), "Unknown"),
		}
		line.Reason, line.Message = live.Reason(u, string(serving.ConditionReady))
		if line.Ready == "True" { // it serves, and the latest change of it may still have failed
			line.Reason, line.Message = live.Reason(u, string(servingv1beta1.LatestDeploymentReady))
		}
		observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration") // what is not there is 0
		if line.Stale = observed != 0 && observed < u.GetGeneration(); line.Stale {
			line.Reason, line.Message = "", "its latest change is not looked at yet"
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(x, y Line) int { return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name)) })
	return lines, nil
}

// age of something in one unit.
func age(now, since time.Time) string {
	if since.IsZero() {
		return ""
	}
	d := max(now.Sub(since), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
