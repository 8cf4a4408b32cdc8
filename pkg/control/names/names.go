// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names gives every child object its name, the same one each time, and says when one is too long for Kubernetes.
//
// Called by: pkg/control/resolve, pkg/control/render.
// Next: pkg/control/plan, which carries the names.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// MaxLabel is the longest DNS label: a Service, a label value and each part of a host name.
const MaxLabel = serving.MaxNameLength

// Predictor names the predictor's workload, Service and autoscaler. The second name is spec.predictor.name and may be empty.
func Predictor(service, predictor string) string { return serving.PredictorName(service, predictor) }

// PredictorRoute names the predictor's HTTPRoute, which keeps its name when spec.predictor.name changes.
func PredictorRoute(service string) string { return serving.PredictorName(service, "") }

// PathRoute names the HTTPRoute of the service's path on a shared domain. No service can have such a name, so no other route has it.
func PathRoute(service string) string { return service + ".path" }

// Transformer names everything of the transformer.
func Transformer(service string) string { return serving.TransformerName(service) }

// Explainer names everything of the explainer.
func Explainer(service string) string { return serving.ExplainerName(service) }

// Worker names the Deployment of the further nodes of a multi-node predictor.
func Worker(service string) string { return serving.WorkerName(service) }

// HeadService names the headless Service of the head of one generation.
func HeadService(service string, generation int64) string {
	return service + "-head-" + strconv.FormatInt(generation, 10)
}

// WorkerService names the headless Service of the workers of one generation.
func WorkerService(service string, generation int64) string {
	return service + "-workers-" + strconv.FormatInt(generation, 10)
}

// ModelConfig names the ConfigMap that lists the models of a multi-model service.
func ModelConfig(service string) string {
	return handoff.ModelConfigPrefix + service + handoff.ModelConfigSuffix
}

// App is the value of the label app, which selects the pods of a workload.
func App(workload string) string { return serving.AppName(workload) }

// Volume names the volume that is mounted at a path. The fallback is for the root.
func Volume(mountPath, fallback string) string { return serving.VolumeName(mountPath, fallback) }

// Fit shortens a name to a DNS label.
func Fit(name string) string { return serving.FitLabel(name) }

// ModelKey is the folder of a model in a node-local cache.
func ModelKey(uri string) string {
	sum := sha256.Sum256([]byte(uri))
	return hex.EncodeToString(sum[:8])
}

// TooLongError is a derived name past the limit of Kubernetes. What it derives from has to be shorter.
type TooLongError struct {
	What, Name string
	Limit      int
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%s %q has %d characters, Kubernetes allows %d: shorten metadata.name by %d", e.What, e.Name, len(e.Name), e.Limit, len(e.Name)-e.Limit)
}

// Check refuses a derived name that is longer than a DNS label.
func Check(what, name string) error {
	if len(name) > MaxLabel {
		return &TooLongError{What: what, Name: name, Limit: MaxLabel}
	}
	return nil
}

// CheckHost refuses a host name with a part that is longer than a DNS label.
func CheckHost(what, host string) error {
	for part := range strings.SplitSeq(host, ".") {
		if err := Check("the part of "+what+" "+strconv.Quote(host)+",", part); err != nil {
			return err
		}
	}
	return nil
}
