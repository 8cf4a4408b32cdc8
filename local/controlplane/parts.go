// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/cache"
	cliflag "k8s.io/component-base/cli/flag"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controlleroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// controllerNames are the controllers that a node of processes needs. No node lifecycle: there is one node, and it lives as long as
// the cluster does.
var controllerNames = []string{ //nolint:gochecknoglobals // a constant list
	"deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "replicationcontroller",
	"endpoints", "endpointslice", "endpointslice-mirroring", "garbage-collector", "namespace", "serviceaccount",
	"serviceaccount-token", "horizontal-pod-autoscaler", "disruption", "ttl-after-finished", "pod-garbage-collector",
	"resourcequota", "clusterrole-aggregation",
}

var volumeControllerNames = []string{ //nolint:gochecknoglobals // a constant list
	"persistentvolume-binder", "persistentvolumeclaim-protection", "persistentvolume-protection", "ephemeral-volume",
}

func file(o Options, name string) string { return filepath.Join(o.PKI, name) }

func readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return b, nil
}

func apiArgs(o Options, etcd string) []string {
	args := []string{
		"--etcd-servers=" + etcd,
		"--service-cluster-ip-range=" + o.ServiceRange,
		"--tls-cert-file=" + file(o, "apiserver.crt"), "--tls-private-key-file=" + file(o, "apiserver.key"),
		"--client-ca-file=" + file(o, "ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + file(o, "sa.pub"), "--service-account-signing-key-file=" + file(o, "sa.key"),
		"--authorization-mode=RBAC", "--allow-privileged=true",
		"--requestheader-client-ca-file=" + file(o, "front-proxy-ca.crt"),
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + file(o, "front-proxy-client.crt"), "--proxy-client-key-file=" + file(o, "front-proxy-client.key"),
		"--profiling=false", "--shutdown-delay-duration=0s", "--enable-priority-and-fairness=false",
		// Without a node lifecycle controller nobody would ever take the taint away.
		"--disable-admission-plugins=TaintNodesByCondition",
	}
	if o.Advertise == "" {
		// Loopback may not be published as an endpoint; without a node nobody would use it.
		args = append(args, "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none")
	} else {
		args = append(args, "--advertise-address="+o.Advertise, "--enable-aggregator-routing=true",
			"--kubelet-client-certificate="+file(o, "admin.crt"), "--kubelet-client-key="+file(o, "admin.key"),
			"--kubelet-certificate-authority="+file(o, "ca.crt"), "--kubelet-preferred-address-types=InternalIP")
	}
	return append(args, o.ExtraAPI...)
}

func (c *ControlPlane) startControllers(ctx context.Context, o Options) error {
	options, err := controlleroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("make controller manager options: %w", err)
	}
	known, off, aliases := controllers.KnownControllers(), controllers.ControllersDisabledByDefault(), controllers.ControllerAliases()
	names := controllerNames
	if o.Volumes {
		names = append(names[:len(names):len(names)], volumeControllerNames...)
	}
	err = parse("controller manager", options.Flags(known, off, aliases), []string{
		"--kubeconfig=" + o.Kubeconfig, "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=false",
		"--service-account-private-key-file=" + file(o, "sa.key"), "--root-ca-file=" + file(o, "ca.crt"),
		"--cluster-signing-cert-file=" + file(o, "ca.crt"), "--cluster-signing-key-file=" + file(o, "ca.key"),
		"--horizontal-pod-autoscaler-sync-period=5s", "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
		"--horizontal-pod-autoscaler-cpu-initialization-period=10s", "--horizontal-pod-autoscaler-downscale-stabilization=20s",
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--controllers=" + strings.Join(names, "-controller,") + "-controller,root-ca-certificate-publisher-controller",
	})
	if err != nil {
		return err
	}
	config, err := options.Config(ctx, known, off, aliases)
	if err != nil {
		return fmt.Errorf("configure controller manager: %w", err)
	}
	c.stops = append(c.stops, c.part(ctx, "controller manager", func(ctx context.Context) error { return controllers.Run(ctx, config.Complete()) }))
	return nil
}

func (c *ControlPlane) startScheduler(ctx context.Context, o Options) error {
	options := scheduleroptions.NewOptions()
	err := parse("scheduler", *options.Flags, []string{
		"--kubeconfig=" + o.Kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400",
	})
	if err != nil {
		return err
	}
	if options.InformerName, err = cache.NewInformerName("kube-scheduler"); err != nil {
		return fmt.Errorf("name scheduler informers: %w", err)
	}
	config, sched, err := scheduler.Setup(ctx, options)
	if err != nil {
		return fmt.Errorf("set up scheduler: %w", err)
	}
	c.stops = append(c.stops, c.part(ctx, "scheduler", func(ctx context.Context) error { return scheduler.Run(ctx, config, sched) }))
	return nil
}

func parse(part string, named cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet(part, pflag.ContinueOnError)
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s flags: %w", part, err)
	}
	return nil
}
