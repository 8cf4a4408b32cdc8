// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

const (
	// patience bounds every wait. What takes longer on two busy processors is broken.
	patience = 2 * time.Minute
	// seconds is how soon status tells the truth about a failure: what the words "within seconds" mean here.
	seconds = 30 * time.Second
)

var services = schema.GroupVersionResource{Group: "serving.kserve.io", Version: "v1beta1", Resource: "inferenceservices"}

// space is the namespace of one test, with the keys of the object store.
type space struct {
	*testing.T
	*world
	ns string
}

// space makes the namespace; it goes with the test, unless that failed.
func (w *world) space(t *testing.T) *space {
	t.Helper()
	sentence := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
	word := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(sentence), "-")
	s := &space{T: t, world: w, ns: strings.Trim(word[:min(len(word), 30)], "-")}
	if w.keep {
		s.ns += "-" + strconv.FormatInt(time.Now().Unix()%100000, 36)
	}
	_, err := w.core.CoreV1().Namespaces().Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.apply(s.storeKeys(storeID, storeSecret))
	start := time.Now()
	tell("%s: begins in namespace %s", sentence, s.ns)
	t.Cleanup(func() {
		if t.Failed() {
			s.explain()
			return
		}
		tell("%s: passed in %.1fs", sentence, time.Since(start).Seconds())
		_ = w.core.CoreV1().Namespaces().Delete(context.Background(), s.ns, metav1.DeleteOptions{}) // the cluster ends soon anyway
	})
	return s
}

// note tells what was seen, in the run's output.
func (s *space) note(format string, args ...any) {
	tell("  %s: %s", s.ns, fmt.Sprintf(format, args...))
}

// apply is `kubectl apply`.
func (s *space) apply(yaml string) {
	s.Helper()
	out, err := s.kubectl(s.Context(), yaml, "apply", "-n", s.ns, "-f", "-")
	require.NoError(s, err, "%s", out)
}

// refuses expects that the API server does not take the object, and that the reason has the phrases.
func (s *space) refuses(yaml string, phrases ...string) {
	s.Helper()
	out, err := s.kubectl(s.Context(), yaml, "apply", "-n", s.ns, "-f", "-")
	require.Error(s, err, "the object was taken: %s", yaml)
	for _, p := range phrases {
		require.Contains(s, out, p)
	}
}

// model is an InferenceService of a scikit-learn model; more are lines below `model:`, with their indentation.
func model(name, uri string, more ...string) string {
	return `apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: ` + name + `
  annotations: {serving.kserve.io/deploymentMode: Standard}
spec:
  predictor:
    model:
      modelFormat: {name: sklearn}
      storageUri: ` + uri + `
      resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {cpu: "1", memory: 512Mi}}
` + strings.Join(more, "\n") + "\n"
}

type isvc = servingv1beta1.InferenceService

// await follows the service until ok, and returns what it then was.
func (s *space) await(name, what string, limit time.Duration, ok func(*isvc) bool) *isvc {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	var last *isvc
	err := s.follow(ctx, services, name, func(u *unstructured.Unstructured) bool {
		if u == nil {
			return false
		}
		last = &isvc{}
		require.NoError(s, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, last))
		return ok(last)
	})
	require.NoError(s, err, "%s/%s: %s, within %s; it says:\n%s", s.ns, name, what, limit, said(last))
	return last
}

// follow calls ok with each state of an object, nil when it is not there, until that returns true. It outlives a restart of the API server.
func (s *space) follow(ctx context.Context, kind schema.GroupVersionResource, name string, ok func(*unstructured.Unstructured) bool) error {
	r := s.client.Resource(kind).Namespace(s.ns)
	for ctx.Err() == nil {
		list, err := r.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			pause(ctx)
			continue
		}
		var now *unstructured.Unstructured
		if len(list.Items) > 0 {
			now = &list.Items[0]
		}
		if ok(now) {
			return nil
		}
		w, err := r.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			pause(ctx)
			continue
		}
		if until(w, ok) {
			return nil
		}
	}
	return ctx.Err()
}

func until(w watch.Interface, ok func(*unstructured.Unstructured) bool) bool {
	defer w.Stop()
	for e := range w.ResultChan() {
		u, isObject := e.Object.(*unstructured.Unstructured)
		switch {
		case e.Type == watch.Error || !isObject:
			return false
		case e.Type == watch.Deleted:
			u = nil
		}
		if ok(u) {
			return true
		}
	}
	return false
}

