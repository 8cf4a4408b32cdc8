// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	local "github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/cli/status"
)

// orLocal turns to the local cluster of a person who named neither a server nor a cluster, when nothing listens where a server would. It says
// which of the two is asked where it could be either.
func (o *Options) orLocal(ctx context.Context, stderr io.Writer) {
	if o.Cluster.Asked() || o.urlGiven || o.addressGiven {
		return
	}
	p, err := local.At("", local.DefaultName)
	if err != nil {
		return
	}
	if _, err = p.Running(); err != nil {
		return
	}
	address, paint := o.server(), output.NewPaint(stderr)
	if listens(ctx, address) {
		fmt.Fprintln(stderr, paint.Dim(fmt.Sprintf("asking the server at %s; -n NAMESPACE asks the local cluster %q", address, p.Name)))
		return
	}
	fmt.Fprintln(stderr, paint.Dim(fmt.Sprintf("asking the local cluster %q, for nothing listens at %s", p.Name, address)))
	o.Cluster.Name = local.DefaultName
}

// server is the host and port of the server that is asked where no cluster is.
func (o *Options) server() string {
	if o.Protocol == GRPC {
		return o.GRPCAddr
	}
	base, err := url.Parse(o.URL)
	if err != nil {
		return o.URL // whoever sends says so
	}
	return base.Host
}

// listens says whether anybody takes connections at an address.
func listens(ctx context.Context, address string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = c.Close() // a look only
	}
	return err == nil
}

// clusters says which local clusters could be asked instead of a server, empty where none runs.
func (o *Options) clusters() string {
	p, err := local.At("", local.DefaultName)
	if err != nil {
		return ""
	}
	running := p.AllRunning()
	switch {
	case len(running) == 0:
		return ""
	case slices.Contains(running, p.Name):
		return fmt.Sprintf("the local cluster %q runs: -n NAMESPACE asks it", p.Name)
	}
	return fmt.Sprintf("of local clusters there runs %s: --cluster %s asks it", strings.Join(running, ", "), running[0])
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

// sighting is what was seen of a service in its cluster.
type sighting struct {
	config          *rest.Config
	namespace, name string
	// told says that its faults were printed already.
	told bool
	// grpc says why gRPC may not reach it; empty where nothing is known against it.
	grpc string
}

// find fills in where the service is, from its status: URL or address, and the host it goes by. What the person gave counts.
func (o *Options) find(ctx context.Context, stderr io.Writer) error {
	kubeconfig, err := o.Cluster.Path()
	if err != nil {
		if address := o.server(); !o.urlGiven && !o.addressGiven && listens(ctx, address) {
			return fmt.Errorf("%w; a server listens at %s, which is asked without -n and --cluster", err, address)
		}
		return err
	}
	config, namespace, err := live.Config(kubeconfig, o.Cluster.Context)
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
	var answer apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		said, namesake := live.Missing(ctx, client, resource, namespace, name)
		switch {
		case namesake == nil || live.URL(namesake) == "":
		case o.Graph:
			said += "; without --graph it is asked"
		default:
			said += "; --graph asks it"
		}
		return exit.Errorf(exit.Failed, "%s", said)
	case errors.As(err, &answer):
		return exit.Errorf(exit.Failed, "read %s %s: %w", kind, name, err)
	case err != nil:
		return exit.Errorf(exit.Unreachable, "read %s %s: %w", kind, name, err)
	}
	d := live.Diagnose(service)
	if !o.Graph {
		o.seen = &sighting{config: config, namespace: namespace, name: name}
	}
	switch {
	case d.OK():
	case o.Graph && live.URL(service) == "": // the error says why
	case o.Graph:
		fmt.Fprintf(stderr, "InferenceGraph %s/%s is not ready: %s\n", namespace, name, output.Line(cmp.Or(d.Why(), "no reason given")))
	default:
		o.explain(ctx, stderr)
	}
	where, err := url.Parse(live.URL(service))
	if err != nil || where.Host == "" {
		return exit.Errorf(exit.Failed, "%s %s/%s has no URL yet: %s", kind, namespace, name, cmp.Or(d.Why(), "it is not ready"))
	}
	if o.Protocol == GRPC && !o.addressGiven {
		why, certain := speaksGRPC(ctx, client, service)
		if certain {
			return exit.Errorf(exit.Failed, "InferenceService %s/%s %s", namespace, name, why)
		}
		o.seen.grpc = why
	}
	return o.goTo(where, gateway(kubeconfig, config.Host))
}

