// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// mergeContainer lays the service's container over the runtime's. Arguments add up, everything else follows the strategic merge of Kubernetes.
func mergeContainer(runtime corev1.Container, service servingv1beta1.Container) (corev1.Container, error) {
	args := append(append([]string{}, runtime.Args...), service.Args...)
	service.Args = nil
	merged, err := strategicMerge(runtime, service, corev1.Container{})
	if err != nil {
		return corev1.Container{}, fmt.Errorf("merge container %s: %w", runtime.Name, err)
	}
	if merged.Name == "" {
		merged.Name = runtime.Name
	}
	if len(args) > 0 {
		merged.Args = args
	}
	for i := range merged.Env {
		// A merge of value and valueFrom keeps both, which Kubernetes refuses; the service's own wins.
		if e := &merged.Env[i]; e.Value != "" && e.ValueFrom != nil {
			for _, own := range service.Env {
				if own.Name == e.Name {
					*e = own
				}
			}
		}
	}
	return merged, nil
}

// mergePod lays the service's pod over the pod-level fields of a runtime. Containers are not its business.
func mergePod(runtime *servingv1alpha1.ServingRuntimePodSpec, service servingv1beta1.PodSpec) (corev1.PodSpec, error) {
	containers, inits := service.Containers, service.InitContainers
	service.Containers, service.InitContainers = nil, nil
	base := servingv1beta1.PodSpec{
		NodeSelector: runtime.NodeSelector, Affinity: runtime.Affinity, Tolerations: runtime.Tolerations, Volumes: runtime.Volumes,
		ImagePullSecrets: runtime.ImagePullSecrets, SchedulerName: runtime.SchedulerName, ResourceClaims: runtime.ResourceClaims, HostIPC: runtime.HostIPC,
	}
	merged, err := strategicMerge(base, service, servingv1beta1.PodSpec{})
	if err != nil {
		return corev1.PodSpec{}, fmt.Errorf("merge pod: %w", err)
	}
	merged.Containers, merged.InitContainers = containers, inits
	return corev1.PodSpec(merged), nil
}

// strategicMerge lays an overlay over a base by the merge keys of a schema.
func strategicMerge[S, B, O any](base B, overlay O, schema S) (S, error) {
	var merged S
	b, err := json.Marshal(base)
	if err != nil {
		return merged, err
	}
	o, err := json.Marshal(overlay)
	if err != nil {
		return merged, err
	}
	out, err := strategicpatch.StrategicMergePatch(b, o, schema)
	if err != nil {
		return merged, err
	}
	return merged, json.Unmarshal(out, &merged)
}

// maxExpanded bounds what one text may grow to when its placeholders are filled in.
const maxExpanded = 64 << 10

// fillIn executes the placeholders of every text of a container with the service's metadata: {{.Name}}, {{.Labels.x}}. A missing key is an empty text.
func fillIn(c *corev1.Container, meta metav1.ObjectMeta) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("read container %s: %w", c.Name, err)
	}
	if !bytes.Contains(raw, []byte("{{")) {
		return nil
	}
	var doc any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		return fmt.Errorf("read container %s: %w", c.Name, err)
	}
	if doc, err = expandAll(doc, meta); err != nil {
		return fmt.Errorf("container %s: %w", c.Name, err)
	}
	if raw, err = json.Marshal(doc); err != nil {
		return fmt.Errorf("write container %s: %w", c.Name, err)
	}
	var filled corev1.Container
	if err := json.Unmarshal(raw, &filled); err != nil {
		return fmt.Errorf("container %s is no container once its placeholders are filled in: %w", c.Name, err)
	}
	*c = filled
	return nil
}

func expandAll(v any, meta metav1.ObjectMeta) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return expand(v, meta)
	case []any:
		for i := range v {
			if v[i], err = expandAll(v[i], meta); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = expandAll(v[k], meta); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func expand(text string, meta metav1.ObjectMeta) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("placeholder").Option("missingkey=zero").Parse(text)
	if err != nil {
		return "", fmt.Errorf("placeholder in %q cannot be read: %w", text, err)
	}
	if loops(t.Root) {
		return "", fmt.Errorf("placeholder in %q: range, template and block are not allowed", text)
	}
	out := &limited{}
	if err := t.Execute(out, meta); err != nil {
		return "", fmt.Errorf("placeholder in %q cannot be filled in: %w; it may name .Name, .Namespace, .Labels.<key>, .Annotations.<key> and other metadata", text, err)
	}
	return out.String(), nil
}

// loops finds what could keep a template busy for ever.
func loops(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return false
		}
		for _, inner := range n.Nodes {
			if loops(inner) {
				return true
			}
		}
	case *parse.IfNode:
		return loops(n.List) || loops(n.ElseList)
	case *parse.WithNode:
		return loops(n.List) || loops(n.ElseList)
	case *parse.RangeNode, *parse.TemplateNode:
		return true
	}
	return false
}

type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxExpanded {
		return 0, fmt.Errorf("the text grows past %d bytes", maxExpanded)
	}
	return l.Buffer.Write(p)
}
