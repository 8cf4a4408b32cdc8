// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// mergeContainer lays the service's container over the runtime's. Arguments add up, everything else follows the strategic merge of Kubernetes.
func mergeContainer(runtime corev1.Container, service servingv1beta1.Container) (corev1.Container, error) {
	args := append(append([]string{}, runtime.Args...), service.Args...)
	service.Args = nil
	merged := runtime
	if lay(&merged, corev1.Container(service)) {
		merged = *merged.DeepCopy()
	} else {
		var err error
		if merged, err = strategicMerge(runtime, service, corev1.Container{}); err != nil {
			return corev1.Container{}, fmt.Errorf("merge container %s: %w", runtime.Name, err)
		}
	}
	if merged.Name == "" {
		merged.Name = runtime.Name
	}
	if len(args) > 0 {
		merged.Args = args
	}
	plan.KeepChosenOf(&merged, (*corev1.Container)(&service))
	merged.Ports = slices.DeleteFunc(merged.Ports, func(p corev1.ContainerPort) bool { return p.Name != "" && isElsewhere(p, service.Ports) })
	return merged, nil
}

// isElsewhere says that the service gives a port's name to another port.
func isElsewhere(p corev1.ContainerPort, service []corev1.ContainerPort) bool {
	named := func(o corev1.ContainerPort) bool { return o.Name == p.Name }
	same := func(o corev1.ContainerPort) bool { return o.ContainerPort == p.ContainerPort }
	return slices.ContainsFunc(service, named) && !slices.ContainsFunc(service, same)
}

// mergePod lays the service's pod over the pod-level fields of a runtime. Containers are not its business.
func mergePod(runtime *servingv1alpha1.ServingRuntimePodSpec, service servingv1beta1.PodSpec) (corev1.PodSpec, error) {
	containers, inits := service.Containers, service.InitContainers
	service.Containers, service.InitContainers = nil, nil
	base := servingv1beta1.PodSpec{
		NodeSelector: runtime.NodeSelector, Affinity: runtime.Affinity, Tolerations: runtime.Tolerations, Volumes: runtime.Volumes,
		ImagePullSecrets: runtime.ImagePullSecrets, SchedulerName: runtime.SchedulerName, ResourceClaims: runtime.ResourceClaims, HostIPC: runtime.HostIPC,
	}
	merged := base
	if lay(&merged, service) {
		merged = *merged.DeepCopy()
	} else {
		var err error
		if merged, err = strategicMerge(base, service, servingv1beta1.PodSpec{}); err != nil {
			return corev1.PodSpec{}, fmt.Errorf("merge pod: %w", err)
		}
	}
	merged.Containers, merged.InitContainers = containers, inits
	for i := range merged.Volumes {
		for j := range service.Volumes {
			if m, own := &merged.Volumes[i], &service.Volumes[j]; m.Name == own.Name {
				plan.KeepChosen(&m.VolumeSource, &own.VolumeSource)
			}
		}
	}
	merged.ResourceClaims = claims(runtime.ResourceClaims, service.ResourceClaims)
	return corev1.PodSpec(merged), nil
}

// claims are the service's own, then those of the runtime that have other names. Each is of one kind, so that two are never one.
func claims(runtime, service []corev1.PodResourceClaim) []corev1.PodResourceClaim {
	all := slices.Clone(service)
	for _, c := range runtime {
		if !slices.ContainsFunc(service, func(own corev1.PodResourceClaim) bool { return own.Name == c.Name }) {
			all = append(all, c)
		}
	}
	return all
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
// The container is the caller's own: what it points to is written into, and after an error it is filled in by half.
func fillIn(c *corev1.Container, meta metav1.ObjectMeta) error {
	if err := eachText(reflect.ValueOf(c), func(text string) (string, error) { return expand(text, meta) }); err != nil {
		return fmt.Errorf("container %s: %w", c.Name, err)
	}
	return nil
}

func expand(text string, meta metav1.ObjectMeta) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if out, ok := settings.Plain(text, map[string]string{".Name": meta.Name, ".Namespace": meta.Namespace}); ok && len(out) <= maxExpanded {
		return out, nil
	}
	t, err := template.New("placeholder").Option("missingkey=zero").Funcs(textFuncs()).Parse(text)
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

var errGrows = fmt.Errorf("the text grows past %d bytes", maxExpanded)

type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxExpanded {
		return 0, errGrows
	}
	return l.Buffer.Write(p)
}

// textFuncs replace the functions of a template that build texts in memory: a few of them in a row, or a wide verb, make gigabytes of a
// short placeholder before anything is written.
func textFuncs() template.FuncMap {
	return template.FuncMap{
		"print": bounded(fmt.Sprint), "println": bounded(fmt.Sprintln), "printf": boundedPrintf,
		"html": bounded(template.HTMLEscaper), "js": bounded(template.JSEscaper), "urlquery": bounded(template.URLQueryEscaper),
	}
}

func bounded(build func(args ...any) string) func(args ...any) (string, error) {
	return func(args ...any) (string, error) {
		total := 0
		for _, a := range args {
			total += len(fmt.Sprint(a))
		}
		if total > maxExpanded {
			return "", errGrows
		}
		return build(args...), nil
	}
}

// wideVerb is a verb with a width or precision of more than three digits, or one that an argument gives.
var wideVerb = regexp.MustCompile(`%[-+# 0-9.\[\]]*([0-9]{4}|\*)`)

func boundedPrintf(format string, args ...any) (string, error) {
	longest := 0
	for _, a := range args {
		longest = max(longest, len(fmt.Sprint(a)))
	}
	// A verb prints an argument in at most about four times its length (%q), padded to three digits.
	if wideVerb.MatchString(format) || len(format)+strings.Count(format, "%")*max(4*longest, 999) > 2*maxExpanded {
		return "", errGrows
	}
	return fmt.Sprintf(format, args...), nil
}
