// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// formerManager is the name under which the reference's controller writes.
const formerManager = "manager"

// adoptLimit bounds the wait until every object has been looked at.
const adoptLimit = time.Minute

// Takeover is what became of the objects of a case that the reference wrote, when our controller came in its place.
type Takeover struct {
	Name string
	// Rolled are the workloads whose pods are replaced although nobody changed the service, with what differs.
	Rolled []string
	// Unready are what was said of services that were ready before.
	Unready  []string
	Problems []string
}

// upgrade is one run.
type upgrade struct {
	*live
	mu   sync.Mutex
	said map[client.ObjectKey][]string // about readiness, while the controller works
}

// legacy is a case in the state that the reference left it in.
type legacy struct {
	*recorded
	ns string
	// services are those that are there.
	services []client.ObjectKey
	frozen   bool
	had      []*unstructured.Unstructured // what the reference owned, as it was installed
	rest     []*unstructured.Unstructured // what nobody owns: it stays
}

// TakeOver installs what the reference made of the cases in scope, statuses included, by the writes of another controller, and starts ours.
// It wants a cluster for itself, and leaves it as it was. choose picks the groups of cases, by the text of their settings and their number.
func TakeOver(ctx context.Context, c *cluster.Cluster, dir string, choose func(config string, cases int) bool, only *regexp.Regexp) ([]Takeover, error) {
	cases, err := load(dir)
	if err != nil {
		return nil, err
	}
	cases = slices.DeleteFunc(cases, func(c *recorded) bool {
		return c.scope != "" || len(c.made()) == 0 || only != nil && !only.MatchString(c.name)
	})
	u := &upgrade{live: &live{cluster: c}}
	restore, err := u.storage(ctx)
	if err != nil {
		return nil, err
	}
	defer restore()
	var all []Takeover
	for _, batch := range batches(cases) {
		if !choose(batch[0].config, len(batch)) {
			continue
		}
		results, err := u.batch(ctx, batch)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	slices.SortFunc(all, func(a, b Takeover) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// made are the services of a case as they were in the end.
func (c *recorded) made() []doc {
	return slices.DeleteFunc(slices.Clone(c.expected.Objects), func(d doc) bool { return d["kind"] != "InferenceService" })
}

func (u *upgrade) batch(ctx context.Context, batch []*recorded) (results []Takeover, err error) {
	if err := u.cluster.Controller.Stop(); err != nil {
		return nil, err
	}
	stopped := true
	defer func() {
		if stopped {
			_ = u.cluster.Controller.Start(context.WithoutCancel(ctx))
		}
		for _, c := range batch {
			if terr := u.tidy(ctx, c); err == nil {
				err = terr
			}
		}
	}()
	if err := u.settings(ctx, batch[0].settings); err != nil {
		return nil, err
	}
	list := make([]*legacy, len(batch))
	err = u.cluster.WithoutWebhooks(ctx, func() error {
		return each(ctx, batch, func(ctx context.Context, i int) error {
			list[i] = &legacy{recorded: batch[i], ns: batch[i].namespace()}
			if err := u.install(ctx, list[i]); err != nil {
				return fmt.Errorf("%s: %w", batch[i].name, err)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	end, err := u.listen(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := u.cluster.Controller.Start(ctx); err != nil {
		return nil, err
	}
	stopped = false
	services := 0
	for _, l := range list {
		services += len(l.services)
	}
	if err := u.lookedAt(ctx, services); err != nil {
		return nil, err
	}
	results = make([]Takeover, len(list))
	return results, each(ctx, batch, func(ctx context.Context, i int) error {
		return u.judge(ctx, list[i], &results[i])
	})
}

// each does something for every item, a few at a time.
func each[T any](ctx context.Context, items []T, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range items {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// settings replaces the operator's settings. No controller runs; the webhook reads them before it admits the next pod.
func (u *upgrade) settings(ctx context.Context, data map[string]string) error {
	var m corev1.ConfigMap
	if err := u.cluster.Client.Get(ctx, client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}, &m); err != nil {
		return err
	}
	m.Data = data
	return u.cluster.Client.Update(ctx, &m)
}

// storage makes the ClusterStorageContainer that of the recorded cases, until restore is called.
func (u *upgrade) storage(ctx context.Context) (restore func(), err error) {
	now, want := &servingv1alpha1.ClusterStorageContainer{}, storageContainer()
	if err := u.cluster.Client.Get(ctx, client.ObjectKeyFromObject(&want), now); err != nil {
		return nil, err
	}
	before := now.Spec
	now.Spec = want.Spec
	if err := u.cluster.Client.Update(ctx, now); err != nil {
		return nil, err
	}
	return func() {
		now.Spec = before
		_ = u.cluster.Client.Update(context.WithoutCancel(ctx), now)
	}, nil
}

var namespaceText = regexp.MustCompile(`\bNS\b`)

// asItWas is a recorded object as it was: in its namespace, with its owner.
func asItWas(d doc, ns string) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(namespaceText.ReplaceAll(raw, []byte(ns))); err != nil {
		return nil, err
	}
	o.SetNamespace(ns)
	return o, nil
}

// install brings the inputs of a case, its services and what the reference made of them.
func (u *upgrade) install(ctx context.Context, l *legacy) error {
	if err := u.cluster.MakeNamespace(ctx, l.ns); err != nil {
		return err
	}
	for _, file := range l.files {
		docs, err := documents(file, l.ns)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if d.doc["kind"] != "InferenceService" {
				_ = u.applyInput(ctx, l.ns, d) // what is refused was refused then
			}
		}
	}
	owners := map[string]*unstructured.Unstructured{}
	for _, d := range l.made() {
		o, err := asItWas(d, l.ns)
		if err != nil {
			return err
		}
		status := o.Object["status"]
		err = u.cluster.Client.Create(ctx, o, client.FieldOwner("kubectl-client-side-apply"))
		if apierrors.IsInvalid(err) {
			return nil // the schema of today refuses it; nothing of it can be installed
		}
		if err != nil {
			return err
		}
		l.frozen = o.GetAnnotations()[serving.AnnotationDisableAutoUpdate] == "true"
		l.services = append(l.services, client.ObjectKeyFromObject(o))
		o.Object["status"] = status
		if err := unstructured.SetNestedField(o.Object, o.GetGeneration(), "status", "observedGeneration"); err != nil {
			return err
		}
		if err := u.cluster.Client.Status().Update(ctx, o, client.FieldOwner(formerManager)); err != nil {
			return err
		}
		owners[o.GetName()] = o
	}
	for _, d := range l.expected.Objects {
		if err := u.installChild(ctx, l, d, owners); err != nil {
			return fmt.Errorf("%v/%s: %w", d["kind"], name(d), err)
		}
	}
	for _, o := range owners {
		if err := u.installMore(ctx, l, o); err != nil {
			return err
		}
	}
	if l.ready {
		if err := u.cluster.Settle(ctx, l.ns, quiet/4, quietLimit); err != nil {
			return err
		}
		if _, err := u.cluster.MakeReady(ctx, l.ns); err != nil {
			return err
		}
	}
	for _, o := range l.rest {
		if err := u.cluster.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
	}
	return nil
}

// wasReady says that the reference called a service ready, and that it may be changed.
func wasReady(o *unstructured.Unstructured) bool {
	for _, c := range items(child(o.Object, "status"), "conditions") {
		if c["type"] == "Ready" && c["status"] == "True" {
			return o.GetAnnotations()[serving.AnnotationDisableAutoUpdate] != "true"
		}
	}
	return false
}

func (u *upgrade) installChild(ctx context.Context, l *legacy, d doc, owners map[string]*unstructured.Unstructured) error {
	o, err := asItWas(d, l.ns)
	if err != nil {
		return err
	}
	refs := o.GetOwnerReferences()
	if len(refs) == 0 || refs[0].Kind != "InferenceService" || owners[refs[0].Name] == nil {
		return nil
	}
	refs[0].UID = owners[refs[0].Name].GetUID()
	o.SetOwnerReferences(refs)
	if err := u.cluster.Client.Create(ctx, o, client.FieldOwner(formerManager)); err != nil {
		return err
	}
	l.had = append(l.had, o)
	return nil
}

const others = `apiVersion: apps/v1
kind: Deployment
metadata: {name: theirs, labels: {serving.kserve.io/inferenceservice: SVC, component: predictor}}
spec:
  selector: {matchLabels: {app: theirs}}
  template: {metadata: {labels: {app: theirs}}, spec: {containers: [{name: c, image: "registry.test/theirs:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: theirs, labels: {serving.kserve.io/inferenceservice: SVC, component: predictor}}
spec: {ports: [{port: 80}], selector: {app: theirs}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: theirs, labels: {serving.kserve.io/inferenceservice: SVC}}
spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: theirs}}
`

// installMore adds what users made beside a service, and what the reference left of an earlier state of it: it never deletes the autoscaler
// of a predictor of another name, for one.
func (u *upgrade) installMore(ctx context.Context, l *legacy, owner *unstructured.Unstructured) error {
	text := strings.ReplaceAll(others, "SVC", owner.GetName())
	foreign, err := cluster.Documents(text)
	if err != nil {
		return err
	}
	left, err := cluster.Documents(strings.ReplaceAll(text, "theirs", owner.GetName()+"-old-predictor"))
	if err != nil {
		return err
	}
	for _, o := range foreign {
		o.SetNamespace(l.ns)
		err := u.cluster.Client.Create(ctx, o, client.FieldOwner("kubectl-create"))
		if err == nil {
			l.rest = append(l.rest, o)
		} else if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if !wasReady(owner) {
		return nil // nothing is deleted of a service that cannot be made, or is frozen
	}
	for _, o := range left {
		o.SetNamespace(l.ns)
		o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
		if err := u.cluster.Client.Create(ctx, o, client.FieldOwner(formerManager)); err != nil {
			return err
		}
	}
	return nil
}

// listen notes whatever is said about the readiness of services until it is ended.
func (u *upgrade) listen(ctx context.Context) (end func(), err error) {
	u.said = map[client.ObjectKey][]string{}
	w, err := u.cluster.Client.Watch(ctx, &servingv1beta1.InferenceServiceList{})
	if err != nil {
		return nil, err
	}
	go func() {
		for e := range w.ResultChan() {
			svc, ok := e.Object.(*servingv1beta1.InferenceService)
			if !ok || e.Type != watch.Modified && e.Type != watch.Added {
				continue
			}
			word := ""
			if c := svc.Status.Condition(serving.ConditionReady); c != nil {
				word = strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message))
			}
			key := client.ObjectKeyFromObject(svc)
			u.mu.Lock()
			u.said[key] = append(u.said[key], word)
			u.mu.Unlock()
		}
	}()
	return w.Stop, nil
}

// lookedAt waits until the controller has an opinion on so many services.
func (u *upgrade) lookedAt(ctx context.Context, services int) error {
	ctx, cancel := context.WithTimeout(ctx, adoptLimit)
	defer cancel()
	for {
		n, err := u.cluster.Controller.Sum(ctx, "kserve_inferenceservices")
		if err == nil && int(n) >= services {
			return nil
		}
		select {
		case <-time.After(quiet / 10):
		case <-ctx.Done():
			return fmt.Errorf("the controller looked at %v of %d services: %w", n, services, errors.Join(err, ctx.Err()))
		}
	}
}
