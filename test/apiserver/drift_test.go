// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster/faults"
)

// edit is what somebody does by hand to a child of a service.
type edit struct {
	object client.Object
	name   string
	patch  string // a JSON patch; empty deletes
}

// restored does each edit and waits until the namespace looks as before.
func (w *world) restored(edits map[string]edit) {
	w.t.Helper()
	w.settle()
	want, err := w.picture(w.t.Context())
	require.NoError(w.t, err)
	for _, what := range slices.Sorted(maps.Keys(edits)) {
		e := edits[what]
		has(w, e.name, e.object, nil)
		if e.patch == "" {
			require.NoError(w.t, w.Client.Delete(w.t.Context(), e.object))
		} else {
			require.NoError(w.t, w.Client.Patch(w.t.Context(), e.object, client.RawPatch(types.JSONPatchType, []byte(e.patch)), client.FieldOwner("kubectl-edit")), what)
		}
		w.reach(what, want)
	}
	w.settle()
	w.reach("rest", want)
}

func TestWhatIsEditedByHandIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris") + "    maxReplicas: 3\n")
	w.ready("m")
	w.restored(map[string]edit{
		"the host of the Ingress":      {&networkingv1.Ingress{}, "m", `[{"op":"replace","path":"/spec/rules/0/host","value":"evil.example.com"}]`},
		"the class of the Ingress":     {&networkingv1.Ingress{}, "m", `[{"op":"replace","path":"/spec/ingressClassName","value":"other"}]`},
		"a deleted Ingress":            {&networkingv1.Ingress{}, "m", ""},
		"the port of the Service":      {&corev1.Service{}, "m-predictor", `[{"op":"replace","path":"/spec/ports/0/targetPort","value":1}]`},
		"a deleted Service":            {&corev1.Service{}, "m-predictor", ""},
		"the bounds of the autoscaler": {&autoscalingv2.HorizontalPodAutoscaler{}, "m-predictor", `[{"op":"replace","path":"/spec/maxReplicas","value":99}]`},
		"the target of the autoscaler": {&autoscalingv2.HorizontalPodAutoscaler{}, "m-predictor", `[{"op":"replace","path":"/spec/scaleTargetRef/name","value":"x"}]`},
		"a deleted autoscaler":         {&autoscalingv2.HorizontalPodAutoscaler{}, "m-predictor", ""},
		"the image of the Deployment":  {&appsv1.Deployment{}, "m-predictor", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"evil:1"}]`},
		"a variable of the Deployment": {&appsv1.Deployment{}, "m-predictor", `[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["--evil"]}]`},
		"a deleted Deployment":         {&appsv1.Deployment{}, "m-predictor", ""},
		"the selector of the Service":  {&corev1.Service{}, "m-predictor", `[{"op":"replace","path":"/spec/selector","value":{"app":"theirs"}}]`},
	})
}

func TestTheWeightsOfARouteAreRestored(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.apply(sklearn("m", "s3://models/v1"))
	w.ready("m")
	w.change(w.service("m"), `{"spec":{"canary":[{"trafficPercent":20,"predictor":{"name":"next","model":{"modelFormat":{"name":"sklearn"},"storageUri":"s3://models/v2"}}}]}}`)
	w.ready("m")
	route := &unstructured.Unstructured{}
	route.SetAPIVersion("gateway.networking.k8s.io/v1")
	route.SetKind("HTTPRoute")
	has(w, "m", route, func(u *unstructured.Unstructured) error {
		if !strings.Contains(fmt.Sprint(u.Object["spec"]), "weight:20") {
			return fmt.Errorf("the route is %v", u.Object["spec"])
		}
		return nil
	})
	w.restored(map[string]edit{
		"weights":         {route, "m", `[{"op":"replace","path":"/spec/rules/0/backendRefs/0/weight","value":0}]`},
		"hosts":           {route, "m", `[{"op":"replace","path":"/spec/hostnames","value":["evil.example.com"]}]`},
		"a deleted route": {route, "m", ""},
	})
}

// TestWhileNobodyTellsOfChangesNothingIsLost breaks what the cache lives by: lists and watches.
func TestWhileNobodyTellsOfChangesNothingIsLost(t *testing.T) {
	w := newWorld(t)
	p := overWire(t, w)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	want, err := w.picture(t.Context())
	require.NoError(t, err)
	for _, what := range []struct {
		name  string
		fault faults.Fault
		verbs []string
		times int // a watch that is too old is begun anew at once
	}{
		{"watches that are too old", faults.Expire, []string{"watch"}, 40},
		{"watches cut short", faults.Truncate(200), []string{"list", "watch"}, 0},
		{"a server that is busy", faults.RefuseFor(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "later", 1), []string{"list", "watch"}, 0},
		{"a line that is down", faults.Reset, nil, 0},
	} {
		began := time.Now()
		mend := p.Break(faults.Rule{Verbs: what.verbs, Fault: what.fault, Times: what.times})
		p.CutWatches()
		w.Eventually(t, "a fault", func(context.Context) error {
			if len(p.Requests(func(r faults.Request) bool { return r.Faulty && r.Time.After(began) })) == 0 {
				return errors.New(what.name)
			}
			return nil
		})
		w.change(has(w, "m-predictor", &appsv1.Deployment{}, nil), `{"spec":{"template":{"spec":{"containers":[{"name":"kserve-container","image":"evil:1"}]}}}}`)
		w.change(has(w, "m-predictor", &corev1.Service{}, nil), `{"spec":{"selector":{"app":"theirs"}}}`)
		select {
		case <-time.After(brokenFor / 2):
		case <-t.Context().Done():
		}
		perKind := map[string]int{}
		for _, r := range p.Requests(func(r faults.Request) bool { return r.Faulty && r.Time.After(began) }) {
			perKind[r.Verb+" "+r.Resource]++
		}
		require.NotZero(t, mend(), what.name)
		for kind, n := range perKind {
			if what.times > 0 {
				break
			}
			require.LessOrEqual(t, n, 12, "%s: %s in %s", what.name, kind, brokenFor/2)
		}
		w.reach(what.name, want)
	}
}

func TestObjectsOfOthersDoNotGrowTheController(t *testing.T) {
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	before, err := w.Controller.RSS()
	require.NoError(t, err)
	const each, size = 500, 20 << 10
	big := strings.Repeat("x", size)
	ctx := context.WithoutCancel(t.Context())
	meta := func(kind string, i int) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.ns, Name: fmt.Sprintf("%s-%d", kind, i)}
	}
	noted := func(kind string, i int) metav1.ObjectMeta {
		m := meta(kind, i)
		m.Annotations = map[string]string{"text": big}
		return m
	}
	kinds := []func(int) client.Object{
		func(i int) client.Object {
			return &corev1.ConfigMap{ObjectMeta: meta("config", i), Data: map[string]string{"text": big}}
		},
		func(i int) client.Object {
			return &corev1.Secret{ObjectMeta: meta("secret", i), StringData: map[string]string{"text": big}}
		},
		func(i int) client.Object {
			return &corev1.Pod{ObjectMeta: noted("pod", i), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		},
		func(i int) client.Object {
			backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}}
			return &networkingv1.Ingress{ObjectMeta: noted("ingress", i), Spec: networkingv1.IngressSpec{DefaultBackend: backend}}
		},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, kind := range kinds {
		for i := range each {
			group.Go(func() error { return w.Client.Create(ctx, kind(i)) })
		}
	}
	require.NoError(t, group.Wait())
	// A change that the controller reacts to says that it has seen what came before.
	w.change(w.service("m"), `{"spec":{"predictor":{"maxReplicas":2}}}`)
	w.ready("m")
	after, err := w.Controller.RSS()
	require.NoError(t, err)
	t.Logf("resident memory: %d KiB before, %d KiB with %d objects of others that hold %d KiB", before>>10, after>>10, len(kinds)*each, len(kinds)*each*size>>10)
	require.Less(t, after-before, int64(len(kinds)*each*size/3))
}
