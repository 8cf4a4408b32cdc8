// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster/faults"
)

// The tests of this file put a wire that breaks between the controller and the API server. They do not run beside other tests; inside of
// one, each fault has a namespace of its own.

const seed = 20260101

// brokenFor is how long a fault lasts whose tracks are looked at.
const brokenFor = 3 * time.Second

// overWire ends the shared controller and starts one that talks over a wire, until the test ends.
func overWire(t *testing.T, w *world) *faults.Proxy {
	t.Helper()
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	p, err := faults.New(w.Admin, seed)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	config, err := w.As(t.Context(), cluster.ControllerAccount)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, p.Over(config), cluster.ControllerAccount))
	c := start(t, path, false, func(o *manager.Options) { o.AnswerTimeout = 2 * time.Second })
	c.waitReady(t, w)
	t.Cleanup(func() {
		require.Zero(t, c.panics(t), "passes that panicked")
		c.stop(t)
	})
	return p
}

// step is a change in the life of a service.
type step struct {
	name string
	do   func(w *world)
	gone bool
}

// life is everything that happens to a service, in order.
func life() []step {
	canary := `{"spec":{"canary":[{"trafficPercent":20,"predictor":{"name":"next","model":{"modelFormat":{"name":"sklearn"},"storageUri":"s3://models/v3"}}}]}}`
	return []step{
		{name: "create", do: func(w *world) {
			w.apply(sklearn("m", "s3://models/v1") + "  transformer:\n    containers: [{name: kserve-container, image: 'registry.test/t:1'}]\n")
		}},
		{name: "update", do: func(w *world) {
			w.change(w.service("m"), `{"spec":{"predictor":{"maxReplicas":4,"model":{"storageUri":"s3://models/v2"}},"transformer":null}}`)
		}},
		{name: "canary", do: func(w *world) { w.change(w.service("m"), canary) }},
		{name: "promote", do: func(w *world) {
			w.change(w.service("m"), `{"spec":{"canary":null,"predictor":{"model":{"storageUri":"s3://models/v3"}}}}`)
		}},
		{name: "stop", do: func(w *world) {
			w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/stop":"true"}}}`)
		}},
		{name: "resume", do: func(w *world) {
			w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/stop":null}}}`)
		}},
		{name: "delete", gone: true, do: func(w *world) { require.NoError(w.t, w.Client.Delete(context.Background(), w.service("m"))) }},
	}
}

// picture is everything in a namespace, without what differs from one life to another.
func (w *world) picture(ctx context.Context) (string, error) {
	list, err := w.Read(ctx, w.ns)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, o := range list {
		if o.GetKind() == "ServingRuntime" {
			continue
		}
		if o.GroupVersionKind().Group != serving.GroupName {
			delete(o.Object, "status")
		}
		text, err := json.MarshalIndent(strip(o.Object), "", " ")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\n%s\n", o.GetKind(), o.GetName(), text)
	}
	return strings.ReplaceAll(b.String(), w.ns, "NS"), nil
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime", "generation", "observedGeneration", "clusterIP", "clusterIPs"} {
			delete(v, k)
		}
		for k := range v {
			v[k] = strip(v[k])
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
	}
	return v
}

