// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// registered are the webhooks that an installation registers, by path.
func registered(t *testing.T) map[string]admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	data, err := os.ReadFile("../../../deploy/base/webhook/configurations.yaml")
	require.NoError(t, err)
	all := map[string]admissionregistrationv1.ValidatingWebhook{}
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		// Mutating webhooks have every field that is looked at here.
		var one admissionregistrationv1.ValidatingWebhookConfiguration
		require.NoError(t, yaml.Unmarshal([]byte(text), &one))
		for _, w := range one.Webhooks {
			require.NotNil(t, w.ClientConfig.Service, w.Name)
			all[*w.ClientConfig.Service.Path] = w
		}
	}
	return all
}

// TestNoDeletionAsksAWebhook holds that nothing which is to go waits for a webhook, and that both versions of a review are offered.
func TestNoDeletionAsksAWebhook(t *testing.T) {
	t.Parallel()
	all := registered(t)
	require.Len(t, all, 8)
	for path, w := range all {
		for _, rule := range w.Rules {
			for _, operation := range rule.Operations {
				require.Contains(t, []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}, operation, path)
			}
			require.False(t, slices.ContainsFunc(rule.Resources, func(r string) bool { return strings.Contains(r, "/") }), "%s: a status is written without a review", path)
		}
		require.Equal(t, []string{"v1", "v1beta1"}, w.AdmissionReviewVersions, path)
		require.Equal(t, admissionregistrationv1.SideEffectClassNone, *w.SideEffects, path)
		policy := admissionregistrationv1.Fail
		if path == PathStorage { // the shipped one is made before anybody answers
			policy = admissionregistrationv1.Ignore
		}
		require.Equal(t, policy, *w.FailurePolicy, path)
		require.LessOrEqual(t, *w.TimeoutSeconds, int32(10), path)
		if path != PathPods { // of those only the creation is looked at
			require.Equal(t, []admissionregistrationv1.MatchCondition{{Name: "lives", Expression: "!has(object.metadata.deletionTimestamp)"}}, w.MatchConditions, "%s: a finalizer can go while nobody answers", path)
		}
	}
}

// TestEveryPathIsRegisteredAndServed holds paths, registration and server together.
func TestEveryPathIsRegisteredAndServed(t *testing.T) {
	t.Parallel()
	all := registered(t)
	for _, path := range []string{PathServiceDefaults, PathPods, PathService, PathTrainedModel, PathGraph, PathClusterRuntime, PathRuntime, PathStorage} {
		require.Contains(t, all, path)
	}
}
