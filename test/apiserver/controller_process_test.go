// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

// The tests of this file change what all tests share: they do not run in parallel, and put back what they change.

func TestARestartOfTheControllerWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.apply(
		sklearn("first", "s3://models/iris"),
		sklearn("b", "s3://models/iris")+"  transformer:\n    containers: [{name: kserve-container, image: 'registry.test/t:1'}]\n",
		sklearn("c", "s3://models/iris", `serving.kserve.io/stop: "true"`),
		sklearn("d", "s3://models/iris", "serving.kserve.io/autoscalerClass: none")+"    minReplicas: 2\n    maxReplicas: 2\n",
		strings.ReplaceAll(sklearn("e", "s3://models/iris"), "name: sklearn", "name: nobody-has-it"),
		sklearn("f", "s3://models/iris")+"    logger: {mode: all, url: 'http://x'}\n    nodeSelector: {a: b}\n    tolerations: [{key: k, operator: Exists}]\n",
	)
	for _, name := range []string{"first", "b", "d", "f"} {
		w.ready(name)
	}
	before := w.writes()
	require.NoError(t, w.Controller.Restart(t.Context()))
	// A service that comes after the restart tells that the others have been looked at.
	w.apply(sklearn("z", "s3://models/iris"))
	has(w, "z-predictor", &appsv1.Deployment{}, nil)
	w.settle()
	for _, write := range w.writes()[len(before):] {
		require.True(t, strings.HasSuffix(write, "/z") || strings.HasSuffix(write, "/z-predictor"), write)
	}
}

func TestATouchOfEverythingWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.apply(sklearn("first", "s3://models/iris"))
	w.ready("first")
	before := w.writes()
	passes := metric(t, w.Controller, "kserve_reconcile_outcomes_total")
	container := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ClusterStorageContainer", "metadata": map[string]any{"name": "default"},
	}}
	w.change(container, fmt.Sprintf(`{"metadata":{"labels":{"touched":"%d"}}}`, time.Now().UnixNano()))
	w.Eventually(t, "a pass over every service", func(context.Context) error {
		if now := metric(t, w.Controller, "kserve_reconcile_outcomes_total"); now <= passes {
			return fmt.Errorf("%v passes, as before", now)
		}
		return nil
	})
	w.settle()
	require.Equal(t, before, w.writes())
}

func TestBadSettingsKeepTheLastGoodOnes(t *testing.T) {
	w := newWorld(t)
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: cluster.System, Name: "inferenceservice-config"}
	require.NoError(t, w.Client.Get(t.Context(), key, cm))
	good := cm.Data["ingress"]
	put := func(text string) {
		t.Helper()
		require.NoError(t, w.Client.Get(context.Background(), key, cm))
		cm.Data["ingress"] = text
		require.NoError(t, w.Client.Update(context.Background(), cm))
	}
	t.Cleanup(func() { put(good) })
	put(`{"ingressDomain": `)
	w.Eventually(t, "the event", func(ctx context.Context) error {
		var events corev1.EventList
		if err := w.Client.List(ctx, &events, client.InNamespace(cluster.System)); err != nil {
			return err
		}
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == "InvalidSettings" && strings.Contains(e.Message, "ingress $") && strings.Contains(e.Message, "last good") {
				return nil
			}
		}
		return errors.New("no event")
	})
	require.Zero(t, metric(t, w.Controller, "kserve_settings_valid"))
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")

	put(strings.Replace(good, "example.com", "example.org", 1))
	w.Eventually(t, "the new domain", func(ctx context.Context) error {
		svc := w.service("m")
		if err := w.Client.Get(ctx, w.key("m"), svc); err != nil {
			return err
		}
		if !strings.HasSuffix(svc.Status.URL, ".example.org") {
			return errors.New(svc.Status.URL)
		}
		return nil
	})
	require.EqualValues(t, 1, metric(t, w.Controller, "kserve_settings_valid"))
}

