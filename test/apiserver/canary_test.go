// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// The tests of this file change the settings, which all tests share: they do not run in parallel.

// prometheus answers /api/v1/query with one number. It is a stand-in that speaks the protocol: what is tested here is what becomes of its answers.
// test/prometheus asks Prometheus itself.
type prometheus struct {
	*httptest.Server

	value atomic.Value // string; empty answers 503
	looks atomic.Int64
}

func newPrometheus(t *testing.T) *prometheus {
	t.Helper()
	p := &prometheus{}
	p.value.Store("100")
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, _ := p.value.Load().(string)
		if r.URL.Path != "/api/v1/query" || !strings.Contains(r.FormValue("query"), `pod=~"m-v2-predictor-`) || value == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else {
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,%q]}]}}`, value)
		}
		p.looks.Add(1)
	}))
	t.Cleanup(p.Close)
	return p
}

// moreLooks waits for looks that began after this call and were judged: with the third, the second is.
func (w *world) moreLooks(p *prometheus) {
	w.t.Helper()
	before := p.looks.Load()
	w.Eventually(w.t, "looks at the canary", func(context.Context) error {
		if n := p.looks.Load() - before; n < 3 {
			return fmt.Errorf("%d looks", n)
		}
		return nil
	})
}

// track is a service with canary v2; the annotations are further ones.
func track(percent int, annotations ...string) string {
	return sklearn("m", "s3://models/iris", annotations...) + "    minReplicas: 10\n  canary:\n  - trafficPercent: " + fmt.Sprint(percent) +
		"\n    predictor: {name: v2, model: {modelFormat: {name: sklearn}, storageUri: 's3://models/v2'}}\n"
}

// available writes how many pods of a Deployment can serve.
func (w *world) available(name string, pods int32) {
	w.t.Helper()
	w.Eventually(w.t, "the status of "+name, func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := w.Client.Get(ctx, w.key(name), d); err != nil {
			return err
		}
		is := corev1.ConditionTrue
		if pods == 0 {
			is = corev1.ConditionFalse
		}
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: pods, AvailableReplicas: pods,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: is, Reason: "x"}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}},
		}
		return w.Client.Status().Update(ctx, d)
	})
}

// weighs waits until both routes send requests as told, "service=weight" each.
func (w *world) weighs(want ...string) {
	w.t.Helper()
	for _, name := range []string{"m-predictor", "m"} {
		has(w, name, &gatewayv1.HTTPRoute{}, func(r *gatewayv1.HTTPRoute) error {
			var is []string
			for _, ref := range r.Spec.Rules[0].BackendRefs {
				is = append(is, fmt.Sprintf("%s=%d", ref.Name, *ref.Weight))
			}
			if fmt.Sprint(is) != fmt.Sprint(want) {
				return fmt.Errorf("the weights are %v", is)
			}
			return nil
		})
	}
}

// canaryIs waits for the verdict about the canary.
func (w *world) canaryIs(verdict servingv1beta1.CanaryVerdict, weight int32) servingv1beta1.CanaryStatus {
	w.t.Helper()
	svc := has(w, "m", &servingv1beta1.InferenceService{}, func(svc *servingv1beta1.InferenceService) error {
		if len(svc.Status.CanaryStatuses) != 1 {
			return errors.New("no status of one canary")
		}
		c := svc.Status.CanaryStatuses[0]
		if c.Analysis == nil || c.Analysis.Verdict != verdict || c.Weight == nil || *c.Weight != weight {
			return fmt.Errorf("the canary is %+v, %+v", c, c.Analysis)
		}
		return nil
	})
	return svc.Status.CanaryStatuses[0]
}

func (w *world) leastPods(name string, want int32) {
	w.t.Helper()
	has(w, name, &autoscalingv2.HorizontalPodAutoscaler{}, func(h *autoscalingv2.HorizontalPodAutoscaler) error {
		if *h.Spec.MinReplicas != want {
			return fmt.Errorf("at least %d pods", *h.Spec.MinReplicas)
		}
		return nil
	})
}

const analysed = `kserve-go.dev/canary-analysis: "{interval: 5s, warmUp: 0s, failureLimit: 1, steps: [5]}"`

func TestACanaryIsAdvancedRolledBackAndPromoted(t *testing.T) {
	w := newWorld(t)
	prom := newPrometheus(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.withSetting("canaryAnalysis", "prometheusAddress", prom.URL)
	w.apply(track(20, analysed))
	w.available("m-predictor", 1)
	w.weighs("m-predictor=100")
	w.leastPods("m-predictor", 10)
	prom.value.Store("")
	w.available("m-v2-predictor", 1)
	w.weighs("m-predictor=95", "m-v2-predictor=5")
	require.Contains(t, w.canaryIs(servingv1beta1.CanaryInconclusive, 5).Analysis.Message, "503", "without an answer nothing is decided")

	prom.value.Store("100")
	w.weighs("m-predictor=80", "m-v2-predictor=20")
	w.canaryIs(servingv1beta1.CanaryPassing, 20)
	w.leastPods("m-predictor", 8)
	w.leastPods("m-v2-predictor", 2)
	w.ready("m")
	before := w.writes()
	w.moreLooks(prom)
	require.Equal(t, before, w.writes(), "a canary that passes costs no write")

	prom.value.Store("50")
	w.weighs("m-predictor=100", "m-v2-predictor=0")
	c := w.canaryIs(servingv1beta1.CanaryRolledBack, 0)
	require.Contains(t, c.Message, "success-rate is 50%, wanted at least 99%")
	w.leastPods("m-predictor", 10)
	require.NoError(t, isReady(has(w, "m", &servingv1beta1.InferenceService{}, nil)), "what happens to a canary is nothing that the service is not ready for")
	w.says("m", servingv1beta1.CanaryPredictorReady, "CanaryRolledBack", "success-rate is 50%")
	w.Eventually(t, "the event", func(ctx context.Context) error {
		var events corev1.EventList
		if err := w.Client.List(ctx, &events, client.InNamespace(w.ns)); err != nil {
			return err
		}
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == "CanaryRolledBack" && e.Type == corev1.EventTypeWarning {
				return nil
			}
		}
		return errors.New("no event")
	})

	prom.value.Store("100")
	w.settle()
	before = w.writes()
	require.NoError(t, w.Controller.Restart(t.Context()))
	// A service that comes after the restart tells that the others have been looked at.
	w.apply(sklearn("z", "s3://models/iris"))
	has(w, "z-predictor", &appsv1.Deployment{}, nil)
	w.settle()
	for _, write := range w.writes()[len(before):] {
		require.True(t, strings.HasSuffix(write, "/z") || strings.HasSuffix(write, "/z-predictor"), "the verdict outlives the process: %s", write)
	}
	w.weighs("m-predictor=100", "m-v2-predictor=0")
	w.apply(track(20, analysed, "theirs: x"))
	w.settle()
	w.weighs("m-predictor=100", "m-v2-predictor=0")

	w.apply(track(30, analysed))
	w.weighs("m-predictor=70", "m-v2-predictor=30")
	w.available("m-v2-predictor", 0)
	w.weighs("m-predictor=100")
	w.available("m-v2-predictor", 1)
	w.weighs("m-predictor=70", "m-v2-predictor=30")

	generation := has(w, "m-v2-predictor", &appsv1.Deployment{}, nil).Generation
	w.apply(strings.Replace(sklearn("m", "s3://models/v2")+"    minReplicas: 10\n", "predictor:\n", "predictor:\n    name: v2\n", 1))
	w.ready("m")
	gone(w, "m-predictor", &appsv1.Deployment{})
	gone(w, "m-predictor", &corev1.Service{})
	gone(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{})
	w.leastPods("m-v2-predictor", 10)
	require.Equal(t, generation, has(w, "m-v2-predictor", &appsv1.Deployment{}, nil).Generation, "no pod restarts")
	for _, name := range []string{"m-predictor", "m"} {
		refs := has(w, name, &gatewayv1.HTTPRoute{}, nil).Spec.Rules[0].BackendRefs
		require.Len(t, refs, 1)
		require.EqualValues(t, "m-v2-predictor", refs[0].Name)
	}
	svc := w.ready("m")
	require.Empty(t, svc.Status.CanaryStatuses)
	require.Nil(t, svc.Status.Condition(servingv1beta1.CanaryPredictorReady))
	w.moreLooksNever(prom)
}

// moreLooksNever says that nobody looks at a canary that is gone: at most the look that was on its way is finished.
func (w *world) moreLooksNever(p *prometheus) {
	w.t.Helper()
	w.settle()
	before := p.looks.Load()
	w.apply(sklearn("later", "s3://models/iris"))
	has(w, "later-predictor", &appsv1.Deployment{}, nil)
	w.settle()
	require.LessOrEqual(w.t, p.looks.Load(), before+1)
}

func TestACanaryThatGoesLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.apply(track(0, `kserve-go.dev/canary-shadow: "v2=100"`))
	w.ready("m")
	for _, name := range []string{"m-predictor", "m"} {
		has(w, name, &gatewayv1.HTTPRoute{}, func(r *gatewayv1.HTTPRoute) error {
			for _, f := range r.Spec.Rules[0].Filters {
				if f.Type == gatewayv1.HTTPRouteFilterRequestMirror && f.RequestMirror.BackendRef.Name == "m-v2-predictor" && *f.RequestMirror.Percent == 100 {
					return nil
				}
			}
			return errors.New("no copies")
		})
	}
	w.settle()
	svc := has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	require.EqualValues(t, 100, svc.Status.CanaryStatuses[0].ShadowPercent)
	template := has(w, "m-predictor", &appsv1.Deployment{}, nil).Generation
	before := len(w.writes())
	w.apply(track(0, `kserve-go.dev/canary-shadow: "v2=50"`))
	w.Eventually(t, "half the copies", func(ctx context.Context) error {
		svc := &servingv1beta1.InferenceService{}
		if err := w.Client.Get(ctx, w.key("m"), svc); err != nil {
			return err
		}
		if n := svc.Status.CanaryStatuses[0].ShadowPercent; n != 50 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	require.Equal(t, template, has(w, "m-predictor", &appsv1.Deployment{}, nil).Generation)
	for _, write := range w.writes()[before:] {
		require.NotContains(t, write, "deployments/", "a share of copies restarts nothing")
	}

	w.apply(sklearn("m", "s3://models/iris") + "    minReplicas: 10\n")
	gone(w, "m-v2-predictor", &appsv1.Deployment{})
	gone(w, "m-v2-predictor", &corev1.Service{})
	gone(w, "m-v2-predictor", &autoscalingv2.HorizontalPodAutoscaler{})
	svc = w.ready("m")
	require.Empty(t, svc.Status.CanaryStatuses)
	r := has(w, "m", &gatewayv1.HTTPRoute{}, nil).Spec.Rules[0]
	require.Len(t, r.BackendRefs, 1)
	require.Len(t, r.Filters, 1)
}

func TestAFailingCanaryLeavesTheStablePredictorReady(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	d := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	w.apply(strings.Replace(track(20), "s3://models/v2'}}", "s3://models/v2', runtime: nobody-has-it}}", 1))
	svc := has(w, "m", &servingv1beta1.InferenceService{}, func(svc *servingv1beta1.InferenceService) error {
		if len(svc.Status.CanaryStatuses) != 1 {
			return errors.New("nothing of the canary")
		}
		return isReady(svc)
	})
	require.Contains(t, svc.Status.CanaryStatuses[0].Message, "nobody-has-it")
	require.Equal(t, servingv1beta1.InvalidSpec, svc.Status.CanaryStatuses[0].ModelStatus.TransitionStatus)
	w.says("m", servingv1beta1.CanaryPredictorReady, "canary predictor v2", "nobody-has-it")
	w.leastPods("m-predictor", 10)
	require.Equal(t, d.UID, has(w, "m-predictor", &appsv1.Deployment{}, nil).UID)
	require.Equal(t, serving.Standard, svc.Status.DeploymentMode)
}
