// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"go.uber.org/zap"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/admit/follow"
	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// newClient makes a client that knows the kinds that the webhook reads, so that it need not ask what kinds there are.
func newClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, admissionregistrationv1.AddToScheme, servingv1alpha1.AddToScheme, servingv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("learn the kinds: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, known := range []struct {
		version schema.GroupVersion
		scope   meta.RESTScope
		kinds   []string
	}{
		{corev1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{"Secret", "ConfigMap", "ServiceAccount", "Event"}},
		{admissionregistrationv1.SchemeGroupVersion, meta.RESTScopeRoot, []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}},
		{servingv1alpha1.SchemeGroupVersion, meta.RESTScopeRoot, []string{servingv1alpha1.ClusterServingRuntimeKind, servingv1alpha1.ClusterStorageContainerKind, localModelCacheKind}},
		{servingv1alpha1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{servingv1alpha1.ServingRuntimeKind, localModelNamespaceCacheKind}},
		{servingv1beta1.SchemeGroupVersion, meta.RESTScopeNamespace, []string{servingv1beta1.InferenceServiceKind}},
	} {
		for _, kind := range known.kinds {
			mapper.Add(known.version.WithKind(kind), known.scope)
		}
	}
	config = rest.CopyConfig(config)
	config.UserAgent = "kserve-webhook-server"
	// A pod's admission reads a handful of objects; a rollout of many pods must not wait for a limit meant for loops.
	config.QPS, config.Burst = 200, 400
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return c, nil
}

// world is what the webhook keeps a copy of: the operator's settings and the storage containers.
type world struct {
	client     client.Client
	log        *zap.Logger
	now        func() time.Time
	config     *follow.Follower[*corev1.ConfigMap]
	containers *follow.Follower[*servingv1alpha1.ClusterStorageContainer]
	held       *gather.Settings
	changed    chan struct{}
	bad        bool // the ConfigMap, when last looked at; of run only

	mu       sync.Mutex
	listed   []servingv1alpha1.ClusterStorageContainer
	isListed bool
}

// +kubebuilder:rbac:groups="",namespace=kserve,resources=configmaps,resourceNames=inferenceservice-config,verbs=list;watch
// +kubebuilder:rbac:groups=serving.kserve.io,resources=clusterstoragecontainers,verbs=list;watch

func newWorld(o Options, c client.WithWatch, log *zap.Logger) (*world, error) {
	w := &world{client: c, log: log, now: time.Now, held: gather.NewSettings(o.Namespace, o.ClusterDomain), changed: make(chan struct{}, 1)}
	var err error
	w.config, err = follow.New[*corev1.ConfigMap](c, follow.Target{
		List: &corev1.ConfigMapList{}, Object: &corev1.ConfigMap{}, Namespace: o.Namespace, Name: settings.ConfigMapName,
	}, log, w.poke)
	if err != nil {
		return nil, err
	}
	w.containers, err = follow.New[*servingv1alpha1.ClusterStorageContainer](c, follow.Target{
		List: &servingv1alpha1.ClusterStorageContainerList{}, Object: &servingv1alpha1.ClusterStorageContainer{},
	}, log, w.forget)
	return w, err
}

func (w *world) poke() {
	select {
	case w.changed <- struct{}{}:
	default: // a look is due already
	}
}

func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listed, w.isListed = nil, false
}

// storageContainers are those of the cluster as they were last seen.
func (w *world) storageContainers() []servingv1alpha1.ClusterStorageContainer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isListed {
		for _, c := range w.containers.All() {
			w.listed = append(w.listed, *c)
		}
		w.isListed = true
	}
	return w.listed
}

// settings are the operator's last good ones, or the reason why there never were any.
func (w *world) settings() (*settings.Settings, error) {
	st, fault := w.held.Current()
	if st != nil {
		return st, nil
	}
	return nil, fmt.Errorf("the operator's settings are needed first: %w", fault)
}

// missing says why nothing can be judged; empty when everything can.
func (w *world) missing() string {
	if _, err := w.settings(); err != nil {
		return err.Error()
	}
	if !w.containers.Synced() {
		return "the ClusterStorageContainers were not read yet"
	}
	return ""
}

// run keeps the copies until ctx ends.
func (w *world) run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { w.config.Run(ctx) })
	running.Go(func() { w.containers.Run(ctx) })
	// An object that is missing makes no event: the first look is due once the API server was asked.
	synced := time.NewTicker(100 * time.Millisecond)
	defer synced.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
		case <-synced.C:
		}
		if !w.config.Synced() {
			continue
		}
		synced.Stop()
		w.take(ctx)
	}
}

// take reads the ConfigMap as it is now. A bad one is told to whoever looks at it, and the last good one stays.
func (w *world) take(ctx context.Context) {
	cm, exists := w.config.One()
	if !exists {
		cm = nil
	}
	changed, err := w.held.Take(cm)
	wasBad := w.bad
	w.bad = err != nil
	switch {
	case err != nil:
		st, _ := w.held.Current()
		w.log.Error("the operator's ConfigMap cannot be used", zap.Error(err), zap.Bool("lastGoodStays", st != nil))
		if cm != nil {
			w.tell(ctx, cm, err, st != nil)
		}
	case changed:
		w.log.Info("took the operator's ConfigMap", zap.String("resourceVersion", cm.ResourceVersion))
	case wasBad:
		w.log.Info("the operator's ConfigMap is in order again", zap.String("resourceVersion", cm.ResourceVersion))
	}
}

// +kubebuilder:rbac:groups="",namespace=kserve,resources=events,verbs=create

// tell records an event about a ConfigMap. Its name is made of the ConfigMap's version, so that replicas record it once.
func (w *world) tell(ctx context.Context, cm *corev1.ConfigMap, fault error, lastGood bool) {
	message := "the webhook cannot use it: " + fault.Error()
	if lastGood {
		message = "the last good settings stay in force; " + message
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(string(cm.UID) + cm.ResourceVersion)) // a hash never fails to write
	now := metav1.NewTime(w.now())
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cm.Namespace, Name: fmt.Sprintf("%s.webhook.%x", cm.Name, hash.Sum64())},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: cm.Namespace, Name: cm.Name, UID: cm.UID, ResourceVersion: cm.ResourceVersion},
		Type:           corev1.EventTypeWarning, Reason: settings.EventInvalid, Message: review.Cut(message, maxEventMessage),
		Source: corev1.EventSource{Component: "kserve-webhook-server"}, ReportingController: "serving.kserve.io/webhook",
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if err := w.client.Create(ctx, event); err != nil && !apierrors.IsAlreadyExists(err) {
		w.log.Warn("cannot record an event about the ConfigMap", zap.Error(err))
	}
}

// maxEventMessage is what an API server accepts.
const maxEventMessage = 1024
