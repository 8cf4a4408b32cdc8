// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/linkbudget"
)

func TestLinkBudget(t *testing.T) {
	linkbudget.Check(t, linkbudget.Budget{
		"k8s.io/client-go":               "kserve plans from files; it asks no API server",
		"sigs.k8s.io/controller-runtime": "kserve plans from files; it asks no API server",
		"knative.dev":                    "rendered objects are small types of our own",
		"istio.io":                       "rendered objects are small types of our own",
		"github.com/johannesboyne":       "tests only; the sample server is our own",
		"github.com/stretchr/testify":    "tests only",
	})
}
