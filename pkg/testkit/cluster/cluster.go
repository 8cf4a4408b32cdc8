// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real API server for tests, with everything of ours on it: CRDs, the operator's settings, the shipped roles, and
// the controller and the webhook as processes that hold the tokens of their own service accounts. What they ask for is audited: a
// refused request fails the test, a verb that was granted and never used can be listed.
//
// A test package has one cluster: `func TestMain(m *testing.M) { os.Exit(cluster.Main(m, cluster.Options{})) }`, then in each test
// `c := cluster.Shared(t); ns := c.Namespace(t); c.MustApply(t, ns, yaml); c.Eventually(t, "…", func(ctx context.Context) error {…})`.
// Programs use Open and Close.
//
// Called by: test/apiserver, test/parity, bench/converge.
// Next: pkg/cli/cluster/binary, which finds the server; deploy/base, which is installed.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// The system's namespace and the service accounts of our processes, as deploy/base has them.
const (
	System            = "kserve"
	ControllerAccount = "kserve-controller-manager"
	WebhookAccount    = "kserve-webhook-server"
)

// Options say what runs. The zero value is everything of ours, and nothing of Kubernetes but the API server.
type Options struct {
	// Controllers runs Kubernetes' own controllers and scheduler too: ReplicaSets and Pods appear, what lost its owner is collected,
	// namespaces can be deleted. Without them nothing changes but by a client.
	Controllers bool
	// NoController and NoWebhook leave out our processes; without a webhook its configurations are left out too.
	NoController, NoWebhook bool
	// NoOptional leaves out the kinds of other projects (test/data/crds).
	NoOptional bool
	// ServiceAccountAdmission turns the API server's ServiceAccount plug-in on: pods get a token volume, and need an account.
	ServiceAccountAdmission bool
	// Config is the data of the operator's ConfigMap; nil is the shipped one.
	Config map[string]string
	// ControllerArgs and WebhookArgs are more flags of our processes.
	ControllerArgs, WebhookArgs []string
	// Log gets what a person may want to see of the start; nil is nowhere.
	Log io.Writer
}

// Cluster is a running API server and our processes.
type Cluster struct {
	// Admin may do everything; Kubeconfig is the same as a file.
	Admin      *rest.Config
	Kubeconfig string
	// Client and Dynamic are Admin's, without a cache.
	Client  client.WithWatch
	Dynamic dynamic.Interface
	// Controller and Webhook are our processes; nil when left out.
	Controller, Webhook *Process
	// Dir holds the logs: controller.log, webhook.log, audit.log.
	Dir string

	options  Options
	root     string
	server   *server
	mapper   meta.RESTMapper
	audit    *auditLog
	activity *activity
}

// openTimeout bounds the start, which takes six seconds on an idle machine.
const openTimeout = 15 * time.Minute

// Open starts everything and returns when our processes are ready. ctx bounds the start only.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	log.SetLogger(logr.Discard()) // controller-runtime would otherwise print a stack
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if o.Log == nil {
		o.Log = io.Discard
	}
	root, err := repository()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kserve-api")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the cluster: %w", err)
	}
	c := &Cluster{Dir: dir, options: o, root: root}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	began := time.Now()
	say := func(what string) { fmt.Fprintf(c.options.Log, "%7.2fs %s\n", time.Since(began).Seconds(), what) }
	built := make(chan error, 1)
	go func() { built <- c.build(ctx) }()
	err := c.startServer(ctx)
	if err == nil {
		say("API server")
		err = c.connect()
	}
	if err == nil {
		err = c.install(ctx)
		say("kinds, roles and settings")
	}
	// The build is waited for in every case: it writes into the folder that Close removes.
	if berr := <-built; err == nil {
		err = berr
	}
	if err != nil {
		return err
	}
	say("controller and webhook are built")
	defer say("controller and webhook are ready")
	if c.activity, err = watchActivity(ctx, c.Admin, c.mapper); err != nil {
		return err
	}
	return c.startProcesses(ctx)
}

// Close stops everything and removes the cluster's folder.
func (c *Cluster) Close() error {
	var errs []error
	for _, p := range []*Process{c.Controller, c.Webhook} {
		if p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if c.activity != nil {
		c.activity.stop()
	}
	if c.server != nil {
		errs = append(errs, c.server.stop())
	}
	return errors.Join(append(errs, os.RemoveAll(c.Dir))...)
}

// Scheme knows Kubernetes' kinds, ours and those of the Gateway API.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, servingv1alpha1.AddToScheme, servingv1beta1.AddToScheme, gatewayv1.Install} {
		if err := add(s); err != nil {
			panic(fmt.Sprintf("cluster: add kinds to the scheme: %v", err)) // two kinds of one name: a programming error
		}
	}
	return s
}

func (c *Cluster) connect() error {
	var err error
	if c.Client, err = client.NewWithWatch(c.Admin, client.Options{Scheme: Scheme()}); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	c.mapper = c.Client.RESTMapper()
	c.Dynamic, err = dynamic.NewForConfig(c.Admin)
	return err
}

// repository finds the checkout from the working directory upwards.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.work in this folder or above it: run this inside the repository")
		}
		dir = up
	}
}
