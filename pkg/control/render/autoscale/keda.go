// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package autoscale

import (
	"fmt"
	"maps"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/loose"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// The part of KEDA's ScaledObject that is written here.
type (
	soSpec struct {
		ScaleTargetRef  soName      `json:"scaleTargetRef"`
		MinReplicaCount int32       `json:"minReplicaCount"`
		MaxReplicaCount int32       `json:"maxReplicaCount"`
		Triggers        []soTrigger `json:"triggers"`
		Advanced        *soAdvanced `json:"advanced,omitempty"`
	}
	soName struct {
		Name string `json:"name"`
	}
	soTrigger struct {
		Type              string            `json:"type"`
		MetricType        string            `json:"metricType,omitempty"`
		Metadata          map[string]string `json:"metadata"`
		AuthenticationRef *soName           `json:"authenticationRef,omitempty"`
	}
	soAdvanced struct {
		HPA soHPA `json:"horizontalPodAutoscalerConfig"`
	}
	soHPA struct {
		Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
	}
)

func scaledObject(p *plan.Plan, c *plan.Component, meta metav1.ObjectMeta, st *settings.Settings) (*unstructured.Unstructured, error) {
	lowest := int32(1)
	if c.Scale.Min != nil {
		lowest = *c.Scale.Min
	}
	spec := soSpec{
		ScaleTargetRef: soName{c.Name}, MinReplicaCount: lowest, MaxReplicaCount: max(c.Scale.Max, lowest),
		Triggers: triggers(p, c, st), Advanced: speed(&c.Scale, st),
	}
	return loose.Object(metav1.TypeMeta{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject"}, meta, spec)
}

// speed is how fast the service wants to be scaled. The operator's stabilisation windows hold where it does not say its own.
func speed(s *plan.Scale, st *settings.Settings) *soAdvanced {
	out := &soAdvanced{}
	if s.AutoScaling != nil && s.AutoScaling.Behavior != nil {
		out.HPA.Behavior = *s.AutoScaling.Behavior.DeepCopy()
	}
	b := &out.HPA.Behavior
	b.ScaleUp = window(b.ScaleUp, seconds(st.Autoscaler.ScaleUpStabilization))
	b.ScaleDown = window(b.ScaleDown, seconds(st.Autoscaler.ScaleDownStabilization))
	if b.ScaleUp == nil && b.ScaleDown == nil {
		return nil
	}
	return out
}

// window gives rules the operator's window where they have none of their own.
func window(rules *autoscalingv2.HPAScalingRules, operator *int32) *autoscalingv2.HPAScalingRules {
	switch {
	case operator == nil, rules != nil && rules.StabilizationWindowSeconds != nil:
		return rules
	case rules == nil:
		rules = &autoscalingv2.HPAScalingRules{}
	}
	rules.StabilizationWindowSeconds = operator
	return rules
}

func seconds(text string) *int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil
	}
	return new(int32(n))
}

// triggers are what KEDA looks at: the CPU where the service says nothing, for KEDA refuses to look at nothing.
func triggers(p *plan.Plan, c *plan.Component, st *settings.Settings) []soTrigger {
	if c.Scale.AutoScaling == nil || len(c.Scale.AutoScaling.Metrics) == 0 {
		return []soTrigger{resourceTrigger(&servingv1beta1.ResourceMetric{
			Name: servingv1beta1.ResourceCPU, Target: servingv1beta1.MetricTarget{Type: servingv1beta1.UtilizationTarget, AverageUtilization: c.Scale.Target},
		})}
	}
	list := make([]soTrigger, 0, len(c.Scale.AutoScaling.Metrics))
	for i := range c.Scale.AutoScaling.Metrics {
		m := &c.Scale.AutoScaling.Metrics[i]
		switch {
		case m.Resource != nil:
			list = append(list, resourceTrigger(m.Resource))
		case m.External != nil:
			list = append(list, externalTrigger(m.External))
		case m.PodMetric != nil:
			list = append(list, podTrigger(p, c, m.PodMetric, st))
		}
	}
	return list
}

func resourceTrigger(m *servingv1beta1.ResourceMetric) soTrigger {
	value, kind := "0", m.Target.Type
	if kind == "" {
		kind = servingv1beta1.UtilizationTarget
	}
	switch kind {
	case servingv1beta1.AverageValueTarget:
		value = original(m.Target.AverageValue)
	case servingv1beta1.ValueTarget:
		value = original(m.Target.Value)
	case servingv1beta1.UtilizationTarget:
		switch {
		case m.Target.AverageUtilization != nil:
			value = strconv.Itoa(int(*m.Target.AverageUtilization))
		case m.Name == servingv1beta1.ResourceCPU:
			value = strconv.Itoa(defaultCPU)
		}
	}
	return soTrigger{Type: string(m.Name), MetricType: string(kind), Metadata: map[string]string{"value": value}}
}

// original is a quantity as the user wrote it.
func original(q *servingv1beta1.MetricQuantity) string {
	if q == nil {
		return "0"
	}
	return string(*q)
}

// graphiteSpan is how far back Graphite is asked. KEDA wants it said, and the API has no field for it.
const graphiteSpan = "-1Minutes"

func externalTrigger(m *servingv1beta1.ExternalMetric) soTrigger {
	t := soTrigger{Type: string(m.Metric.Backend), Metadata: map[string]string{
		"serverAddress": m.Metric.ServerAddress, "query": m.Metric.Query, "threshold": original(m.Target.Value),
	}}
	switch {
	case m.Metric.Backend == servingv1beta1.BackendGraphite:
		t.Metadata["queryTime"] = graphiteSpan
	case m.Metric.Backend == servingv1beta1.BackendPrometheus && m.Metric.Namespace != "":
		t.Metadata["namespace"] = m.Metric.Namespace
	}
	if a := m.AuthenticationRef; a != nil {
		if a.AuthModes != "" {
			t.Metadata["authModes"] = a.AuthModes
		}
		if a.AuthenticationRef.Name != "" {
			t.AuthenticationRef = &soName{a.AuthenticationRef.Name}
		}
	}
	return t
}

func podTrigger(p *plan.Plan, c *plan.Component, m *servingv1beta1.PodMetric, st *settings.Settings) soTrigger {
	address := m.Metric.ServerAddress
	if address == "" {
		address = st.OpenTelemetry.MetricScaler
	}
	t := soTrigger{Type: "external", Metadata: map[string]string{
		"metricQuery":   fmt.Sprintf("sum(%s{namespace=%q, deployment=%q})", m.Metric.Query, p.Owner.Namespace, c.Name),
		"targetValue":   original(m.Target.Value),
		"scalerAddress": address,
	}}
	if m.Metric.OperationOverTime != "" {
		t.Metadata["operationOverTime"] = m.Metric.OperationOverTime
	}
	return t
}

// collector is the OpenTelemetryCollector that carries a pod's own metrics to KEDA; nil where none is asked for.
func collector(c *plan.Component, meta metav1.ObjectMeta, st *settings.Settings) (plan.Object, error) {
	var wanted []string
	if c.Scale.AutoScaling != nil {
		for i := range c.Scale.AutoScaling.Metrics {
			if m := c.Scale.AutoScaling.Metrics[i].PodMetric; m != nil && m.Metric.Backend == servingv1beta1.BackendOpenTelemetry {
				wanted = append(wanted, m.Metric.MetricNames...)
			}
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	port := c.Annotations[serving.AnnotationContainerPrometheusPort]
	if port == "" {
		port = strconv.Itoa(handoff.HTTPPort)
	}
	type doc = map[string]any
	limits := st.OpenTelemetry.CollectorLimits
	spec := doc{
		"mode": "sidecar",
		// Nobody allocates targets for a sidecar. It is said because the collectors of existing clusters have it, with the operator's defaults.
		"targetAllocator": doc{
			"allocationStrategy": "consistent-hashing", "filterStrategy": "relabel-config", "prometheusCR": doc{"scrapeInterval": "30s"},
		},
		"resources": doc{
			"limits":   doc{"cpu": limits.CPULimit, "memory": limits.MemoryLimit},
			"requests": doc{"cpu": limits.CPURequest, "memory": limits.MemoryRequest},
		},
		"config": doc{
			"receivers": doc{"prometheus": doc{"config": doc{"scrape_configs": []doc{{
				"job_name": "otel-collector", "scrape_interval": st.OpenTelemetry.ScrapeInterval,
				"static_configs": []doc{{"targets": []string{"localhost:" + port}}},
			}}}}},
			"processors": doc{
				"resourcedetection/env": doc{"detectors": []string{"env"}, "timeout": "2s", "override": false},
				"transform": doc{"metric_statements": []doc{{"context": "datapoint", "statements": []string{
					`set(attributes["namespace"], resource.attributes["k8s.namespace.name"])`,
					`set(attributes["deployment"], resource.attributes["k8s.deployment.name"])`,
					`set(attributes["pod"], resource.attributes["k8s.pod.name"])`,
				}}}},
				"filter/metrics": doc{"metrics": doc{"include": doc{"match_type": "strict", "metric_names": wanted}}},
			},
			"exporters": doc{"otlp": doc{"endpoint": st.OpenTelemetry.MetricReceiver, "compression": "none", "tls": doc{"insecure": true}}},
			"service": doc{"pipelines": doc{"metrics": doc{
				"receivers": []string{"prometheus"}, "processors": []string{"resourcedetection/env", "transform", "filter/metrics"}, "exporters": []string{"otlp"},
			}}},
		},
	}
	return loose.Object(metav1.TypeMeta{APIVersion: "opentelemetry.io/v1beta1", Kind: "OpenTelemetryCollector"},
		metav1.ObjectMeta{Name: meta.Name, Annotations: maps.Clone(meta.Annotations)}, spec)
}
