// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package autoscale_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/autoscale"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// scaler renders a component with the given class and extension fields: the kinds of what comes of it, and the spec of the last.
func scaler(t *testing.T, class serving.AutoscalerClass, fields string) (kinds string, spec map[string]any) {
	t.Helper()
	var ext servingv1beta1.ComponentExtensionSpec
	require.NoError(t, yaml.UnmarshalStrict([]byte(fields), &ext))
	c := &plan.Component{Role: serving.Predictor, Name: "iris-predictor", Scale: plan.Scale{
		Class: class, Min: ext.MinReplicas, Max: ext.MaxReplicas, Target: ext.ScaleTarget, AutoScaling: ext.AutoScaling,
	}}
	if ext.ScaleMetric != nil {
		c.Scale.Metric = *ext.ScaleMetric
	}
	if ext.ScaleMetricType != nil {
		c.Scale.TargetType = *ext.ScaleMetricType
	}
	p := &plan.Plan{Mode: serving.Standard, Owner: plan.Owner{Namespace: "ns", Name: "iris"}, Components: []plan.Component{*c}}
	objects, err := autoscale.Objects(p, c, metav1.ObjectMeta{Name: c.Name}, settings.Defaults())
	require.NoError(t, err)
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.GetObjectKind().GroupVersionKind().Kind)
		raw, err := yaml.Marshal(o)
		require.NoError(t, err)
		var tree struct {
			Spec map[string]any `json:"spec"`
		}
		require.NoError(t, yaml.Unmarshal(raw, &tree))
		spec = tree.Spec
	}
	return strings.Join(names, " "), spec
}

