// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the main of a server that has nothing but flags: --help tells the whole truth, --version what was built, a signal
// drains it.
//
// Called by: cmd/{agent,controller,router,webhook}; cli and the other binaries, for Plain.
// Next: the Run of the package that the binary is for.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// Exit codes of such a server.
const (
	ExitOK     = 0 // ended by SIGINT or SIGTERM
	ExitFailed = 1
	ExitUsage  = 2
)

// Line is what is known of a binary before its flags are read.
type Line struct {
	Name string
	// About is what --help says first, in whole sentences; it ends with a line break.
	About string
	// Bind adds the binary's flags, Log's among them.
	Bind func(*pflag.FlagSet)
	Log  *telemetry.LogOptions
	// Run serves until ctx ends, with the flags that Bind added.
	Run    func(ctx context.Context, log *zap.Logger) error
	Stdout io.Writer
	// Stderr takes the log.
	Stderr *os.File
}

// Main reads the arguments and runs the server until SIGINT or SIGTERM; a second signal ends the process at once. It returns the
// code to exit with.
func (l Line) Main(args []string) (code int) {
	if done, code := l.parse(args); done {
		return code
	}
	log, err := telemetry.NewLogger(*l.Log, l.Stderr)
	if err != nil {
		l.fail(err)
		return ExitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	if err := l.Run(ctx, log); err != nil {
		log.Error(err.Error())
		LastWords(err)
		return ExitFailed
	}
	return ExitOK
}

// parse reads the arguments. When done, there is nothing to run: the process exits with code.
func (l Line) parse(args []string) (done bool, code int) {
	fs := pflag.NewFlagSet(l.Name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	l.Bind(fs)
	help := fs.BoolP("help", "h", false, "print this and exit")
	showVersion := fs.Bool("version", false, "print the version and exit")
	err := fs.Parse(args)
	switch {
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q: there are only flags", fs.Arg(0))
		fallthrough
	case err != nil:
		l.fail(fmt.Errorf("%w; see --help", err))
		return true, ExitUsage
	case *help:
		fmt.Fprintf(l.Stdout, "%s\nUsage: %s [flags]\n\n%s\n", l.About, l.Name, Plain(fs.FlagUsages()))
		fmt.Fprintf(l.Stdout, "Exit codes: %d ended by SIGINT or SIGTERM, %d failed, %d wrong flags.\n", ExitOK, ExitFailed, ExitUsage)
		return true, ExitOK
	case *showVersion:
		fmt.Fprintln(l.Stdout, version.String())
		return true, ExitOK
	}
	return false, ExitOK
}

// Plain is a flag set's usages without what the library writes behind each switch: that it takes true and false is known. The columns
// stay where they are.
func Plain(usages string) string {
	const values = "[=true|false]"
	return strings.ReplaceAll(usages, values, strings.Repeat(" ", len(values)))
}

// fail tells an error before there is a logger.
func (l Line) fail(err error) { fmt.Fprintf(l.Stderr, "%s: %v\n", l.Name, err) }
