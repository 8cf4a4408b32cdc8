// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admit is the admission webhook process: it takes reviews over TLS and answers them from the operator's settings and from what
// it reads by name. Replicas are equal and need no leader.
//
// Called by: cmd/webhook.
// Next: control/admit/{defaulting,validation,podmutation} answer, control/admit/certificates keeps the certificate.
package admit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/control/admit/certificates"
	"github.com/kserve-go/kserve-go/pkg/control/admit/defaulting"
	"github.com/kserve-go/kserve-go/pkg/control/admit/podmutation"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/admit/validation"
	"github.com/kserve-go/kserve-go/pkg/control/probe"
)

// Paths of the webhook, which the configuration objects name.
const (
	PathServiceDefaults = "/mutate-serving-kserve-io-v1beta1-inferenceservice"
	PathPods            = "/mutate-pods"
	PathService         = "/validate-serving-kserve-io-v1beta1-inferenceservice"
	PathTrainedModel    = "/validate-serving-kserve-io-v1alpha1-trainedmodel"
	PathGraph           = "/validate-serving-kserve-io-v1alpha1-inferencegraph"
	PathClusterRuntime  = "/validate-serving-kserve-io-v1alpha1-clusterservingruntime"
	PathRuntime         = "/validate-serving-kserve-io-v1alpha1-servingruntime"
	PathStorage         = "/validate-serving-kserve-io-v1alpha1-clusterstoragecontainer"
)

// Limits of the server. An API server waits for an answer for 30 s at most.
const (
	drainTimeout         = 20 * time.Second
	readTimeout          = 10 * time.Second
	headerTimeout        = 5 * time.Second
	idleTimeout          = 2 * time.Minute
	answerTimeout        = 35 * time.Second
	maxHeaderBytes       = 64 << 10
	maxConcurrentStreams = 250
)

// Run blocks until ctx ends, then answers what is under way. It returns an error when an address is busy or a flag is wrong.
func Run(ctx context.Context, o Options, log *zap.Logger) error {
	config, err := o.Probe.Config()
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	c, err := newClient(config)
	if err != nil {
		return err
	}
	w, err := newWebhook(o, c, log)
	if err != nil {
		return err
	}
	return w.run(ctx)
}

// webhook is one replica.
type webhook struct {
	options  Options
	log      *zap.Logger
	tls      *tls.Config
	keeper   *certificates.Keeper
	world    *world
	process  *probe.Process
	mux      *http.ServeMux
	stopping atomic.Bool
}

func newWebhook(o Options, c client.WithWatch, log *zap.Logger) (*webhook, error) {
	w := &webhook{options: o, log: log, process: probe.New(o.Probe, log), mux: http.NewServeMux()}
	var err error
	if w.tls, err = o.tlsConfig(); err != nil {
		return nil, err
	}
	keep, err := o.certificateOptions()
	if err != nil {
		return nil, err
	}
	if w.keeper, err = certificates.New(c, keep, log); err != nil {
		return nil, err
	}
	w.tls.GetCertificate = w.keeper.Certificate
	if w.world, err = newWorld(o, c, log); err != nil {
		return nil, err
	}
	w.process.Require(func() string {
		if w.stopping.Load() {
			return "stopping"
		}
		return ""
	})
	w.process.Require(w.world.missing)
	w.process.Require(w.keeper.Missing)
	m := newMetrics(w.process.Registry(), w.keeper, w.world)
	w.routes(c, m)
	return w, nil
}

// routes says who answers on which path.
func (w *webhook) routes(c client.Client, m *metrics) {
	judge := &validation.Validator{Settings: w.world.settings, StorageContainers: w.world.storageContainers, Live: c}
	pods := &podmutation.Mutator{Settings: w.world.settings, Live: c}
	budget := review.NewBudget()
	for _, route := range []struct {
		path, name string
		handle     review.Handler
	}{
		{PathServiceDefaults, "inferenceservices/defaults", defaulting.Service(w.world.settings, localModels(c))},
		{PathPods, "pods", pods.Pod},
		{PathService, "inferenceservices", judge.Service()},
		{PathTrainedModel, "trainedmodels", judge.TrainedModel()},
		{PathGraph, "inferencegraphs", judge.Graph()},
		{PathClusterRuntime, "clusterservingruntimes", judge.ClusterRuntime()},
		{PathRuntime, "servingruntimes", judge.Runtime()},
		{PathStorage, "clusterstoragecontainers", judge.StorageContainer()},
	} {
		w.mux.Handle(route.path, &review.Endpoint{
			Handle: route.handle, Budget: budget, Observe: m.observer(route.name), Failure: w.failure(route.name),
		})
	}
}

// failure logs what could not be answered; refusals are the business of whoever is refused.
func (w *webhook) failure(name string) func(*admissionv1.AdmissionRequest, string) {
	return func(request *admissionv1.AdmissionRequest, message string) {
		w.log.Error("a review could not be answered", zap.String("review", name), zap.String("namespace", request.Namespace),
			zap.String("name", request.Name), zap.String("operation", string(request.Operation)), zap.String("why", message))
	}
}

func (w *webhook) run(ctx context.Context) error {
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(w.options.Host, strconv.Itoa(w.options.Port)))
	if err != nil {
		return fmt.Errorf("listen for admission reviews: %w; choose another port with --webhook-port", err)
	}
	// Health and the certificate outlive the order to stop: the last reviews still need them.
	group, running := errgroup.WithContext(context.WithoutCancel(ctx))
	running, stop := context.WithCancel(running)
	defer stop()
	server := &http.Server{
		Handler: w.mux, TLSConfig: w.tls, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxConcurrentStreams},
		ErrorLog: zap.NewStdLog(w.log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))),
	}
	w.log.Info("taking admission reviews", zap.String("address", port.Addr().String()))
	group.Go(func() error {
		if err := server.ServeTLS(port, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("take admission reviews: %w", err)
		}
		return nil
	})
	group.Go(func() error { return w.keeper.Run(running) })
	group.Go(func() error { return w.world.run(running) })
	group.Go(func() error { return w.process.Run(running) })
	group.Go(func() error {
		defer stop()
		select {
		case <-running.Done():
		case <-ctx.Done():
			w.drain(running)
		}
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		return server.Shutdown(ending)
	})
	return group.Wait()
}

// drain says that this replica goes, and waits until nobody sends it reviews any more.
func (w *webhook) drain(ctx context.Context) {
	w.stopping.Store(true)
	w.log.Info("stopping: reviews are still taken for a while", zap.Duration("for", w.options.ShutdownDelay))
	timer := time.NewTimer(w.options.ShutdownDelay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
