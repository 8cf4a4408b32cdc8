// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"regexp"
	"strings"
)

// orElse fills in a field that is absent, as the API server would.
func orElse(d doc, key string, value any) {
	if v, ok := d[key]; !ok || v == nil || v == "" {
		d[key] = value
	}
}

func child(d doc, key string) doc {
	c, _ := d[key].(doc)
	return c
}

func items(d doc, key string) []doc {
	list, _ := d[key].([]any)
	var out []doc
	for _, i := range list {
		if m, ok := i.(doc); ok {
			out = append(out, m)
		}
	}
	return out
}

// defaultObject fills in what the API server (or a CRD) adds to an object of the kinds that are rendered here.
func defaultObject(d doc) {
	spec := child(d, "spec")
	api, _ := d["apiVersion"].(string)
	switch d["kind"] {
	case "Deployment":
		orElse(spec, "replicas", 1)
		orElse(spec, "revisionHistoryLimit", 10)
		orElse(spec, "progressDeadlineSeconds", 600)
		orElse(spec, "strategy", doc{})
		s := child(spec, "strategy")
		orElse(s, "type", "RollingUpdate")
		if s["type"] == "RollingUpdate" {
			orElse(s, "rollingUpdate", doc{})
			orElse(child(s, "rollingUpdate"), "maxSurge", "25%")
			orElse(child(s, "rollingUpdate"), "maxUnavailable", "25%")
		}
		defaultTemplate(child(child(spec, "template"), "spec"))
	case "Service":
		if strings.HasPrefix(api, "serving.knative.dev") {
			return
		}
		defaultService(spec)
	case "HorizontalPodAutoscaler":
		defaultHPA(spec)
	case "OpenTelemetryCollector":
		orElse(spec, "configVersions", 3)
		orElse(spec, "ipFamilyPolicy", "SingleStack")
		orElse(spec, "managementState", "managed")
	case "HTTPRoute":
		for _, r := range items(spec, "rules") {
			for _, b := range items(r, "backendRefs") {
				orElse(b, "weight", 1)
			}
		}
	}
}

func defaultService(spec doc) {
	orElse(spec, "sessionAffinity", "None")
	orElse(spec, "type", "ClusterIP")
	for _, p := range items(spec, "ports") {
		orElse(p, "protocol", "TCP")
		orElse(p, "targetPort", p["port"])
	}
	if spec["type"] == "ExternalName" {
		return
	}
	orElse(spec, "internalTrafficPolicy", "Cluster")
	orElse(spec, "ipFamilies", []any{"IPv4"})
	orElse(spec, "ipFamilyPolicy", "SingleStack")
	if spec["clusterIP"] == "None" {
		orElse(spec, "clusterIPs", []any{"None"})
	}
}

func defaultHPA(spec doc) {
	orElse(spec, "minReplicas", 1)
	if len(items(spec, "metrics")) == 0 {
		spec["metrics"] = []any{doc{"type": "Resource", "resource": doc{"name": "cpu", "target": doc{"type": "Utilization", "averageUtilization": 80}}}}
	}
	b, ok := spec["behavior"].(doc)
	if !ok {
		return
	}
	policy := func(kind string, value int) any {
		return doc{"type": kind, "value": value, "periodSeconds": 15}
	}
	orElse(b, "scaleUp", doc{})
	up := child(b, "scaleUp")
	orElse(up, "stabilizationWindowSeconds", 0)
	orElse(up, "selectPolicy", "Max")
	orElse(up, "policies", []any{policy("Pods", 4), policy("Percent", 100)})
	orElse(b, "scaleDown", doc{})
	down := child(b, "scaleDown")
	orElse(down, "selectPolicy", "Max")
	orElse(down, "policies", []any{policy("Percent", 100)})
}

// defaultTemplate is what a pod template gets, whoever holds it.
func defaultTemplate(spec doc) {
	orElse(spec, "dnsPolicy", "ClusterFirst")
	orElse(spec, "restartPolicy", "Always")
	orElse(spec, "schedulerName", "default-scheduler")
	orElse(spec, "terminationGracePeriodSeconds", 30)
	orElse(spec, "securityContext", doc{})
	if sa, ok := spec["serviceAccountName"]; ok {
		orElse(spec, "serviceAccount", sa)
	}
	for _, c := range append(items(spec, "initContainers"), items(spec, "containers")...) {
		defaultContainer(c)
	}
	for _, v := range items(spec, "volumes") {
		for _, kind := range []string{"configMap", "secret", "projected", "downwardAPI"} {
			if s := child(v, kind); s != nil {
				orElse(s, "defaultMode", 420)
			}
		}
	}
}

var taggedImage = regexp.MustCompile(`:([\w.\-]+)$`)

func defaultContainer(c doc) {
	image, _ := c["image"].(string)
	policy := "Always"
	if m := taggedImage.FindStringSubmatch(image); m != nil && m[1] != "latest" || strings.Contains(image, "@") {
		policy = "IfNotPresent"
	}
	orElse(c, "imagePullPolicy", policy)
	orElse(c, "terminationMessagePath", "/dev/termination-log")
	orElse(c, "terminationMessagePolicy", "File")
	for _, p := range items(c, "ports") {
		orElse(p, "protocol", "TCP")
	}
	for _, e := range items(c, "env") {
		if f := child(child(e, "valueFrom"), "fieldRef"); f != nil {
			orElse(f, "apiVersion", "v1")
		}
	}
	for _, kind := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		p := child(c, kind)
		if p == nil {
			continue
		}
		orElse(p, "timeoutSeconds", 1)
		orElse(p, "periodSeconds", 10)
		orElse(p, "successThreshold", 1)
		orElse(p, "failureThreshold", 3)
		if h := child(p, "httpGet"); h != nil {
			orElse(h, "scheme", "HTTP")
			orElse(h, "path", "/")
		}
	}
}

// defaultPod adds what only pods get, with the plug-ins that an API server runs by default.
func defaultPod(d doc) {
	spec := child(d, "spec")
	defaultTemplate(spec)
	orElse(spec, "enableServiceLinks", true)
	orElse(spec, "preemptionPolicy", "PreemptLowerPriority")
	orElse(spec, "priority", 0)
	for _, c := range append(items(spec, "initContainers"), items(spec, "containers")...) {
		r := child(c, "resources")
		limits := child(r, "limits")
		if len(limits) > 0 {
			orElse(r, "requests", doc{})
			for k, v := range limits {
				orElse(child(r, "requests"), k, v)
			}
		}
	}
	tolerations, _ := spec["tolerations"].([]any)
	for _, taint := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerations = append(tolerations, doc{"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
	}
	spec["tolerations"] = tolerations
}
