// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func TestAPromotedCanaryNeedsPodsForAllRequests(t *testing.T) {
	cases := map[string]struct {
		class       serving.AutoscalerClass
		least       int32
		now, before int32
		want        bool
	}{
		"as many as there were":          {least: 10, now: 7, before: 7, want: true},
		"fewer than there were":          {least: 10, now: 6, before: 7, want: false},
		"as many as are wanted at least": {least: 3, now: 3, before: 9, want: true},
		"the other does not serve":       {least: 3, now: 1, before: 0, want: true},
		"somebody else decides how many": {class: serving.AutoscalerExternal, least: 10, now: 1, before: 7, want: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Components: []plan.Component{{Role: serving.Predictor, Name: "m-v2-predictor", Scale: plan.Scale{Class: c.class, Min: &c.least}}}}
			children := &plan.Children{}
			for name, pods := range map[string]int32{"m-v2-predictor": c.now, "m-predictor": c.before} {
				children.Add(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: appsv1.DeploymentStatus{AvailableReplicas: pods}})
			}
			require.Equal(t, c.want, relieves(p, children, "m-v2-predictor", "m-predictor"))
		})
	}
}

func TestRequestsAreTakenFromACanaryAtOnce(t *testing.T) {
	svc := &servingv1beta1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Name: "m"},
		Status:     servingv1beta1.InferenceServiceStatus{CanaryStatuses: []servingv1beta1.CanaryStatus{{Name: "v2"}}},
	}
	require.True(t, wasCanary(svc, "m-v2-predictor"))
	require.False(t, wasCanary(svc, "m-predictor"))
}
