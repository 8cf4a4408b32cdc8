// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

// engines are the frameworks that this binary serves.
func engines() []engine.Engine {
	return []engine.Engine{sklearn.New(), xgboost.New(), lightgbm.New()}
}
