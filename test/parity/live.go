// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// Options of a run on an API server.
type Options struct {
	// Dir holds cases/ and differences.yaml.
	Dir string
	// Only restricts the run to cases whose name it matches.
	Only *regexp.Regexp
	// All runs the cases out of scope too.
	All bool
	// Parallel is how many cases run at the same time.
	Parallel int
	// Out is a folder that gets the outcome of each case as NAME.yaml, in the format of expected.yaml.
	Out string
	// Log gets a line per step of the run.
	Log io.Writer
}

const (
	quiet       = 1200 * time.Millisecond
	quietLimit  = 25 * time.Second
	caseTimeout = 3 * time.Minute
	maxRounds   = 3
	// answerLimit bounds the wait for a first answer to a service, againLimit the time in which a late write may still set a case right.
	answerLimit = 20 * time.Second
	againLimit  = 10 * time.Second
)

// live is a run on an API server.
type live struct {
	options Options
	cluster *cluster.Cluster
	mu      sync.Mutex
	results []Result
}

// RunLive applies every case to an API server with our controller and webhook, and judges what is there afterwards.
func RunLive(ctx context.Context, o Options) ([]Result, error) {
	cases, err := load(o.Dir)
	if err != nil {
		return nil, err
	}
	l := &live{options: o}
	var chosen []*recorded
	for _, c := range cases {
		switch {
		case o.Only != nil && !o.Only.MatchString(c.name):
		case c.scope != "" && !o.All:
			l.results = append(l.results, Result{Name: c.name, OutOfScope: c.scope})
		default:
			chosen = append(chosen, c)
		}
	}
	if len(chosen) > 0 {
		if err := l.onCluster(ctx, chosen); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.results, func(a, b Result) int { return strings.Compare(a.Name, b.Name) })
	return l.results, nil
}

func (l *live) onCluster(ctx context.Context, cases []*recorded) (err error) {
	start := time.Now()
	l.cluster, err = cluster.Open(ctx, cluster.Options{Config: reference(), Log: l.options.Log})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := l.cluster.Close(); err == nil {
			err = cerr
		}
	}()
	container := storageContainer()
	raw, err := yaml.Marshal(container)
	if err != nil {
		return err
	}
	if err := l.apply(ctx, string(raw)); err != nil {
		return err
	}
	l.say("API server, webhook and controller run after %s", time.Since(start).Round(100*time.Millisecond))
	for i, batch := range batches(cases) {
		if i > 0 || batch[0].config != "" {
			if err := l.configure(ctx, batch[0].settings); err != nil {
				return err
			}
		}
		l.run(ctx, batch)
	}
	return l.cluster.MustAllow()
}

func (l *live) say(format string, args ...any) {
	if l.options.Log != nil {
		fmt.Fprintf(l.options.Log, format+"\n", args...)
	}
}

func (l *live) apply(ctx context.Context, text string) error {
	docs, err := cluster.Documents(text)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if err := l.cluster.Apply(ctx, cluster.System, d); err != nil {
			return err
		}
	}
	return nil
}

// batches are cases that may run at the same time: those with the same settings, and each that reaches beyond its namespace alone.
func batches(cases []*recorded) [][]*recorded {
	var order []string
	by := map[string][]*recorded{}
	for _, c := range cases {
		key := c.config
		if c.wide() {
			key += "\x00" + c.name
		}
		if _, ok := by[key]; !ok {
			order = append(order, key)
		}
		by[key] = append(by[key], c)
	}
	// Shipped settings first, then all that share settings: fewest changes.
	slices.Sort(order)
	list := make([][]*recorded, len(order))
	for i, key := range order {
		list[i] = by[key]
	}
	return list
}

// wide tells whether an input is outside the namespace of the case.
func (c *recorded) wide() bool {
	return slices.ContainsFunc(c.inputs, func(d doc) bool {
		ns, _ := child(d, "metadata")["namespace"].(string)
		return ns != "" && ns != c.namespace() || clusterScoped(d)
	})
}

func clusterScoped(d doc) bool {
	switch d["kind"] {
	case "ClusterServingRuntime", "ClusterStorageContainer", "PriorityClass", "Namespace":
		return true
	}
	return false
}

