// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Flags of this server's own.
const (
	flagMaxBatchSize  = "max_batch_size"
	flagMaxBatchDelay = "max_batch_delay"
)

// managed is the part of the command line that is about many models and their queues.
type managed struct {
	batchSize  int
	batchDelay time.Duration
}

func (m *managed) bindFlags(fs *pflag.FlagSet) {
	fs.IntVar(&m.batchSize, flagMaxBatchSize, 0, "rows of one prediction that is made of several requests for one busy model; below 2 requests are not joined")
	fs.DurationVar(&m.batchDelay, flagMaxBatchDelay, 0, "let a request wait this long for others while its model is idle, with --"+flagMaxBatchSize)
}

func (m *managed) validate() error {
	switch {
	case m.batchSize < 0:
		return fmt.Errorf("argument --%s: %d: expected a number of rows", flagMaxBatchSize, m.batchSize)
	case m.batchDelay < 0:
		return fmt.Errorf("argument --%s: %s: expected no negative time", flagMaxBatchDelay, m.batchDelay)
	case m.batchDelay > 0 && m.batchSize < 2:
		return fmt.Errorf("--%s needs --%s", flagMaxBatchDelay, flagMaxBatchSize)
	}
	return nil
}

func (m *managed) apply(o *Options) {
	o.MaxBatchSize, o.MaxBatchDelay = m.batchSize, m.batchDelay
}
