// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/linkbudget"
)

func TestLinkBudget(t *testing.T) {
	linkbudget.Check(t, linkbudget.Budget{
		"github.com/kserve-go/kserve-go/pkg/data":    "the control plane answers no inference request",
		"github.com/kserve-go/kserve-go/pkg/storage": "pods fetch models, the control plane does not",
		"github.com/minio/minio-go":                  "object stores are the storage plane's",
		"github.com/stretchr/testify":                "tests only",
	})
}
