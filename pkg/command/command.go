// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command reads the command line of a server that has nothing but flags: --help tells the whole truth, --version what was built.
//
// Called by: cmd/{agent,controller,router,webhook}.
// Next: the Run of the package that the binary is for.
package command

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

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
	// Bind adds the binary's flags.
	Bind           func(*pflag.FlagSet)
	Stdout, Stderr io.Writer
}

// Parse reads the arguments. When done, there is nothing to run: the caller exits with code.
func (l Line) Parse(args []string) (done bool, code int) {
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
		l.Fail(fmt.Errorf("%w; see --help", err))
		return true, ExitUsage
	case *help:
		fmt.Fprintf(l.Stdout, "%s\nUsage: %s [flags]\n\n%s\n", l.About, l.Name, fs.FlagUsages())
		fmt.Fprintf(l.Stdout, "Exit codes: %d ended by SIGINT or SIGTERM, %d failed, %d wrong flags.\n", ExitOK, ExitFailed, ExitUsage)
		return true, ExitOK
	case *showVersion:
		fmt.Fprintln(l.Stdout, version.String())
		return true, ExitOK
	}
	return false, ExitOK
}

// Fail tells an error before there is a logger.
func (l Line) Fail(err error) { fmt.Fprintf(l.Stderr, "%s: %v\n", l.Name, err) }
