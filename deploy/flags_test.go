// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kserve-go/kserve-go/pkg/control/admit"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
)

func TestOurProcessesKnowTheirFlags(t *testing.T) {
	for folder, all := range installations(t) {
		t.Run(folder, func(t *testing.T) {
			controller, webhook := manager.NewOptions(), admit.NewOptions()
			for _, d := range typed[appsv1.Deployment](t, all, "Deployment") {
				flags := pflag.NewFlagSet(d.Name, pflag.ContinueOnError)
				switch d.Name {
				case "kserve-controller-manager":
					require.Equal(t, "manager", d.Spec.Template.Spec.Containers[0].Name, "as the reference names it")
					controller.BindFlags(flags)
				case "kserve-webhook-server":
					webhook.BindFlags(flags)
				default:
					t.Fatalf("%s is not known", d.Name)
				}
				require.NoError(t, flags.Parse(d.Spec.Template.Spec.Containers[0].Args), d.Name)
			}
		})
	}
}
