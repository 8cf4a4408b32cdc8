// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
	"github.com/kserve-go/kserve-go/test/parity"
)

func TestWhatTheReferenceMadeIsTakenOverWithoutAPodReplaced(t *testing.T) {
	w := newWorld(t)
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}
	require.NoError(t, w.Client.Get(t.Context(), key, cm))
	before := cm.Data
	t.Cleanup(func() {
		require.NoError(t, w.Client.Get(context.Background(), key, cm))
		cm.Data = before
		require.NoError(t, w.Client.Update(context.Background(), cm))
	})
	everything, only := os.Getenv("KSERVE_TEST_UPGRADE") == "all", os.Getenv("KSERVE_TEST_UPGRADE_ONLY")
	results, err := parity.TakeOver(t.Context(), w.Cluster, "../data/parity", func(_ string, cases int) bool { return everything || cases > 1 }, regexp.MustCompile(only))
	require.NoError(t, err)
	require.True(t, only != "" || len(results) > 90, "%d cases", len(results))
	replaced, unready := rolls(), flaps()
	for _, r := range results {
		for _, s := range r.Rolled {
			if replaced[r.Name] == "" {
				t.Errorf("%s: pods are replaced: %s", r.Name, s)
			}
		}
		for _, s := range r.Unready {
			if unready[r.Name] == "" {
				t.Errorf("%s: was ready before: %s", r.Name, s)
			}
		}
		for _, s := range r.Problems {
			t.Errorf("%s: %s", r.Name, s)
		}
		if replaced[r.Name] != "" && len(r.Rolled) == 0 {
			t.Errorf("%s: no pods are replaced: take it off the list", r.Name)
		}
	}
}

// rolls are the cases whose pods are replaced, with the reason. Their pods did not serve what was asked for.
func rolls() map[string]string {
	return map[string]string{
		"storage-empty":           "an empty storageUri is none; the reference starts an initializer with an empty source, which fails",
		"storage-uris-pvc-and-s3": "the path of a pvc:// source is mounted; the reference mounts the root of the claim",
	}
}

// flaps are the cases that are not ready for a moment, with the reason.
func flaps() map[string]string {
	return map[string]string{"gw-path-template": "paths have a route of their own, which a Gateway has to accept first"}
}
