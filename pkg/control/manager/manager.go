// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager is the controller process: its flags, cache, watches, leader election, health and metrics.
//
// Called by: cmd/controller.
// Next: control/reconcile/inferenceservice.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/zapr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/probe"
	"github.com/kserve-go/kserve-go/pkg/control/reconcile/inferenceservice"
)

const (
	// leaseName is the reference's, so that the two never work at the same time.
	leaseName = "kserve-controller-manager-leader-lock"
	// eventSource is what `kubectl describe` shows as the author of events.
	eventSource = "v1beta1Controllers"
	// A lease outlives a restart of the API server. A leader that ends on purpose gives it back at once.
	leaseDuration = 30 * time.Second
	renewDeadline = 25 * time.Second
	leaseRetry    = 3 * time.Second

	startRetry       = 2 * time.Second
	reconcileTimeout = time.Minute
	shutdownTimeout  = 20 * time.Second
	firstBackoff     = 200 * time.Millisecond
	longestBackoff   = 2 * time.Minute
	// A kind that is not there yet at the start is waited for.
	cacheTimeout = 24 * time.Hour
	// lookAround is the pause between two looks for optional kinds, where their definitions cannot be watched.
	lookAround = 30 * time.Second
	// spareMemory is the share of garbage the process may hold, in percent of what is alive: mostly caches, which are seldom walked.
	// Against Go's own 100 it takes more than a fifth off the memory of a thousand services, for a few hundredths of their processor time.
	spareMemory = 35
)

// controllers is what the controllers of the process share.
type controllers struct {
	options  Options
	log      *zap.Logger
	cache    cache.Cache
	indexer  client.FieldIndexer
	main     controller.Controller
	settings *gather.Settings
	*surroundings
	events   record.EventRecorder
	services *inferenceservice.Reconciler
	metrics  *settingsMetrics
}

// Run blocks until ctx ends, and gives the lease back then. It returns an error when a flag is wrong, an address is busy, or the lease
// is lost to another replica.
func Run(ctx context.Context, o Options, log *zap.Logger) error {
	if err := o.check(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(spareMemory)
		afterCollection(shareMemory)
	}
	process := probe.New(o.Probe, log)
	if err := joinMetrics(process.Registry()); err != nil {
		return err
	}
	var ready atomic.Pointer[controllers]
	process.Require(func() string { //nolint:contextcheck // whoever asks waits a second at most
		if c := ready.Load(); c != nil {
			return c.missing()
		}
		return "the controller is starting"
	})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return process.Run(ctx) })
	group.Go(func() error { return start(ctx, o, process, log, &ready) })
	return group.Wait()
}

// setup is what a manager is made from.
type setup struct {
	options  Options
	log      *zap.Logger
	counts   *inferenceservice.Metrics
	settings *settingsMetrics
	fence    *fence
	release  func() string
}

// start makes the manager and runs it. Where the API server does not answer yet, it waits.
func start(ctx context.Context, o Options, process *probe.Process, log *zap.Logger, ready *atomic.Pointer[controllers]) error {
	// What the libraries tell at info is of interest to those who ask for more.
	quieter := log
	if !log.Core().Enabled(zap.DebugLevel) {
		quieter = log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
	}
	ctrl.SetLogger(zapr.NewLogger(quieter))
	klog.SetLogger(zapr.NewLogger(quieter))
	s := setup{options: o, log: log, release: process.Release}
	var err error
	if s.counts, err = inferenceservice.NewMetrics(process.Registry()); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if s.settings, err = newSettingsMetrics(process.Registry()); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.fence = &fence{now: time.Now, duration: o.LeaseDuration, lost: func(holder string) {
		end(fmt.Errorf("%w: %s has it", errLeaseLost, holder))
	}}
	for {
		mgr, c, err := s.build(ctx)
		if err == nil {
			ready.Store(c)
			if err := mgr.Start(ctx); err != nil {
				return fmt.Errorf("run the controllers: %w", err)
			}
			return lost(ctx)
		}
		if ctx.Err() != nil {
			return nil // the process was told to end
		}
		log.Warn("cannot start yet; trying again", zap.Error(err), zap.Duration("after", startRetry))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(startRetry):
		}
	}
}

// errLeaseLost ends a process whose lease another one has: it is started again, and waits like the others.
var errLeaseLost = errors.New("the leader's lease is lost")

// lost is the error of a process that was ended by the loss of its lease, nil for one that was told to end.
func lost(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, errLeaseLost) {
		return err
	}
	return nil
}

// joinMetrics serves controller-runtime's metrics with the process's own. Those of the process and the Go runtime are the same.
func joinMetrics(registry *prometheus.Registry) error {
	crmetrics.Registry.Unregister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	crmetrics.Registry.Unregister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)))
	all, ok := crmetrics.Registry.(prometheus.Collector)
	if !ok {
		return errors.New("controller-runtime's metrics are no collector")
	}
	if err := registry.Register(all); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// Scheme knows the kinds that the controller reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, servingv1alpha1.AddToScheme, servingv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make the scheme: %w", err)
		}
	}
	return scheme, nil
}

// surroundings are what the API server says before there is a manager.
type surroundings struct {
	config    *rest.Config
	discovery discovery.DiscoveryInterface
	access    *access
	sight     sight
	// kinds knows the optional kinds that may not be used, present are those that may.
	kinds   *gather.Kinds
	present []plan.Optional
}

