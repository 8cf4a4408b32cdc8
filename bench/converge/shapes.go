// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// A shape is a set of services: what the i-th looks like, and the cluster that it is for.
type shape struct {
	about   string
	service func(i int) (annotations, spec map[string]any)
	// settings replace documents of the operator's ConfigMap; without any, only what is shipped is installed and no kind of another project.
	settings map[string]string
}

// obj is short for what YAML would say.
type obj = map[string]any

func shapes() map[string]shape {
	return map[string]shape{
		"single": {about: "a predictor each, every fifth with a transformer, behind Ingresses", service: single},
		"mixed": {
			about:   fmt.Sprintf("%d shapes in turn, behind HTTPRoutes and headless Services", len(mixture())),
			service: func(i int) (map[string]any, map[string]any) { all := mixture(); return all[i%len(all)](i) },
			settings: map[string]string{
				"ingress": `{"enableGatewayApi": true, "kserveIngressGateway": "kserve/kserve-ingress-gateway", "ingressGateway": "knative-serving/knative-ingress-gateway",
					"localGateway": "knative-serving/knative-local-gateway", "localGatewayService": "knative-local-gateway.istio-system.svc.cluster.local",
					"ingressDomain": "example.com", "ingressClassName": "istio", "domainTemplate": "{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}", "urlScheme": "http"}`,
				"service": `{"serviceClusterIPNone": true}`,
			},
		},
	}
}

// options are how a cluster is opened for the shape.
func (s shape) options() (cluster.Options, error) {
	if s.settings == nil {
		return cluster.Options{NoOptional: true}, nil
	}
	data, err := shippedSettings()
	if err != nil {
		return cluster.Options{}, err
	}
	maps.Copy(data, s.settings)
	return cluster.Options{Config: data}, nil
}

func name(i int) string { return fmt.Sprintf("s%05d", i) }

// object is the i-th service.
func (s shape) object(i int) map[string]any {
	annotations, spec := s.service(i)
	all := obj{serving.AnnotationDeploymentMode: string(serving.Standard)}
	maps.Copy(all, annotations)
	return obj{
		"apiVersion": servingv1beta1.SchemeGroupVersion.String(), "kind": servingv1beta1.InferenceServiceKind,
		"metadata": obj{"name": name(i), "annotations": all}, "spec": spec,
	}
}

func model(format string, i int) obj {
	return obj{"modelFormat": obj{"name": format}, "storageUri": fmt.Sprintf("s3://models/%s/%d", format, i)}
}

func sized(model obj) obj {
	model["resources"] = obj{"requests": obj{"cpu": "100m", "memory": "128Mi"}, "limits": obj{"cpu": "1", "memory": "1Gi"}}
	return model
}

func transformer() obj {
	return obj{"containers": []any{obj{
		"name": "kserve-container", "image": "example.test/transformer:1", "args": []any{"--model_name", "{{.Name}}"},
	}}}
}

// single is one of five kinds: other formats, bounds of scaling, metadata, a transformer.
func single(i int) (annotations, spec map[string]any) {
	format := []string{"sklearn", "xgboost", "lightgbm", "sklearn", "pmml"}[i%5]
	predictor := obj{"model": sized(model(format, i))}
	spec = obj{"predictor": predictor}
	switch i % 5 {
	case 1:
		predictor["minReplicas"], predictor["maxReplicas"], predictor["scaleMetric"], predictor["scaleTarget"] = int64(2), int64(5), "cpu", int64(60)
	case 2:
		predictor["labels"], predictor["annotations"] = obj{"team": "a"}, obj{"example.com/owner": "b"}
	case 3:
		spec["transformer"] = transformer()
	}
	return nil, spec
}

