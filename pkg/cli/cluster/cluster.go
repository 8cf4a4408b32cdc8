// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster is `kserve local`: a real Kubernetes on this machine with KServe on it, started, filled, watched and stopped.
//
// Called by: cli.
// Next: cli/cluster/binary finds the program that is the cluster, cli/cluster/record how it is reached, deploy what is installed.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/binary"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Target are the flags that name a cluster; every command has them.
type Target struct {
	Name   string
	State  string
	Binary string
}

// binaryVariable names the cluster binary where no flag does.
const binaryVariable = "KSERVE_CLUSTER_BINARY"

// kubectlCache names the folder in which kubectl remembers what it knows of servers: its own would outlive the cluster.
const kubectlCache = "KUBECACHEDIR"

// BindFlags declares the flags.
func (t *Target) BindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&t.Name, "name", record.DefaultName, "name of the cluster; several run side by side under different names")
	flags.StringVar(&t.State, "state", "", "folder that holds the folders of clusters (default $XDG_STATE_HOME/kserve/clusters)")
	flags.StringVar(&t.Binary, "cluster-binary", "", "the program kserve-cluster (default: $"+binaryVariable+", beside kserve, else what make local-cluster built)")
}

func (t *Target) place() (*record.Place, error) {
	p, err := record.At(t.State, t.Name)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%w", err)
	}
	return p, nil
}

// running returns the cluster that must run for a command to make sense.
func (t *Target) running() (*record.Place, *record.Record, error) {
	p, err := t.place()
	if err != nil {
		return nil, nil, err
	}
	r, err := p.Running()
	if errors.Is(err, record.ErrNotRunning) {
		return p, nil, exit.Errorf(exit.Unreachable, "%w%s", err, p.Others("--name"))
	}
	return p, r, err
}

// program is the cluster binary for a command: the one that the cluster runs from, whatever became of its file, else the one to be found.
func (t *Target) program(ctx context.Context, p *record.Place) (string, error) {
	if pid, err := p.Owner(); err == nil && pid != 0 {
		own := "/proc/" + strconv.Itoa(pid) + "/exe"
		if _, err := os.Stat(own); err == nil {
			return own, nil
		}
	}
	return t.find(ctx)
}

// find is where a cluster that starts now is started from.
func (t *Target) find(ctx context.Context) (string, error) {
	path, err := binary.Find(ctx, binary.Here(cmp.Or(t.Binary, os.Getenv(binaryVariable))))
	if err != nil {
		return "", exit.Errorf(exit.Usage, "%w", err)
	}
	return path, nil
}

// call runs a command of the cluster binary for this cluster with the person's own streams.
func (t *Target) call(ctx context.Context, streams output.Streams, command string, args ...string) error {
	p, err := t.place()
	if err != nil {
		return err
	}
	path, err := t.program(ctx, p)
	if err != nil {
		return err
	}
	args = append([]string{command, "--name=" + p.Name, "--state=" + p.Root}, args...)
	cmd := exec.CommandContext(ctx, path, args...)                           //nolint:gosec // the cluster's own program
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends in order
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.In, streams.Out, streams.Err
	if os.Getenv(kubectlCache) == "" {
		cmd.Env = append(os.Environ(), kubectlCache+"="+filepath.Join(p.Dir(), "kubectl"))
	}
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return exit.Silent(exit.Failed) // whoever ended this ended that
	case errors.As(err, &ended):
		return exit.Silent(max(ended.ExitCode(), exit.Failed)) // it said why
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	return nil
}

