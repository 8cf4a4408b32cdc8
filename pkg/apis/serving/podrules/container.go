// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podrules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const portNameRule = "must be the name of a port: at most 15 lower-case letters, digits and '-', with a letter among them; write for instance h2c"

// container checks what every container has. What is missing of a merged one may come from a runtime.
func (r *rules) container(at *field.Path, c *corev1.Container, merged bool) {
	switch {
	case c.Name != "":
		r.label(at.Child("name"), c.Name)
	case !merged:
		r.required(at.Child("name"), "a container needs a name; set one such as helper")
	}
	if c.Image == "" && !merged {
		r.required(at.Child("image"), "a container needs an image; name one")
	}
	r.basics(at, c, merged)
	for _, probe := range []struct {
		name  string
		probe *corev1.Probe
		once  bool
	}{{"livenessProbe", c.LivenessProbe, true}, {"readinessProbe", c.ReadinessProbe, false}, {"startupProbe", c.StartupProbe, true}} {
		if probe.probe != nil {
			r.probe(at.Child(probe.name), probe.probe, probe.once, merged)
		}
	}
	if l := c.Lifecycle; l != nil {
		for _, hook := range []struct {
			name string
			hook *corev1.LifecycleHandler
		}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
			if hook.hook != nil {
				h := hook.hook
				r.action(at.Child("lifecycle", hook.name), action{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, merged)
			}
		}
	}
}

func (r *rules) initContainer(at *field.Path, c *corev1.Container) {
	if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		r.container(at, c, false)
		return
	}
	bare := *c
	bare.LivenessProbe, bare.ReadinessProbe, bare.StartupProbe, bare.Lifecycle = nil, nil, nil, nil
	r.container(at, &bare, false)
	for _, extra := range []struct {
		name string
		set  bool
	}{{"livenessProbe", c.LivenessProbe != nil}, {"readinessProbe", c.ReadinessProbe != nil}, {"startupProbe", c.StartupProbe != nil}, {"lifecycle", c.Lifecycle != nil}} {
		if extra.set {
			r.add(field.Forbidden(at.Child(extra.name), "an init container ends before the others start; remove it, or set restartPolicy: Always"))
		}
	}
}