// mixture are the shapes that people have, from the smallest to those that need the most objects.
func mixture() []func(i int) (annotations, spec map[string]any) {
	predictor := func(p obj) obj { return obj{"predictor": p} }
	return []func(int) (map[string]any, map[string]any){
		func(i int) (map[string]any, map[string]any) { return nil, predictor(obj{"model": model("sklearn", i)}) },
		func(i int) (map[string]any, map[string]any) {
			return nil, predictor(obj{"model": sized(model("xgboost", i)), "minReplicas": int64(2), "maxReplicas": int64(5), "scaleMetric": "cpu", "scaleTarget": int64(60)})
		},
		func(i int) (map[string]any, map[string]any) {
			return nil, obj{"predictor": obj{"model": model("sklearn", i)}, "transformer": transformer()}
		},
		func(i int) (map[string]any, map[string]any) {
			return nil, obj{"predictor": obj{"model": model("sklearn", i)}, "canary": []any{obj{
				"predictor": obj{"name": "v2", "model": model("sklearn", i+1)}, "trafficPercent": int64(20),
			}}}
		},
		func(i int) (map[string]any, map[string]any) {
			return nil, predictor(obj{"model": obj{"modelFormat": obj{"name": "sklearn"}}, "storageUris": []any{
				obj{"uri": "pvc://claim/a", "mountPath": "/mnt/models/a"}, obj{"uri": fmt.Sprintf("s3://models/%d", i), "mountPath": "/mnt/models/b"},
			}})
		},
		func(i int) (map[string]any, map[string]any) {
			return obj{serving.AnnotationAutoscalerClass: string(serving.AutoscalerKEDA)}, predictor(obj{
				"model": model("lightgbm", i), "minReplicas": int64(1), "maxReplicas": int64(5), "autoScaling": autoScaling(),
			})
		},
		func(i int) (map[string]any, map[string]any) {
			return nil, predictor(obj{"containers": []any{obj{
				"name": "kserve-container", "image": "example.test/model:1", "env": []any{obj{"name": "STORAGE_URI", "value": fmt.Sprintf("gs://models/%d", i)}},
				"ports":          []any{obj{"containerPort": int64(9000), "protocol": "TCP"}},
				"readinessProbe": obj{"httpGet": obj{"path": "/ready", "port": int64(9000)}, "periodSeconds": int64(5)},
			}}})
		},
		func(i int) (map[string]any, map[string]any) {
			return nil, predictor(obj{
				"model": model("sklearn", i), "logger": obj{"mode": "all", "url": "http://sink.example.test"}, "batcher": obj{"maxBatchSize": int64(8), "maxLatency": int64(50)},
			})
		},
		func(i int) (map[string]any, map[string]any) {
			m := model("onnx", i)
			m["protocolVersion"], m["args"] = "v2", []any{"--log-level=warning"}
			return obj{"example.com/owner": "team"}, predictor(obj{
				"model": m, "labels": obj{"team": "a"}, "annotations": obj{"example.com/cost": "b"}, "nodeSelector": obj{"disk": "fast"},
				"tolerations": []any{obj{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}}, "serviceAccountName": "models",
			})
		},
		func(i int) (map[string]any, map[string]any) {
			m := model("sklearn", i)
			m["storageUri"] = fmt.Sprintf("oci://example.test/models/%d:1", i)
			return obj{serving.AnnotationAutoscalerClass: string(serving.AutoscalerNone)}, predictor(obj{"model": m})
		},
		func(i int) (map[string]any, map[string]any) {
			return nil, obj{
				"predictor": obj{"model": model("sklearn", i)}, "transformer": transformer(),
				"explainer": obj{"containers": []any{obj{"name": "kserve-container", "image": "example.test/explainer:1"}}},
			}
		},
		func(i int) (map[string]any, map[string]any) {
			m := model("huggingface", i)
			m["storageUri"] = fmt.Sprintf("pvc://models/%d", i)
			return obj{serving.AnnotationAutoscalerClass: string(serving.AutoscalerNone)}, predictor(obj{"model": m, "workerSpec": obj{}})
		},
	}
}

// another is a merge patch that makes the service serve another model, as its shape has it.
func (s shape) another(i int, tag string) ([]byte, error) {
	_, spec := s.service(i)
	predictor, _ := spec["predictor"].(obj)
	change := obj{"model": obj{"storageUri": fmt.Sprintf("s3://models/%s/%d", tag, i)}}
	if containers, ok := predictor["containers"].([]any); ok {
		containers[0].(obj)["image"] = "example.test/model:" + tag //nolint:forcetypeassert // a shape of ours
		change = obj{"containers": containers}
	}
	if uris, ok := predictor["storageUris"].([]any); ok {
		uris[1].(obj)["uri"] = fmt.Sprintf("s3://models/%s/%d", tag, i) //nolint:forcetypeassert // a shape of ours
		change = obj{"storageUris": uris}
	}
	if predictor["workerSpec"] != nil {
		change = obj{"model": obj{"storageUri": fmt.Sprintf("pvc://models/%s-%d", tag, i)}}
	}
	return json.Marshal(obj{"spec": obj{"predictor": change}})
}

// shippedSettings is the data of the operator's ConfigMap.
func shippedSettings() (map[string]string, error) {
	var cm corev1.ConfigMap
	if err := yaml.Unmarshal(deploy.Config(), &cm); err != nil {
		return nil, fmt.Errorf("read the shipped settings: %w", err)
	}
	return cm.Data, nil
}

// autoScaling is by a query of Prometheus.
func autoScaling() obj {
	return obj{"metrics": []any{obj{"type": "External", "external": obj{
		"metric": obj{"backend": "prometheus", "serverAddress": "http://prometheus.example.test:9090", "query": "sum(rate(requests[1m]))"},
		"target": obj{"type": "Value", "value": "4"},
	}}}}
}
