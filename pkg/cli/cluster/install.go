// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

const (
	// fieldManager owns the fields of what is installed.
	fieldManager = "kserve-local"
	// contentAnnotation tells what was applied: a kind's schema is so big that applying it anew costs seconds.
	contentAnnotation = "kserve-local/content"
	// imageAnnotation makes pods start anew when their image changed under its name.
	imageAnnotation = "kserve-local/image"
	atOnce          = 8
	pause           = 100 * time.Millisecond
	// shownWarnings bounds what a failure repeats of the cluster's events.
	shownWarnings = 5
)

// installer puts objects into a cluster.
type installer struct {
	client   dynamic.Interface
	metadata metadata.Interface
	say      *steps
	// limit is how long what was installed may take to work.
	limit time.Duration
}

func newInstaller(r *record.Record, say *steps, limit time.Duration) (*installer, error) {
	config, _, err := live.Config(r.Kubeconfig, "")
	if err != nil {
		return nil, err
	}
	i := &installer{say: say, limit: limit}
	if i.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if i.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return i, nil
}

// install puts KServe on the cluster and returns when it works.
func install(ctx context.Context, r *record.Record, o UpOptions, images []loaded, say *steps) error {
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	i, err := newInstaller(r, say, o.Wait)
	if err != nil {
		return err
	}
	folder, err := i.folder(ctx, o.GatewayAPI)
	if err != nil {
		return err
	}
	objects, err := deploy.Objects(deploy.Options{Folder: folder, ImagePrefix: imagePrefix, ImageTag: imageTag, MinimalKinds: !o.FullCRDs})
	if err != nil {
		return err
	}
	_, hasSamples := digestOf(images, samplesImage)
	if o.Samples && hasSamples {
		more, err := sampleObjects()
		if err != nil {
			return err
		}
		objects = append(objects, more...)
	}
	stamp(objects, images)
	stages := split(objects)
	for _, s := range stages {
		if err := i.applyAll(ctx, s.objects); err != nil {
			return i.explain(ctx, err, stages)
		}
		if s.after != nil {
			if err := s.after(ctx, i, s.objects); err != nil {
				return i.explain(ctx, err, stages)
			}
		}
		if len(s.objects) > 0 {
			say.done("%s", s.name)
		}
	}
	if err := i.ready(ctx, stages); err != nil {
		return i.explain(ctx, err, stages)
	}
	return nil
}

// folder is what to install: with the Gateway API where that is asked for, or, where nothing is said, already there.
func (i *installer) folder(ctx context.Context, wanted *bool) (string, error) {
	if wanted == nil {
		settings := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		is, err := i.client.Resource(settings).Namespace(live.SystemNamespace).Get(ctx, "inferenceservice-config", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return "", exit.Errorf(exit.Unreachable, "read the settings: %w", err)
		}
		wanted = new(err == nil && routesByGateway(is))
	}
	if *wanted {
		return deploy.LocalGateway, nil
	}
	return deploy.Local, nil
}

// routesByGateway says whether the operator's settings turn the Gateway API on.
func routesByGateway(settings *unstructured.Unstructured) bool {
	text, _, _ := unstructured.NestedString(settings.Object, "data", "ingress") // what is not there says no
	var section struct {
		EnableGatewayAPI bool `json:"enableGatewayApi"`
	}
	return json.Unmarshal([]byte(text), &section) == nil && section.EnableGatewayAPI
}

// stage is what can be applied at once.
type stage struct {
	name    string
	objects []*unstructured.Unstructured
	after   func(context.Context, *installer, []*unstructured.Unstructured) error
}

// split orders the objects so that each finds what it needs. Processes come before our own objects: those wait for a webhook that an
// earlier installation left, whose processes this one may mend.
func split(objects []*unstructured.Unstructured) []*stage {
	kinds := &stage{name: "kinds of KServe", after: established}
	base := &stage{name: "permissions and settings"}
	processes := &stage{name: "controller and webhook started"}
	own := &stage{name: "runtimes"}
	hooks := &stage{name: "admission"}
	for _, o := range objects {
		to := base
		switch {
		case o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace":
			to = kinds
		case o.GetKind() == "Deployment":
			to = processes
		case o.GroupVersionKind().Group == live.ServingGroup:
			to = own
		case o.GroupVersionKind().Group == "admissionregistration.k8s.io":
			to = hooks
		}
		to.objects = append(to.objects, o)
	}
	return []*stage{kinds, base, processes, own, hooks}
}

// stamp notes in each Deployment which images its pods run: the name alone is always the same.
func stamp(objects []*unstructured.Unstructured, images []loaded) {
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) == 0 {
			continue
		}
		first, ok := containers[0].(map[string]any)
		if !ok {
			continue
		}
		name, _ := first["image"].(string)
		if digest, ok := digestOf(images, name); ok {
			// The path is there or made: the error is about a foreign shape, which the API server refuses better.
			_ = unstructured.SetNestedField(o.Object, digest, "spec", "template", "metadata", "annotations", imageAnnotation)
		}
	}
}

func (i *installer) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, o := range objects {
		group.Go(func() error {
			if o.GetKind() == "CustomResourceDefinition" {
				return i.applyKind(ctx, o)
			}
			return i.apply(ctx, o)
		})
	}
	return group.Wait()
}

