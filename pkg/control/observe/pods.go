// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// templateHash is the label by which a Deployment tells the pods of one template from those of another.
const templateHash = appsv1.DefaultDeploymentUniqueLabelKey

func sorted(pods []*corev1.Pod) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// ofDeployment leaves out what has the labels of a Deployment's pods and is none of them: a pod that another controller made, or that somebody
// made by hand beside those of the Deployment. It says nothing about the service.
func ofDeployment(pods []*corev1.Pod, deployment string) []*corev1.Pod {
	hashed := slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Labels[templateHash] != "" })
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(p)
		return hashed && p.Labels[templateHash] == "" || by != nil && (by.Kind != "ReplicaSet" || !strings.HasPrefix(by.Name, deployment+"-"))
	})
}

// newestOf are the pods of the Deployment's latest template. The Deployment names its latest ReplicaSet in its Progressing condition;
// where it does not, the latest is the one whose oldest pod is youngest: a pod of an old template may be made anew, but not all of them.
func newestOf(pods []*corev1.Pod, d *appsv1.Deployment) []*corev1.Pod {
	hash, only := "", true
	for _, p := range pods {
		if h := p.Labels[templateHash]; h != pods[0].Labels[templateHash] {
			only = false
		} else {
			hash = h
		}
	}
	named := namedTemplate(conditionOf(d, appsv1.DeploymentProgressing).Message, d.Name)
	switch {
	case len(pods) == 0, only && (named == "" || hash == "" || named == hash):
		return pods
	case named != "" && caughtUp(d):
		hash = named
	default:
		hash = youngest(pods)
	}
	var newest []*corev1.Pod
	for _, p := range pods {
		if p.Labels[templateHash] == hash {
			newest = append(newest, p)
		}
	}
	return newest
}

// namedTemplate finds the hash of the ReplicaSet in messages like: ReplicaSet "m-predictor-5d9c7b" is progressing.
func namedTemplate(message, deployment string) string {
	_, rest, found := strings.Cut(message, `"`+deployment+"-")
	if !found {
		return ""
	}
	hash, _, found := strings.Cut(rest, `"`)
	if !found || strings.Contains(hash, "-") {
		return ""
	}
	return hash
}

func youngest(pods []*corev1.Pod) string {
	oldest := map[string]time.Time{}
	for _, p := range pods {
		h, made := p.Labels[templateHash], p.CreationTimestamp.Time
		if t, ok := oldest[h]; !ok || made.Before(t) {
			oldest[h] = made
		}
	}
	best := ""
	var when time.Time
	for _, p := range pods {
		if h := p.Labels[templateHash]; best == "" || oldest[h].After(when) {
			best, when = h, oldest[h]
		}
	}
	return best
}

// ready counts the pods that serve.
func ready(pods []*corev1.Pod) int {
	n := 0
	for _, p := range pods {
		if isReady(p) {
			n++
		}
	}
	return n
}

func isReady(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && podCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

func podCondition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return p.Status.Conditions[i]
		}
	}
	return corev1.PodCondition{}
}

// worst is the worst finding in pods, with the count of pods that it is true of. Pods that have ended count only where no other is left:
// what they were needed for has been made anew.
func (o *observer) worst(c *plan.Component, pods []*corev1.Pod) finding {
	living := 0
	for _, p := range pods {
		if !ended(p) {
			living++
		}
	}
	var worst finding
	same, total := 0, 0
	var after time.Duration
	for _, p := range pods {
		if living > 0 && ended(p) {
			continue
		}
		total++
		f := o.diagnose(c, p)
		if f.after > 0 && (after == 0 || f.after < after) {
			after = f.after
		}
		switch {
		case f.rank > worst.rank:
			worst, same = f, 1
		case f.rank == worst.rank && f.reason == worst.reason && f.container == worst.container:
			same++
		}
	}
	worst.after = after
	if worst.fails() && total > 1 {
		worst.message = fmt.Sprintf("%d of %d pods: %s", same, total, worst.message)
	}
	return worst
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// logsOf is the command that shows what a container said.
func logsOf(p *corev1.Pod, container string, previous bool) string {
	which := p.Name
	if app := p.Labels[serving.LabelApp]; app != "" {
		which = "-l " + serving.LabelApp + "=" + app // a name would change with every pod
	}
	command := "kubectl logs -n " + p.Namespace + " " + which + " -c " + container
	if previous {
		command += " --previous"
	}
	return command
}
