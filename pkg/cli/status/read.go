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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

// Service is all that is shown of one InferenceService.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	live.Diagnosis
	Status *servingv1beta1.InferenceServiceStatus `json:"status"`
	Pods   []Pod                                  `json:"pods"`
	// Warnings are events, the newest first.
	Warnings []live.Warning `json:"warnings,omitempty"`
	// Hidden says what is not shown, and why.
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
	// DefaultLines is how much of a log is shown.
	DefaultLines = 8
)

// hides keeps a refusal to show something for the screen: the rest is shown all the same.
func (s *Service) hides(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	s.Hidden = append(s.Hidden, err.Error())
	return nil
}

func (s *Service) ready() bool { return s.OK() }

func (s *Service) ageless() shown {
	still := *s
	still.now = time.Time{}
	return &still
}

// Look reads one service of a namespace, with so many lines of logs.
func Look(ctx context.Context, config *rest.Config, namespace, name string, lines int) (*Service, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "make a client: %w", err)
	}
	a := &asking{Options: Options{Name: name, Lines: lines}, config: config, client: client, namespace: namespace}
	return a.service(ctx)
}

// service reads one service.
func (a *asking) service(ctx context.Context) (*Service, error) {
	u, err := a.client.Resource(live.InferenceServices()).Namespace(a.namespace).Get(ctx, a.Name, metav1.GetOptions{})
	if err != nil {
		return nil, a.unreachable(ctx, err)
	}
	s := &Service{
		Namespace: u.GetNamespace(), Name: u.GetName(), Diagnosis: live.Diagnose(u), Status: &servingv1beta1.InferenceServiceStatus{}, Pods: []Pod{}, now: time.Now(),
	}
	if raw, ok, _ := unstructured.NestedMap(u.Object, "status"); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, s.Status); err != nil {
			s.Status = &servingv1beta1.InferenceServiceStatus{}
			s.Hidden = append(s.Hidden, "the status in full, which this version does not know: "+err.Error())
		}
	}
	if !s.OK() {
		if cause, is := live.Unattended(ctx, a.client); is {
			s.Causes = slices.Insert(s.Causes, 0, cause)
		}
	}
	pods, err := live.PodsOf(ctx, a.client, a.namespace, serving.LabelInferenceService+"="+a.Name)
	if err = s.hides(err); err != nil {
		return nil, a.unreachable(ctx, err)
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
	if len(s.Causes) > 0 {
		about := []live.Object{{Kind: u.GetKind(), Name: u.GetName(), UID: string(u.GetUID())}}
		for _, p := range pods {
			about = append(about, live.Object{Kind: "Pod", Name: p.Name, UID: p.UID})
		}
		s.Warnings, err = live.WarningsAbout(ctx, a.client, a.namespace, about, shownWarnings)
		if err = s.hides(err); err != nil {
			return nil, a.unreachable(ctx, err)
		}
	}
	return s, nil
}

// Line is a service in a table of many.
type Line struct {
	live.Service
	Age string `json:"age"`
}

// Lines are services, sorted.
type Lines []Line

func (l Lines) ready() bool {
	return !slices.ContainsFunc(l, func(one Line) bool { return !one.OK() })
}

func (l Lines) ageless() shown {
	still := slices.Clone(l)
	for i := range still {
		still[i].Age = ""
	}
	return still
}

// list reads a line for each service.
func (a *asking) list(ctx context.Context) (Lines, error) {
	lines := Lines{}
	now := time.Now()
	err := live.Each(ctx, a.client.Resource(live.InferenceServices()).Namespace(a.namespace), metav1.ListOptions{}, func(u *unstructured.Unstructured) error {
		lines = append(lines, Line{Service: live.ServiceOf(u), Age: age(now, u.GetCreationTimestamp().Time)})
		return nil
	})
	if err != nil {
		return nil, a.unreachable(ctx, err)
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
