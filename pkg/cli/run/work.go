// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
)

// work is what a planned service asks this process to do.
type work struct {
	service offline.Service
	// model is the name in the URLs, format the engine to open the files with.
	model    string
	server   int // of the process's model servers, and dir the fetched files
	dir      string
	format   string
	threads  int
	proba    bool
	protocol serving.ProtocolVersion
	// stamp changes with the files of the sources that are on this machine.
	stamp string
	// sources are what to fetch, with paths below the model directory; env is the storage initializer's environment.
	sources []plan.Source
	env     map[string]string
	// host is the service's name outside a cluster, hosts are all names that reach it in one.
	host  string
	hosts []string
	notes []string
}

// refusal is why a service cannot run in this process though a cluster could run it.
type refusal struct{ sentence string }

func (r *refusal) Error() string { return r.sentence }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// stopped says that the service asks not to run.
var errStopped = errors.New("stopped by annotation " + serving.AnnotationStop)

// servers are the images whose command line the model server of this process understands: its own and the reference's.
func servers() []string {
	return []string{"model-server", "sklearnserver", "xgbserver", "lgbserver", "pmmlserver", "predictiveserver"}
}

// understand turns a plan into work. The error is a *refusal for what only a cluster can do.
func understand(world *offline.World, service offline.Service, p *plan.Plan) (*work, error) {
	if p.Stopped {
		return nil, errStopped
	}
	for _, role := range []serving.ComponentRole{serving.Transformer, serving.Explainer} {
		if c := p.Component(role); c != nil {
			return nil, refuse("spec.%s runs the container image %s, and kserve run starts no containers; apply the service to a cluster, or remove spec.%s to serve the model alone",
				role, c.Front().Image, role)
		}
	}
	c := p.Component(serving.Predictor)
	switch {
	case p.Mode == serving.ModelMesh || c == nil:
		return nil, refuse("deployment mode %s leaves the service to another controller; kserve run serves the modes Standard and Knative", p.Mode)
	case c.Runtime == nil:
		return nil, refuse("spec.predictor.containers runs the container image %s, and kserve run starts no containers; apply the service to a cluster", c.Front().Image)
	case !slices.Contains(servers(), imageName(c.Front().Image)):
		return nil, refuse("%s %s runs the container image %s, and kserve run starts no containers; apply the service to a cluster%s",
			c.Runtime.Kind(), c.Runtime.Name, c.Front().Image, instead(c.Format.Name))
	case c.Workers != nil:
		return nil, refuse("spec.predictor.workerSpec asks for several machines; apply the service to a cluster")
	case c.MultiModel || (len(c.Storage.Sources) == 0 && c.Storage.Spec == nil):
		return nil, refuse("spec.predictor.model has no storageUri, so there is no model to fetch; name one")
	}
	w := &work{service: service, model: service.Object.Name, format: c.Format.Name, threads: 1, protocol: c.Protocol, env: map[string]string{}}
	w.readServer(c.Front())
	w.host, w.hosts = p.Route.Host, hosts(world, p, c)
	if err := w.readStorage(world, p, c); err != nil {
		return nil, err
	}
	if c.Logger != nil {
		w.notes = append(w.notes, "spec.predictor.logger is the agent's work; kserve run does not log payloads")
	}
	if service.Defaulted.Spec.Predictor.Batcher != nil {
		w.notes = append(w.notes, "spec.predictor.batcher is the agent's work; kserve run does not batch")
	}
	if len(p.Tracks()) > 0 {
		w.notes = append(w.notes, "spec.canary is not run; every request reaches spec.predictor")
	}
	return w, nil
}

// instead names the shipped runtime that this process can stand for, where there is one for the format.
func instead(format string) string {
	runtime := map[string]string{"sklearn": "kserve-sklearnserver", "xgboost": "kserve-xgbserver", "lightgbm": "kserve-lgbserver"}[format]
	if runtime == "" {
		return ""
	}
	return ", or set spec.predictor.model.runtime: " + runtime + " to have it served here"
}

// imageName is the last part of an image without tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name
}