// applyKind applies a kind unless it is there with this content.
func (i *installer) applyKind(ctx context.Context, o *unstructured.Unstructured) error {
	raw, err := o.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	content := fmt.Sprintf("%x", sha256.Sum256(raw))
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	// From the server's cache and without the schema: both matter here.
	found, err := i.metadata.Resource(plural).Get(ctx, o.GetName(), metav1.GetOptions{ResourceVersion: "0"})
	if err == nil && found.GetAnnotations()[contentAnnotation] == content {
		return nil
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contentAnnotation] = content
	o.SetAnnotations(annotations)
	return i.apply(ctx, o)
}

// apply is a server-side apply, tried again while what it needs is still on its way: a kind just made, or a webhook's pod.
func (i *installer) apply(ctx context.Context, o *unstructured.Unstructured) error {
	for {
		_, err := i.resource(o).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		if err == nil {
			return nil
		}
		err = fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		if !passes(err) {
			return err
		}
		if !sleep(ctx, pause) {
			return err
		}
	}
}

// resource is where an object of that kind is stored. All kinds that are installed have the plural of most kinds, but one.
func (i *installer) resource(o *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if o.GetKind() == "Gateway" {
		plural.Resource = "gateways"
	}
	if ns := o.GetNamespace(); ns != "" {
		return i.client.Resource(plural).Namespace(ns)
	}
	return i.client.Resource(plural)
}

// passes says whether an error may be gone in a moment.
func passes(err error) bool {
	var network net.Error
	return apierrors.IsNotFound(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsConflict(err) || errors.As(err, &network)
}

// sleep reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// established waits until the API server serves the new kinds.
func established(ctx context.Context, i *installer, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		resource, err := resourceOf(o)
		if err != nil {
			return err
		}
		for {
			_, err := i.metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			if err == nil {
				break
			}
			err = fmt.Errorf("list %s: %w", o.GetName(), err)
			if !passes(err) {
				return err
			}
			if !sleep(ctx, pause) {
				return err
			}
		}
	}
	return nil
}

// resourceOf is where the objects of a kind are stored.
func resourceOf(o *unstructured.Unstructured) (schema.GroupVersionResource, error) {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group") // what is missing is empty
	plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["served"] == true {
			name, _ := m["name"].(string)
			return schema.GroupVersionResource{Group: group, Version: name, Resource: plural}, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("kind %s serves no version", o.GetName())
}

// ready waits for all Deployments and then for admission: the first object that a person creates must not meet a webhook that is still
// on its way.
func (i *installer) ready(ctx context.Context, stages []*stage) error {
	for {
		var waiting []string
		for _, want := range deployments(stages) {
			d, err := i.resource(want).Get(ctx, want.GetName(), metav1.GetOptions{})
			if err != nil && !passes(err) {
				return fmt.Errorf("read Deployment %s: %w", want.GetName(), err)
			}
			if err != nil || !rolledOut(d) {
				waiting = append(waiting, want.GetName())
			}
		}
		if len(waiting) == 0 {
			break
		}
		i.say.wait("waiting for %s", list(waiting))
		if !sleep(ctx, pause) {
			return fmt.Errorf("%s not ready: %w", list(waiting), ctx.Err())
		}
	}
	i.say.done("controller and webhook ready")
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": live.ServingGroup + "/v1beta1", "kind": "InferenceService",
		"metadata": map[string]any{"name": "admission-check", "namespace": "default"},
		"spec": map[string]any{"predictor": map[string]any{"model": map[string]any{
			"modelFormat": map[string]any{"name": "sklearn"}, "storageUri": "s3://kserve-samples/iris",
		}}},
	}}
	for {
		_, err := i.resource(probe).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
		if err == nil {
			i.say.done("admission answers")
			return nil
		}
		err = fmt.Errorf("ask the webhook about an InferenceService: %w", err)
		if !passes(err) || !sleep(ctx, pause) {
			return err
		}
	}
}

func deployments(stages []*stage) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, s := range stages {
		for _, o := range s.objects {
			if o.GetKind() == "Deployment" {
				found = append(found, o)
			}
		}
	}
	return found
}

// rolledOut says whether the newest version of a Deployment serves alone.
func rolledOut(d *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(d.Object, fields...) // what is not there is 0
		return n
	}
	want := number("spec", "replicas")
	return number("status", "observedGeneration") >= d.GetGeneration() && number("status", "updatedReplicas") == want &&
		number("status", "replicas") == want && number("status", "availableReplicas") == want
}

// explain adds to an error what the pods have to say: that is mostly where the reason is.
func (i *installer) explain(ctx context.Context, err error, stages []*stage) error {
	ctx = context.WithoutCancel(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w (waited %s; --wait waits longer)", err, i.limit)
	}
	var namespaces []string
	for _, d := range deployments(stages) {
		namespaces = append(namespaces, d.GetNamespace())
	}
	slices.Sort(namespaces)
	text := ""
	for _, ns := range slices.Compact(namespaces) {
		pods, perr := live.Pods(ctx, i.client, ns)
		if perr != nil {
			continue // the first error is the one to tell
		}
		for _, p := range pods {
			if !p.Ready {
				text += fmt.Sprintf("\n  pod %s/%s: %s", p.Namespace, p.Name, p.State)
			}
		}
		warnings, werr := live.Warnings(ctx, i.client, ns, shownWarnings)
		if werr != nil {
			continue // as above
		}
		for _, w := range warnings {
			text += "\n  " + w.String()
		}
	}
	if text != "" {
		text += "\n  more: kserve local logs POD, kserve local status"
	}
	return exit.Errorf(exit.Failed, "install KServe: %w%s", err, text)
}

func list(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	text := words[0]
	for _, w := range words[1 : len(words)-1] {
		text += ", " + w
	}
	return text + " and " + words[len(words)-1]
}
