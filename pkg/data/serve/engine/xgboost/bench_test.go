// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

func BenchmarkParse(b *testing.B) {
	for name, file := range map[string]string{"ubj": "xgboost-big/model/model.ubj", "json": "xgboost-softprob/model/model.json", "binary": "xgboost-softprob-bst/model/model.bst"} {
		data, err := os.ReadFile(filepath.Join(recorded, file))
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
