// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// hostIsItsOwn waits until nothing is told of another service with the same host.
func (w *world) hostIsItsOwn() {
	w.t.Helper()
	has(w, "m", &servingv1beta1.InferenceService{}, func(svc *servingv1beta1.InferenceService) error {
		if c := svc.Status.Condition(servingv1beta1.HostUnique); c != nil {
			return fmt.Errorf("%+v", c)
		}
		return isReady(svc)
	})
}

func TestTwoServicesOfOneHostSaySo(t *testing.T) {
	for kind, gateway := range map[string]bool{"Ingress": false, "HTTPRoute": true} {
		t.Run(kind, func(t *testing.T) {
			a, b := newWorld(t), newWorld(t)
			a.withSetting("ingress", "domainTemplate", "{{ .Name }}.{{ .IngressDomain }}")
			if gateway {
				a.withSetting("ingress", "enableGatewayApi", true)
			}
			a.apply(sklearn("m", "s3://models/iris"))
			a.ready("m")
			a.hostIsItsOwn()
			b.apply(sklearn("m", "s3://models/iris"))
			b.ready("m")
			for _, w := range []*world{a, b} {
				w.settle()
				other := a
				if w == a {
					other = b
				}
				w.says("m", servingv1beta1.HostUnique, "HostClash", "InferenceService m in namespace "+other.ns)
				require.NoError(t, isReady(has(w, "m", &servingv1beta1.InferenceService{}, nil)))
				require.Len(t, w.told()["HostClash"], 1)
			}
			b.change(b.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/stop":"true"}}}`)
			a.hostIsItsOwn()
		})
	}
}
