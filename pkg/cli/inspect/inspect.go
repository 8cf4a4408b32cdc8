// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect tells what objects would become before anything is applied: their faults, the objects a cluster would get,
// and why each choice was made.
//
// Called by: cli.
// Next: cli/offline, which plans from the files.
package inspect

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// options are the flags that the three commands share.
type options struct {
	files  []string
	output output.Format
}

func (o *options) bind(cmd *cobra.Command, standard output.Format) {
	o.output = standard
	cmd.Flags().StringSliceVarP(&o.files, "filename", "f", nil, `YAML or JSON file, folder of such files, or "-" for stdin; may be repeated; names without -f are files too`)
	cmd.Flags().VarP(&o.output, "output", "o", "how to print it")
}

// files takes plain arguments as file names too: `kserve validate iris.yaml` means what it says.
func (o *options) take(args []string) error {
	o.files = append(o.files, args...)
	if len(o.files) == 0 {
		return exit.Errorf(exit.Usage, `no file: give YAML or JSON files or folders with -f, or "-" to read stdin`)
	}
	return nil
}

// read loads files and builds the world of their objects. Every fault is told on stderr; then the error is silent.
func read(streams output.Streams, files []string) (*offline.World, error) {
	world, faults := offline.Load(streams.In, files)
	if len(faults) > 0 {
		tell(streams, faults)
		return nil, exit.Silent(exit.Invalid)
	}
	return world, nil
}

func tell(streams output.Streams, faults []manifest.Fault) {
	paint := output.NewPaint(streams.Err)
	for _, f := range faults {
		fmt.Fprintln(streams.Err, paint.Bad("fault: ")+f.String())
	}
}

// Report is what validate prints for programs.
type Report struct {
	Valid   bool             `json:"valid"`
	Objects int              `json:"objects"`
	Faults  []manifest.Fault `json:"faults"`
	// Warnings are of objects that are valid all the same.
	Warnings []manifest.Fault `json:"warnings,omitempty"`
}

// ValidateCommand is `kserve validate`.
func ValidateCommand(streams output.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Tell every fault of the objects with its file, line and field path",
		Long: `Check objects as a cluster's admission would, with the same rules, and tell every fault, not only the first.
What is odd, or served by no runtime of the files and the shipped ones, is a warning: a cluster may have other runtimes.

Exit code 0: all objects are valid. 3: at least one is not.`,
		Example: `  kserve validate -f deploy/samples/
  cat isvc.yaml | kserve validate -f - -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.take(args); err != nil {
				return err
			}
			return validate(o, streams)
		},
	}
	o.bind(cmd, output.Table)
	return cmd
}

func validate(o options, streams output.Streams) error {
	world, faults := offline.Load(streams.In, o.files)
	objects := world.Objects()
	var warnings []manifest.Fault
	for _, w := range append(world.Warnings(), world.Without(faults).Unserved()...) {
		warnings = append(warnings, w.Object.Fault(w.Field, w.Detail))
	}
	manifest.Sort(warnings)
	if o.output != output.Table {
		report := Report{Valid: len(faults) == 0, Objects: objects, Faults: faults, Warnings: warnings}
		if report.Faults == nil {
			report.Faults = []manifest.Fault{}
		}
		if err := output.Write(streams.Out, o.output, report); err != nil {
			return err
		}
	} else {
		for _, f := range faults {
			fmt.Fprintln(streams.Out, f.String())
		}
		paint := output.NewPaint(streams.Out)
		for _, w := range warnings {
			fmt.Fprintln(streams.Out, paint.Busy("warning: ")+w.String())
		}
		if len(faults) == 0 {
			fmt.Fprintln(streams.Out, paint.Good(count(objects, "object is valid", "objects are valid")))
		} else {
			fmt.Fprintln(streams.Out, paint.Bad(count(len(faults), "fault", "faults")))
		}
	}
	if len(faults) > 0 {
		return exit.Silent(exit.Invalid)
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
