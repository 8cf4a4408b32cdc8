// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parity compares what our control plane makes of recorded inputs with what the reference control plane made of them, case by
// case: on a real API server with our controller and webhook, or, in pure mode, only what the planner renders.
//
// Called by: make parity (test/parity/cmd), go test.
// Next: docs/differences.md, which says where we are right not to agree; pkg/testkit/cluster.
package parity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// outOfScopeError is a case about a kind that the planner does not cover yet.
type outOfScopeError struct{ what string }

func (e *outOfScopeError) Error() string { return e.what }

// Result is the verdict on one case.
type Result struct {
	Name string
	// OutOfScope is the rule that puts the case out of scope; Ran says that it ran all the same.
	OutOfScope string
	Ran        bool
	Problems   []string
	Outcome    Outcome
}

// RunPure judges what the planner renders, without an API server: the kinds that it makes, and no status.
func RunPure(dir string) ([]Result, error) {
	cases, err := load(dir)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range cases {
		r := Result{Name: c.name}
		r.Outcome, r.Problems, err = runPure(c)
		var out *outOfScopeError
		switch {
		case errors.As(err, &out):
			r.OutOfScope = out.what
		case err != nil:
			r.Problems = []string{err.Error()}
		}
		results = append(results, r)
	}
	return results, nil
}

func runPure(c *recorded) (Outcome, []string, error) {
	var none Outcome
	w, err := newWorld(c)
	if err != nil {
		return none, nil, err
	}
	for _, file := range c.files {
		if err := w.apply(file); err != nil {
			return none, nil, err
		}
		// Twice: what became ready after the first pass counts in the second.
		for range 2 {
			if err := w.reconcile(); err != nil {
				return none, nil, err
			}
		}
	}
	actual, err := w.outcome()
	if err != nil {
		return none, nil, err
	}
	expected := c.expected
	expected.Objects = slices.DeleteFunc(slices.Clone(expected.Objects), func(o doc) bool { return !rendered(o) })
	return actual, Compare(expected, actual, narrowed(c.diff), w.namespace), nil
}

// rendered tells the kinds that the planner makes; the others are inputs, or belong to the controller.
func rendered(o doc) bool {
	switch o["kind"] {
	case "Deployment", "Service", "HorizontalPodAutoscaler", "Ingress", "HTTPRoute", "VirtualService", "ScaledObject", "OpenTelemetryCollector":
		return true
	case "ConfigMap":
		return strings.HasPrefix(name(o), "modelconfig-")
	}
	return false
}

// narrowed leaves out the differences that are about inputs and statuses.
func narrowed(d Difference) Difference {
	d.Conditions = nil
	inputs := func(p place) bool { return strings.HasPrefix(p.Object, "Inference") }
	d.Set, d.Unset, d.Ignore = slices.DeleteFunc(slices.Clone(d.Set), inputs), slices.DeleteFunc(slices.Clone(d.Unset), inputs), slices.DeleteFunc(slices.Clone(d.Ignore), inputs)
	return d
}

// input is a document as it was written, and read as a tree.
type input struct {
	doc
	raw []byte
}

// world is the state of one case: what was applied, and what was rendered from it.
type world struct {
	namespace string
	settings  *settings.Settings
	ready     bool
	inputs    map[string]input // by Kind/name
	rejected  []Rejection
	tenants   map[string]*tenant // by Kind/name
	knative   map[string]*revision
}

// tenant is one service or graph and what was made of it.
type tenant struct {
	service *servingv1beta1.InferenceService
	graph   *servingv1alpha1.InferenceGraph
	plan    *plan.Plan
	objects []plan.Object
}

func newWorld(c *recorded) (*world, error) {
	w := &world{namespace: c.namespace(), ready: c.ready, inputs: map[string]input{}, tenants: map[string]*tenant{}, knative: map[string]*revision{}}
	var err error
	w.settings, err = settings.Parse(c.settings)
	return w, err
}

// override merges the keys of a case into the ConfigMap, field by field.
func override(data map[string]string, raw []byte) error {
	var over map[string]any
	if err := json.Unmarshal(raw, &over); err != nil {
		return err
	}
	for k, v := range over {
		fields, ok := v.(map[string]any)
		if !ok {
			if s, isText := v.(string); isText {
				data[k] = s
			} else {
				data[k] = text(v)
			}
			continue
		}
		base := map[string]any{}
		if old, ok := data[k]; ok {
			if err := json.Unmarshal([]byte(old), &base); err != nil {
				return err
			}
		}
		maps.Copy(base, fields)
		data[k] = text(base)
	}
	return nil
}

// apply takes in the documents of one file, as a client would, one by one.
func (w *world) apply(file string) error {
	docs, err := documents(file, w.namespace)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if err := w.applyDoc(filepath.Base(file), d); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) applyDoc(stepName string, d input) error {
	kind := fmt.Sprint(d.doc["kind"])
	id := kind + "/" + name(d.doc)
	if d.doc["$delete"] == true {
		delete(w.inputs, id)
		delete(w.tenants, id)
		return nil
	}
	if err := w.admit(kind, d); err != nil {
		var out *outOfScopeError
		if errors.As(err, &out) {
			return err
		}
		w.rejected = append(w.rejected, Rejection{Step: stepName, Kind: kind, Name: name(d.doc), Error: err.Error()})
		return nil
	}
	w.inputs[id] = d
	return nil
}

