// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	local "github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

// orLocal turns to the local cluster of a person who named neither a server nor a cluster, when nothing listens where a server would.
func (o *Options) orLocal(ctx context.Context) {
	if o.Cluster.Asked() || o.urlGiven || o.addressGiven {
		return
	}
	address := o.GRPCAddr
	if o.Protocol != GRPC {
		base, err := url.Parse(o.URL)
		if err != nil {
			return // whoever sends says so
		}
		address = base.Host
	}
	p, err := local.At("", local.DefaultName)
	if err != nil {
		return
	}
	if _, err := p.Running(); err != nil {
		return
	}
	if c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
		_ = c.Close() // a look only
		return
	}
	o.Cluster.Name = local.DefaultName
}

// gateway is where the hosts of a local cluster's services are served; empty when the API server, which the kubeconfig or one of
// KUBECONFIG's files names, is that of another cluster.
func gateway(kubeconfig, server string) string {
	for _, file := range filepath.SplitList(cmp.Or(kubeconfig, os.Getenv("KUBECONFIG"))) {
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(file), "ready.json"))
		if err != nil {
			continue
		}
		var r local.Record
		if json.Unmarshal(raw, &r) == nil && r.Kubeconfig == file && r.Server == server {
			return r.Gateway
		}
	}
	return ""
}

// find fills in where the service is, from its status: URL or address, and the host it goes by. What the person gave counts.
func (o *Options) find(ctx context.Context, stderr io.Writer) error {
	kubeconfig, err := o.Cluster.Path()
	if err != nil {
		return err
	}
	config, namespace, err := live.Config(kubeconfig)
	if err != nil {
		return exit.Errorf(exit.Usage, "%w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return exit.Errorf(exit.Usage, "make a client: %w", err)
	}
	kind, resource, name := "InferenceService", live.InferenceServices(), o.Model
	if o.Graph {
		kind, resource = "InferenceGraph", live.InferenceGraphs()
		if ns, n, ok := strings.Cut(o.Model, "/"); ok {
			o.Cluster.Namespace, name = ns, n
		}
	}
	namespace = cmp.Or(o.Cluster.Namespace, namespace)
	service, err := client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return exit.Errorf(exit.Failed, "the cluster has no %s %s in namespace %s", kind, name, namespace)
	case err != nil:
		return exit.Errorf(exit.Unreachable, "read %s %s: %w", kind, name, err)
	}
	ready := live.Condition(service, "Ready") == "True"
	where, err := url.Parse(live.URL(service))
	if err != nil || where.Host == "" {
		return exit.Errorf(exit.Failed, "%s %s/%s has no URL yet: %s", kind, namespace, name, cmp.Or(live.Why(service), "it is not ready"))
	}
	if !ready {
		fmt.Fprintf(stderr, "%s %s/%s is not ready: %s\n", kind, namespace, name, cmp.Or(live.Why(service), "no reason given"))
	}
	return o.goTo(where, gateway(kubeconfig, config.Host))
}

// goTo directs the request to a service by the URL of its status, through the gateway when there is one.
func (o *Options) goTo(where *url.URL, gateway string) error {
	if o.Host == "" {
		o.Host = where.Host
	}
	base := cmp.Or(gateway, where.Scheme+"://"+where.Host)
	if !o.urlGiven {
		o.URL = strings.TrimSuffix(base, "/") + strings.TrimSuffix(where.Path, "/")
	}
	if !o.addressGiven {
		target, err := url.Parse(base)
		if err != nil {
			return fmt.Errorf("read the gateway's address: %w", err)
		}
		o.GRPCAddr = target.Host
		if target.Port() == "" {
			o.GRPCAddr = net.JoinHostPort(target.Hostname(), "80")
		}
	}
	return nil
}
