// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// told says how the line of docs/differences.md begins that tells a case's difference.
func told() map[string]string {
	const (
		hosts    = "| Ingress with a transformer or explainer |"
		urls     = "| component urls |"
		metric   = "| a metric or target that the chosen autoscaler cannot use |"
		absent   = "| a service without a predictor, an unknown protocol, canary traffic outside 0–100 |"
		ties     = "| runtimes that would tie for a model |"
		scrape   = "| scraping of Standard pods |"
		nodes    = "| several nodes | worker objects are deleted"
		storage  = "| a storage spec (`storage.key`) |"
		unknown  = "| a service that cannot be planned |"
		hpa      = "| HPA | `behavior` and `scaleMetricType` ignored"
		leftover = "| an HPA or ScaledObject of a canary that is gone |"
	)
	return map[string]string{
		"agent-transformer-logger": hosts, "std-all-components": hosts, "std-transformer": hosts,
		"canary-std-two": urls, "std-https-scheme": urls,
		"bad-hpa-metric-annotation": metric, "bad-scale-metric-hpa-rps": metric, "bad-scale-target-over": metric,
		"bad-canary-over": absent, "bad-empty-predictor": absent, "bad-no-predictor": absent, "bad-protocol-unknown": absent,
		"bad-runtime-same-priority": ties, "bad-runtime-same-priority-within": ties,
		"metrics-config-on": scrape, "metrics-scrape": scrape, "metrics-scrape-runtime-port": scrape,
		"multinode": nodes, "multinode-sizes": nodes,
		"spec-key": storage, "spec-no-key-params-type": storage, "spec-params": storage, "spec-secret-annotation": storage,
		"std-runtime-auto-off": unknown, "std-runtime-explicit-disabled": unknown, "std-runtime-protocol-unsupported": unknown,
		"tm-deleted": unknown, "tm-multimodel": unknown, // of their InferenceServices
		"hpa-behavior": hpa, "hpa-memory-average-value": hpa,
		"canary-std-promote": leftover, "canary-std-rollback": leftover,
		"bad-graph-unknown-node":             "| a graph step to a node that does not exist |",
		"bad-name-too-long":                  "| names whose children are too long |",
		"canary-std-transformer":             "| weights | on every rule, past transformer and explainer too |",
		"gw-path-template":                   "| `pathTemplate` with a Gateway |",
		"hpa-annotation-target":              "| the older annotations for metric and target |",
		"spec-and-uri":                       "| `storageUri` beside `storage.path` |",
		"std-canary-percent":                 "| `canaryTrafficPercent` in Standard mode |",
		"std-custom-unnamed-container-first": "| a custom predictor whose `kserve-container` is not first |",
		"std-rollout-strategy-config":        "| bare numbers in `deploymentRolloutStrategy` of the ConfigMap |",
		"std-runtime-appears-later":          "| `lastFailureInfo` | stays for ever |",
		"std-stop":                           "| stopped without an Ingress |",
		"std-zero-min":                       "| `minReplicas: 0` with an HPA",
		"storage-empty":                      "| an empty `storageUri` |",
		"storage-uris-pvc-and-s3":            "| `storageUris`, a claim with a path |",
	}
}

// notYet are the differences of graphs, which the controller does not make yet.
func notYet() []string {
	return []string{
		"graph-ensemble-nested", "graph-pod-fields", "graph-resources", "graph-router-config", "graph-router-timeouts",
		"graph-service-name", "graph-service-name-missing", "graph-stop", "graph-switch",
	}
}

// TestEachDifferenceIsOnThePage holds docs/differences.md to the recorded differences.
func TestEachDifferenceIsOnThePage(t *testing.T) {
	cases, err := load("../data/parity")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/differences.md")
	require.NoError(t, err)
	lines := told()
	for _, c := range cases {
		line, ok := lines[c.name]
		delete(lines, c.name)
		if c.diff.Right == "" || slices.Contains(notYet(), c.name) {
			require.False(t, ok, "%s: there is nothing to tell", c.name)
			continue
		}
		require.True(t, ok, "%s is told nowhere: %s", c.name, c.diff.Right)
		require.Equal(t, 1, strings.Count(string(page), "\n"+line), "%s: %s", c.name, line)
	}
	require.Empty(t, lines, "there are no such cases")
}
