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

	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/initializer"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// parse reads the command line. done says that nothing is left to do but to exit with code.
func parse(args []string, getenv func(string) string, out io.Writer) (o initializer.Options, logs telemetry.LogOptions, done bool, code int) {
	o = initializer.NewOptions(getenv)
	fs := pflag.NewFlagSet("storage-initializer", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.BindFlags(fs)
	logs.BindFlags(fs)
	showVersion := fs.Bool("version", false, "print the version and exit")
	help := func() { fmt.Fprint(out, initializer.Usage, fs.FlagUsages(), initializer.Notes) }
	fs.Usage = func() {}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		help()
		return o, logs, true, 0
	case err != nil:
		fmt.Fprintf(out, "%v\nsee storage-initializer --help\n", err)
		return o, logs, true, 2
	case *showVersion:
		fmt.Fprintln(out, version.String())
		return o, logs, true, 0
	}
	o.Pairs = fs.Args()
	if len(o.Pairs) == 0 || len(o.Pairs)%2 != 0 {
		fmt.Fprint(out, "Usage: storage-initializer [flags] SOURCE DIRECTORY [SOURCE DIRECTORY …]\n")
		return o, logs, true, 1
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Progress = storage.Bar(out, func() int {
			w, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 80
			}
			return w
		})
	}
	return o, logs, false, 0
}
