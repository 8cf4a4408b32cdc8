// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// settingsHandler reads the operator's ConfigMap whenever it changes; a new value concerns every service.
//
// +kubebuilder:rbac:groups="",namespace=kserve,resources=configmaps,resourceNames=inferenceservice-config,verbs=list;watch
func (c *controllers) settingsHandler() handler.EventHandler {
	take := func(ctx context.Context, o client.Object, q queue) {
		cm, ok := o.(*corev1.ConfigMap)
		if o != nil && (!ok || cm.Name != settings.ConfigMapName || cm.Namespace != c.options.Namespace) {
			return
		}
		_, before := c.settings.Current()
		if c.takeSettings(cm) {
			c.eachService(ctx, "", q, nil)
		} else if _, after := c.settings.Current(); !sameFault(before, after) {
			c.eachService(ctx, "", q, tellsSettings)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { take(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { take(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if e.Object.GetName() == settings.ConfigMapName {
				take(ctx, nil, q)
			}
		},
	}
}

func sameFault(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error()
}

// tellsSettings says that the status of a service tells what is wrong with the ConfigMap, or would: something of it could not be made.
func tellsSettings(svc *servingv1beta1.InferenceService) bool {
	ready, latest := svc.Status.Condition(serving.ConditionReady), svc.Status.Condition(servingv1beta1.LatestDeploymentReady)
	return ready == nil || ready.Status != corev1.ConditionTrue || latest != nil && latest.Status == corev1.ConditionFalse
}

// takeSettings uses a ConfigMap, or keeps the last good one and says so. It reports whether the settings changed.
func (c *controllers) takeSettings(cm *corev1.ConfigMap) bool {
	changed, err := c.settings.Take(cm)
	good, _ := c.settings.Current()
	if err != nil {
		c.metrics.valid.Set(0)
		kept := "the last good settings stay in force"
		if good == nil {
			kept = "there are no good settings yet, and nothing is reconciled until there are"
		}
		c.log.Error("the operator's ConfigMap cannot be used; "+kept, zap.Error(err))
		if cm != nil {
			c.events.Event(cm, corev1.EventTypeWarning, settings.EventInvalid, err.Error()+"; "+kept)
		}
		return false
	}
	c.metrics.valid.Set(1)
	if changed {
		c.metrics.loaded.Inc()
		c.log.Info("settings read", zap.String("resourceVersion", cm.ResourceVersion))
		if text := good.Unread(); text != "" {
			c.log.Warn("the operator's ConfigMap holds what nobody reads", zap.String("what", text))
			c.events.Event(cm, corev1.EventTypeWarning, settings.EventOdd, text)
		}
	}
	return changed
}

// settingsMetrics tell of the operator's ConfigMap.
type settingsMetrics struct {
	valid  prometheus.Gauge
	loaded prometheus.Counter
}

func newSettingsMetrics(registry prometheus.Registerer) (*settingsMetrics, error) {
	m := &settingsMetrics{
		valid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: settings.MetricValid, Help: "1 while the operator's ConfigMap can be used, 0 while the last good settings (if any) stand in for it.",
		}),
		loaded: prometheus.NewCounter(prometheus.CounterOpts{Name: "kserve_settings_loads_total", Help: "Times that new settings came into force."}),
	}
	for _, c := range []prometheus.Collector{m.valid, m.loaded} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