// configure replaces the operator's settings and waits until both processes work with them.
func (l *live) configure(ctx context.Context, data map[string]string) error {
	var m corev1.ConfigMap
	if err := l.cluster.Client.Get(ctx, client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}, &m); err != nil {
		return err
	}
	m.Data = data
	if err := l.cluster.Client.Update(ctx, &m); err != nil {
		return err
	}
	for _, p := range []*cluster.Process{l.cluster.Webhook, l.cluster.Controller} {
		if err := p.WaitLogged(ctx, `"resourceVersion":"`+m.ResourceVersion+`"`); err != nil {
			return err
		}
	}
	return nil
}

func (l *live) run(ctx context.Context, batch []*recorded) {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, l.options.Parallel))
	for _, c := range batch {
		group.Go(func() error {
			r := l.one(ctx, c)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.results = append(l.results, r)
			return nil
		})
	}
	_ = group.Wait()
	l.say("%d cases in %s", len(batch), time.Since(start).Round(100*time.Millisecond))
}

func (l *live) one(ctx context.Context, c *recorded) Result {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	r := Result{Name: c.name, OutOfScope: c.scope, Ran: true}
	rejected, err := l.play(ctx, c)
	if err == nil {
		err = l.judge(ctx, c, rejected, &r)
	}
	if err != nil {
		r.Problems = []string{err.Error()}
	}
	if l.options.Out != "" {
		if err := r.Outcome.write(filepath.Join(l.options.Out, c.name+".yaml"), c.namespace()); err != nil {
			r.Problems = append(r.Problems, err.Error())
		}
	}
	if err := l.tidy(ctx, c); err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	return r
}

// judge compares what is there. What fails is looked at again after a while: on a busy machine a write may come late, and only the end
// counts.
func (l *live) judge(ctx context.Context, c *recorded, rejected []Rejection, r *Result) error {
	deadline := time.Now().Add(againLimit)
	for {
		actual, err := l.list(ctx, c.namespace())
		if err != nil {
			return err
		}
		actual.Rejected = rejected
		r.Outcome, r.Problems = actual, Compare(c.expected, actual, c.diff, c.namespace())
		if len(r.Problems) == 0 || time.Now().After(deadline) || !slices.EqualFunc(c.expected.Rejected, rejected, sameDocument) {
			return nil
		}
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := l.settle(ctx, c); err != nil {
			return err
		}
	}
}

func sameDocument(a, b Rejection) bool { return a.id() == b.id() }

// play applies the files of a case, each after what came of the one before has been made ready, and tells what was refused.
func (l *live) play(ctx context.Context, c *recorded) ([]Rejection, error) {
	var refusals []Rejection
	ns := c.namespace()
	if err := l.cluster.MakeNamespace(ctx, ns); err != nil {
		return nil, err
	}
	for _, file := range c.files {
		docs, err := documents(file, ns)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if err := l.applyInput(ctx, ns, d); err != nil {
				refusals = append(refusals, Rejection{Step: filepath.Base(file), Kind: fmt.Sprint(d.doc["kind"]), Name: name(d.doc), Error: err.Error()})
			}
		}
		if err := l.settle(ctx, c); err != nil {
			return nil, err
		}
	}
	return refusals, nil
}

// list is everything in a namespace, and the pods of its workloads.
func (l *live) list(ctx context.Context, ns string) (Outcome, error) {
	var out Outcome
	objects, err := l.cluster.Read(ctx, ns)
	if err != nil {
		return out, err
	}
	for _, o := range objects {
		if made(o) {
			continue
		}
		out.Objects = append(out.Objects, o.Object)
		pods, err := l.pods(ctx, o)
		if err != nil {
			return out, err
		}
		out.Pods = append(out.Pods, pods...)
	}
	return out, nil
}

// made tells what Kubernetes puts into each namespace.
func made(o *unstructured.Unstructured) bool {
	switch o.GetKind() + "/" + o.GetName() {
	case "ConfigMap/kube-root-ca.crt", "ConfigMap/istio-ca-root-cert", "ServiceAccount/default":
		return true
	}
	return false
}

// settle waits until nothing changes any more, makes what is there ready, and again until that changes nothing.
func (l *live) settle(ctx context.Context, c *recorded) error {
	ns := c.namespace()
	var before []cluster.Ref
	for round := range maxRounds + 1 {
		if err := l.answered(ctx, ns); err != nil {
			return err
		}
		if err := l.cluster.Settle(ctx, ns, quiet, quietLimit); err != nil {
			return err
		}
		now := l.cluster.Refs(ns)
		if !c.ready || round == maxRounds || round > 1 && slices.Equal(before, now) {
			return nil
		}
		before = now
		wrote, err := l.cluster.MakeReady(ctx, ns)
		if err != nil {
			return err
		}
		if !wrote {
			return nil
		}
	}
	return nil
}