func TestWhatScalesAComponent(t *testing.T) {
	const hpa, scaled, collected = "HorizontalPodAutoscaler", "ScaledObject", "OpenTelemetryCollector ScaledObject"
	cases := map[string]struct {
		class  serving.AutoscalerClass
		fields string
		kinds  string
		// want is what the spec of the scaler has, beside other things; empty for no scaler.
		want string
	}{
		"nothing said: one pod, at 80 percent of its CPU":    {"hpa", `{}`, hpa, `{minReplicas: 1, maxReplicas: 1, behavior: {}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}], scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: iris-predictor}}`},
		"a target of the CPU":                                {"hpa", `{minReplicas: 1, maxReplicas: 3, scaleMetric: cpu, scaleTarget: 75}`, hpa, `{minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 75}}}]}`},
		"a target of the memory is the one metric":           {"hpa", `{scaleMetric: memory, scaleTarget: 75}`, hpa, `{metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 75}}}]}`},
		"a target that is a quantity":                        {"hpa", `{scaleMetric: memory, scaleTarget: 75, scaleMetricType: AverageValue}`, hpa, `{metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: "75"}}}]}`},
		"the most is never below the least":                  {"hpa", `{minReplicas: 4, maxReplicas: 2}`, hpa, `{minReplicas: 4, maxReplicas: 4}`},
		"the long form: memory in bytes":                     {"hpa", `{autoScaling: {metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 10Gi}}}]}}`, hpa, `{metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 10Gi}}}]}`},
		"the long form: the CPU without a number":            {"hpa", `{autoScaling: {metrics: [{type: Resource, resource: {name: cpu}}]}}`, hpa, `{metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}`},
		"the long form: several metrics":                     {"hpa", `{autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 33}}}, {type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 44}}}]}}`, hpa, `{metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 33}}}, {type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 44}}}]}`},
		"a speed":                                            {"hpa", `{autoScaling: {behavior: {scaleDown: {stabilizationWindowSeconds: 42, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}}`, hpa, `{behavior: {scaleDown: {stabilizationWindowSeconds: 42, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}`},
		"a speed takes no target away":                       {"hpa", `{scaleTarget: 60, autoScaling: {behavior: {scaleUp: {stabilizationWindowSeconds: 5}}}}`, hpa, `{metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}`},
		"somebody else scales":                               {"external", `{minReplicas: 2, maxReplicas: 3, scaleTarget: 60}`, "", ""},
		"nobody scales":                                      {"none", `{minReplicas: 2}`, "", ""},
		"KEDA: memory in bytes, in the user's own words":     {"keda", `{minReplicas: 1, maxReplicas: 3, autoScaling: {metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 10Gi}}}]}}`, scaled, `{scaleTargetRef: {name: iris-predictor}, minReplicaCount: 1, maxReplicaCount: 3, triggers: [{type: memory, metricType: AverageValue, metadata: {value: 10Gi}}], advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleUp: {stabilizationWindowSeconds: 0}, scaleDown: {stabilizationWindowSeconds: 300}}}}}`},
		"KEDA: the CPU without a number":                     {"keda", `{autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]}}`, scaled, `{triggers: [{type: cpu, metricType: Utilization, metadata: {value: "80"}}]}`},
		"KEDA: the CPU without a target":                     {"keda", `{autoScaling: {metrics: [{type: Resource, resource: {name: cpu}}]}}`, scaled, `{triggers: [{type: cpu, metricType: Utilization, metadata: {value: "80"}}]}`},
		"KEDA: no metric at all is the CPU":                  {"keda", `{minReplicas: 2}`, scaled, `{minReplicaCount: 2, maxReplicaCount: 2, triggers: [{type: cpu, metricType: Utilization, metadata: {value: "80"}}]}`},
		"KEDA: no metric, a target of the CPU":               {"keda", `{scaleTarget: 55}`, scaled, `{triggers: [{type: cpu, metricType: Utilization, metadata: {value: "55"}}]}`},
		"KEDA: a query to Prometheus, its threshold as text": {"keda", `{minReplicas: 0, maxReplicas: 5, autoScaling: {metrics: [{type: External, external: {metric: {backend: prometheus, serverAddress: "http://prom:9090", query: up, namespace: x}, authenticationRef: {authModes: basic, authenticationRef: {name: creds}}, target: {type: Value, value: "100.5"}}}]}}`, scaled, `{minReplicaCount: 0, maxReplicaCount: 5, triggers: [{type: prometheus, metadata: {serverAddress: "http://prom:9090", query: up, namespace: x, threshold: "100.5", authModes: basic}, authenticationRef: {name: creds}}]}`},
		"KEDA: a query to Graphite":                          {"keda", `{autoScaling: {metrics: [{type: External, external: {metric: {backend: graphite, serverAddress: "http://g", query: a.b, namespace: x}, target: {type: Value, value: 7}}}]}}`, scaled, `{triggers: [{type: graphite, metadata: {serverAddress: "http://g", query: a.b, threshold: "7", queryTime: -1Minutes}}]}`},
		"KEDA: a metric of the pods":                         {"keda", `{autoScaling: {metrics: [{type: PodMetric, podmetric: {metric: {backend: opentelemetry, metricNames: ["vllm:num_requests_running"], query: "vllm:num_requests_running", operationOverTime: avg}, target: {type: Value, value: "4"}}}]}}`, collected, `{triggers: [{type: external, metadata: {metricQuery: 'sum(vllm:num_requests_running{namespace="ns", deployment="iris-predictor"})', targetValue: "4", scalerAddress: "keda-otel-scaler.keda.svc:4318", operationOverTime: avg}}]}`},
		"KEDA: a metric of the pods, another scaler":         {"keda", `{autoScaling: {metrics: [{type: PodMetric, podmetric: {metric: {backend: opentelemetry, serverAddress: "other:1", query: q}, target: {type: Value, value: "4"}}}]}}`, scaled, `{triggers: [{type: external, metadata: {metricQuery: 'sum(q{namespace="ns", deployment="iris-predictor"})', targetValue: "4", scalerAddress: "other:1"}}]}`},
		"KEDA: a speed, and the operator's windows beside":   {"keda", `{autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}], behavior: {scaleDown: {selectPolicy: Min, policies: [{type: Percent, value: 10, periodSeconds: 15}]}, scaleUp: {stabilizationWindowSeconds: 9}}}}`, scaled, `{advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleUp: {stabilizationWindowSeconds: 9}, scaleDown: {stabilizationWindowSeconds: 300, selectPolicy: Min, policies: [{type: Percent, value: 10, periodSeconds: 15}]}}}}}`},
		"KEDA: the most is never below the least":            {"keda", `{minReplicas: 4}`, scaled, `{minReplicaCount: 4, maxReplicaCount: 4}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kinds, spec := scaler(t, c.class, c.fields)
			require.Equal(t, c.kinds, kinds)
			if c.want == "" {
				require.Nil(t, spec)
				return
			}
			var want map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(c.want), &want))
			for key, value := range want {
				require.Equal(t, value, spec[key], key)
			}
		})
	}
}
