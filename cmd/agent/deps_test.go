// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/linkbudget"
)

func TestLinkBudget(t *testing.T) {
	linkbudget.Check(t, linkbudget.Budget{
		"k8s.io":                    "servers link no Kubernetes; what they need of it is in pkg/apis/handoff",
		"sigs.k8s.io":               "servers link no Kubernetes; what they need of it is in pkg/apis/handoff",
		"github.com/minio/minio-go": "object stores are the storage plane's",
		"github.com/kserve-go/kserve-go/pkg/control": "planes meet in pkg/apis/handoff",
		"github.com/stretchr/testify":                "tests only",
	})
}