// answered waits until the controller has said something about the newest generation of each service: on a busy machine that takes
// longer than a quiet while. It does not insist: some services are never answered, and the comparison tells what is wrong with them.
func (l *live) answered(ctx context.Context, ns string) error {
	deadline := time.Now().Add(answerLimit)
	for _, ref := range l.cluster.Refs(ns) {
		if ref.GVK.Kind != "InferenceService" {
			continue
		}
		for time.Now().Before(deadline) {
			svc := &servingv1beta1.InferenceService{}
			err := l.cluster.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: ref.Name}, svc)
			if apierrors.IsNotFound(err) || err == nil && svc.Status.ObservedGeneration == svc.Generation {
				break
			}
			if err != nil {
				return err
			}
			select {
			case <-time.After(quiet / 10):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (l *live) applyInput(ctx context.Context, ns string, d input) error {
	o, isDeletion, err := d.object()
	if err != nil {
		return err
	}
	if isDeletion {
		return l.cluster.Delete(ctx, ns, o)
	}
	return l.cluster.Apply(ctx, ns, o)
}

// object is the input as it is sent, and whether it is to be deleted.
func (d input) object() (*unstructured.Unstructured, bool, error) {
	docs, err := cluster.Documents(string(d.raw))
	if err != nil {
		return nil, false, err
	}
	o := docs[0]
	isDeletion := o.Object["$delete"] == true
	delete(o.Object, "$delete")
	return o, isDeletion, nil
}

// pods are those of an object's pod template, as admission leaves them.
func (l *live) pods(ctx context.Context, o *unstructured.Unstructured) ([]doc, error) {
	var templates []doc
	spec := child(o.Object, "spec")
	switch o.GetObjectKind().GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "StatefulSet.apps", "Service.serving.knative.dev":
		templates = append(templates, child(spec, "template"))
	case "LeaderWorkerSet.leaderworkerset.x-k8s.io":
		group := child(spec, "leaderWorkerTemplate")
		templates = append(templates, child(group, "leaderTemplate"), child(group, "workerTemplate"))
	}
	var pods []doc
	for _, t := range templates {
		if t == nil {
			continue
		}
		p := (&unstructured.Unstructured{Object: t}).DeepCopy()
		p.SetAPIVersion("v1")
		p.SetKind("Pod")
		p.SetNamespace(o.GetNamespace())
		p.SetName(o.GetName())
		for _, k := range []string{"containerConcurrency", "timeoutSeconds", "responseStartTimeoutSeconds", "idleTimeoutSeconds"} {
			delete(child(p.Object, "spec"), k)
		}
		if err := l.cluster.Client.Create(ctx, p, client.DryRunAll); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			pods = append(pods, refused(o.Object, err.Error()))
			continue
		}
		pods = append(pods, p.Object)
	}
	return pods, nil
}

// tidy deletes what the controller works on, and what the case put outside its namespace.
func (l *live) tidy(ctx context.Context, c *recorded) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quietLimit)
	defer cancel()
	if err := l.cluster.Clean(ctx, c.namespace()); err != nil {
		return err
	}
	for _, file := range c.files {
		docs, err := documents(file, c.namespace())
		if err != nil {
			return err
		}
		for _, d := range docs {
			ns, _ := child(d.doc, "metadata")["namespace"].(string)
			if (ns == "" || ns == c.namespace()) && !clusterScoped(d.doc) {
				continue
			}
			o, _, err := d.object()
			if err != nil {
				return err
			}
			if err := l.cluster.Delete(ctx, c.namespace(), o); err != nil {
				return err
			}
		}
	}
	return nil
}

// write keeps an outcome, without what differs from run to run.
func (o Outcome) write(path, namespace string) error {
	o = normaliseAll(o, namespace)
	raw, err := yaml.Marshal(map[string]any{"rejected": append([]Rejection{}, o.Rejected...), "objects": append([]doc{}, o.Objects...), "pods": append([]doc{}, o.Pods...)})
	if err != nil {
		return fmt.Errorf("write outcome: %w", err)
	}
	return os.WriteFile(path, raw, 0o600)
}
