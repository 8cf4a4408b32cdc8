// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost_test

import (
	"os"
	"testing"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/enginetest"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

func BenchmarkParse(b *testing.B) {
	for name, model := range map[string]string{"ubj": "xgboost-big", "json": "xgboost-softprob", "binary": "xgboost-softprob-bst"} {
		data, err := os.ReadFile(enginetest.File(b, model))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := xgboost.Parse(data, engine.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
