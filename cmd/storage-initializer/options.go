// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/initializer"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// commandLine is what was asked for.
type commandLine struct {
	options initializer.Options
	logs    telemetry.LogOptions
	// done says that nothing is left to do but to exit with code.
	done bool
	code int
}

func parse(args []string, getenv func(string) string, out, errOut io.Writer) commandLine {
	o := initializer.NewOptions(getenv)
	var logs telemetry.LogOptions
	fs := pflag.NewFlagSet("storage-initializer", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.BindFlags(fs)
	logs.BindFlags(fs)
	showVersion := fs.Bool("version", false, "print the version and exit")
	help := func() { fmt.Fprint(out, initializer.Usage, command.Plain(fs.FlagUsages()), initializer.Notes) }
	fs.Usage = func() {}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		help()
		return commandLine{done: true}
	case err != nil:
		fmt.Fprintf(errOut, "%v\nsee storage-initializer --help\n", err)
		return commandLine{done: true, code: 2}
	case *showVersion:
		fmt.Fprintln(out, version.String())
		return commandLine{done: true}
	}
	o.Pairs = fs.Args()
	if len(o.Pairs) == 0 || len(o.Pairs)%2 != 0 {
		fmt.Fprint(errOut, "Usage: storage-initializer [flags] SOURCE DIRECTORY [SOURCE DIRECTORY …]\n")
		return commandLine{done: true, code: 1}
	}
	if f, ok := errOut.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Progress = storage.Bar(errOut, func() int {
			w, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 80
			}
			return w
		})
	}
	return commandLine{options: o, logs: logs}
}
