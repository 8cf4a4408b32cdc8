// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podrules finds what an API server would refuse in the pods of a component, while its fields can still be named as a person wrote
// them. It holds pods to less than an API server does: what it refuses, no API server takes.
//
// Called by: apis/serving/{v1beta1,v1alpha1}.
// Next: docs/admission-rules.md, which lists what is said.
package podrules

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Options say what becomes of a pod.
type Options struct {
	// Merged says that the pod is laid over that of a runtime: what is missing may come from there.
	Merged bool
	// MergedContainers are the names of containers that are laid over those of a runtime; empty with Merged means all.
	MergedContainers []string
	// Deployment says that the pod is the template of a Deployment, whose pods go on for ever.
	Deployment bool
	// Volumes are the names of volumes that pods get besides.
	Volumes func(name string) bool
}

// rules collects what is wrong with one pod.
type rules struct {
	options Options
	faults  field.ErrorList
}

// Pod checks the pod at a path.
func Pod(at *field.Path, pod *corev1.PodSpec, options Options) field.ErrorList {
	r := &rules{options: options}
	volumes := r.volumes(at.Child("volumes"), pod.Volumes)
	for i := range pod.Containers {
		merged := options.Merged && (len(options.MergedContainers) == 0 || slices.Contains(options.MergedContainers, pod.Containers[i].Name))
		r.container(at.Child("containers").Index(i), &pod.Containers[i], merged)
		r.mounts(at.Child("containers").Index(i), &pod.Containers[i], volumes, merged)
	}
	for i := range pod.InitContainers {
		r.initContainer(at.Child("initContainers").Index(i), &pod.InitContainers[i])
		r.mounts(at.Child("initContainers").Index(i), &pod.InitContainers[i], volumes, false)
	}
	r.hostPorts(at.Child("containers"), pod)
	r.names(at, pod)
	r.lifetime(at, pod)
	r.network(at, pod)
	r.scheduling(at, pod)
	return r.faults
}

// Container checks a container that is laid over that of a runtime or image of the operator.
func Container(at *field.Path, container *corev1.Container) field.ErrorList {
	r := &rules{options: Options{Merged: true}}
	r.container(at, container, true)
	r.mounts(at, container, nil, true)
	return r.faults
}

func (r *rules) add(faults ...*field.Error) { r.faults = append(r.faults, faults...) }

// invalid refuses a value. A text with placeholders is judged by nobody before they are filled in.
func (r *rules) invalid(at *field.Path, value any, rule string) {
	if text, ok := value.(string); ok && strings.Contains(text, "{{") {
		return
	}
	r.add(field.Invalid(at, value, rule))
}

// required refuses what is missing.
func (r *rules) required(at *field.Path, rule string) { r.add(field.Required(at, rule)) }

// Names of things in Kubernetes.
const (
	labelRule     = "must be at most 63 lower-case letters, digits and '-', and start and end with a letter or digit; write for instance my-name"
	subdomainRule = "must be lower-case letters, digits, '-' and '.', and each part must start and end with a letter or digit; write for instance my-name"
	dottedRule    = "must be a key such as app or example.com/app: letters, digits, '-', '_' and '.', at most 63 after the '/'; write it so"
	valueRule     = "must be at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or digit; shorten it, or use an annotation"
	relativeRule  = "must be a relative path without ..; write one below the volume's root"
)

// label checks a name that has to be a DNS label.
func (r *rules) label(at *field.Path, name string) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		r.invalid(at, name, labelRule)
	}
}

// object checks the name of another object.
func (r *rules) object(at *field.Path, name string) {
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		r.invalid(at, name, subdomainRule)
	}
}

// key checks the key of a label.
func (r *rules) key(at *field.Path, name string) {
	if len(validation.IsQualifiedName(name)) > 0 {
		r.invalid(at, name, dottedRule)
	}
}

// oneOf checks a word that has to be one of a few; the empty one is filled in later.
func oneOf[T ~string](r *rules, at *field.Path, value T, known ...T) {
	if value != "" && !slices.Contains(known, value) && !strings.Contains(string(value), "{{") {
		r.add(field.NotSupported(at, value, known))
	}
}

