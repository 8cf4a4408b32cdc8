// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Server types that need a hand.
const (
	mlserver          = "mlserver"
	torchserve        = "torchserve"
	tritonserver      = "tritonserver"
	tensorflowServing = "tensorflow-serving"
	huggingfaceserver = "huggingfaceserver"
	vllmserver        = "vllmserver"
)

// serverDefaults fills in what some third-party servers expect. It changes the model and the labels, both copies of this decision.
func serverDefaults(kind, service string, model *servingv1beta1.ModelSpec, hasModel bool, labels map[string]string) {
	orElse := func(p serving.ProtocolVersion) {
		if model.ProtocolVersion == nil {
			model.ProtocolVersion = &p
		}
	}
	c := (*corev1.Container)(&model.Container)
	switch kind {
	case mlserver:
		orElse(serving.ProtocolV2)
		if hasModel {
			plan.AddEnv(c, handoff.EnvMLServerModelName, service)
			plan.AddEnv(c, handoff.EnvMLServerModelURI, plan.ModelPath)
		} else {
			plan.AddEnv(c, handoff.EnvMLServerLoadModelsAtStart, "false")
		}
		labels[serving.LabelModelClass] = mlserverClass(model.ModelFormat.Name)
	case torchserve:
		orElse(serving.ProtocolV1)
		labels[serving.LabelServiceEnvelope] = "kserve"
		if p := *model.ProtocolVersion; p == serving.ProtocolV2 || p == serving.ProtocolGRPCV2 {
			labels[serving.LabelServiceEnvelope] = "kservev2"
		}
		plan.AddEnv(c, handoff.EnvTorchServeProtocolVersion, string(*model.ProtocolVersion))
	case tritonserver:
		orElse(serving.ProtocolV2)
		if !hasModel {
			c.Args = append(c.Args, "--model-control-mode=explicit")
		}
	}
}

func mlserverClass(format string) string {
	switch format {
	case "xgboost":
		return "mlserver_xgboost.XGBoostModel"
	case "lightgbm":
		return "mlserver_lightgbm.LightGBMModel"
	case "mlflow":
		return "mlserver_mlflow.MLflowRuntime"
	}
	return "mlserver_sklearn.SKLearnModel"
}

var tagPattern = regexp.MustCompile(`(:([\w.\-_]*))$`)

// image applies runtimeVersion, else the variant of the image that fits the hardware.
func image(ref, version, kind string, gpu bool) string {
	if strings.Contains(ref, "@sha256:") {
		return ref
	}
	if version != "" {
		if tagPattern.MatchString(ref) {
			return tagPattern.ReplaceAllLiteralString(ref, ":"+version)
		}
		return ref + ":" + version
	}
	tag := tagPattern.FindString(ref)
	if tag == "" {
		return ref
	}
	switch {
	case gpu && (kind == tensorflowServing || kind == torchserve || kind == huggingfaceserver) && !strings.HasSuffix(ref, "-gpu"):
		return ref + "-gpu"
	case !gpu && kind == vllmserver:
		if repo := strings.TrimSuffix(ref, tag); !strings.HasSuffix(repo, "-cpu") {
			return repo + "-cpu" + tag
		}
	}
	return ref
}

// wantsGPU looks at limits only, which is how images have always been chosen.
func wantsGPU(limits corev1.ResourceList) bool {
	for name := range limits {
		if name == "nvidia.com/gpu" || strings.HasPrefix(string(name), "nvidia.com/mig") {
			return true
		}
	}
	return false
}