// reach waits until the namespace looks as it should.
func (w *world) reach(step, want string) {
	w.t.Helper()
	last := ""
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		_, err := w.MakeReady(ctx, w.ns)
		if err == nil {
			var now string
			if now, err = w.picture(ctx); err == nil {
				last = now
			}
		}
		if err == nil && last == want {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	w.t.Fatalf("%s does not come to what it is without faults:\n%s", step, cmp.Diff(strings.Split(want, "\n"), strings.Split(last, "\n")))
}

var theCalm map[string]string // one undisturbed life for the tests that compare with it

// undisturbed is what a namespace looks like after each step of a life that nothing breaks. It needs the Gateway API.
func undisturbed(w *world) map[string]string {
	w.t.Helper()
	if theCalm != nil {
		return theCalm
	}
	calm := map[string]string{}
	for _, s := range life() {
		s.do(w)
		if s.gone {
			gone(w, "m", &servingv1beta1.InferenceService{})
		} else {
			w.lived(s)
		}
		wait := quiet
		if s.name == "update" || s.name == "canary" || s.name == "promote" {
			wait = 3 * quiet // what routes led to goes seconds after they have led elsewhere
		}
		require.NoError(w.t, w.Settle(w.t.Context(), w.ns, wait, 2*time.Minute))
		var err error
		calm[s.name], err = w.picture(w.t.Context())
		require.NoError(w.t, err)
	}
	theCalm = calm
	return calm
}

// TestEveryLifeEndsTheSameWhateverBreaks lives the same life in one namespace after the other, the first undisturbed.
func TestEveryLifeEndsTheSameWhateverBreaks(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	calm := undisturbed(w)
	p := overWire(t, w)
	kinds := map[string]faults.Fault{
		"conflicts":   faults.Refuse(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified; please apply your changes to the latest version and try again"),
		"busy":        faults.RefuseFor(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later", 1),
		"internal":    faults.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: etcdserver: request timed out"),
		"unavailable": faults.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request"),
		"forbidden":   faults.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden: exceeded quota: q, requested: count/x=1, used: count/x=1, limited: count/x=1"),
		"reset":       faults.Reset,
		"lost":        faults.Lose,
		"truncated":   faults.Truncate(40),
	}
	for i, name := range slices.Sorted(maps.Keys(kinds)) {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hits := 0
			for _, s := range life() {
				rule := faults.Rule{Namespace: w.ns, Fault: kinds[name], Chance: 0.4 + 0.6*random.Float64(), Times: 1 + random.IntN(6)}
				rule.Verbs = [][]string{nil, {"patch"}, {"delete", "create"}, {"get"}, {"patch", "delete"}}[random.IntN(5)]
				if random.IntN(3) == 0 {
					rule.Resources = []string{"inferenceservices/status", "inferenceservices"}
				}
				mend := p.Break(rule)
				s.do(w)
				w.reach(s.name, calm[s.name])
				hits += mend()
			}
			require.NotZero(t, hits, "nothing broke")
		})
	}
}

// lived waits until the service is as its step wants it, which for a stopped one is not readiness.
func (w *world) lived(s step) {
	w.t.Helper()
	w.Eventually(w.t, "the end of "+s.name, func(ctx context.Context) error {
		if _, err := w.MakeReady(ctx, w.ns); err != nil {
			return err
		}
		svc := &servingv1beta1.InferenceService{}
		if err := w.Client.Get(ctx, w.key("m"), svc); err != nil {
			return err
		}
		if s.name != "stop" {
			return isReady(svc)
		}
		if c := svc.Status.Condition(servingv1beta1.Stopped); c == nil || c.Status != corev1.ConditionTrue {
			return errors.New("it is not stopped")
		}
		return nil
	})
}

// TestWhileSomethingBreaksTheStatusSaysWhat leaves each fault in place for a while and looks at the tracks: what the status says, how
// often the controller tried, and how often it wrote the status.
func TestWhileSomethingBreaksTheStatusSaysWhat(t *testing.T) {
	w := newWorld(t)
	p := overWire(t, w)
	cases := map[string]struct {
		fault faults.Fault
		says  string
	}{
		"conflict":    {faults.Refuse(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified"), "does not exist yet"},
		"busy":        {faults.RefuseFor(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later", 1), "too many requests"},
		"internal":    {faults.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: etcdserver: leader changed"), "etcdserver: leader changed"},
		"unavailable": {faults.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request"), "currently unable"},
		"role":        {faults.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, `deployments.apps "m-predictor" is forbidden: User "x" cannot patch resource "deployments"`), "cannot patch resource"},
		"quota":       {faults.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, `deployments.apps "m-predictor" is forbidden: exceeded quota: team, requested: count/deployments.apps=1`), "exceeded quota: team"},
		"refusal":     {faults.Refuse(http.StatusBadRequest, metav1.StatusReasonBadRequest, `admission webhook "policy.example.com" denied the request: no image of this registry`), "no image of this registry"},
		"webhook":     {faults.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "policy.example.com": context deadline exceeded`), `failed calling webhook "policy.example.com"`},
		"hang":        {faults.Hang, "has not answered in time"},
		"reset":       {faults.Reset, "the line to the API server broke"},
		"lost":        {faults.Lose, ""}, // the object is there
		"truncated":   {faults.Truncate(40), ""},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			mend := p.Break(faults.Rule{Namespace: w.ns, Resources: []string{"deployments"}, Verbs: []string{"patch"}, Fault: c.fault})
			w.apply(sklearn("m", "s3://models/iris"))
			if c.says != "" {
				w.says("m", servingv1beta1.PredictorReady, c.says)
			}
			has(w, "m-predictor", &corev1.Service{}, nil)
			began := time.Now()
			select {
			case <-time.After(brokenFor):
			case <-t.Context().Done():
			}
			since := func(r faults.Request) bool { return r.Namespace == w.ns && r.Time.After(began) }
			tries := p.Requests(func(r faults.Request) bool { return since(r) && r.Faulty })
			require.LessOrEqual(t, len(tries), 8, "attempts in %s", brokenFor)
			statuses := p.Requests(func(r faults.Request) bool { return since(r) && r.Resource == "inferenceservices/status" })
			require.LessOrEqual(t, len(statuses), 2, "statuses in %s", brokenFor)
			require.NotZero(t, mend())
			if name == "refusal" {
				// What is refused for what it says is tried again after minutes, or when something changes.
				w.change(w.service("m"), `{"spec":{"predictor":{"maxReplicas":2}}}`)
			}
			w.ready("m")
			var all appsv1.DeploymentList
			require.NoError(t, w.Client.List(t.Context(), &all, client.InNamespace(w.ns)))
			require.Len(t, all.Items, 1)
		})
	}
}
