// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diff compares the objects that InferenceServices have in a cluster with what this version would make of them, and writes nothing.
//
// Called by: cli.
// Next: cli/online, which reads; cli/offline, which plans from that; the API server, which is asked what each object would become.
package diff

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/online"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Options are what the flags and arguments set.
type Options struct {
	live.Where
	// All looks at the services of every namespace, Names only at those of these names.
	All   bool
	Names []string
	// Files hold objects that are taken instead of, or beside, those of the cluster.
	Files []string
	// System is the namespace of the operator's ConfigMap.
	System   string
	Output   output.Format
	ExitCode bool
}

// Command is `kserve diff`.
func Command(streams output.Streams) *cobra.Command {
	o := Options{Output: output.Table}
	cmd := &cobra.Command{
		Use:   "diff [NAME...] [-f FILE...]",
		Short: "Show what this version would change in a cluster, and which pods would restart; write nothing",
		Long: `Compare the objects that InferenceServices have in a cluster with those that this version makes: what an upgrade would change, or, with -f,
what applying a file would. Every object is sent to the API server as a dry run, so that its defaults and the fields of others are
taken into account. Nothing is written; the right to patch the objects is needed all the same.

Objects of the files (runtimes, storage containers, the ConfigMap inferenceservice-config, services) stand in for those of the cluster. With -f and
without names, the services of the files are compared; without -f, all of the namespace.`,
		Example: `  kserve diff -A
  kserve diff sklearn-iris -n models
  kserve diff -f isvc.yaml --exit-code`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			return Run(cmd.Context(), o, streams)
		},
	}
	o.BindFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&o.All, "all-namespaces", "A", false, "the services of every namespace")
	cmd.Flags().StringSliceVarP(&o.Files, "filename", "f", nil, `YAML or JSON file, folder of such files, or "-" for stdin; may be repeated`)
	cmd.Flags().StringVar(&o.System, "system-namespace", online.SystemNamespace, "namespace of the operator's ConfigMap")
	cmd.Flags().BoolVar(&o.ExitCode, "exit-code", false, "end with 1 when there is a difference, and only then; what cannot be compared ends with 5")
	cmd.Flags().VarP(&o.Output, "output", "o", "how to print it")
	return cmd
}

// Service is what would change for one InferenceService.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Blocked says why nothing can be made of it; what it has stays.
	Blocked string `json:"blocked,omitempty"`
	// Restarts says that a pod template changes, so that pods are replaced.
	Restarts  bool     `json:"restarts"`
	Unchanged int      `json:"unchanged"`
	Changes   []Change `json:"changes"`
}

// Verbs of changes.
const (
	Create = "create"
	Update = "change"
	Delete = "delete"
	// Later is a route that is made once every component can answer.
	Later = "create later"
	// Fail is a change that the cluster would not take.
	Fail = "fail"
)

// Change is what would happen to one object.
type Change struct {
	Verb string `json:"verb"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Diff has the lines that differ, as of diff -u.
	Diff string `json:"diff,omitempty"`
	// Message says why it would fail.
	Message string `json:"message,omitempty"`

	restarts bool
}

// Run compares and prints.
func Run(ctx context.Context, o Options, streams output.Streams) error {
	if o.All && (o.Namespace != "" || len(o.Names) > 0) {
		return exit.Errorf(exit.Usage, "-A means every service of every namespace: leave out -n and names")
	}
	config, namespace, err := o.Config()
	if err != nil {
		return err
	}
	config.Timeout = live.AnswerTimeout
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return exit.Errorf(exit.Usage, "make a client: %w", err)
	}
	w, err := open(ctx, client, o, namespace, streams)
	if err != nil {
		return o.cannot(err)
	}
	screen := newPrinter(streams.Out, o.Output)
	var printing error
	err = w.each(ctx, o, namespace, func(s offline.Service) error {
		w.progress.show("%d compared", screen.compared)
		w.forget(s.Object.Namespace)
		found, err := w.compare(ctx, s)
		w.progress.clear()
		if err != nil {
			return online.Error(fmt.Errorf("compare %s, with %d compared before: %w", id(s.Object), screen.compared, err))
		}
		printing = screen.service(found)
		return printing
	})
	switch {
	case printing != nil:
		return printing
	case err != nil:
		return o.cannot(err)
	}
	if err := screen.done(); err != nil {
		return err
	}
	switch {
	case screen.failed > 0:
		return exit.Silent(exit.Failed)
	case o.ExitCode && screen.changed > 0:
		return exit.Silent(exit.Failed)
	}
	return nil
}

// cannot is how comparing ends that could not be done. Where 1 means a difference it means nothing else.
func (o *Options) cannot(err error) error {
	if o.ExitCode && exit.Code(err) == exit.Failed {
		return exit.Errorf(exit.Unreachable, "%w", err)
	}
	return err
}

// name of a service for a person.
func (s *Service) name() string { return fmt.Sprintf("%s/%s", s.Namespace, s.Name) }
