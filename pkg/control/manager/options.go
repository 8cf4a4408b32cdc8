// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/control/probe"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Variables of the controller's environment.
const (
	envNamespace        = "POD_NAMESPACE"
	envPodName          = "POD_NAME"
	envClusterDomain    = "CLUSTER_DOMAIN"
	envKnativeNamespace = "KNATIVE_CONFIG_AUTOSCALER_NAMESPACE"
)

// Options are the controller's flags.
type Options struct {
	Probe probe.Options
	Log   telemetry.LogOptions
	// Namespace of the operator: where its ConfigMap and the lease of the leader are.
	Namespace string
	// PodName is the name in which the lease is taken; empty means one that no other process has.
	PodName string
	// ClusterDomain is the DNS suffix of the cluster.
	ClusterDomain string
	// KnativeNamespace is where Knative Serving has its ConfigMaps.
	KnativeNamespace string
	// LeaderElect lets one of several replicas work and the others wait.
	LeaderElect bool
	// Concurrency is how many services are reconciled at a time.
	Concurrency int
	// QPS and Burst limit requests to the API server.
	QPS   float32
	Burst int
	// PprofAddr serves profiles; empty means no.
	PprofAddr string
}

// NewOptions returns the defaults, which are the reference manager's where it has the flag.
func NewOptions() Options {
	return Options{
		Probe:            probe.Options{MetricsAddr: ":8080", HealthAddr: ":8081"},
		Namespace:        probe.Environment(envNamespace, "kserve"),
		PodName:          probe.Environment(envPodName, ""),
		ClusterDomain:    probe.Environment(envClusterDomain, "cluster.local"),
		KnativeNamespace: probe.Environment(envKnativeNamespace, "knative-serving"),
		Concurrency:      8, QPS: 200, Burst: 400,
	}
}

// BindFlags adds every flag.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	o.Probe.BindFlags(fs)
	o.Log.BindFlags(fs)
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the operator's ConfigMap and of the leader's lease; default: $POD_NAMESPACE")
	fs.StringVar(&o.PodName, "pod-name", o.PodName, "name of the pod, in which the leader's lease is taken, so that a restarted container leads at once; default: $POD_NAME")
	fs.StringVar(&o.ClusterDomain, "cluster-domain", o.ClusterDomain, "DNS suffix of the cluster; default: $CLUSTER_DOMAIN")
	fs.StringVar(&o.KnativeNamespace, "knative-namespace", o.KnativeNamespace, "namespace of Knative Serving's ConfigMaps; default: $KNATIVE_CONFIG_AUTOSCALER_NAMESPACE")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let one of several replicas work while the others wait")
	fs.IntVar(&o.Concurrency, "concurrency", o.Concurrency, "services that are reconciled at a time")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "requests to the API server per second, in the long run")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "requests to the API server at once")
	fs.StringVar(&o.PprofAddr, "pprof-addr", o.PprofAddr, "address that serves profiles of the process; default: none")
}

func (o *Options) check() error {
	switch {
	case o.Namespace == "":
		return errors.New("--namespace is empty")
	case o.Concurrency < 1:
		return fmt.Errorf("--concurrency is %d, at least 1 is needed", o.Concurrency)
	case o.QPS <= 0 || o.Burst < 1:
		return fmt.Errorf("--kube-api-qps is %v and --kube-api-burst %d, both have to be above 0", o.QPS, o.Burst)
	}
	return nil
}
