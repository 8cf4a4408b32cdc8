// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster/faults"
)

// tellsSomewhere waits until a condition that is not True, or an event, holds a text.
func (w *world) tellsSomewhere(text string) {
	w.t.Helper()
	w.Eventually(w.t, "somebody tells "+text, func(ctx context.Context) error {
		if _, err := w.MakeReady(ctx, w.ns); err != nil {
			return err
		}
		svc, all := &servingv1beta1.InferenceService{}, ""
		if err := w.Client.Get(ctx, w.key("m"), svc); err != nil {
			return err
		}
		for _, c := range svc.Status.Conditions {
			if c.Status != corev1.ConditionTrue {
				all += fmt.Sprintf("%s: %s: %s\n", c.Type, c.Reason, c.Message)
			}
		}
		var events corev1.EventList
		if err := w.Client.List(ctx, &events, client.InNamespace(w.ns)); err != nil {
			return err
		}
		for i := range events.Items {
			all += fmt.Sprintf("event %s: %s\n", events.Items[i].Reason, events.Items[i].Message)
		}
		if !strings.Contains(all, text) {
			return fmt.Errorf("told is\n%s", all)
		}
		return nil
	})
}

// TestARightThatIsMissingIsToldAndItsReturnHeals takes each right to act in a namespace from the controller, one at a time, while a service
// lives. Rights to list and watch are those of TestAControllerOfSomeNamespacesNeedsRolesInThoseOnly and of TestWhileNobodyTellsOfChangesNothingIsLost.
func TestARightThatIsMissingIsToldAndItsReturnHeals(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	calm := undisturbed(w)
	p := overWire(t, w)
	steps := map[string]step{}
	for _, s := range life() {
		steps[s.name] = s
	}
	cases := []struct {
		resource, verb string
		// at is the step of the life that needs the right; several is a service of its own that does.
		at     string
		silent bool // who may not tell tells nobody
	}{
		{"deployments", "patch", "create", false},
		{"services", "patch", "create", false},
		{"horizontalpodautoscalers", "patch", "create", false},
		{"httproutes", "patch", "create", false},
		{"inferenceservices/status", "patch", "create", false},
		{"events", "create", "create", true},
		{"deployments", "delete", "update", false},
		{"services", "delete", "update", false},
		{"horizontalpodautoscalers", "delete", "update", false},
		{"httproutes", "delete", "update", false},
		{"inferenceservices", "patch", "delete", false},
		{"trainedmodels", "list", "delete", false},
		{"serviceaccounts", "get", several, false},
		{"secrets", "get", several, false},
	}
	for _, c := range cases {
		t.Run(c.verb+" "+c.resource, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			text := fmt.Sprintf(`User "system:serviceaccount:kserve:x" cannot %s resource "%s" in API group ""`, c.verb, c.resource)
			rule := faults.Rule{Namespace: w.ns, Resources: []string{c.resource}, Verbs: []string{c.verb}, Fault: faults.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, text)}
			if c.at == several {
				mend := p.Break(rule)
				w.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: s3}\nstringData: {AWS_ACCESS_KEY_ID: a, AWS_SECRET_ACCESS_KEY: b}",
					"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\nsecrets: [{name: s3}]",
					strings.Replace(sklearn("m", "x"), "      storageUri: x\n", "", 1)+"    serviceAccountName: sa\n    storageUris: [{uri: 's3://models/a', mountPath: /mnt/models/a}]\n")
				w.tellsSomewhere(text)
				require.NotZero(t, mend())
				w.ready("m")
				return
			}
			if c.at != "create" {
				steps["create"].do(w)
				w.ready("m")
			}
			mend := p.Break(rule)
			steps[c.at].do(w)
			if c.silent {
				w.ready("m")
			} else {
				w.tellsSomewhere(text)
			}
			require.NotZero(t, mend())
			if steps[c.at].gone {
				gone(w, "m", &servingv1beta1.InferenceService{})
			} else {
				w.reach(c.at, calm[c.at])
			}
		})
	}
}

// TestAControllerThatMayNotListSaysSoAndGoesOnWhenItMay starts without the right to list and watch what every service has.
func TestAControllerThatMayNotListSaysSoAndGoesOnWhenItMay(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	p, err := faults.New(w.Admin, seed)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	config, err := w.As(t.Context(), cluster.ControllerAccount)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, p.Over(config), cluster.ControllerAccount))
	const resource = "deployments"
	mend := p.Break(faults.Rule{Resources: []string{resource}, Verbs: []string{"list", "watch"}, Fault: faults.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "x cannot watch "+resource)})
	core, logged := observer.New(zap.WarnLevel)
	c := startLogging(t, path, zap.New(core), func(o *manager.Options) { o.LeaderElect = false })
	w.apply(sklearn("m", "s3://models/iris"))
	w.Eventually(t, "the log tells", func(ctx context.Context) error {
		if logged.FilterMessageSnippet("cannot follow *v1.Deployment; the controller's role needs list and watch on it").Len() == 0 {
			return fmt.Errorf("it says %v", logged.All())
		}
		return nil
	})
	require.Error(t, get(t.Context(), "http://"+c.health+"/readyz", nil), "it is not ready")
	require.NotZero(t, mend())
	c.waitReady(t, w)
	w.ready("m")
	require.Zero(t, c.panics(t))
	c.stop(t)
}

// several is a service of several sources, whose credentials the controller writes into its pod template.
const several = "several"
