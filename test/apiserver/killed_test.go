// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster/faults"
)

// leads are the Services that a route sends requests to.
func leads(r *gatewayv1.HTTPRoute) []string {
	var names []string
	for i := range r.Spec.Rules {
		for _, ref := range r.Spec.Rules[i].BackendRefs {
			if ref.Weight == nil || *ref.Weight > 0 {
				names = append(names, string(ref.Name))
			}
		}
	}
	return names
}

// leadsToWhatServes says whether every route of the namespace leads to Services that are there, of Deployments with a pod that serves.
func (w *world) leadsToWhatServes(ctx context.Context) error {
	var routes gatewayv1.HTTPRouteList
	if err := w.Client.List(ctx, &routes, client.InNamespace(w.ns)); err != nil {
		return err
	}
	for i := range routes.Items {
		for _, name := range leads(&routes.Items[i]) {
			if err := w.Client.Get(ctx, w.key(name), &corev1.Service{}); err != nil {
				return fmt.Errorf("route %s: %w", routes.Items[i].Name, err)
			}
			d := &appsv1.Deployment{}
			if err := w.Client.Get(ctx, w.key(name), d); err != nil {
				return fmt.Errorf("route %s: %w", routes.Items[i].Name, err)
			}
			if d.Status.AvailableReplicas == 0 {
				return fmt.Errorf("route %s leads to %s, which has no pod", routes.Items[i].Name, name)
			}
		}
	}
	return nil
}

// watchRoutes looks at the routes all the time, and returns what ends that and gives the first fault. A route that was read before a Service was
// deleted and a Service that was read after it are no fault of the controller: what is not there is looked at again with the route.
func (w *world) watchRoutes() func() error {
	ctx, cancel := context.WithCancel(w.t.Context())
	var group sync.WaitGroup
	var fault error
	group.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for fault == nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := w.leadsToWhatServes(ctx); err != nil && ctx.Err() == nil {
				if err = w.leadsToWhatServes(ctx); err != nil && ctx.Err() == nil {
					fault = err
				}
			}
		}
	})
	return func() error {
		cancel()
		group.Wait()
		return fault
	}
}

func promoted() string {
	return strings.Replace(sklearn("m", "s3://models/v2")+"    minReplicas: 10\n", "predictor:\n", "predictor:\n    name: v2\n", 1)
}

func TestAControllerThatIsKilledInAPromotionLeavesNothing(t *testing.T) {
	newWorld(t).withSetting("ingress", "enableGatewayApi", true)
	onlyTo := func(w *world, name string) {
		w.t.Helper()
		for _, route := range []string{"m-predictor", "m"} {
			has(w, route, &gatewayv1.HTTPRoute{}, func(r *gatewayv1.HTTPRoute) error {
				if is := leads(r); len(is) != 1 || is[0] != name {
					return fmt.Errorf("it leads to %v", is)
				}
				return nil
			})
		}
	}
	for moment, c := range map[string]struct {
		change string
		// reached waits for the moment.
		reached func(*world)
		// stays and goes are the predictors after all.
		stays, goes string
	}{
		"as soon as the promotion is asked for": {promoted(), func(*world) {}, "m-v2-predictor", "m-predictor"},
		"when all requests are led to the promoted canary and the former predictor is there": {promoted(), func(w *world) {
			w.pods("m-v2-predictor", 10, 10)
			onlyTo(w, "m-v2-predictor")
		}, "m-v2-predictor", "m-predictor"},
		"when the canary is gone from the routes and is there": {sklearn("m", "s3://models/iris") + "    minReplicas: 10\n", func(w *world) { onlyTo(w, "m-predictor") }, "m-predictor", "m-v2-predictor"},
	} {
		t.Run(moment, func(t *testing.T) {
			w := newWorld(t)
			w.apply(track(20))
			w.pods("m-predictor", 10, 10)
			w.pods("m-v2-predictor", 2, 2)
			w.weighs("m-predictor=80", "m-v2-predictor=20")
			w.ready("m")
			end := w.watchRoutes()
			w.apply(c.change)
			c.reached(w)
			require.NoError(t, w.Controller.Kill())
			require.NoError(t, w.Client.Get(t.Context(), w.key(c.goes), &appsv1.Deployment{}), "the kill came before it was deleted")
			require.NoError(t, w.Controller.Start(t.Context()))
			w.pods(c.stays, 10, 10)
			w.ready("m")
			gone(w, c.goes, &appsv1.Deployment{})
			gone(w, c.goes, &corev1.Service{})
			gone(w, c.goes, &autoscalingv2.HorizontalPodAutoscaler{})
			onlyTo(w, c.stays)
			require.NoError(t, end())
		})
	}
}

// mortal is a controller process that is killed each time a write of its has reached the API server, before it has the answer, and is started
// again at once.
type mortal struct {
	*cluster.Process
	t      *testing.T
	killed chan string
	end    context.CancelFunc
	over   chan struct{}
	deaths []string
}

func (w *world) mortal() *mortal {
	w.t.Helper()
	t, ok := w.t.(*testing.T)
	require.True(w.t, ok)
	wire, err := faults.New(w.Admin, seed)
	require.NoError(t, err)
	t.Cleanup(wire.Close)
	config, err := w.As(t.Context(), cluster.ControllerAccount)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, wire.Over(config), cluster.ControllerAccount))
	process, err := w.Another(t.Context(), "mortal", path)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	m := &mortal{Process: process, t: t, killed: make(chan string, 100), end: cancel, over: make(chan struct{})}
	wire.Break(faults.Rule{
		Namespace: w.ns, Verbs: []string{"create", "update", "patch", "delete"},
		Resources: []string{"deployments", "services", "horizontalpodautoscalers", "httproutes", "inferenceservices", "inferenceservices/status"},
		Fault: func(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			_ = m.Kill() // it is gone either way, and started again below
			m.killed <- r.Method + " " + r.URL.Path
			panic(http.ErrAbortHandler)
		},
	})
	require.NoError(t, m.Launch())
	go m.live(ctx)
	t.Cleanup(m.stop)
	return m
}

func (m *mortal) live(ctx context.Context) {
	defer close(m.over)
	for {
		select {
		case <-ctx.Done():
			return
		case last := <-m.killed:
			m.deaths = append(m.deaths, last)
			if err := m.Launch(); err != nil {
				m.t.Errorf("start it again: %v", err)
				return
			}
		}
	}
}

func (m *mortal) stop() {
	m.end()
	<-m.over
	_ = m.Kill() // it may be gone
}

func TestAControllerThatDiesAtEachOfItsWritesComesToTheSameEnd(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	calm := undisturbed(w)
	w = newWorld(t)
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	m := w.mortal()
	for _, s := range life() {
		s.do(w)
		w.reach(s.name, calm[s.name])
	}
	m.stop()
	t.Logf("%d deaths:\n%s", len(m.deaths), strings.Join(m.deaths, "\n"))
	require.Greater(t, len(m.deaths), 20, "every object is written once, and so are their ends")
}