// decode reads an input into a Go type, refusing fields that the type does not have.
func decode[T any](d input) (*T, error) {
	out := new(T)
	return out, yaml.UnmarshalStrict(d.raw, out)
}

// snapshot gathers what the decision on one service is made from; the service may be absent.
func (w *world) snapshot(t *tenant) (*plan.Snapshot, error) {
	s := &plan.Snapshot{
		KnativeZeroInitialScale: true,
		Surroundings: plan.Surroundings{
			ServiceAccounts: map[string]corev1.ServiceAccount{}, Secrets: map[string]corev1.Secret{},
			StorageContainers: []servingv1alpha1.ClusterStorageContainer{storageContainer()},
		},
		ReadyCanaries: map[string]bool{},
	}
	for _, id := range slices.Sorted(maps.Keys(w.inputs)) {
		if err := into(s, w.inputs[id]); err != nil {
			return nil, fmt.Errorf("read %s: %w", id, err)
		}
	}
	if t == nil {
		return s, nil
	}
	s.Service = t.service
	if w.ready && t.plan != nil {
		for _, c := range t.plan.Canaries() {
			s.ReadyCanaries[c.Canary.Name] = true
		}
	}
	return s, nil
}

func into(s *plan.Snapshot, d input) error {
	switch d.doc["kind"] {
	case "ServingRuntime":
		rt, err := decode[servingv1alpha1.ServingRuntime](d)
		if err != nil {
			return err
		}
		s.Runtimes = append(s.Runtimes, *rt)
	case "ClusterServingRuntime":
		rt, err := decode[servingv1alpha1.ClusterServingRuntime](d)
		if err != nil {
			return err
		}
		s.ClusterRuntimes = append(s.ClusterRuntimes, *rt)
	case "ClusterStorageContainer":
		c, err := decode[servingv1alpha1.ClusterStorageContainer](d)
		if err != nil {
			return err
		}
		s.StorageContainers = append(s.StorageContainers, *c)
	case "Secret":
		secret, err := decode[corev1.Secret](d)
		if err != nil {
			return err
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for k, v := range secret.StringData {
			secret.Data[k] = []byte(v)
		}
		s.Secrets[secret.Name] = *secret
	case "ServiceAccount":
		sa, err := decode[corev1.ServiceAccount](d)
		if err != nil {
			return err
		}
		s.ServiceAccounts[sa.Name] = *sa
	}
	return nil
}

// reconcile is one pass of the controller, without a cluster.
func (w *world) reconcile() error {
	for _, id := range slices.Sorted(maps.Keys(w.tenants)) {
		if err := w.reconcileOne(w.tenants[id]); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) reconcileOne(t *tenant) error {
	p, err := w.decide(t)
	var blocked *plan.Blocked
	var waiting *plan.Waiting
	if errors.As(err, &blocked) || errors.As(err, &waiting) {
		t.plan, t.objects = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	if p.Frozen {
		return nil
	}
	objects, err := render.Objects(p, w.settings)
	if err != nil {
		return err
	}
	t.plan, t.objects = p, objects
	return w.observe(t)
}

func (w *world) decide(t *tenant) (*plan.Plan, error) {
	snap, err := w.snapshot(t)
	if err != nil {
		return nil, err
	}
	if t.graph == nil {
		return resolve.Service(snap, w.settings)
	}
	g := &plan.GraphSnapshot{Graph: t.graph, Runtimes: snap.Runtimes, ClusterRuntimes: snap.ClusterRuntimes, KnativeZeroInitialScale: true, Services: map[string]*servingv1beta1.InferenceService{}}
	for _, other := range w.tenants {
		if other.service != nil {
			g.Services[other.service.Name] = other.service
		}
	}
	return resolve.Graph(g, w.settings)
}

// outcome lists what is there after the last step, as an API server would show it.
func (w *world) outcome() (Outcome, error) {
	out := Outcome{Rejected: w.rejected}
	for _, id := range slices.Sorted(maps.Keys(w.tenants)) {
		t := w.tenants[id]
		for _, o := range t.objects {
			d, err := asDoc(o)
			if err != nil {
				return out, err
			}
			defaultObject(d)
			out.Objects = append(out.Objects, d)
			pod, err := w.pod(t, d)
			if err != nil {
				return out, err
			}
			if pod != nil {
				out.Pods = append(out.Pods, pod)
			}
		}
	}
	return out, nil
}

func asDoc(v any) (doc, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var d doc
	decoder := json.NewDecoder(bytes.NewReader(raw))
	return d, decoder.Decode(&d)
}

// bareWord is a text that older YAML takes for a boolean.
var bareWord = regexp.MustCompile(`(?m)(: |- )(y|n|Y|N|yes|no|on|off)$`)

// plainTexts quotes bare words; the recorded inputs were written for YAML 1.2, where they are texts.
func plainTexts(doc string) []byte { return []byte(bareWord.ReplaceAllString(doc, `$1"$2"`)) }
