// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// asWritten is the reason of a decision in terms of what the person wrote. A decision is taken after the defaults, which write the operator's mode
// into an annotation and the older fields of a model into spec.predictor.model.
func asWritten(o *manifest.Object, d plan.Decision) string {
	svc, ok := o.Value.(*servingv1beta1.InferenceService)
	if !ok {
		return d.Why
	}
	written, field := writtenModel(svc)
	switch {
	case d.Subject == plan.SubjectMode && svc.Annotations[serving.AnnotationDeploymentMode] == "" && d.Why == "annotation "+serving.AnnotationDeploymentMode:
		return "the operator's default (deploy.defaultDeploymentMode)"
	case d.Subject == plan.SubjectProtocol && d.Why == "spec.predictor.model.protocolVersion" && written != nil && (written.ProtocolVersion == nil || *written.ProtocolVersion == ""):
		return "the default for this format"
	}
	return strings.ReplaceAll(d.Why, "spec.predictor.model.", "spec.predictor."+field+".")
}

// writtenModel is the predictor's model as a person wrote it, and the name of its field below spec.predictor.
func writtenModel(svc *servingv1beta1.InferenceService) (written *servingv1beta1.PredictorExtensionSpec, field string) {
	p := &svc.Spec.Predictor
	field = "model"
	if p.Model != nil {
		written = &p.Model.PredictorExtensionSpec
	}
	for _, f := range p.Frameworks() {
		if written == nil && *f.Spec != nil {
			written, field = *f.Spec, f.Name
		}
	}
	return written, field
}
