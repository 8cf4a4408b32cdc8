// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/linkbudget"
)

func TestLinkBudget(t *testing.T) {
	linkbudget.Check(t, linkbudget.Budget{
		"k8s.io":                                     "fetching needs no Kubernetes; what it needs of it is in pkg/apis/handoff",
		"sigs.k8s.io":                                "fetching needs no Kubernetes; what it needs of it is in pkg/apis/handoff",
		"google.golang.org/grpc":                     "nothing here speaks gRPC",
		"github.com/stretchr/testify":                "tests only",
		"github.com/johannesboyne":                   "tests only",
		"github.com/kserve-go/kserve-go/pkg/control": "planes meet in pkg/apis/handoff",
		"github.com/kserve-go/kserve-go/pkg/data":    "planes meet in pkg/apis/handoff",
	})
}
