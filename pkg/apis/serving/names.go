// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

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
