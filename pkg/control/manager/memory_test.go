// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGarbageFillsWhatIsPlentyAndNeverVanishes(t *testing.T) {
	for sentence, c := range map[string]struct {
		alive uint64
		want  int
	}{
		"nothing is known":          {0, spareMemory},
		"little is alive":           {1 << 20, mostShare},
		"half of plenty is alive":   {plenty / 2, 100},
		"nearly plenty is alive":    {plenty - 1, spareMemory},
		"more than plenty is alive": {3 * plenty, spareMemory},
	} {
		t.Run(sentence, func(t *testing.T) { require.Equal(t, c.want, share(c.alive)) })
	}
}

func TestEachCollectionIsFollowed(t *testing.T) {
	seen := make(chan struct{}, 1)
	afterCollection(func() {
		select {
		case seen <- struct{}{}:
		default:
		}
	})
	for range 3 {
		runtime.GC()
		<-seen
	}
	require.Positive(t, alive())
}
