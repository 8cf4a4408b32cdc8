// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost_test

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/enginetest"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

func TestRecordedModelsPredictAsTheLibrary(t *testing.T) {
	for _, c := range enginetest.Cases(t, "xgboost-*") {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, xgboost.New()) })
	}
}

func TestDamagedModelsAreRefused(t *testing.T) {
	for _, pattern := range []string{"bad/xgboost-*", "bad/wrong-format-lgb-as-xgb", "bad/lightgbm-*", "bad/pickle-*"} {
		for _, c := range enginetest.Cases(t, pattern) {
			t.Run(c.Name, func(t *testing.T) { c.Refused(t, xgboost.New()) })
		}
	}
}
