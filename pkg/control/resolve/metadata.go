// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// layers merges maps, later ones win.
func layers(lowestFirst ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, m := range lowestFirst {
		maps.Copy(merged, m)
	}
	return merged
}

// labels of a component: runtime, service, component, and what we select by. What the operator keeps from children is left out.
func (r *resolver) labels(role serving.ComponentRole, runtime, service, component map[string]string) map[string]string {
	return layers(plan.Without(layers(runtime, service, component), r.st.Service.LabelsNotKept), map[string]string{
		serving.LabelInferenceService: r.svc.Name,
		serving.LabelComponent:        string(role),
	})
}

// annotations of a component: runtime, service and our own, component. What must not reach pods is left out of each: what the operator
// keeps from them, and what tells the controller itself what to do.
func (r *resolver) annotations(runtime, own, component map[string]string) map[string]string {
	drop := r.st.DisallowedAnnotations()
	merged := layers(plan.Without(runtime, drop), plan.Without(r.svc.Annotations, drop), own, plan.Without(component, drop))
	maps.DeleteFunc(merged, func(key, _ string) bool { return strings.HasPrefix(key, serving.OwnPrefix) })
	return merged
}

// internal are the annotations by which a pod template tells pod admission what to add.
func (r *resolver) internal(c *plan.Component, ext *servingv1beta1.ComponentExtensionSpec) map[string]string {
	own := map[string]string{}
	if len(c.Storage.Sources) > 0 && !c.Storage.Inline {
		own[serving.AnnotationInternalSourceURI] = c.Storage.Sources[0].URI
	}
	if s := c.Storage.Spec; s != nil && !c.Storage.Inline {
		own[serving.AnnotationInternalStorageSpec] = "true"
		if s.StorageKey != nil {
			own[serving.AnnotationInternalStorageSpecKey] = *s.StorageKey
		}
		if s.Parameters != nil {
			own[serving.AnnotationInternalStorageSpecParam] = jsonText(s.Parameters)
		}
	}
	if l := ext.Logger; l != nil {
		own[serving.AnnotationInternalLogger] = "true"
		if l.URL != nil {
			own[serving.AnnotationInternalLoggerSinkURL] = *l.URL
		}
		own[serving.AnnotationInternalLoggerMode] = string(l.Mode)
		if l.Mode == "" {
			own[serving.AnnotationInternalLoggerMode] = string(servingv1beta1.LogAll)
		}
		if len(l.MetadataHeaders) > 0 {
			own[serving.AnnotationInternalLoggerHeaders] = strings.Join(l.MetadataHeaders, ",")
		}
		if len(l.MetadataAnnotations) > 0 {
			own[serving.AnnotationInternalLoggerAnnotations] = strings.Join(l.MetadataAnnotations, ",")
		}
	}
	if b := ext.Batcher; b != nil {
		own[serving.AnnotationInternalBatcher] = "true"
		if b.MaxBatchSize != nil {
			own[serving.AnnotationInternalBatcherMaxBatchSize] = strconv.Itoa(*b.MaxBatchSize)
		}
		if b.MaxLatency != nil {
			own[serving.AnnotationInternalBatcherMaxLatency] = strconv.Itoa(*b.MaxLatency)
		}
	}
	if c.MultiModel {
		own[serving.AnnotationInternalAgent] = "true"
		own[serving.AnnotationInternalConfigVolumeName] = names.ModelConfig(r.svc.Name)
		own[serving.AnnotationInternalConfigMountPath] = plan.ModelConfigPath
		own[serving.AnnotationInternalModelDir] = plan.ModelPath
	}
	return own
}

// jsonText prints a map of texts with sorted keys; such a map always has a JSON form.
func jsonText(m map[string]string) string {
	b, err := json.Marshal(m)
	if err != nil {
		return "{}"
	}
	return string(b)
}
