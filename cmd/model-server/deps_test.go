// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/linkbudget"
)

func TestLinkBudget(t *testing.T) {
	linkbudget.Check(t, linkbudget.Budget{
		"k8s.io":                    "servers link no Kubernetes; what they need of it is in pkg/apis/handoff",
		"sigs.k8s.io":               "servers link no Kubernetes; what they need of it is in pkg/apis/handoff",
		"istio.io":                  "servers link no Kubernetes",
		"knative.dev":               "servers link no Kubernetes",
		"github.com/minio/minio-go": "models are fetched by the storage plane, before the server starts",
		"github.com/kserve-go/kserve-go/pkg/storage": "models are fetched by the storage plane, before the server starts",
		"github.com/kserve-go/kserve-go/pkg/control": "planes meet in pkg/apis/handoff",
		"github.com/kserve-go/kserve-go/pkg/cli":     "the person's tool is a binary of its own",
		"github.com/stretchr/testify":                "tests only",
	})
}