// between checks a number.
func (r *rules) between(at *field.Path, value, low, high int64, fix string) {
	if value < low || value > high {
		r.add(field.Invalid(at, value, fmt.Sprintf("must be between %d and %d; %s", low, high, fix)))
	}
}

func (r *rules) notNegative(at *field.Path, value int64) {
	if value < 0 {
		r.add(field.Invalid(at, value, "must not be less than 0; remove it for the default"))
	}
}

const maxPort = 65535

func (r *rules) portOrName(at *field.Path, port intstr.IntOrString, partial bool) {
	switch {
	case port.Type == intstr.Int && port.IntVal == 0 && partial:
	case port.Type == intstr.Int:
		r.between(at, int64(port.IntVal), 1, maxPort, "write the number of a port, or its name")
	case len(validation.IsValidPortName(port.StrVal)) > 0:
		r.invalid(at, port.StrVal, portNameRule)
	}
}

// names checks the names of other things that a pod needs.
func (r *rules) names(at *field.Path, pod *corev1.PodSpec) {
	r.object(at.Child("serviceAccountName"), pod.ServiceAccountName)
	r.object(at.Child("priorityClassName"), pod.PriorityClassName)
	r.object(at.Child("nodeName"), pod.NodeName)
	if pod.RuntimeClassName != nil {
		r.object(at.Child("runtimeClassName"), *pod.RuntimeClassName)
	}
	if pod.Hostname != "" {
		r.label(at.Child("hostname"), pod.Hostname)
	}
	if pod.Subdomain != "" {
		r.label(at.Child("subdomain"), pod.Subdomain)
	}
	for i, claim := range pod.ResourceClaims {
		where := at.Child("resourceClaims").Index(i)
		r.label(where.Child("name"), claim.Name)
		switch {
		case claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil:
			r.add(field.Forbidden(where.Child("resourceClaimTemplateName"), "resourceClaimName and resourceClaimTemplateName cannot be used together; remove one"))
		case claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil && !r.options.Merged:
			r.required(where.Child("resourceClaimName"), "a claim needs a name or a template; set resourceClaimName or resourceClaimTemplateName")
		}
	}
	for i, gate := range pod.SchedulingGates {
		r.key(at.Child("schedulingGates").Index(i).Child("name"), gate.Name)
	}
	for i, gate := range pod.ReadinessGates {
		r.key(at.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType))
	}
}