func (r *rules) basics(at *field.Path, c *corev1.Container, merged bool) {
	oneOf(r, at.Child("imagePullPolicy"), c.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	oneOf(r, at.Child("terminationMessagePolicy"), c.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	r.ports(at.Child("ports"), c.Ports)
	r.env(at.Child("env"), c.Env, merged)
	r.envFrom(at.Child("envFrom"), c.EnvFrom)
	r.resources(at.Child("resources"), &c.Resources, merged)
	if s := c.SecurityContext; s != nil {
		where := at.Child("securityContext")
		r.user(where.Child("runAsUser"), s.RunAsUser)
		r.user(where.Child("runAsGroup"), s.RunAsGroup)
		r.seccomp(where.Child("seccompProfile"), s.SeccompProfile)
		if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation && s.Privileged != nil && *s.Privileged {
			r.add(field.Invalid(where.Child("allowPrivilegeEscalation"), false, "cannot be false beside privileged: true; remove one"))
		}
	}
}

func (r *rules) ports(at *field.Path, ports []corev1.ContainerPort) {
	names := map[string]bool{}
	for i, port := range ports {
		where := at.Index(i)
		r.between(where.Child("containerPort"), int64(port.ContainerPort), 1, maxPort, "it is the port that the container listens on")
		if port.HostPort != 0 {
			r.between(where.Child("hostPort"), int64(port.HostPort), 1, maxPort, "remove it for none")
		}
		oneOf(r, where.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		switch {
		case port.Name == "":
		case len(validation.IsValidPortName(port.Name)) > 0:
			r.invalid(where.Child("name"), port.Name, portNameRule)
		case names[port.Name]:
			fault := field.Duplicate(where.Child("name"), port.Name)
			fault.Detail = "ports of a container need names of their own; choose another"
			r.add(fault)
		}
		names[port.Name] = true
	}
}

func (r *rules) env(at *field.Path, env []corev1.EnvVar, merged bool) {
	for i := range env {
		e, where := &env[i], at.Index(i)
		switch {
		case e.Name == "":
			r.required(where.Child("name"), "a variable needs a name; set one")
		case len(validation.IsRelaxedEnvVarName(e.Name)) > 0:
			r.invalid(where.Child("name"), e.Name, "must be printable letters without '='; write for instance MY_VARIABLE")
		}
		from := e.ValueFrom
		if from == nil {
			continue
		}
		if e.Value != "" {
			r.add(field.Forbidden(where.Child("valueFrom"), "value and valueFrom cannot be used together; remove one"))
		}
		r.source(where.Child("valueFrom"), from, merged)
	}
}

// fieldPath is what of a pod a container can be told, as far as it may have any key.
var fieldPath = regexp.MustCompile(`^(metadata|spec|status)\.[A-Za-z]+(\['.*'\])?$`)

func (r *rules) source(at *field.Path, from *corev1.EnvVarSource, merged bool) {
	count := 0
	for _, set := range []bool{from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil, from.FileKeyRef != nil} {
		if set {
			count++
		}
	}
	const rule = "a variable has one source: fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef or fileKeyRef; "
	switch {
	case count > 1:
		r.add(field.Forbidden(at, rule+"keep one"))
	case count == 0 && !merged:
		r.required(at, rule+"set one")
	}
	if f := from.FieldRef; f != nil && !fieldPath.MatchString(f.FieldPath) && !(merged && f.FieldPath == "") {
		r.invalid(at.Child("fieldRef", "fieldPath"), f.FieldPath, "must be a field of the pod; write for instance metadata.name")
	}
	if s := from.SecretKeyRef; s != nil {
		r.keyOf(at.Child("secretKeyRef"), s.Name, s.Key, merged)
	}
	if s := from.ConfigMapKeyRef; s != nil {
		r.keyOf(at.Child("configMapKeyRef"), s.Name, s.Key, merged)
	}
}

func (r *rules) keyOf(at *field.Path, name, key string, merged bool) {
	if name == "" && !merged {
		r.required(at.Child("name"), "an object has a name; set it")
	}
	r.object(at.Child("name"), name)
	switch {
	case key == "" && merged:
	case key == "":
		r.required(at.Child("key"), "a value has a key; set it")
	case len(validation.IsConfigMapKey(key)) > 0:
		r.invalid(at.Child("key"), key, "must be letters, digits, '-', '_' and '.'; write the key as it is in the object")
	}
}

func (r *rules) envFrom(at *field.Path, sources []corev1.EnvFromSource) {
	for i, s := range sources {
		where := at.Index(i)
		if s.Prefix != "" && len(validation.IsRelaxedEnvVarName(s.Prefix)) > 0 {
			r.invalid(where.Child("prefix"), s.Prefix, "must be printable letters without '='; write for instance MY_")
		}
		switch {
		case s.ConfigMapRef != nil && s.SecretRef != nil:
			r.add(field.Forbidden(where.Child("secretRef"), "configMapRef and secretRef cannot be used together; make two entries"))
		case s.ConfigMapRef == nil && s.SecretRef == nil:
			r.required(where, "variables come from configMapRef or secretRef; set one")
		case s.ConfigMapRef != nil && s.ConfigMapRef.Name == "":
			r.required(where.Child("configMapRef", "name"), "a ConfigMap has a name; set it")
		case s.SecretRef != nil && s.SecretRef.Name == "":
			r.required(where.Child("secretRef", "name"), "a Secret has a name; set it")
		case s.ConfigMapRef != nil:
			r.object(where.Child("configMapRef", "name"), s.ConfigMapRef.Name)
		default:
			r.object(where.Child("secretRef", "name"), s.SecretRef.Name)
		}
	}
}

func (r *rules) probe(at *field.Path, p *corev1.Probe, once, merged bool) {
	r.action(at, action{p.Exec, p.HTTPGet, p.TCPSocket, p.GRPC, nil}, merged)
	r.notNegative(at.Child("initialDelaySeconds"), int64(p.InitialDelaySeconds))
	r.notNegative(at.Child("timeoutSeconds"), int64(p.TimeoutSeconds))
	r.notNegative(at.Child("periodSeconds"), int64(p.PeriodSeconds))
	r.notNegative(at.Child("failureThreshold"), int64(p.FailureThreshold))
	switch {
	case once && p.SuccessThreshold > 1:
		r.add(field.Invalid(at.Child("successThreshold"), p.SuccessThreshold, "must be 1 for this probe; remove it"))
	default:
		r.notNegative(at.Child("successThreshold"), int64(p.SuccessThreshold))
	}
	if n := p.TerminationGracePeriodSeconds; n != nil {
		switch {
		case !once:
			r.add(field.Forbidden(at.Child("terminationGracePeriodSeconds"), "a readiness probe ends no container; remove it"))
		case *n < 1:
			r.add(field.Invalid(at.Child("terminationGracePeriodSeconds"), *n, "must be at least 1; remove it for the pod's own"))
		}
	}
}

// action is what a probe or a hook does: one of these.
type action struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (r *rules) action(at *field.Path, a action, merged bool) {
	var set []string
	for _, kind := range []struct {
		name string
		set  bool
	}{{"exec", a.exec != nil}, {"httpGet", a.http != nil}, {"tcpSocket", a.tcp != nil}, {"grpc", a.grpc != nil}, {"sleep", a.sleep != nil}} {
		if kind.set {
			set = append(set, kind.name)
		}
	}
	switch {
	case len(set) > 1:
		r.add(field.Forbidden(at.Child(set[1]), fmt.Sprintf("only one action is possible, and %s is one; remove one", set[0])))
	case len(set) == 0 && !merged:
		r.required(at, "an action is needed: exec, httpGet, tcpSocket, or grpc for a probe; set one")
	}
	if a.exec != nil && len(a.exec.Command) == 0 && !merged {
		r.required(at.Child("exec", "command"), "a command is needed; set it")
	}
	if a.tcp != nil {
		r.portOrName(at.Child("tcpSocket", "port"), a.tcp.Port, merged)
	}
	if a.grpc != nil && !(merged && a.grpc.Port == 0) {
		r.between(at.Child("grpc", "port"), int64(a.grpc.Port), 1, maxPort, "write the number of a port")
	}
	if h := a.http; h != nil {
		where := at.Child("httpGet")
		r.portOrName(where.Child("port"), h.Port, merged)
		oneOf(r, where.Child("scheme"), h.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		r.headers(where.Child("httpHeaders"), h.HTTPHeaders)
	}
}

// resources checks amounts. Where a request or limit is missing, that of the runtime or another default may come in.
func (r *rules) resources(at *field.Path, need *corev1.ResourceRequirements, merged bool) {
	for _, list := range []struct {
		name  string
		items corev1.ResourceList
	}{{"limits", need.Limits}, {"requests", need.Requests}} {
		for _, name := range sorted(list.items) {
			r.resource(at.Child(list.name).Key(string(name)), name, list.items)
		}
	}
	for _, name := range sorted(need.Requests) {
		request, limit := need.Requests[name], need.Limits[name]
		where := at.Child("requests").Key(string(name))
		_, limited := need.Limits[name]
		switch {
		case !limited && !merged && !overcommitted(name):
			r.required(at.Child("limits").Key(string(name)), "what cannot be lent out has a limit that equals its request; set it")
		case !limited:
		case request.Cmp(limit) > 0:
			r.add(field.Invalid(where, request.String(), fmt.Sprintf("must not be more than the limit, which is %s (the operator's default where none is written); raise limits.%s", limit.String(), name)))
		case request.Cmp(limit) != 0 && !overcommitted(name):
			r.add(field.Invalid(where, request.String(), fmt.Sprintf("must be the limit, which is %s, because %s cannot be lent out; make them equal", limit.String(), name)))
		}
	}
}

const hugePages = "hugepages-"

func (r *rules) resource(at *field.Path, name corev1.ResourceName, items corev1.ResourceList) {
	text := string(name)
	plain := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	switch {
	case strings.Contains(text, "{{"):
		return
	case !strings.Contains(text, "/") && !slices.Contains(plain, name) && !strings.HasPrefix(text, hugePages):
		r.add(field.Invalid(at, text, "is no resource of a container; write cpu, memory, ephemeral-storage, hugepages-<size> or a name such as nvidia.com/gpu"))
	case len(validation.IsQualifiedName(text)) > 0:
		r.invalid(at, text, "is no name of a resource; write for instance nvidia.com/gpu")
	}
	quantity := items[name]
	switch {
	case quantity.Sign() < 0:
		r.add(field.Invalid(at, quantity.String(), "must not be less than 0; write a quantity such as 500m or 1Gi"))
	case strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix) && quantity.MilliValue()%1000 != 0:
		r.add(field.Invalid(at, quantity.String(), "must be a whole number, because a device is not shared; round it"))
	}
}

// overcommitted reports whether a node may promise more of a resource than it has.
func overcommitted(name corev1.ResourceName) bool {
	text := string(name)
	native := !strings.Contains(text, "/") || strings.Contains(text, corev1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(text, hugePages)
}
