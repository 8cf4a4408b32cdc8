// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package render_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
)

// BenchmarkPlanAndRender is all that is thought about a service between an event and its requests: decide, and render. Processor time is told
// beside the time that passes, for on a busy machine the two are far apart.
func BenchmarkPlanAndRender(b *testing.B) {
	t := &testing.T{}
	for _, dir := range []string{"minimal", "all-components", "gateway-canary", "keda", "many-sources", "multinode", "custom-two-ports", "agent"} {
		raw, err := os.ReadFile(filepath.Join("testdata", dir, "in.yaml"))
		if err != nil {
			b.Fatal(err)
		}
		w := read(t, shipped(t), raw)
		w.snap.Brief = true // as the controller does
		b.Run(dir, func(b *testing.B) {
			b.ReportAllocs()
			before := used(b)
			for b.Loop() {
				p, err := resolve.Service(&w.snap, w.settings)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := render.Objects(p, w.settings); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((used(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// used is the processor time of this process, collections of garbage included.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
