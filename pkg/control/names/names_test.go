// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/control/names"
)

func TestNamesAreThoseThatClustersAlreadyHave(t *testing.T) {
	for got, want := range map[string]string{
		names.Predictor("foo", ""):                                              "foo-predictor",
		names.Predictor("foo", "v2"):                                            "foo-v2-predictor",
		names.PredictorRoute("foo") + "/":                                       "foo-predictor/",
		names.Transformer("foo"):                                                "foo-transformer",
		names.Explainer("foo"):                                                  "foo-explainer",
		names.Worker("foo"):                                                     "foo-predictor-worker",
		names.HeadService("foo", 12):                                            "foo-head-12",
		names.WorkerService("foo", 1):                                           "foo-workers-1",
		names.ModelConfig("foo"):                                                "modelconfig-foo-0",
		names.App("foo-predictor"):                                              "isvc.foo-predictor",
		names.Volume("/mnt/models", "x"):                                        "mnt-models",
		names.Volume("/mnt/Models/a_b/", "x"):                                   "mnt-models-a-b",
		names.Volume("/", "oci-model"):                                          "oci-model",
		names.ModelKey("hf://m/l"):                                              "66104b1c71a6ce1e",
		names.Fit(strings.Repeat("a", 63)):                                      strings.Repeat("a", 63),
		names.Fit(strings.Repeat("b", 64))[:names.MaxLabel-9]:                   strings.Repeat("b", 54),
		names.Fit(strings.Repeat("c", 53) + "-" + strings.Repeat("d", 30))[:53]: strings.Repeat("c", 53),
	} {
		require.Equal(t, want, got)
	}
}

func TestFitKeepsLongNamesApart(t *testing.T) {
	a, b := names.Fit(strings.Repeat("a", 70)), names.Fit(strings.Repeat("a", 71))
	require.NotEqual(t, a, b)
	require.Len(t, a, names.MaxLabel)
	require.Equal(t, a, names.Fit(strings.Repeat("a", 70)))
}

func TestCheckSaysHowMuchTooLong(t *testing.T) {
	require.NoError(t, names.Check("Service", strings.Repeat("a", 63)))
	err := names.CheckHost("the host", strings.Repeat("a", 65)+".example.com")
	var long *names.TooLongError
	require.ErrorAs(t, err, &long)
	require.ErrorContains(t, err, "has 65 characters, Kubernetes allows 63: shorten metadata.name by 2")
	require.NoError(t, names.CheckHost("the host", "a.b"))
}
