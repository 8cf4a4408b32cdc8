// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package lightgbm_test

import (
	"testing"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/enginetest"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
)

func TestRecordedModelsPredictAsTheLibrary(t *testing.T) {
	for _, c := range enginetest.Cases(t, "lightgbm-*") {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, lightgbm.New()) })
	}
}

func TestDamagedModelsAreRefused(t *testing.T) {
	for _, pattern := range []string{"bad/lightgbm-*", "bad/text-html", "bad/empty", "bad/xgboost-*"} {
		for _, c := range enginetest.Cases(t, pattern) {
			t.Run(c.Name, func(t *testing.T) { c.Refused(t, lightgbm.New()) })
		}
	}
}