// Command is `kserve local`.
func Command(streams output.Streams) *cobra.Command {
	var t Target
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Start and stop a real Kubernetes with KServe on this machine, without containers",
		Long: `kserve local runs a whole Kubernetes as one program, with KServe's controller and webhook as pods on it. It needs Linux, and neither
Docker nor root. Pods are processes in namespaces of their own; nothing of this machine's network is touched but two ports of 127.0.0.1.`,
		Example: `  kserve local up
  kserve local kubectl apply -f deploy/samples/sklearn-iris.yaml
  kserve local kubectl wait --for=condition=Ready isvc/sklearn-iris
  kserve predict sklearn-iris -n default -d '{"instances": [[6.8, 2.8, 4.8, 1.4]]}'
  kserve local down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	t.BindFlags(cmd.PersistentFlags())
	cmd.AddCommand(
		upCommand(&t, streams), downCommand(&t, streams), statusCommand(&t, streams), logsCommand(&t, streams), kubeconfigCommand(&t, streams),
		loadCommand(&t, streams), kubectlCommand(&t, streams), forwardCommand(&t, streams), samplesCommand(streams),
	)
	return cmd
}

func downCommand(t *Target, streams output.Streams) *cobra.Command {
	discard := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster; its objects are kept for the next time",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return down(cmd.Context(), t, discard, streams)
		},
	}
	cmd.Flags().BoolVar(&discard, "discard", false, "throw its objects, images and volumes away too")
	return cmd
}

func down(ctx context.Context, t *Target, discard bool, streams output.Streams) error {
	p, err := t.place()
	if err != nil {
		return err
	}
	pid, err := p.Owner()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("no cluster %q runs%s", p.Name, p.Others("--name"))
	if pid != 0 {
		what = fmt.Sprintf("cluster %q is down", p.Name)
	}
	if pid != 0 || p.Killed() {
		fmt.Fprintf(streams.Err, "stopping cluster %q and its pods…\n", p.Name)
		if err := t.call(ctx, streams, "down"); err != nil {
			return err
		}
	}
	if discard {
		err := p.Remove()
		if errors.Is(err, fs.ErrPermission) {
			// Pods with users of their own left files that only their namespace may remove.
			if err = t.call(ctx, streams, "down", "--discard"); err == nil {
				err = p.Remove()
			}
		}
		if err != nil {
			return err
		}
		what += "; nothing of it is left"
	} else if _, err := os.Stat(p.Dir()); err == nil {
		what += "; its state is kept in " + p.Dir()
	}
	fmt.Fprintln(streams.Err, what)
	return nil
}

func kubeconfigCommand(t *Target, streams output.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the path of the kubeconfig",
		Example: `  export KUBECONFIG=$(kserve local kubeconfig)`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, r, err := t.running()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(streams.Out, r.Kubeconfig)
			return err
		},
	}
}

func loadCommand(t *Target, streams output.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "load REF DIR",
		Short: "Make an OCI image layout, or a folder with an image's files, the image REF of the cluster",
		Long: `load gives the cluster an image under the name that pods use. There is no registry: DIR is an OCI image layout, or a folder
with the files of an image. It works whether the cluster runs or not; pods that run keep what they started with.`,
		Example: `  kserve local load example.com/my-model-server:v1 ./layout`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.call(cmd.Context(), streams, "load", args...)
		},
	}
}

func forwardCommand(t *Target, streams output.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "forward LOCAL TARGET",
		Short:   "Carry a port of this machine to host:port inside the cluster, until Ctrl-C",
		Long:    "LOCAL is an address of this machine, or a port of 127.0.0.1; port 0 takes a free one.",
		Example: `  kserve local forward 9000 s3.kserve-samples.svc.cluster.local:9000`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := t.running(); err != nil {
				return err
			}
			return t.call(cmd.Context(), streams, "forward", onThisMachine(args[0]), args[1])
		},
	}
}

// onThisMachine is an address; of a port alone, that of 127.0.0.1.
func onThisMachine(address string) string {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		return net.JoinHostPort("127.0.0.1", address)
	}
	return address
}

func kubectlCommand(t *Target, streams output.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--name=NAME] [--state=DIR] ARGS...",
		Short: "Kubernetes' own kubectl, of the cluster's version, for this cluster",
		Example: `  kserve local kubectl get pods -A
  kserve local kubectl --name=other apply -f isvc.yaml`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := t.own(args)
			if err != nil {
				return err
			}
			if _, _, err := t.running(); err != nil {
				return err
			}
			return t.call(cmd.Context(), streams, "kubectl", args...)
		},
	}
}

// own takes our flags off the front of kubectl's arguments; everything after them is kubectl's.
func (t *Target) own(args []string) ([]string, error) {
	into := map[string]*string{"--name": &t.Name, "--state": &t.State, "--cluster-binary": &t.Binary}
	for len(args) > 0 {
		flag, value, inline := strings.Cut(args[0], "=")
		to, ok := into[flag]
		if !ok {
			break
		}
		if !inline {
			if len(args) < 2 {
				return nil, exit.Errorf(exit.Usage, "flag needs an argument: %s", flag)
			}
			value, args = args[1], args[1:]
		}
		*to, args = value, args[1:]
	}
	return args, nil
}
