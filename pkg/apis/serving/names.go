// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The names of what a service becomes. Clusters, scripts and dashboards know them, so that none is ever shortened: a name that is too
// long is refused.

// PredictorName names the predictor's workload, Service and autoscaler. The second name is spec.predictor.name and may be empty.
func PredictorName(service, predictor string) string {
	if predictor == "" {
		return service + "-" + string(Predictor)
	}
	return service + "-" + predictor + "-" + string(Predictor)
}

// TransformerName names everything of the transformer.
func TransformerName(service string) string { return service + "-" + string(Transformer) }

// ExplainerName names everything of the explainer.
func ExplainerName(service string) string { return service + "-" + string(Explainer) }

// WorkerName names the Deployment of the further nodes of a multi-node predictor. The Services of its head and workers have shorter
// names for as long as their generation has less than 14 digits.
func WorkerName(service string) string { return PredictorName(service, "") + "-worker" }

// AppName is the value of LabelApp, which selects the pods of a workload.
func AppName(workload string) string { return AppPrefix + workload }

// VolumeName names the volume that is mounted at a path: /mnt/models/a is mnt-models-a. The fallback is for the root.
func VolumeName(mountPath, fallback string) string {
	name := strings.Trim(strings.ReplaceAll(strings.ToLower(mountPath), "/", "-"), "-")
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, name)
	if name = strings.Trim(name, "-"); name == "" {
		return fallback
	}
	return FitLabel(name)
}

// FitLabel shortens a name to a DNS label. A shortened name ends with a hash of the whole, so that two long names stay two.
func FitLabel(name string) string {
	if len(name) <= MaxNameLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:MaxNameLength-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
