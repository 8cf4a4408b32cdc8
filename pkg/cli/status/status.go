// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status shows how InferenceServices of a cluster are: conditions, pods, what the failing container said last, and what to do, in one
// screen.
//
// Called by: cli.
// Next: cli/cluster/live, which reads them.
package status

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Options are what the flags and the argument set.
type Options struct {
	live.Where
	// Name of one service; empty shows a line for each.
	Name   string
	All    bool
	Watch  bool
	Lines  int
	Output output.Format
}

// Command is `kserve status`.
func Command(streams output.Streams) *cobra.Command {
	o := Options{Output: output.Table}
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show how InferenceServices of a cluster are, what is wrong, and what to do",
		Long: `With a name: the conditions of the InferenceService, its pods, the last lines of the container that fails, and what to do about it.
Without: a line for each InferenceService of the namespace.

Exit code 0: what was asked for is ready. 1: it is not.`,
		Example: `  kserve status
  kserve status sklearn-iris -w
  kserve status sklearn-iris -n models -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Name = args[0]
			}
			return Run(cmd.Context(), o, streams)
		},
	}
	o.BindFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&o.All, "all-namespaces", "A", false, "the services of every namespace")
	cmd.Flags().BoolVarP(&o.Watch, "watch", "w", false, "go on showing it whenever it changes")
	cmd.Flags().IntVar(&o.Lines, "lines", DefaultLines, "how many lines of the log of a failing container are shown")
	cmd.Flags().VarP(&o.Output, "output", "o", "how to print it")
	return cmd
}

func (o *Options) validate() error {
	switch {
	case o.Name != "" && o.All:
		return exit.Errorf(exit.Usage, "-A shows a line for each service of every namespace: leave out the name")
	case o.Lines < 0:
		return exit.Errorf(exit.Usage, "--lines %d: must not be negative", o.Lines)
	}
	return nil
}

// asking is a cluster and what is asked of it.
type asking struct {
	Options
	config    *rest.Config
	client    dynamic.Interface
	namespace string
}

// Run shows the status, once or until the context ends.
func Run(ctx context.Context, o Options, streams output.Streams) error {
	if err := o.validate(); err != nil {
		return err
	}
	config, namespace, err := o.Config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return exit.Errorf(exit.Usage, "make a client: %w", err)
	}
	a := &asking{Options: o, config: config, client: client, namespace: namespace}
	if o.All {
		a.namespace = metav1.NamespaceAll
	}
	if o.Watch {
		return a.follow(ctx, streams)
	}
	config.Timeout = live.AnswerTimeout
	if a.client, err = dynamic.NewForConfig(config); err != nil {
		return exit.Errorf(exit.Usage, "make a client: %w", err)
	}
	s, err := a.look(ctx)
	if err != nil {
		return err
	}
	if err := a.show(streams, s); err != nil {
		return err
	}
	if !s.ready() {
		return exit.Silent(exit.Failed)
	}
	return nil
}

// shown is a status that can be printed.
type shown interface {
	ready() bool
	text(paint output.Paint) (string, error)
	// ageless is the same without ages.
	ageless() shown
}

// look reads what is asked for.
func (a *asking) look(ctx context.Context) (shown, error) {
	if a.Name == "" {
		return a.list(ctx)
	}
	s, err := a.service(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (a *asking) show(streams output.Streams, s shown) error {
	if a.Output != output.Table {
		return output.Write(streams.Out, a.Output, s)
	}
	text, err := s.text(output.NewPaint(streams.Out))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(streams.Out, text)
	return err
}

// unreachable gives an error of the API server its exit code and its words.
func (a *asking) unreachable(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err) && a.Name != "":
		said, _ := live.Missing(ctx, a.client, live.InferenceServices(), a.namespace, a.Name)
		return exit.Errorf(exit.Failed, "%s", said)
	case apierrors.IsNotFound(err):
		return exit.Errorf(exit.Failed, "the cluster does not know the kind InferenceService: install its CustomResourceDefinition")
	case errors.As(err, &status):
		return exit.Errorf(exit.Failed, "%w", err)
	}
	return exit.Errorf(exit.Unreachable, "%w", err)
}