// pause keeps a loop that waits for the API server from spinning.
func pause(ctx context.Context) {
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
	}
}

// eventually is for what cannot be followed.
func (s *space) eventually(what string, limit time.Duration, ok func(context.Context) error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	for {
		err := ok(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			require.NoError(s, err, "%s, within %s", what, limit)
		}
		pause(ctx)
	}
}

func isTrue(v *isvc, kind serving.ConditionType) bool {
	c := v.Status.Condition(kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

// isReady says that status is about the present object and that it is Ready.
func isReady(v *isvc) bool {
	return v.Status.ObservedGeneration == v.Generation && isTrue(v, serving.ConditionReady)
}

// ready waits until the service is Ready.
func (s *space) ready(name string) *isvc {
	s.Helper()
	start := time.Now()
	v := s.await(name, "becomes Ready", patience, isReady)
	s.note("%s is Ready after %.1fs", name, time.Since(start).Seconds())
	return v
}

// said is all that status tells a person.
func said(v *isvc) string {
	if v == nil {
		return "(there is no such service)"
	}
	var b strings.Builder
	for _, c := range v.Status.Conditions {
		fmt.Fprintf(&b, "%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	m := v.Status.ModelStatus
	fmt.Fprintf(&b, "modelStatus %s", m.TransitionStatus)
	if m.ModelRevisionStates != nil {
		fmt.Fprintf(&b, " active=%s target=%s", m.ModelRevisionStates.ActiveModelState, m.ModelRevisionStates.TargetModelState)
	}
	if f := m.LastFailureInfo; f != nil {
		fmt.Fprintf(&b, "\nlastFailureInfo %s exit %d: %s", f.Reason, f.ExitCode, f.Message)
	}
	return b.String()
}

// trouble is what status must tell about a failure.
type trouble struct {
	// message are phrases of the message of PredictorReady or Ready.
	message []string
	// state is the wanted model's state, reason and exit code those of the last failure; empty ones are not looked at.
	state  servingv1beta1.ModelState
	reason servingv1beta1.FailureReason
	exit   int32
}

// tells waits until the service is not Ready and status names the trouble.
func (s *space) tells(name string, want trouble) *isvc {
	s.Helper()
	start := time.Now()
	v := s.await(name, fmt.Sprintf("tells of its trouble (%+v)", want), patience, func(v *isvc) bool {
		c := v.Status.Condition(servingv1beta1.PredictorReady)
		if c == nil || isTrue(v, serving.ConditionReady) || v.Status.ObservedGeneration != v.Generation {
			return false
		}
		for _, phrase := range want.message {
			if !strings.Contains(c.Message, phrase) {
				return false
			}
		}
		m := v.Status.ModelStatus
		if want.state != "" && (m.ModelRevisionStates == nil || m.ModelRevisionStates.TargetModelState != want.state) {
			return false
		}
		if want.reason == "" && want.exit == 0 {
			return true
		}
		f := m.LastFailureInfo
		return f != nil && (want.reason == "" || f.Reason == want.reason) && (want.exit == 0 || f.ExitCode == want.exit)
	})
	took := time.Since(start)
	c := v.Status.Condition(servingv1beta1.PredictorReady)
	s.note("told in %.1fs: PredictorReady=%s %s: %s", took.Seconds(), c.Status, c.Reason, c.Message)
	require.Less(s, took, seconds, "the truth comes within seconds")
	return v
}

// gone waits until no pod of the namespace is left.
func (s *space) podsGone() {
	s.Helper()
	s.eventually("every pod goes", patience, func(ctx context.Context) error {
		list, err := s.core.CoreV1().Pods(s.ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%d pods are left, among them %s", len(list.Items), list.Items[0].Name)
		}
		return nil
	})
}

// explain prints what a person would look at after a failure.
func (s *space) explain() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"get", "inferenceservices", "-n", s.ns, "-o", "jsonpath={range .items[*]}{.metadata.name}{\": \"}{.status}{\"\\n\"}{end}"},
		{"get", "deployments,pods,hpa,ingress", "-n", s.ns, "-o", "wide"},
		{"get", "events", "-n", s.ns, "--sort-by=.lastTimestamp"},
		{"logs", "-n", "kserve", "deploy/kserve-controller-manager", "--tail=20"},
	} {
		out, err := s.kubectl(ctx, "", args...)
		if err != nil && !apierrors.IsNotFound(err) {
			out += err.Error()
		}
		s.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}
