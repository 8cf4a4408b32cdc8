// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/measure"
)

// woken bounds the services that have a new look and wait to be noticed.
const woken = 64

// addMeasurer runs the looks at canaries beside the controller of services, in the leader alone. A look that is done wakes its service.
func (c *controllers) addMeasurer(mgr ctrl.Manager) error {
	looked := make(chan event.GenericEvent, woken)
	m := measure.New(c.log, func(ctx context.Context, name types.NamespacedName) {
		svc := &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		select {
		case looked <- event.GenericEvent{Object: svc}:
		case <-ctx.Done():
		}
	})
	c.services.Measure = m
	if err := mgr.Add(manager.RunnableFunc(m.Run)); err != nil {
		return fmt.Errorf("add the measurer: %w", err)
	}
	if err := c.main.Watch(source.Channel(looked, &handler.EnqueueRequestForObject{})); err != nil {
		return fmt.Errorf("watch looks at canaries: %w", err)
	}
	return nil
}