const lookTime = 15 * time.Second

// explain prints what is wrong with the service, as kserve status does, once. A request that failed because of the service is answered by that.
func (o *Options) explain(ctx context.Context, stderr io.Writer) {
	if o.seen == nil || o.seen.told {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime) // the request may have used up its time
	defer cancel()
	s, err := status.Look(ctx, o.seen.config, o.seen.namespace, o.seen.name, status.DefaultLines)
	if err != nil || s.OK() {
		return // there is nothing to add to what the request met
	}
	o.seen.told = true
	_ = s.Brief(stderr) // what cannot be printed there cannot be complained of either
	fmt.Fprintln(stderr)
}

// speaksGRPC says what stands against gRPC: for certain, where the runtime is known and lists no such protocol; else what to try when it fails.
func speaksGRPC(ctx context.Context, client dynamic.Interface, service *unstructured.Unstructured) (why string, certain bool) {
	field := func(path ...string) string {
		s, _, _ := unstructured.NestedString(service.Object, path...) // what is not there is empty
		return s
	}
	entry := "predictor"
	if _, ok, _ := unstructured.NestedMap(service.Object, "spec", "transformer"); ok {
		entry = "transformer"
	}
	at, outside := field("status", "components", entry, "grpcUrl"), field("status", "url")
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		if o, err := url.Parse(outside); err == nil && strings.Contains(u.Hostname(), ".svc.") && u.Hostname() != o.Hostname() {
			return fmt.Sprintf("speaks gRPC inside the cluster only, at %s: carry that port here (kserve local forward 127.0.0.1:8081 %s, or kubectl port-forward), and add --grpc-address 127.0.0.1:8081; or use --protocol v2 or v1", at, u.Host), false
		}
		return "", false
	}
	cluster, namespaced := field("status", "clusterServingRuntimeName"), field("status", "servingRuntimeName")
	resource, kind, name, namespace := "clusterservingruntimes", "ClusterServingRuntime", cluster, ""
	if namespaced != "" {
		resource, kind, name, namespace = "servingruntimes", "ServingRuntime", namespaced, service.GetNamespace()
	}
	why = "has no gRPC address in its status; if it speaks only HTTP, use --protocol v2 or v1"
	if name == "" || entry != "predictor" {
		return why, false
	}
	graphs := live.InferenceGraphs() // of the same version
	rt, err := client.Resource(graphs.GroupVersion().WithResource(resource)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return why, false
	}
	protocols, _, _ := unstructured.NestedStringSlice(rt.Object, "spec", "protocolVersions")
	if len(protocols) == 0 || slices.ContainsFunc(protocols, func(p string) bool { return strings.HasPrefix(p, "grpc") }) {
		return why, false
	}
	use := slices.DeleteFunc(slices.Clone(protocols), func(p string) bool { return p != V1 && p != V2 })
	advice := "; the protocols of this command are v1, v2 and grpc"
	if len(use) > 0 {
		slices.SortFunc(use, func(a, b string) int { return cmp.Compare(b, a) })
		advice = ": use --protocol " + strings.Join(use, " or ")
	}
	return fmt.Sprintf("speaks only HTTP: its runtime, %s %s, lists the protocols %s and none of gRPC%s", kind, name, strings.Join(protocols, ", "), advice), true
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
