// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/linkbudget"
)

func TestLinkBudget(t *testing.T) {
	linkbudget.Check(t, linkbudget.Budget{
		"k8s.io/client-go/kubernetes":    "kserve applies and reads objects as documents; the typed clients are 10 MB",
		"sigs.k8s.io/controller-runtime": "kserve reconciles nothing",
		"knative.dev":                    "rendered objects are small types of our own",
		"istio.io":                       "rendered objects are small types of our own",
		"github.com/johannesboyne":       "tests only; the sample server is our own",
		"github.com/stretchr/testify":    "tests only",
	})
}
