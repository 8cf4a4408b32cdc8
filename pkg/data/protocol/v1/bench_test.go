// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkDecodeRows(b *testing.B) {
	for name, value := range map[string]func(i int) string{
		"floats":   func(i int) string { return fmt.Sprintf("%.1f", 0.1+float64(i%79)/10) },
		"integers": func(i int) string { return fmt.Sprint(i * i % 10007) },
		"long":     func(i int) string { return fmt.Sprintf("%.9f", float64(i%79)/7) },
		"exact":    func(i int) string { return fmt.Sprint(1 / float64(i%79+3)) },
	} {
		b.Run(name, func(b *testing.B) {
			var rows []string
			for i := range 100 {
				rows = append(rows, "["+value(4*i)+","+value(4*i+1)+","+value(4*i+2)+","+value(4*i+3)+"]")
			}
			body := []byte(`{"instances":[` + strings.Join(rows, ",") + `]}`)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			var d Decoder
			for b.Loop() {
				if _, err := d.Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
