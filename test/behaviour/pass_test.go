// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
)

// passes are enough for everything to come to rest.
const passes = 4

// run plays an example to its end.
func run(e *example) (*outcome, error) {
	w, err := newWorld(e)
	if err != nil {
		return nil, err
	}
	if err := w.apply(e.Stored, true); err != nil {
		return nil, err
	}
	for _, docs := range [][]doc{e.Input, e.Update} {
		if err := w.apply(docs, false); err != nil {
			return nil, err
		}
		for range passes {
			for _, key := range slices.Sorted(maps.Keys(w.tenants)) {
				if err := w.reconcile(w.tenants[key]); err != nil {
					return nil, fmt.Errorf("%s: %w", key, err)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.tenants)) {
		if err := w.isPure(w.tenants[key]); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return &w.outcome, w.collect()
}

// reconcile is one pass of the controller over one tenant.
func (w *world) reconcile(t *tenant) error {
	p, err := w.decide(t)
	t.stopped = nil
	var blocked *plan.Blocked
	var waiting *plan.Waiting
	switch {
	case errors.As(err, &blocked) || errors.As(err, &waiting):
		t.stopped, t.plan = err, nil
	case err != nil:
		return err
	case p.Frozen && t.objects != nil:
		t.plan = p
	default:
		if t.objects, err = render.Objects(p, w.settings); err != nil {
			return err
		}
		if err := wellFormed(t.objects); err != nil {
			return err
		}
		t.plan = p
	}
	if t.service == nil {
		return nil
	}
	return w.observe(t)
}

func (w *world) decide(t *tenant) (*plan.Plan, error) {
	if t.graph != nil {
		return w.decideGraph(t)
	}
	snap, err := w.snapshotOf(t)
	if err != nil {
		return nil, err
	}
	return resolve.Service(snap, w.settings)
}

func (w *world) snapshotOf(t *tenant) (*plan.Snapshot, error) {
	snap, err := w.snapshot(t.service.Namespace)
	if err != nil {
		return nil, err
	}
	snap.Service = t.service
	if w.ready && t.plan != nil {
		for _, c := range t.plan.Canaries() {
			snap.ReadyCanaries[c.Canary.Name] = true
		}
	}
	return snap, nil
}

func (w *world) decideGraph(t *tenant) (*plan.Plan, error) {
	snap, err := w.snapshot(t.graph.Namespace)
	if err != nil {
		return nil, err
	}
	g := &plan.GraphSnapshot{Graph: t.graph, Runtimes: snap.Runtimes, ClusterRuntimes: snap.ClusterRuntimes, KnativeZeroInitialScale: true, Services: map[string]*servingv1beta1.InferenceService{}}
	for _, other := range w.tenants {
		if other.service != nil && other.service.Namespace == t.graph.Namespace {
			g.Services[other.service.Name] = other.service
		}
	}
	return resolve.Graph(g, w.settings)
}

// isPure plans twice, with what was read in another order: nothing but the same plan and objects may come of it.
func (w *world) isPure(t *tenant) error {
	if t.graph != nil {
		return nil
	}
	snap, err := w.snapshotOf(t)
	if err != nil {
		return err
	}
	if t.plan == nil {
		slices.Reverse(snap.Runtimes)
		slices.Reverse(snap.ClusterRuntimes)
		slices.Reverse(snap.StorageContainers)
		if _, err := resolve.Service(snap, w.settings); err == nil || err.Error() != t.stopped.Error() {
			return fmt.Errorf("the order of reading shows: %v, then %v", t.stopped, err) //nolint:errorlint // two texts, for people
		}
		return nil
	}
	before := text(snap)
	first, err := resolve.Service(snap, w.settings)
	if err != nil {
		return fmt.Errorf("plan once more: %w", err)
	}
	objects, err := render.Objects(first, w.settings)
	if err != nil {
		return err
	}
	if text(snap) != before {
		return errors.New("planning or rendering has written to the snapshot")
	}
	slices.Reverse(snap.Runtimes)
	slices.Reverse(snap.ClusterRuntimes)
	slices.Reverse(snap.StorageContainers)
	second, err := resolve.Service(snap, w.settings)
	if err != nil {
		return fmt.Errorf("in another order of reading: %w", err)
	}
	if text(first) != text(second) {
		return fmt.Errorf("the order of reading shows: %s, then %s", text(first), text(second))
	}
	again, err := render.Objects(second, w.settings)
	if err != nil {
		return err
	}
	if text(objects) != text(again) {
		return errors.New("rendering twice gives different objects")
	}
	return nil
}

// observe writes the status that comes of the objects.
func (w *world) observe(t *tenant) error {
	in := observe.Input{Service: t.service, Plan: t.plan, Failure: t.stopped, Settings: w.settings, Release: w.release, Now: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))}
	for _, o := range t.objects {
		if w.ready {
			o = w.cluster.Object(o)
		}
		seen, err := w.layObserved(o)
		if err != nil {
			return err
		}
		in.Children.Add(seen)
	}
	for _, d := range w.observed {
		if d["kind"] != "Pod" {
			continue
		}
		pod, err := decode[corev1.Pod](d)
		if err != nil {
			return err
		}
		if pod.Namespace == "" {
			pod.Namespace = defaultNamespace
		}
		if pod.Labels[serving.LabelInferenceService] == t.service.Name && pod.Namespace == t.service.Namespace {
			in.Pods = append(in.Pods, *pod)
		}
	}
	seen := observe.Service(in)
	again := in
	again.Service = t.service.DeepCopy()
	again.Service.Status = *seen.Status.DeepCopy()
	if twice := observe.Service(again); text(twice.Status) != text(seen.Status) {
		return fmt.Errorf("an unchanged world gives another status: %s, then %s", text(seen.Status), text(twice.Status))
	}
	t.service.Status = seen.Status
	t.events = nil
	for _, event := range seen.Events {
		t.events = append(t.events, event.Type+" "+event.Reason+": "+event.Message)
	}
	return nil
}

// layObserved lays what the example says about a live object over it.
func (w *world) layObserved(o plan.Object) (plan.Object, error) {
	for _, d := range w.observed {
		meta, _ := d["metadata"].(doc)
		if d["kind"] != o.GetObjectKind().GroupVersionKind().Kind || meta["name"] != o.GetName() {
			continue
		}
		base, err := asDoc(o)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(laid(base, d))
		if err != nil {
			return nil, err
		}
		if u, ok := o.(*unstructured.Unstructured); ok {
			o = u.DeepCopy()
		} else {
			o = o.DeepCopyObject().(plan.Object) //nolint:forcetypeassert // a copy has the type of the original
		}
		if err := json.Unmarshal(raw, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// laid lays one tree over another: maps by key, everything else is replaced.
func laid(base, over any) any {
	b, isMap := base.(doc)
	o, both := over.(doc)
	if !isMap || !both {
		return over
	}
	out := maps.Clone(b)
	for k, v := range o {
		out[k] = laid(b[k], v)
	}
	return out
}

// collect lists what is there at the end.
func (w *world) collect() error {
	for _, key := range slices.Sorted(maps.Keys(w.tenants)) {
		t := w.tenants[key]
		if t.stopped != nil {
			w.outcome.stops = append(w.outcome.stops, t.stopped)
		}
		w.outcome.decisions = append(w.outcome.decisions, decisions(t)...)
		w.outcome.events = append(w.outcome.events, t.events...)
		if t.service != nil {
			d, err := asDoc(t.service)
			if err != nil {
				return err
			}
			d["kind"] = servingv1beta1.InferenceServiceKind
			w.outcome.defaulted = append(w.outcome.defaulted, d)
			w.outcome.status = append(w.outcome.status, d)
		}
		for _, o := range t.objects {
			d, err := asDoc(o)
			if err != nil {
				return err
			}
			w.outcome.objects = append(w.outcome.objects, d)
			if err := w.podOf(t, d); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(w.inputs)) {
		if d := w.inputs[key]; d["kind"] == "Pod" {
			pod, err := decode[corev1.Pod](d)
			if err != nil {
				return err
			}
			if err := w.inject(pod, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// decisions in the words of kserve explain.
func decisions(t *tenant) []string {
	var list []plan.Decision
	var blocked *plan.Blocked
	switch {
	case t.plan != nil:
		list = t.plan.Decisions
	case errors.As(t.stopped, &blocked):
		list = blocked.Decisions
	}
	var lines []string
	for _, d := range list {
		lines = append(lines, d.Subject+": "+d.Chosen+": "+d.Why)
		for _, r := range d.Rejected {
			lines = append(lines, d.Subject+": not "+r.Name+": "+r.Why)
		}
	}
	return lines
}

// podOf is the pod that a workload's template leads to.
func (w *world) podOf(t *tenant, d doc) error {
	api, _ := d["apiVersion"].(string)
	isKnative := api == "serving.knative.dev/v1" && d["kind"] == "Service"
	if d["kind"] != "Deployment" && !isKnative {
		return nil
	}
	spec, _ := d["spec"].(doc)
	raw, err := json.Marshal(spec["template"])
	if err != nil {
		return err
	}
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &template); err != nil {
		return err
	}
	meta, _ := d["metadata"].(doc)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, _ = meta["name"].(string)
	pod.Namespace, _ = meta["namespace"].(string)
	var logger *servingv1beta1.LoggerSpec
	if t.service != nil {
		logger = t.service.Spec.Predictor.Logger
	}
	return w.inject(pod, logger)
}

// inject plays pod admission, and checks what holds for every pod.
func (w *world) inject(pod *corev1.Pod, logger *servingv1beta1.LoggerSpec) error {
	snap, err := w.snapshot(pod.Namespace)
	if err != nil {
		return err
	}
	slices.Reverse(snap.StorageContainers)
	a := podspec.Admission{Settings: w.settings, Around: &snap.Surroundings, Namespace: pod.Namespace, PredictorLogger: logger}
	foreign := pod.DeepCopy()
	delete(foreign.Labels, serving.LabelInferenceService)
	untouched := text(foreign)
	if err := podspec.Inject(foreign, a); err != nil {
		return fmt.Errorf("the pod of a stranger is refused: %w", err)
	}
	if text(foreign) != untouched {
		return fmt.Errorf("the pod of a stranger was changed: %s", text(foreign))
	}
	if err := podspec.Inject(pod, a); err != nil {
		w.outcome.pods = append(w.outcome.pods, doc{"kind": "Pod", "metadata": doc{"name": pod.Name}, "refused": err.Error()})
		return nil //nolint:nilerr // that it is refused is the outcome
	}
	if err := podIsWellFormed(&pod.Spec); err != nil {
		return fmt.Errorf("pod %s after admission: %w", pod.Name, err)
	}
	again := pod.DeepCopy()
	if err := podspec.Inject(again, a); err != nil {
		return fmt.Errorf("the second admission of a pod refuses it: %w", err)
	}
	if text(again) != text(pod) {
		return fmt.Errorf("a second admission changes the pod: %s, then %s", text(pod), text(again))
	}
	d, err := asDoc(pod)
	if err != nil {
		return err
	}
	w.outcome.pods = append(w.outcome.pods, d)
	return nil
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
