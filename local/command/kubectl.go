// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // a person's own kubeconfig may need them
	"k8s.io/component-base/cli"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
)

func runKubectl(args []string, s Streams) error {
	signal.Reset(syscall.SIGINT, syscall.SIGTERM) // kubectl ends by them as it always does
	c := kubectlcmd.NewDefaultKubectlCommandWithArgs(kubectlcmd.KubectlOptions{
		PluginHandler: kubectlcmd.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     args,
		ConfigFlags:   genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50),
		IOStreams:     genericiooptions.IOStreams{In: s.In, Out: s.Out, ErrOut: s.Err},
	})
	c.SetArgs(args[1:])
	if err := cli.RunNoErrOutput(c); err != nil {
		// It prints the error as kubectl does and ends the process with kubectl's exit code.
		kubectlutil.CheckErr(err)
	}
	return nil
}