func TestAMissingKindIsNamedAndPickedUpWhenItAppears(t *testing.T) {
	w := newWorld(t)
	read := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("apiextensions.k8s.io/v1")
		u.SetKind("CustomResourceDefinition")
		require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Name: "scaledobjects.keda.sh"}, u))
		return u
	}
	saved := read()
	fresh := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": saved.GetAPIVersion(), "kind": saved.GetKind(),
		"metadata": map[string]any{"name": saved.GetName()}, "spec": saved.Object["spec"],
	}}
	t.Cleanup(func() { require.NoError(t, w.Define(context.Background(), fresh)) }) // others use the kind
	require.NoError(t, w.Client.Delete(t.Context(), saved.DeepCopy()))
	require.NoError(t, w.Controller.WaitLogged(t.Context(), `"scaledobjects.keda.sh"`, `"present":false`))
	w.apply(sklearn("m", "s3://models/iris", "serving.kserve.io/autoscalerClass: keda") + "    autoScaling: {metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}\n")
	w.says("m", servingv1beta1.PredictorReady, "scaledobjects.keda.sh", "install KEDA")
	has(w, "m-predictor", &appsv1.Deployment{}, nil)
	w.apply(sklearn("other", "s3://models/iris"))
	w.ready("other")
	w.change(w.service("other"), `{"spec":{"predictor":{"model":{"storageUri":"s3://models/v2"}}}}`)
	w.ready("other")

	require.NoError(t, w.Define(t.Context(), fresh))
	so := &unstructured.Unstructured{}
	so.SetAPIVersion("keda.sh/v1alpha1")
	so.SetKind("ScaledObject")
	has(w, "m-predictor", so, nil)
	w.ready("m")
	require.NoError(t, w.Client.Delete(t.Context(), so))
	has(w, "m-predictor", so, nil)
}

func TestTheNextReplicaTakesOver(t *testing.T) {
	w := newWorld(t)
	w.apply(sklearn("first", "s3://models/iris"))
	w.ready("first")
	standby := start(t, w.Kubeconfig, true)
	standby.waitReady(t, w)
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	w.apply(sklearn("b", "s3://models/iris"))
	w.ready("b")
	standby.stop(t)
}

func TestAnOutageOfTheAPIServerIsOutlived(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	line := newLine(t, w.Admin.Host)
	config, err := os.ReadFile(w.Kubeconfig)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(config), w.Admin.Host, "https://"+line.addr)), 0o600))
	c := start(t, path, true)
	c.waitReady(t, w)
	w.apply(sklearn("first", "s3://models/iris"))
	w.ready("first")
	line.cut()
	w.apply(sklearn("b", "s3://models/iris"))
	line.mend()
	w.ready("b")
	c.stop(t)
}

// controller is one in this process.
type controller struct {
	health  string
	metrics string
	cancel  context.CancelFunc
	done    chan error
	once    sync.Once
}

func start(t *testing.T, kubeconfig string, elect bool, change ...func(*manager.Options)) *controller {
	t.Helper()
	elects := func(o *manager.Options) { o.LeaderElect = elect }
	return startLogging(t, kubeconfig, zap.NewNop(), append(change, elects)...)
}

func startLogging(t *testing.T, kubeconfig string, log *zap.Logger, change ...func(*manager.Options)) *controller {
	t.Helper()
	o := manager.NewOptions()
	o.Namespace, o.LeaderElect = cluster.System, true
	o.Probe.Kubeconfig, o.Probe.MetricsAddr, o.Probe.HealthAddr = kubeconfig, freeport.Address(t), freeport.Address(t)
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &controller{health: o.Probe.HealthAddr, metrics: o.Probe.MetricsAddr, cancel: cancel, done: make(chan error, 1)}
	go func() { c.done <- manager.Run(ctx, o, log) }()
	t.Cleanup(func() { c.stop(t) })
	return c
}

func (c *controller) stop(t *testing.T) {
	t.Helper()
	c.once.Do(func() {
		c.cancel()
		require.NoError(t, <-c.done)
	})
}

func (c *controller) waitReady(t *testing.T, w *world) {
	t.Helper()
	w.Eventually(t, "readiness of the controller", func(ctx context.Context) error { return get(ctx, "http://"+c.health+"/readyz", nil) })
}

// panics counts the passes that panicked.
func (c *controller) panics(t *testing.T) float64 {
	t.Helper()
	return metricAt(t, c.metrics, "controller_runtime_reconcile_panics_total")
}

// line is a wire to the API server that can be cut.
type line struct {
	addr, target string
	listener     net.Listener
	mu           sync.Mutex
	down         bool
	open         []net.Conn
}

func newLine(t *testing.T, host string) *line {
	t.Helper()
	u, err := url.Parse(host)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	wire := &line{addr: l.Addr().String(), target: u.Host, listener: l}
	t.Cleanup(func() { _ = l.Close(); wire.cut() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wire.connect(conn)
		}
	}()
	return wire
}

func (l *line) connect(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		_ = conn.Close()
		return
	}
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		_ = conn.Close()
		return
	}
	l.open = append(l.open, conn, far)
	go func() { _, _ = io.Copy(far, conn); _ = far.Close() }()
	go func() { _, _ = io.Copy(conn, far); _ = conn.Close() }()
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
