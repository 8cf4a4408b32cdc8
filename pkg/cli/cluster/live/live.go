// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package live reads objects of a cluster as documents and tells in a sentence how they are.
//
// Called by: cli/cluster, cli/status, cli/predict, cli/diff, cli/inspect.
// Next: the API server.
package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// ServingGroup is the API group of KServe.
const ServingGroup = "serving.kserve.io"

// InferenceServices are where the services are stored.
func InferenceServices() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: ServingGroup, Version: "v1beta1", Resource: "inferenceservices"}
}

// InferenceGraphs are where the graphs are stored.
func InferenceGraphs() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: ServingGroup, Version: "v1alpha1", Resource: "inferencegraphs"}
}

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// Condition is the status of a condition, empty when the object has none of that type.
func Condition(o *unstructured.Unstructured, kind string) string {
	for _, c := range conditions(o) {
		if c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

// URL is where the status of a service says that it is.
func URL(o *unstructured.Unstructured) string { return text(o.Object, "status", "url") }

// Pod is a pod in one line.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	// State is the phase, or what a container waits for.
	State    string `json:"state"`
	Restarts int64  `json:"restarts"`
	// Labels are the pod's.
	Labels map[string]string `json:"-"`
	// UID tells the pod from others of its name.
	UID string `json:"-"`
	// Initializer is the container that has to end well before the others start, empty when none is left.
	Initializer string `json:"-"`
	// Suspect is the container whose log tells why the pod is not ready; its name is empty when none has written one.
	Suspect Suspect `json:"-"`
	Node    string  `json:"node,omitempty"`
}

// Suspect is a container of a pod.
type Suspect struct {
	Container string
	// Previous says that the log of interest is that of its last run.
	Previous bool
}

// Pods reads the pods of a namespace, or of all, sorted.
func Pods(ctx context.Context, client dynamic.Interface, namespace string) ([]Pod, error) {
	return PodsOf(ctx, client, namespace, "")
}

// PodsOf reads those with labels that a selector asks for.
func PodsOf(ctx context.Context, client dynamic.Interface, namespace, selector string) ([]Pod, error) {
	found := []Pod{}
	err := Each(ctx, client.Resource(core("pods")).Namespace(namespace), metav1.ListOptions{LabelSelector: selector}, func(o *unstructured.Unstructured) error {
		p := Pod{
			Suspect: suspect(o), Node: text(o.Object, "spec", "nodeName"), Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
			Ready: Condition(o, "Ready") == "True", State: podState(o), Labels: o.GetLabels(), Initializer: initializer(o),
		}
		for _, c := range containers(o) {
			n, _, _ := unstructured.NestedInt64(c, "restartCount") // what is not there is 0
			p.Restarts += n
		}
		found = append(found, p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	slices.SortFunc(found, func(a, b Pod) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) })
	return found, nil
}

// podState is what the pod waits for, else its phase.
func podState(o *unstructured.Unstructured) string {
	if o.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	for _, c := range containers(o) {
		reason := text(c, "state", "waiting", "reason")
		if reason == "" || reason == "PodInitializing" {
			continue
		}
		if more := cmp.Or(lastWords(text(c, "lastState", "terminated", "message")), text(c, "state", "waiting", "message")); more != "" {
			return reason + ": " + more
		}
		return reason
	}
	for _, c := range conditions(o) {
		if c["type"] == "PodScheduled" && c["status"] == "False" {
			return text(c, "reason") + ": " + text(c, "message")
		}
	}
	return cmp.Or(text(o.Object, "status", "phase"), "Pending")
}

// lastWords is a termination message; of a storage initializer's report, which is JSON, the error in it.
func lastWords(message string) string {
	var report handoff.FetchReport
	if err := json.Unmarshal([]byte(message), &report); err == nil && report.Message != "" {
		return report.Message
	}
	return message
}

// initializer is the first init container that is not done.
func initializer(o *unstructured.Unstructured) string {
	for _, c := range maps(o, "status", "initContainerStatuses") {
		if done, _, _ := unstructured.NestedBool(c, "ready"); !done {
			return text(c, "name")
		}
	}
	return ""
}

// suspect is the first container that has ended badly, else the first that runs and is not ready.
func suspect(o *unstructured.Unstructured) Suspect {
	var found Suspect
	for _, c := range containers(o) {
		ready, _, _ := unstructured.NestedBool(c, "ready") // what is not there is false
		code, _, _ := unstructured.NestedInt64(c, "state", "terminated", "exitCode")
		_, waits, _ := unstructured.NestedMap(c, "state", "waiting")
		_, ran, _ := unstructured.NestedMap(c, "lastState", "terminated")
		_, runs, _ := unstructured.NestedMap(c, "state", "running")
		switch {
		case waits && ran:
			return Suspect{Container: text(c, "name"), Previous: true}
		case code != 0:
			return Suspect{Container: text(c, "name")}
		case runs && !ready && found.Container == "":
			found = Suspect{Container: text(c, "name")}
		}
	}
	return found
}

func containers(o *unstructured.Unstructured) []map[string]any {
	return append(maps(o, "status", "initContainerStatuses"), maps(o, "status", "containerStatuses")...)
}

func conditions(o *unstructured.Unstructured) []map[string]any {
	return maps(o, "status", "conditions")
}

// maps are the objects of a list; what has another shape is left out.
func maps(o *unstructured.Unstructured, fields ...string) []map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, fields...)
	var found []map[string]any
	for _, v := range all {
		if m, ok := v.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// text is a field that holds a text, else nothing.
func text(o map[string]any, fields ...string) string {
	s, _, _ := unstructured.NestedString(o, fields...)
	return s
}