// ask finds out what there is and what this process may do. It comes before the manager: one that is not started keeps its listener of
// profiles for ever.
func (s *setup) ask(ctx context.Context) (*surroundings, error) {
	o := s.options
	config, err := o.Probe.Config()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = o.QPS, o.Burst
	config.DisableCompression = true                     // answers are small; to pack them costs more than to send them
	config.WarningHandlerWithContext = rest.NoWarnings{} // they are for the person who wrote an object
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w := &wire{next: next, timeout: o.AnswerTimeout}
		if o.LeaderElect {
			w.fence = s.fence
		}
		return w
	})
	around := &surroundings{config: config, kinds: &gather.Kinds{}}
	if around.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("make the discovery client: %w", err)
	}
	reviews, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client of access reviews: %w", err)
	}
	around.access = &access{client: reviews.SelfSubjectAccessReviews(), namespaces: o.Namespaces}
	if around.sight, err = s.look(ctx, around.access); err != nil {
		return nil, err
	}
	found, err := discover(ctx, around.discovery)
	if err != nil {
		return nil, err
	}
	for _, kind := range found {
		switch why, err := around.access.denied(ctx, resourceOf(kind), true); {
		case err != nil:
			return nil, err
		case why != "":
			around.kinds.Deny(kind, why)
			s.log.Warn(notUsed+why, zap.String("crd", kind.CRD))
		default:
			around.present = append(around.present, kind)
		}
	}
	return around, nil
}

// build makes everything of a run.
//
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=kserve,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kserve,resources=leases,verbs=get;create;update
func (s *setup) build(ctx context.Context) (ctrl.Manager, *controllers, error) {
	o := s.options
	scheme, err := Scheme()
	if err != nil {
		return nil, nil, err
	}
	around, err := s.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	options := managerOptions(o, scheme)
	if options.LeaderElectionResourceLockInterface, err = lease(o, around.config, s.fence); err != nil {
		return nil, nil, err
	}
	options.Cache.DefaultWatchErrorHandler = unfollowed(s.log)
	mgr, err := ctrl.NewManager(around.config, options)
	if err != nil {
		return nil, nil, fmt.Errorf("make the manager: %w", err)
	}
	c := &controllers{
		options: o, log: s.log, cache: mgr.GetCache(), indexer: mgr.GetFieldIndexer(), surroundings: around,
		settings: gather.NewSettings(o.Namespace, o.ClusterDomain), metrics: s.settings,
		events: mgr.GetEventRecorderFor(eventSource), //nolint:staticcheck // clients read core events with this source
	}
	c.services = &inferenceservice.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Settings: c.settings, Events: c.events, Metrics: s.counts, Log: s.log, Release: s.release,
		Gather: &gather.Gatherer{Cache: &near{mgr.GetCache(), around.sight}, Live: mgr.GetAPIReader(), Kinds: c.kinds, KnativeNamespace: o.KnativeNamespace},
		Apply:  &apply.Applier{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Kinds: c.kinds, Count: s.counts.Wrote},
	}
	if err := c.add(ctx, mgr); err != nil {
		return nil, nil, err
	}
	return mgr, c, nil
}

func managerOptions(o Options, scheme *runtime.Scheme) ctrl.Options {
	shutdown := shutdownTimeout
	return ctrl.Options{
		Scheme: scheme,
		Cache:  cacheOptions(o.Namespace, o.Namespaces),
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		// The process serves health and metrics itself, also while there is no API server.
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", PprofBindAddress: o.PprofAddr,
		LeaderElection: o.LeaderElect, LeaderElectionID: leaseName, LeaderElectionNamespace: o.Namespace, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: &o.LeaseDuration, RenewDeadline: &o.RenewDeadline, RetryPeriod: &o.LeaseRetry, GracefulShutdownTimeout: &shutdown,
		Controller: config.Controller{CacheSyncTimeout: cacheTimeout, ReconciliationTimeout: reconcileTimeout},
	}
}

// add makes the controllers, their indexes and watches.
func (c *controllers) add(ctx context.Context, mgr ctrl.Manager) error {
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.Ingress{}} {
		if err := c.indexer.IndexField(ctx, o, gather.IndexController, gather.ControllerOf); err != nil {
			return fmt.Errorf("index %T: %w", o, err)
		}
	}
	if err := c.indexer.IndexField(ctx, &networkingv1.Ingress{}, gather.IndexWay, gather.WaysOf); err != nil {
		return fmt.Errorf("index ingresses by what they match: %w", err)
	}
	if err := c.indexer.IndexField(ctx, &corev1.Pod{}, gather.IndexService, gather.ServiceOf); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	var err error
	c.main, err = controller.New("inferenceservice", mgr, controller.Options{
		Reconciler: c.services, MaxConcurrentReconciles: c.options.Concurrency, EnableWarmup: yes(), SkipNameValidation: yes(),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, longestBackoff),
	})
	if err != nil {
		return fmt.Errorf("make the controller: %w", err)
	}
	for _, w := range c.watches() {
		if err := c.main.Watch(w); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	if err := c.addMeasurer(mgr); err != nil {
		return err
	}
	k := &kinds{controllers: c, changed: make(chan event.GenericEvent, 16), indexed: map[string]bool{}}
	for _, o := range c.present {
		if err := k.watch(ctx, o); err != nil {
			return err
		}
		k.kinds.Set(o, true)
	}
	return addKinds(mgr, k)
}

// missing says what keeps the process from being ready; a replica that waits for the lease is ready.
func (c *controllers) missing() string {
	if good, fault := c.settings.Current(); good == nil {
		return "waits for good settings: " + fault.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if kinds := c.unsynced(ctx); len(kinds) > 0 {
		return "waits for the first list of " + strings.Join(kinds, ", ") + "; where it does not come, the process's role may lack list and watch on it"
	}
	return ""
}
