// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver tests controller and webhook as processes on a real API server, under their own service accounts and the shipped
// roles. All its tests share one cluster; each has a namespace of its own. They run in `make test-api`.
//
// Called by: make test-api.
// Next: pkg/testkit/cluster.
package apiserver

import (
	"os"
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{}))
}