// lifetime checks how long pods live and when they are started again.
func (r *rules) lifetime(at *field.Path, pod *corev1.PodSpec) {
	switch {
	case r.options.Deployment && pod.RestartPolicy != "" && pod.RestartPolicy != corev1.RestartPolicyAlways:
		r.add(field.NotSupported(at.Child("restartPolicy"), pod.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	default:
		oneOf(r, at.Child("restartPolicy"), pod.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
	if n := pod.ActiveDeadlineSeconds; n != nil && r.options.Deployment {
		r.add(field.Forbidden(at.Child("activeDeadlineSeconds"), "the pods of a Deployment go on for ever; remove it"))
	}
	if p := pod.PreemptionPolicy; p != nil {
		oneOf(r, at.Child("preemptionPolicy"), *p, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	if s := pod.SecurityContext; s != nil {
		where := at.Child("securityContext")
		r.user(where.Child("runAsUser"), s.RunAsUser)
		r.user(where.Child("runAsGroup"), s.RunAsGroup)
		r.user(where.Child("fsGroup"), s.FSGroup)
		for i := range s.SupplementalGroups {
			r.user(where.Child("supplementalGroups").Index(i), &s.SupplementalGroups[i])
		}
		if p := s.FSGroupChangePolicy; p != nil {
			oneOf(r, where.Child("fsGroupChangePolicy"), *p, corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
		}
		r.seccomp(where.Child("seccompProfile"), s.SeccompProfile)
	}
}

func (r *rules) user(at *field.Path, id *int64) {
	const most = 1<<31 - 1
	if id != nil {
		r.between(at, *id, 0, most, "it is the number of a user or group")
	}
}

func (r *rules) seccomp(at *field.Path, p *corev1.SeccompProfile) {
	if p == nil {
		return
	}
	oneOf(r, at.Child("type"), p.Type, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeLocalhost)
	if p.Type != "" && p.Type != corev1.SeccompProfileTypeLocalhost && p.LocalhostProfile != nil {
		r.add(field.Forbidden(at.Child("localhostProfile"), "is only for the type Localhost; remove it"))
	}
}

// network checks names and addresses that a pod knows of others.
func (r *rules) network(at *field.Path, pod *corev1.PodSpec) {
	const addressRule = "must be an IP address; write for instance 10.0.0.1"
	isAddress := func(text string) bool { return len(validation.IsValidIPForLegacyField(at, text, false, nil)) == 0 }
	oneOf(r, at.Child("dnsPolicy"), pod.DNSPolicy, corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)
	for i, alias := range pod.HostAliases {
		where := at.Child("hostAliases").Index(i)
		if !isAddress(alias.IP) {
			r.invalid(where.Child("ip"), alias.IP, addressRule)
		}
		for j, name := range alias.Hostnames {
			if len(validation.IsDNS1123Subdomain(name)) > 0 {
				r.invalid(where.Child("hostnames").Index(j), name, subdomainRule)
			}
		}
	}
	config, where := pod.DNSConfig, at.Child("dnsConfig")
	if pod.DNSPolicy == corev1.DNSNone && (config == nil || len(config.Nameservers) == 0) {
		r.required(where.Child("nameservers"), "the dnsPolicy None needs name servers of its own; name one, or use another policy")
	}
	if config == nil {
		return
	}
	const servers, paths = 3, 32
	if n := len(config.Nameservers); n > servers {
		r.add(field.TooMany(where.Child("nameservers"), n, servers))
	}
	for i, address := range config.Nameservers {
		if !isAddress(address) {
			r.invalid(where.Child("nameservers").Index(i), address, addressRule)
		}
	}
	if n := len(config.Searches); n > paths {
		r.add(field.TooMany(where.Child("searches"), n, paths))
	}
	for i, option := range config.Options {
		if option.Name == "" {
			r.required(where.Child("options").Index(i).Child("name"), "an option needs a name; set one such as ndots")
		}
	}
}

// hostPorts refuses two containers that would listen on one port of the node.
func (r *rules) hostPorts(at *field.Path, pod *corev1.PodSpec) {
	type taken struct {
		protocol corev1.Protocol
		address  string
		port     int32
	}
	seen := map[taken]bool{}
	for i := range pod.Containers {
		for j, port := range pod.Containers[i].Ports {
			where := at.Index(i).Child("ports").Index(j).Child("hostPort")
			if port.HostPort == 0 {
				continue
			}
			if pod.HostNetwork && port.HostPort != port.ContainerPort && port.ContainerPort != 0 {
				r.add(field.Invalid(where, port.HostPort, "must be the containerPort, because hostNetwork is true; make them equal, or remove it"))
			}
			this := taken{port.Protocol, port.HostIP, port.HostPort}
			if this.protocol == "" {
				this.protocol = corev1.ProtocolTCP
			}
			if seen[this] {
				fault := field.Duplicate(where, port.HostPort)
				fault.Detail = "a port of the node can be used once; choose another"
				r.add(fault)
			}
			seen[this] = true
		}
	}
}

// headers checks those of a probe.
func (r *rules) headers(at *field.Path, headers []corev1.HTTPHeader) {
	for i, header := range headers {
		if header.Name != "" && len(validation.IsHTTPHeaderName(header.Name)) > 0 {
			r.invalid(at.Index(i).Child("name"), header.Name, "must be the name of an HTTP header, as "+http.CanonicalHeaderKey("x-probe")+"; use letters, digits and '-'")
		}
	}
}

func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
