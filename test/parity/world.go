// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
)

// reference is the shipped ConfigMap with the images of the recorded outcomes.
func reference() map[string]string {
	var cm corev1.ConfigMap
	if err := yaml.Unmarshal(deploy.Config(), &cm); err != nil {
		panic(fmt.Sprintf("the shipped ConfigMap is YAML, a test reads it: %v", err))
	}
	for k, v := range cm.Data {
		cm.Data[k] = strings.ReplaceAll(v, "kserve-go/", "kserve/")
	}
	return cm.Data
}

// storageContainer is the shipped ClusterStorageContainer with the image of the recorded outcomes.
func storageContainer() servingv1alpha1.ClusterStorageContainer {
	var c servingv1alpha1.ClusterStorageContainer
	if err := yaml.Unmarshal(deploy.StorageContainer(), &c); err != nil {
		panic(fmt.Sprintf("the shipped ClusterStorageContainer is YAML, a test reads it: %v", err))
	}
	c.Spec.Container.Image = "registry.test/storage-initializer:1"
	return c
}

// revision is what the simulated Knative knows about one of its Services.
type revision struct {
	generation int
	spec       string
	rolledOut  string
	previous   string
}

// observe writes the status that a ready cluster would have led to: Knative's follows the simulation of the recorded cases.
func (w *world) observe(t *tenant) error {
	if t.graph != nil {
		return nil
	}
	status := &t.service.Status
	status.DeploymentMode = t.plan.Mode
	if t.plan.Stopped {
		*status = servingv1beta1.InferenceServiceStatus{DeploymentMode: t.plan.Mode}
		return nil
	}
	status.Conditions = nil
	if w.ready {
		status.Conditions = []serving.Condition{{Type: serving.ConditionReady, Status: corev1.ConditionTrue}}
	}
	status.Address = &serving.Address{URL: t.plan.Route.Address}
	if t.plan.Mode == serving.Standard || !w.ready {
		return nil
	}
	status.Components = map[serving.ComponentRole]servingv1beta1.ComponentStatus{}
	for i := range t.plan.Components {
		c := &t.plan.Components[i]
		for _, o := range t.objects {
			if o.GetName() == c.Name && o.GetObjectKind().GroupVersionKind().Group == "serving.knative.dev" {
				if err := w.observeKnative(t, c, o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *world) observeKnative(t *tenant, c *plan.Component, o plan.Object) error {
	d, err := asDoc(o)
	if err != nil {
		return err
	}
	r := w.knative[c.Name]
	if r == nil {
		r = &revision{}
		w.knative[c.Name] = r
	}
	if spec := text(d["spec"]); spec != r.spec {
		r.spec = spec
		r.generation++
	}
	latest := fmt.Sprintf("%s-%05d", c.Name, r.generation)
	percent, sum := int64(0), int64(0)
	for _, share := range c.Traffic {
		isLatest := share.LatestRevision != nil && *share.LatestRevision
		if isLatest {
			percent = *share.Percent
		}
		if isLatest || share.RevisionName == latest {
			sum += *share.Percent
		}
	}
	switch {
	case r.rolledOut != latest && percent == 100:
		r.previous, r.rolledOut = r.rolledOut, latest
	case r.rolledOut == latest && percent < 100 && sum == 100 && r.previous != "":
		r.rolledOut = r.previous
	}
	t.service.Status.Components[c.Role] = servingv1beta1.ComponentStatus{
		URL: "http://" + c.Name + "." + w.namespace + ".example.com", LatestCreatedRevision: latest, LatestReadyRevision: latest,
		LatestRolledoutRevision: r.rolledOut, PreviousRolledoutRevision: r.previous,
	}
	return nil
}

// pod is the pod of a workload's template as admission and the API server leave it; nil for objects without pods.
func (w *world) pod(t *tenant, d doc) (doc, error) {
	api, _ := d["apiVersion"].(string)
	isKnative := strings.HasPrefix(api, "serving.knative.dev/") && d["kind"] == "Service"
	if d["kind"] != "Deployment" && !isKnative {
		return nil, nil
	}
	spec, _ := d["spec"].(doc)
	template, _ := spec["template"].(doc)
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var made corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &made); err != nil {
		return nil, err
	}
	made.Name = name(d)
	made.Namespace = ""
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: made.ObjectMeta, Spec: made.Spec}
	if made.Spec.PriorityClassName != "" {
		// No case creates a PriorityClass, and the API server refuses pods of one that does not exist.
		return refused(d, "no PriorityClass with name "+made.Spec.PriorityClassName+" was found"), nil
	}
	snap, err := w.snapshot(t)
	if err != nil {
		return nil, err
	}
	a := podspec.Admission{Settings: w.settings, Around: &snap.Surroundings, Namespace: w.namespace}
	if t.service != nil {
		a.PredictorLogger = t.service.Spec.Predictor.Logger
	}
	if err := podspec.Inject(pod, a); err != nil {
		return refused(d, err.Error()), nil
	}
	again := pod.DeepCopy()
	if err := podspec.Inject(again, a); err != nil {
		return nil, fmt.Errorf("admission of an admitted pod: %w", err)
	}
	if a, b := text(pod), text(again); a != b {
		return nil, fmt.Errorf("admission of %s is not idempotent: %s, then %s", pod.Name, a, b)
	}
	out, err := asDoc(pod)
	if err != nil {
		return nil, err
	}
	delete(out, "status")
	defaultPod(out)
	return out, nil
}

func refused(workload doc, why string) doc {
	return doc{"apiVersion": "v1", "kind": "Pod", "metadata": doc{"name": name(workload)}, "rejected": why}
}
