// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is kserve, the person's tool: one command that serves, inspects and asks InferenceServices.
//
// Called by: cmd/kserve.
// Next: cli/run, which serves the objects of a file; cli/inspect, which tells what they would become; cli/diff and cli/status, which look at a
// cluster; cli/predict; cli/cluster.
package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster"
	"github.com/kserve-go/kserve-go/pkg/cli/diff"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/inspect"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/cli/predict"
	"github.com/kserve-go/kserve-go/pkg/cli/run"
	"github.com/kserve-go/kserve-go/pkg/cli/status"
	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// Command builds the whole tree.
func Command(streams output.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kserve",
		Short: "Serve InferenceServices from their YAML, with or without a cluster",
		Long: `kserve reads the InferenceService YAML that people apply to a cluster and serves it on this machine,
shows what a cluster would make of it, and sends requests to what is running.

` + exit.Table,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	standard := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		var text bytes.Buffer
		cmd.SetOut(&text)
		defer cmd.SetOut(out)
		if err := standard(cmd); err != nil {
			return err
		}
		_, err := io.WriteString(out, command.Plain(text.String()))
		return err
	})
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if meant := meantFlag(cmd, err); meant != "" {
			return exit.Errorf(exit.Usage, "%w; did you mean %s?", err, meant)
		}
		return exit.Errorf(exit.Usage, "%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		run.Command(streams),
		inspect.RenderCommand(streams),
		inspect.ValidateCommand(streams),
		inspect.ExplainCommand(streams),
		diff.Command(streams),
		predict.Command(streams),
		status.Command(streams),
		cluster.Command(streams),
		versionCommand(streams),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		finish(cmd)
		switch cmd.Name() {
		case "help":
			cmd.Args = knownTopic
		case "completion":
			cmd.Args = knownTopic
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// finish gives a command and those below it what all have.
func finish(cmd *cobra.Command) {
	if cmd.Args != nil {
		cmd.Args = usageArgs(cmd.Args)
	}
	choices(cmd, "output", string(output.Table), string(output.JSON), string(output.YAML))
	choices(cmd, "protocol", predict.V1, predict.V2, predict.GRPC)
	for _, below := range cmd.Commands() {
		finish(below)
	}
}

// choices has shells complete a flag with the words it takes, not with files.
func choices(cmd *cobra.Command, flag string, words ...string) {
	if cmd.Flags().Lookup(flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	}
}

// knownTopic refuses `help` and `completion` of what there is not: their own way is to print a page and succeed.
func knownTopic(cmd *cobra.Command, args []string) error {
	from := cmd
	if cmd.Name() == "help" {
		from = cmd.Root()
	}
	if len(args) == 0 {
		return nil
	}
	if found, rest, err := from.Find(args); err != nil || found == from || len(rest) > 0 {
		return unknown(from, args[0])
	}
	return nil
}

// usageArgs gives a wrong number of arguments the exit code of wrong usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return exit.Errorf(exit.Usage, "%w; see %s --help", err, cmd.CommandPath())
		}
		return nil
	}
}

// misspelt refuses a command that there is not before flags are looked at: they are those of the command that was meant.
func misspelt(cmd *cobra.Command, args []string) error {
	for cmd.HasSubCommands() {
		word, rest := firstWord(cmd, args)
		if word == "" || strings.HasPrefix(word, "__") { // shells ask by commands of their own
			return nil
		}
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if i < 0 {
			return unknown(cmd, word)
		}
		cmd, args = cmd.Commands()[i], rest
	}
	return nil
}

// firstWord is the first argument that is no flag of a command, nor the value of one. It stops at a flag that the command does not have.
func firstWord(cmd *cobra.Command, args []string) (word string, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, valued := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			return args[i], args[i+1:]
		}
		flag := cmd.PersistentFlags().Lookup(name)
		if flag == nil {
			return "", nil
		}
		if !valued && flag.NoOptDefVal == "" {
			i++
		}
	}
	return "", nil
}

// unknown says which command may have been meant: one of that name elsewhere, or one that is spelt alike.
func unknown(cmd *cobra.Command, word string) error {
	var meant []string
	for _, c := range cmd.Root().Commands() {
		for _, below := range append(c.Commands(), c) {
			if below.Name() == word && below.IsAvailableCommand() {
				meant = append(meant, strconv.Quote(below.CommandPath()))
			}
		}
	}
	if cmd.SuggestionsMinimumDistance = 2; len(meant) == 0 {
		for _, name := range cmd.SuggestionsFor(word) {
			meant = append(meant, strconv.Quote(name))
		}
	}
	if len(meant) == 0 {
		return exit.Errorf(exit.Usage, "unknown command %q for %q; see %s --help", word, cmd.CommandPath(), cmd.CommandPath())
	}
	return exit.Errorf(exit.Usage, "unknown command %q for %q; did you mean %s?", word, cmd.CommandPath(), strings.Join(meant, " or "))
}

// meantFlag is the flag of a command that is spelt like the one that it does not have; empty where none is.
func meantFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	typed := cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()) // one dash before a long name, or two
	if len(typed) < shortestFlag {
		return ""
	}
	for _, names := range [][2]string{{"name", "cluster"}, {"cluster", "name"}} { // of a local cluster: kserve local calls it the one, others the other
		if typed == names[0] && cmd.Flags().Lookup(names[1]) != nil {
			return "--" + names[1]
		}
	}
	best, edits := "", mostEdits+1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		n := spelling.Edits(typed[:min(len(typed), longestFlag)], f.Name)
		if strings.HasPrefix(f.Name, typed) {
			n = min(n, mostEdits)
		}
		if n < edits && !f.Hidden {
			best, edits = "--"+f.Name, n
		}
	})
	return best
}

const (
	mostEdits    = 2
	shortestFlag = 3  // of fewer letters everything is spelt alike
	longestFlag  = 40 // of more nothing is
)

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, streams output.Streams) int {
	root := Command(streams) //nolint:contextcheck // cobra hands ctx to the commands
	root.SetArgs(args)
	err := misspelt(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if message := exit.Message(err); message != "" {
		fmt.Fprintln(streams.Err, "kserve: "+output.Text(message))
	}
	return exit.Code(err)
}

// Build is what `kserve version` tells.
type Build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand(streams output.Streams) *cobra.Command {
	format := output.Table
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := Build{version.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if format != output.Table {
				return output.Write(streams.Out, format, b)
			}
			_, err := fmt.Fprintln(streams.Out, version.String())
			return err
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "how to print it")
	return cmd
}
