// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kserve-go/kserve-go/pkg/control/probe"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Variables of the controller's environment.
const (
	envNamespace        = "POD_NAMESPACE"
	envPodName          = "POD_NAME"
	envClusterDomain    = "CLUSTER_DOMAIN"
	envKnativeNamespace = "KNATIVE_CONFIG_AUTOSCALER_NAMESPACE"
	envNamespaces       = "WATCH_NAMESPACES"
)

// Options are the controller's flags.
type Options struct {
	Probe probe.Options
	Log   telemetry.LogOptions
	// Namespace of the operator: where its ConfigMap and the lease of the leader are.
	Namespace string
	// Namespaces are those whose services are looked after; none means all.
	Namespaces []string
	// PodName is the name in which the lease is taken; empty means one that no other process has.
	PodName string
	// ClusterDomain is the DNS suffix of the cluster.
	ClusterDomain string
	// KnativeNamespace is where Knative Serving has its ConfigMaps.
	KnativeNamespace string
	// LeaderElect lets one of several replicas work and the others wait.
	LeaderElect bool
	// LeaseDuration is how long a leader that went silent is waited for, RenewDeadline how long one tries to renew its lease before it
	// gives up, LeaseRetry the pause between attempts.
	LeaseDuration, RenewDeadline, LeaseRetry time.Duration
	// Concurrency is how many services are reconciled at a time.
	Concurrency int
	// QPS and Burst limit requests to the API server.
	QPS   float32
	Burst int
	// AnswerTimeout bounds a write, or a read of one object.
	AnswerTimeout time.Duration
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
		Namespaces:       split(probe.Environment(envNamespaces, "")),
		LeaseDuration:    leaseDuration, RenewDeadline: renewDeadline, LeaseRetry: leaseRetry,
		Concurrency: 8, QPS: 200, Burst: 400, AnswerTimeout: answerTimeout,
	}
}

// split reads a list with commas.
func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// BindFlags adds every flag.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	o.Probe.BindFlags(fs)
	o.Log.BindFlags(fs)
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace of the operator's ConfigMap and of the leader's lease; default: $POD_NAMESPACE")
	fs.StringSliceVar(&o.Namespaces, "namespaces", o.Namespaces, "namespaces whose services are looked after, separated by commas or given several times; none means all; default: $WATCH_NAMESPACES")
	fs.StringVar(&o.PodName, "pod-name", o.PodName, "name of the pod, in which the leader's lease is taken, so that a restarted container leads at once; default: $POD_NAME")
	fs.StringVar(&o.ClusterDomain, "cluster-domain", o.ClusterDomain, "DNS suffix of the cluster; default: $CLUSTER_DOMAIN")
	fs.StringVar(&o.KnativeNamespace, "knative-namespace", o.KnativeNamespace, "namespace of Knative Serving's ConfigMaps; default: $KNATIVE_CONFIG_AUTOSCALER_NAMESPACE")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let one of several replicas work while the others wait")
	fs.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration, "how long the others wait for a leader that went silent")
	fs.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", o.RenewDeadline, "how long a leader tries to renew its lease before it ends")
	fs.DurationVar(&o.LeaseRetry, "leader-elect-retry-period", o.LeaseRetry, "pause between two attempts to take or renew the lease")
	fs.IntVar(&o.Concurrency, "max-concurrent-reconciles", o.Concurrency, "services that are reconciled at a time")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "requests to the API server per second, in the long run")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "requests to the API server at once")
	fs.StringVar(&o.PprofAddr, "pprof-addr", o.PprofAddr, "address that serves profiles of the process; default: none")
}

func (o *Options) check() error {
	switch {
	case o.Namespace == "":
		return errors.New("--namespace is empty")
	case o.Concurrency < 1:
		return fmt.Errorf("--max-concurrent-reconciles is %d, at least 1 is needed", o.Concurrency)
	case o.QPS <= 0 || o.Burst < 1:
		return fmt.Errorf("--kube-api-qps is %v and --kube-api-burst %d, both have to be above 0", o.QPS, o.Burst)
	case o.AnswerTimeout <= 0:
		return fmt.Errorf("the time for an answer of the API server is %s, it has to be above 0", o.AnswerTimeout)
	case o.LeaseRetry <= 0 || o.RenewDeadline <= 2*o.LeaseRetry || o.LeaseDuration <= o.RenewDeadline:
		return fmt.Errorf("--leader-elect-lease-duration is %s, --leader-elect-renew-deadline %s, --leader-elect-retry-period %s: the first has to be above the second, the second above twice the third",
			o.LeaseDuration, o.RenewDeadline, o.LeaseRetry)
	}
	for i, name := range o.Namespaces {
		if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
			return fmt.Errorf("--namespaces has %q, which is no name of a namespace: %s", name, strings.Join(faults, "; "))
		}
		if slices.Contains(o.Namespaces[:i], name) {
			return fmt.Errorf("--namespaces has %q twice", name)
		}
	}
	return nil
}