// readServer takes what the model server's command line and environment say. A later flag wins over an earlier one.
func (w *work) readServer(c *corev1.Container) {
	args := slices.Concat(c.Command, c.Args)
	for i, arg := range args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "--") {
			continue
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch strings.ReplaceAll(name, "-", "_") {
		case "model_name":
			w.model = value
		case "nthread":
			if n, err := strconv.Atoi(value); err == nil && n > 0 {
				w.threads = n
			}
		case "framework":
			if value != "" {
				w.format = value
			}
		}
	}
	for _, e := range c.Env {
		if e.Name == "PREDICT_PROBA" {
			w.proba = strings.EqualFold(e.Value, "true")
		}
	}
}

// readStorage asks the pod itself what its init container would fetch and with which credentials.
func (w *work) readStorage(world *offline.World, p *plan.Plan, c *plan.Component) error {
	sources := c.Storage.Sources
	spec, err := podspec.Build(p, c, world.Settings)
	if err != nil {
		return fmt.Errorf("render the pod: %w", err)
	}
	around := world.Surroundings(p.Owner.Namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.Labels, Annotations: clone(c.Annotations)}, Spec: spec}
	if err := podspec.Inject(pod, podspec.Admission{Settings: world.Settings, Around: &around, Namespace: p.Owner.Namespace}); err != nil {
		return fmt.Errorf("render the pod: %w", err)
	}
	for _, init := range pod.Spec.InitContainers {
		if init.Name != handoff.InitializerContainer {
			continue
		}
		sources = nil
		for i := 0; i+1 < len(init.Args); i += 2 {
			sources = append(sources, plan.Source{URI: init.Args[i], Path: init.Args[i+1]})
		}
		if w.env, err = environment(init.Env, around.Secrets); err != nil {
			return err
		}
	}
	for _, s := range sources {
		rest, ok := strings.CutPrefix(path.Clean(s.Path), plan.ModelPath)
		if !ok || (rest != "" && rest[0] != '/') {
			return refuse("%s is to be put at %s, outside %s, where the model server does not look", s.URI, s.Path, plan.ModelPath)
		}
		w.sources = append(w.sources, plan.Source{URI: s.URI, Path: strings.TrimPrefix(rest, "/")})
	}
	if len(w.sources) > 1 && slices.ContainsFunc(w.sources, func(s plan.Source) bool { return s.Path == "" }) {
		return refuse("spec.predictor.storageUris puts one source at %s and another below it; give each a folder of its own", plan.ModelPath)
	}
	return nil
}

func clone(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// environment resolves an init container's variables with the secrets of the files.
func environment(env []corev1.EnvVar, secrets map[string]corev1.Secret) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range env {
		switch {
		case e.ValueFrom == nil:
			out[e.Name] = e.Value
		case e.ValueFrom.SecretKeyRef != nil:
			ref := e.ValueFrom.SecretKeyRef
			value, ok := secrets[ref.Name].Data[ref.Key]
			if !ok {
				if ref.Optional != nil && *ref.Optional {
					continue
				}
				return nil, fmt.Errorf("variable %s comes from key %q of secret %q, which is not in the files; add the Secret to them", e.Name, ref.Key, ref.Name)
			}
			out[e.Name] = string(value)
		}
	}
	return out, nil
}

// hosts are the names of a service: from outside, from inside, and of the predictor alone.
func hosts(world *offline.World, p *plan.Plan, c *plan.Component) []string {
	domain := world.Settings.ClusterDomain
	if domain == "" {
		domain = "cluster.local"
	}
	all := append([]string{p.Route.Host, c.Host}, p.Route.MoreHosts...)
	for _, name := range []string{p.Owner.Name, c.Name} {
		all = append(all, name+"."+p.Owner.Namespace, name+"."+p.Owner.Namespace+".svc", name+"."+p.Owner.Namespace+".svc."+domain)
	}
	all = slices.DeleteFunc(all, func(h string) bool { return h == "" })
	slices.Sort(all)
	return slices.Compact(all)
}
