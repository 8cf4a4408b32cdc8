// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect tells what objects would become before anything is applied: their faults, the objects a cluster would get,
// and why each choice was made.
//
// Called by: cli.
// Next: cli/offline, which plans from the files; cli/online, which reads from a cluster what they need of it.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/cli/online"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// options are the flags that the three commands share.
type options struct {
	files  []string
	output output.Format
	where  live.Where
	// system is the namespace of the operator's ConfigMap.
	system string
}

func (o *options) bind(cmd *cobra.Command, standard output.Format) {
	o.output = standard
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil, `YAML or JSON file, folder of such files, or "-" for stdin; may be repeated; names without -f are files too`)
	flags.VarP(&o.output, "output", "o", "how to print it")
	flags.StringVar(&o.where.Name, "cluster", "", "take settings, runtimes, storage containers, service accounts and secrets from the cluster that kubectl would ask; --cluster=NAME: from the local one of this `NAME`")
	flags.Lookup("cluster").NoOptDefVal = anyCluster
	flags.StringVar(&o.where.Kubeconfig, "kubeconfig", "", "take them from the cluster of this kubeconfig")
	flags.StringVar(&o.where.Context, "context", "", "take them from the cluster of this context of the kubeconfig")
	flags.StringVar(&o.where.State, "state", "", "folder that holds the folders of local clusters")
	flags.StringVarP(&o.where.Namespace, "namespace", "n", "", "namespace of objects that name none (default: default, or that of the kubeconfig)")
	flags.StringVar(&o.system, "system-namespace", online.SystemNamespace, "namespace of the operator's ConfigMap")
}

// asksCluster says whether the person named a cluster in any way.
func (o *options) asksCluster() bool {
	return o.where.Name != "" || o.where.Kubeconfig != "" || o.where.Context != "" || o.where.State != ""
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
func (o *options) read(ctx context.Context, streams output.Streams) (*source, error) {
	s, faults, err := o.load(ctx, streams)
	if err != nil {
		return nil, err
	}
	s.tell(streams)
	if len(faults) > 0 {
		tell(streams, faults)
		return nil, exit.Silent(exit.Invalid)
	}
	s.tellMode(streams)
	return s, nil
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
	// Settings says where the operator's settings were taken from.
	Settings string `json:"settings"`
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
What is odd, or served by no runtime of the files and the shipped ones, is a warning: a cluster may have other runtimes. With --cluster its own
settings, runtimes and storage containers are taken, and what a service needs and the cluster does not have is a warning.

Exit code 0: all objects are valid. 3: at least one is not.`,
		Example: `  kserve validate -f deploy/samples/
  cat isvc.yaml | kserve validate -f - -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.take(args); err != nil {
				return err
			}
			return validate(cmd.Context(), o, streams)
		},
	}
	o.bind(cmd, output.Table)
	return cmd
}

func validate(ctx context.Context, o options, streams output.Streams) error {
	world, faults, err := o.load(ctx, streams)
	if err != nil {
		return err
	}
	world.tell(streams)
	objects := 0
	for _, one := range world.All() {
		if one.Source != online.Source {
			objects++
		}
	}
	warnings := world.warnings(faults)
	manifest.Sort(warnings)
	if o.output != output.Table {
		report := Report{Valid: len(faults) == 0, Objects: objects, Faults: faults, Settings: world.ofSettings(), Warnings: warnings}
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

// warnings are about objects of the files.
func (s *source) warnings(faults []manifest.Fault) []manifest.Fault {
	var all []manifest.Fault
	unserved := s.Without(faults).Unserved(s.ofRuntimes())
	if u, ok := s.unreadRuntimes(); ok {
		for i := range unserved {
			unserved[i].Detail = "which runtime serves it cannot be told, for lack of a right: " + u.Error()
		}
	}
	for _, w := range append(s.Warnings(), unserved...) {
		all = append(all, w.Object.Fault(w.Field, w.Detail))
	}
	for _, svc := range s.Services {
		if p, err := s.Plan(svc); err == nil {
			for _, w := range s.modelWarnings(svc.Object, p) {
				all = append(all, svc.Object.Fault(w.Field, w.Detail))
			}
		}
		for _, n := range s.notes(svc.Object) {
			all = append(all, svc.Object.Fault("", n))
		}
	}
	return slices.DeleteFunc(all, s.others)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
