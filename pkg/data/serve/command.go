// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Command is the main of a model server: flags, log, signals and exit codes. A program that serves one model or one transformer of
// its own is shorter with Run.
type Command struct {
	// Name is the program's; default the file's.
	Name string
	// About is what --help says first, in whole sentences; it ends with a line break.
	About string
	// Engines open the model files in --model_dir.
	Engines []engine.Engine
	// Bind adds flags of the program's own. May be nil.
	Bind func(*pflag.FlagSet)
	// Models makes models that are written in Go, when the flags have been read. With it --model_dir need not be given, and what is
	// there is for them alone to read.
	Models func(context.Context, Start) ([]Model, error)

	// Getenv, Stdout and Stderr are the process's own where they are nil. Stderr takes the log.
	Getenv func(string) string
	Stdout io.Writer
	Stderr *os.File
}

// Start is what a model written in Go may want to know when it is made.
type Start struct {
	// ModelName and ModelDir are the flags of these names.
	ModelName, ModelDir string
	// Predictor is the server that a transformer calls; nil when no flag names one. Forward are headers of requests that go along,
	// besides those of Forwarded.
	Predictor *client.Client
	Forward   []string
	Log       *zap.Logger
}

// Main serves until SIGINT or SIGTERM, of which a second one ends the process at once. It returns the code to exit with.
func (c Command) Main(args []string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return c.Run(ctx, args)
}

// Run is Main that serves until ctx ends.
func (c Command) Run(ctx context.Context, args []string) (code int) {
	c = c.withDefaults()
	f, done, code := c.parse(args)
	if done {
		return code
	}
	defer runtime.KeepAlive(spareRoom())
	f.log.Follow()
	log, err := telemetry.NewLogger(f.log, c.Stderr)
	if err != nil {
		return c.wrong(err)
	}
	if err := f.predictor.open(c.Getenv); err != nil {
		log.Error("the model server ends", zap.Error(err))
		command.LastWords(err)
		return exitFailed
	}
	defer f.predictor.close()
	options := f.options(log)
	if f.trace {
		trace, flush, err := telemetry.NewBufferedLogger(f.log, c.Stderr)
		if err != nil {
			return c.wrong(err)
		}
		defer flush()
		options.Trace = trace
	}
	stop, err := f.edge.open(ctx, &c, &options, f.log)
	defer stop()
	if err != nil {
		log.Error("the model server ends", zap.Error(err))
		return exitFailed
	}
	f.warn(log)
	switch err := New(options).Run(ctx); {
	case errors.Is(err, httpserver.ErrCut):
		log.Error(err.Error())
		return exitCut
	case err != nil:
		log.Error("the model server ends", zap.Error(err))
		command.LastWords(err)
		return exitFailed
	}
	return exitOK
}

// spare is room for garbage, besides as much as is alive. A server of small models has 2 MB alive: some hundred small requests would fill as
// much again, and each time the collector would start.
const spare = 6 << 20

// spareRoom counts as alive as long as it is held, so that the collector waits for as much garbage. It is never written to: no memory of the
// machine is behind it. GOGC and GOMEMLIMIT keep their meaning, and beside large models it is nothing.
func spareRoom() []byte { return make([]byte, spare) }

func (c Command) withDefaults() Command {
	if c.Name == "" && len(os.Args) > 0 {
		c.Name = filepath.Base(os.Args[0])
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}
	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}
	return c
}
