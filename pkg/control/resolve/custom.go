// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// predictorHost is where transformer and explainer find the predictor.
func (r *resolver) predictorHost() string {
	return names.Predictor(r.svc.Name, r.svc.Spec.Predictor.Name) + "." + r.svc.Namespace
}

// addFlag appends a flag and its value unless the user gave it, as one word or as two.
func addFlag(c *corev1.Container, flag, value string) {
	for _, a := range c.Args {
		if a == flag || strings.HasPrefix(a, flag+"=") {
			return
		}
	}
	c.Args = append(c.Args, flag, value)
}

func (r *resolver) transformer(spec *servingv1beta1.TransformerSpec) (*plan.Component, error) {
	spec = spec.DeepCopy()
	if len(spec.Containers) == 0 {
		return nil, unsupported("spec.transformer has no container: set spec.transformer.containers")
	}
	c := r.component(serving.Transformer, names.Transformer(r.svc.Name), &spec.ComponentExtensionSpec)
	c.Pod = corev1.PodSpec(spec.PodSpec)
	main := mainContainer(c.Pod.Containers)
	host := r.predictorHost()
	if r.plan.Mode == serving.ModelMesh {
		var err error
		var protocol serving.ProtocolVersion
		if host, protocol, err = r.meshPredictor(); err != nil {
			return nil, err
		}
		addFlag(main, "--"+handoff.FlagProtocol, string(protocol))
	}
	addFlag(main, "--"+handoff.FlagModelName, r.svc.Name)
	addFlag(main, "--"+handoff.FlagPredictorHost, host)
	addFlag(main, "--"+handoff.FlagHTTPPort, strconv.Itoa(handoff.HTTPPort))
	if n := spec.ContainerConcurrency; n != nil {
		addFlag(main, "--"+handoff.FlagWorkers, strconv.FormatInt(*n, 10))
	}
	setEnv(main, handoff.EnvServiceName, r.svc.Name)
	c.Protocol = containerProtocol(main)
	var err error
	if c.Storage, err = r.containerStorage(serving.Transformer, main, spec.StorageURIs, ""); err != nil {
		return nil, err
	}
	r.trace(c.Pod.Containers)
	return c, r.dress(c, &spec.ComponentExtensionSpec)
}

func (r *resolver) explainer(spec *servingv1beta1.ExplainerSpec) (*plan.Component, error) {
	spec = spec.DeepCopy()
	c := r.component(serving.Explainer, names.Explainer(r.svc.Name), &spec.ComponentExtensionSpec)
	c.Pod = corev1.PodSpec(spec.PodSpec)
	ext := &spec.ComponentExtensionSpec
	var err error
	switch {
	case spec.ART != nil:
		c.Pod.Containers = slices.Insert(c.Pod.Containers, 0, r.artContainer(spec.ART, ext))
		switch uri := spec.ART.StorageURI; {
		case len(spec.StorageURIs) > 0:
			access := spec.ART.Storage
			if access == nil {
				access = r.predictorStorage()
			}
			c.Storage, err = r.manySources(serving.Explainer, spec.StorageURIs, "", access)
		case uri != "":
			c.Storage, err = r.oneSource(serving.Explainer, "spec.explainer.art.storageUri", uri, "")
		}
	case len(spec.Containers) > 0:
		main := mainContainer(c.Pod.Containers)
		addFlag(main, "--"+handoff.FlagModelName, r.svc.Name)
		addFlag(main, "--"+handoff.FlagPredictorHost, r.predictorHost())
		addFlag(main, "--"+handoff.FlagHTTPPort, strconv.Itoa(handoff.HTTPPort))
		if n := ext.ContainerConcurrency; n != nil {
			addFlag(main, "--"+handoff.FlagWorkers, strconv.FormatInt(*n, 10))
		}
		c.Storage, err = r.containerStorage(serving.Explainer, main, spec.StorageURIs, "")
	default:
		err = unsupported("spec.explainer has no implementation: set spec.explainer.containers or spec.explainer.art")
	}
	if err != nil {
		return nil, err
	}
	c.Protocol = containerProtocol(mainContainer(c.Pod.Containers))
	r.trace(c.Pod.Containers)
	return c, r.dress(c, ext)
}

// artContainer is the container of the Adversarial Robustness Toolbox explainer.
func (r *resolver) artContainer(art *servingv1beta1.ARTExplainerSpec, ext *servingv1beta1.ComponentExtensionSpec) corev1.Container {
	c := corev1.Container(art.Container)
	c.Name = ServingContainer
	if c.Image == "" {
		version := r.st.Explainers.ART.DefaultVersion
		if art.RuntimeVersion != nil {
			version = *art.RuntimeVersion
		}
		c.Image = r.st.Explainers.ART.Image + ":" + version
	}
	args := []string{"--" + handoff.FlagModelName, r.svc.Name, "--" + handoff.FlagHTTPPort, "8080", "--" + handoff.FlagPredictorHost, r.predictorHost()}
	if n := ext.ContainerConcurrency; n != nil {
		args = append(args, "--"+handoff.FlagWorkers, strconv.FormatInt(*n, 10))
	}
	if art.StorageURI != "" {
		args = append(args, "--storage_uri", plan.ModelPath)
	}
	args = append(args, "--adversary_type", string(art.Type))
	for _, key := range slices.Sorted(maps.Keys(art.Config)) {
		args = append(args, "--"+key, art.Config[key])
	}
	c.Args = append(args, art.Args...)
	return c
}

// component starts a transformer or explainer.
func (r *resolver) component(role serving.ComponentRole, name string, ext *servingv1beta1.ComponentExtensionSpec) *plan.Component {
	r.workload = name
	return &plan.Component{
		Role: role, Name: name, Logger: ext.Logger, Sidecar: ext.Logger != nil || ext.Batcher != nil,
		Strategy: ext.DeploymentStrategy, Concurrency: ext.ContainerConcurrency, TimeoutSeconds: ext.TimeoutSeconds,
	}
}

// dress adds metadata and scaling.
func (r *resolver) dress(c *plan.Component, ext *servingv1beta1.ComponentExtensionSpec) error {
	c.Labels = r.labels(c.Role, nil, r.plan.Owner.Labels, ext.Labels)
	c.Annotations = r.annotations(nil, r.internal(c, ext), ext.Annotations)
	return r.finish(c, ext)
}

func containerProtocol(c *corev1.Container) serving.ProtocolVersion {
	if p, _ := plan.EnvValue(c.Env, handoff.EnvProtocol); p != "" {
		return serving.ProtocolVersion(p)
	}
	return serving.ProtocolV1
}

// meshPredictor reads from the status where ModelMesh serves the predictor.
func (r *resolver) meshPredictor() (host string, protocol serving.ProtocolVersion, err error) {
	address := r.svc.Status.Components[serving.Predictor].URL
	if address == "" {
		return "", "", &plan.Waiting{Reason: "PredictorNotReady", Message: "ModelMesh has not said yet where the predictor is served (status.components.predictor.url)", After: 3 * time.Second}
	}
	u, parseErr := url.Parse(address)
	if parseErr != nil {
		return "", "", unsupported("status.components.predictor.url %q, written by ModelMesh, is no URL: %v", address, parseErr)
	}
	switch u.Scheme {
	case "grpc":
		return u.Host, serving.ProtocolGRPCV2, nil
	case "http", "https":
		return u.Host, serving.ProtocolV2, nil
	}
	return "", "", unsupported("status.components.predictor.url %q has the scheme %q: grpc, http and https are known", address, u.Scheme)
}
