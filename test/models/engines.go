// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

// Engines are the engines by the format that a case names.
func Engines() map[string]engine.Engine {
	all := map[string]engine.Engine{}
	for _, e := range []engine.Engine{sklearn.New(), xgboost.New(), lightgbm.New()} {
		all[e.Name()] = e
	}
	return all
}
