// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// Flags of this server's own.
const (
	flagMaxBatchSize  = "max_batch_size"
	flagMaxBatchDelay = "max_batch_delay"
	flagModelConfig   = "model_config_file"
	flagFollowDir     = "watch_model_dir"
	flagPoll          = "model_poll_interval"
	flagMaxMemory     = "max_model_memory"
	flagSettings      = "settings_file"
)

// managed is the part of the command line that is about many models and their queues.
type managed struct {
	batchSize  int
	batchDelay time.Duration

	config   string
	settings string
	follow   strbool
	poll     time.Duration
	memory   amount
}

// amount is a flag of bytes, as Kubernetes writes memory.
type amount int64

// String implements pflag.Value.
func (a *amount) String() string { return strconv.FormatInt(int64(*a), 10) }

// Type implements pflag.Value.
func (a *amount) Type() string { return "bytes" }

// Set implements pflag.Value.
func (a *amount) Set(text string) error {
	n, err := parseBytes(text)
	*a = amount(n)
	return err
}

func (m *managed) bindFlags(fs *pflag.FlagSet) {
	fs.IntVar(&m.batchSize, flagMaxBatchSize, 0, "rows of one prediction that is made of several requests for one busy model; below 2 requests are not joined")
	fs.DurationVar(&m.batchDelay, flagMaxBatchDelay, 0, "let a request wait this long for others while its model is idle, with --"+flagMaxBatchSize)
	fs.StringVar(&m.config, flagModelConfig, "", "file with the list of models to serve, followed while the server runs: see docs/model-server.md")
	fs.StringVar(&m.settings, flagSettings, "", "file with settings that may change while the server runs: see docs/model-server.md")
	fs.Var(&m.follow, flagFollowDir, "load what is new or has changed in --"+handoff.FlagModelDir+", and remove the models of directories that are gone")
	fs.DurationVar(&m.poll, flagPoll, 5*time.Second, "look this often at files that may have changed")
	fs.Var(&m.memory, flagMaxMemory, "memory that all models together may take, such as 2Gi: those used least recently are let go of, and loaded again when asked for; 0: no limit")
}

func (m *managed) validate() error {
	switch {
	case m.batchSize < 0:
		return fmt.Errorf("argument --%s: %d: expected a number of rows", flagMaxBatchSize, m.batchSize)
	case m.batchDelay < 0:
		return fmt.Errorf("argument --%s: %s: expected no negative time", flagMaxBatchDelay, m.batchDelay)
	case m.batchDelay > 0 && m.batchSize < 2:
		return fmt.Errorf("--%s needs --%s", flagMaxBatchDelay, flagMaxBatchSize)
	case m.poll <= 0:
		return fmt.Errorf("argument --%s: %s: expected a time", flagPoll, m.poll)
	case bool(m.follow) && m.config != "":
		return fmt.Errorf("--%s and --%s exclude each other: the list says what is served", flagFollowDir, flagModelConfig)
	}
	return nil
}

func (m *managed) apply(o *Options) {
	o.MaxBatchSize, o.MaxBatchDelay = m.batchSize, m.batchDelay
	o.Settings = m.settings
	o.ModelConfig, o.FollowDir, o.Poll, o.MaxMemory = m.config, bool(m.follow), m.poll, int64(m.memory)
}
