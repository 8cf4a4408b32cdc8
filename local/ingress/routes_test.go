// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

func theClass() runtime.Object {
	return &gatewayv1.GatewayClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "GatewayClass"},
		ObjectMeta: metav1.ObjectMeta{Name: Class, Generation: 1}, Spec: gatewayv1.GatewayClassSpec{ControllerName: Controller},
	}
}

func theGateway() runtime.Object {
	return &gatewayv1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw", Generation: 1},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: Class, Listeners: []gatewayv1.Listener{{Name: "http", Protocol: "HTTP", Port: 80}}},
	}
}

// httpRoute is one with the rules that YAML says.
func httpRoute(t *testing.T, name, host, rules string) *gatewayv1.HTTPRoute {
	t.Helper()
	r := &gatewayv1.HTTPRoute{TypeMeta: metav1.TypeMeta{APIVersion: "gateway.networking.k8s.io/v1", Kind: "HTTPRoute"}}
	require.NoError(t, yaml.UnmarshalStrict([]byte("{parentRefs: [{name: gw}], rules: ["+rules+"]}"), &r.Spec))
	r.Namespace, r.Name, r.Generation = "ns", name, 1
	if host != "" {
		r.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(host)}
	}
	return r
}

// routed runs a gateway whose HTTPRoute of host h.test has the rules, and waits until they count.
func routed(t *testing.T, rules string, objects ...runtime.Object) *running {
	t.Helper()
	r := run(t, []runtime.Object{theClass(), theGateway(), httpRoute(t, "r", "h.test", rules)}, objects...)
	r.follows(t, "r")
	return r
}

// parents are what is said of a route.
func (r *running) parents(t *testing.T, name string) []gatewayv1.RouteParentStatus {
	t.Helper()
	u, err := r.dynamic.Resource(r.gateway.kinds.routes.resource).Namespace("ns").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	var route gatewayv1.HTTPRoute
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &route))
	return route.Status.Parents
}

// follows waits until the route is accepted, after which its table counts.
func (r *running) follows(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		p := r.parents(t, name)
		return len(p) == 1 && p[0].Conditions[0].Status == metav1.ConditionTrue
	}, wait, 5*time.Millisecond)
}

// backed is a Service with one port behind which a server answers.
func backed(t *testing.T, name string, h http.HandlerFunc) []runtime.Object {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return []runtime.Object{service(name, corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, name, "http", s.Listener.Addr().String())}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, text)
	}
}

func TestRoutesAreSharedByWeightOverHTTP(t *testing.T) {
	objects := slices.Concat(backed(t, "old", says("old")), backed(t, "new", says("new")), []runtime.Object{service("empty", corev1.ServicePort{Name: "http", Port: 80})})
	r := routed(t, `{matches: [{path: {value: /split}}], backendRefs: [{name: old, port: 80, weight: 80}, {name: new, port: 80, weight: 20}]},
{matches: [{path: {value: /empty}}], backendRefs: [{name: old, port: 80, weight: 9}, {name: empty, port: 80, weight: 1}]},
{matches: [{path: {value: /gone}}], backendRefs: [{name: old, port: 80, weight: 1}, {name: gone, port: 80, weight: 1}]},
{matches: [{path: {value: /none}}], backendRefs: [{name: old, port: 80, weight: 0}]}`, objects...)
	for path, want := range map[string]map[string]int{
		"/split": {"200 old": 800, "200 new": 200},
		"/empty": {"200 old": 900, `503 {"error":"Service ns/empty has no ready endpoint"}`: 100},
		"/gone":  {"200 old": 500, `500 {"error":"HTTPRoute ns/r: Service ns/gone does not exist"}`: 500},
		"/none":  {`500 {"error":"HTTPRoute ns/r has no backend for /none"}`: 1000},
	} {
		got := map[string]int{}
		for range 1000 {
			code, body := ask(t, r.address, "h.test", path, "x")
			got[fmt.Sprint(code, " ", strings.TrimSpace(body))]++
		}
		require.Equal(t, want, got, path)
	}
	require.Equal(t, "BackendNotFound", r.parents(t, "r")[0].Conditions[1].Reason)
}

func TestFiltersChangeRequestAndAnswer(t *testing.T) {
	objects := backed(t, "a", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server-Own", "x")
		fmt.Fprintf(w, "%s %s set=%s add=%s gone=%s", r.Host, r.URL.RequestURI(), r.Header.Get("Kserve-Isvc-Name"), r.Header["X-More"], r.Header["X-Gone"])
	})
	r := routed(t, `{matches: [{path: {value: /serving/ns/m}}], backendRefs: [{name: a, port: 80}], filters: [
{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: KServe-Isvc-Name, value: m}], add: [{name: X-More, value: b}], remove: [x-gone]}},
{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: X-Answer, value: c}], remove: [server-own]}},
{type: URLRewrite, urlRewrite: {hostname: inner.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]},
{matches: [{path: {value: /old}}], filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /new}, statusCode: 301}}]}`, objects...)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.address+"/serving/ns/m/v1/models/m?q=a%2Fb", nil)
	require.NoError(t, err)
	req.Host = "h.test"
	for name, value := range map[string]string{"KServe-Isvc-Name": "forged", "X-More": "a", "X-Gone": "z"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "inner.test /v1/models/m?q=a%2Fb set=m add=[a b] gone=[]", string(body))
	require.Equal(t, "c", res.Header.Get("X-Answer"))
	require.Empty(t, res.Header.Get("Server-Own"))

	req.URL.Path, req.URL.RawQuery = "/old/x", ""
	res, err = http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 301, res.StatusCode)
	require.Equal(t, "http://h.test/new", res.Header.Get("Location"))
	code, text := ask(t, r.address, "h.test", "/servings", "")
	require.Equal(t, 404, code)
	require.Contains(t, text, "no rule of an HTTPRoute of host h.test matches GET /servings")
}

func TestATimeoutEndsARequestAndNotAnUpgrade(t *testing.T) {
	release := make(chan struct{})
	objects := backed(t, "a", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			<-release
			return
		}
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("got " + line)
		_ = rw.Flush()
	})
	r := routed(t, "{backendRefs: [{name: a, port: 80}], timeouts: {request: 60s, backendRequest: 50ms}}", objects...)
	code, body := ask(t, r.address, "h.test", "/", "x")
	close(release)
	require.Equal(t, 504, code)
	require.Contains(t, body, "no answer within 50ms, the timeout of HTTPRoute ns/r")

	c, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	time.Sleep(100 * time.Millisecond) // longer than the timeout, which must not end this
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "got hello\n", line)
}

func TestGRPCGoesByRoute(t *testing.T) {
	h2c := "kubernetes.io/h2c"
	r := routed(t, `{matches: [{path: {type: RegularExpression, value: '^/grpc\.health\.v1\.Health/.*$'}, headers: [{type: RegularExpression, name: content-type, value: "^application/grpc.*$"}]}],
backendRefs: [{name: a, port: 81}], timeouts: {request: 60s}}, {backendRefs: [{name: a, port: 80}]}`,
		service("a", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "x", Port: 81, AppProtocol: &h2c}),
		endpoint(t, "a", "http", echo(t)), endpoint(t, "a", "x", grpcServer(t)))
	conn, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("h.test"))
	require.NoError(t, err)
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	_, err = client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "unknown"})
	require.Equal(t, codes.NotFound, status.Code(err))
	stream, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err, "a stream's first message comes while it goes on")
	code, _ := ask(t, r.address, "h.test", "/", "")
	require.Equal(t, 200, code)
}

// copies is a server that keeps what it is sent and answers when it is let.
type copies struct {
	mu     sync.Mutex
	bodies []string
	hold   chan struct{}
}

func (c *copies) serve(_ http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.bodies = append(c.bodies, r.Method+" "+r.Host+r.URL.RequestURI()+" "+r.Header.Get("X-Set")+" "+string(b))
	c.mu.Unlock()
	<-c.hold
}

func (c *copies) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bodies)
}

const mirrored = `{backendRefs: [{name: a, port: 80}], filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Set, value: s}]}},
{type: RequestMirror, requestMirror: {backendRef: {name: m, port: 80}, %s}}]}`

func TestAMirrorGetsCopiesAndNobodyWaitsForIt(t *testing.T) {
	m := &copies{hold: make(chan struct{})}
	r := routed(t, fmt.Sprintf(mirrored, "percent: 100"), slices.Concat(backed(t, "a", says("a")), backed(t, "m", m.serve))...)
	const extra = 10
	for i := range copiesAtOnce + extra {
		code, body := ask(t, r.address, "h.test", "/x?y", fmt.Sprint("body ", i))
		require.Equal(t, 200, code)
		require.Equal(t, "a", body)
	}
	require.Eventually(t, func() bool { return len(m.seen()) == copiesAtOnce }, wait, time.Millisecond, "as many as there is room for")
	require.Contains(t, m.seen(), "POST h.test/x?y s body 0", "whole, and changed as the request is")
	close(m.hold)
	require.Eventually(t, func() bool { return r.gateway.mirrors.taken.Load() == 0 }, wait, time.Millisecond, "what was kept is given back")
	code, _ := ask(t, r.address, "h.test", "/later", "")
	require.Equal(t, 200, code)
	require.Eventually(t, func() bool { return slices.Contains(m.seen(), "GET h.test/later s ") }, wait, time.Millisecond)
}

func TestAMirrorGetsItsShare(t *testing.T) {
	for text, want := range map[string]int{"percent: 25": 50, "fraction: {numerator: 1, denominator: 8}": 25, "percent: 0": 0} {
		var n atomic.Int64
		r := routed(t, fmt.Sprintf(mirrored, text), slices.Concat(backed(t, "a", says("a")), backed(t, "m", func(http.ResponseWriter, *http.Request) { n.Add(1) }))...)
		for range 200 {
			code, _ := ask(t, r.address, "h.test", "/", "x")
			require.Equal(t, 200, code)
		}
		require.Eventually(t, func() bool { return n.Load() >= int64(want) && len(r.gateway.mirrors.room) == 0 }, wait, time.Millisecond, text) // stop ends copies under way
		r.stop()
		require.EqualValues(t, want, n.Load(), text)
	}
}

func TestWhatIsTooMuchIsNotMirrored(t *testing.T) {
	m := &copies{hold: make(chan struct{})}
	close(m.hold)
	var got atomic.Int64
	r := routed(t, fmt.Sprintf(mirrored, "percent: 100"), slices.Concat(backed(t, "a", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
	}), backed(t, "m", m.serve))...)
	for _, known := range []bool{true, false} {
		var body io.Reader = bytes.NewReader(make([]byte, copyLimit+1))
		if !known {
			body = io.MultiReader(body)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.address, body)
		require.NoError(t, err)
		req.Host = "h.test"
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		res.Body.Close()
		require.EqualValues(t, copyLimit+1, got.Load(), "the request itself is whole")
	}
	require.Zero(t, r.gateway.mirrors.taken.Load())
	require.Empty(t, m.seen())
}

func TestARequestWithoutItsEndLeavesNothingKept(t *testing.T) {
	objects := slices.Concat(backed(t, "a", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }), backed(t, "m", says("")))
	r := routed(t, fmt.Sprintf(mirrored, "percent: 100"), objects...)
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.address, in)
	require.NoError(t, err)
	req.Host = "h.test"
	ended := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		ended <- err
	}()
	_, err = out.Write([]byte("half"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.gateway.mirrors.taken.Load() > 0 }, wait, time.Millisecond)
	cancel()
	out.CloseWithError(errors.New("gone"))
	require.Error(t, <-ended)
	require.Eventually(t, func() bool { return r.gateway.mirrors.taken.Load() == 0 }, wait, time.Millisecond)
}

func TestARouteGoesBeforeAnIngressUnlessItIsForAnyHost(t *testing.T) {
	objects := slices.Concat(backed(t, "a", says("route")), backed(t, "i", says("ingress")), []runtime.Object{ingress("i", nil, to("h.test", "i"), to("i.test", "i"))})
	r := run(t, []runtime.Object{
		theClass(), theGateway(), httpRoute(t, "r", "h.test", "{backendRefs: [{name: a, port: 80}]}"), httpRoute(t, "any", "", "{backendRefs: [{name: a, port: 80}]}"),
	}, objects...)
	r.follows(t, "r")
	r.follows(t, "any")
	for host, want := range map[string]string{"h.test": "route", "i.test": "ingress", "x.test": "route"} {
		_, body := ask(t, r.address, host, "/", "")
		require.Equal(t, want, body, host)
	}
}

func TestTheKindsMayComeAndGo(t *testing.T) {
	r := run(t, nil, backed(t, "a", says("a"))...)
	code, _ := ask(t, r.address, "h.test", "/", "")
	require.Equal(t, 404, code)
	for _, o := range []runtime.Object{theClass(), theGateway(), httpRoute(t, "r", "h.test", "{backendRefs: [{name: a, port: 80}]}")} {
		r.add(t, o)
	}
	r.haveKinds(t)
	r.follows(t, "r")
	code, _ = ask(t, r.address, "h.test", "/", "")
	require.Equal(t, 200, code)
	require.NoError(t, r.kinds.Resource(definitions).Delete(t.Context(), "httproutes."+gatewayv1.GroupName, metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { code, _ := ask(t, r.address, "h.test", "/", ""); return code == 404 }, wait, 5*time.Millisecond)
	r.haveKind(t, "httproutes")
	require.Eventually(t, func() bool { code, _ := ask(t, r.address, "h.test", "/", ""); return code == 200 }, wait, 5*time.Millisecond)
}

func TestStatusesAreWrittenOnceAndFollow(t *testing.T) {
	foreign := gatewayv1.RouteParentStatus{ParentRef: gatewayv1.ParentReference{Name: "theirs"}, ControllerName: "example.com/other"}
	route := httpRoute(t, "r", "h.test", "{backendRefs: [{name: a, port: 80}]}")
	route.Status.Parents = []gatewayv1.RouteParentStatus{foreign}
	r := run(t, []runtime.Object{theClass(), theGateway(), route})
	refs := func() string {
		p := r.parents(t, "r")
		if len(p) != 2 {
			return ""
		}
		return p[1].Conditions[1].Reason
	}
	require.Eventually(t, func() bool { return refs() == "BackendNotFound" }, wait, 5*time.Millisecond)
	require.EqualValues(t, "example.com/other", r.parents(t, "r")[0].ControllerName, "what others say stays")
	_, err := r.client.CoreV1().Services("ns").Create(t.Context(), service("a", corev1.ServicePort{Name: "http", Port: 80}), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return refs() == "ResolvedRefs" }, wait, 5*time.Millisecond)

	writes := func() (n int) {
		for _, a := range r.dynamic.Actions() {
			if a.GetVerb() == "update" {
				n++
			}
		}
		return n
	}
	before := writes()
	for range 3 {
		require.False(t, r.gateway.syncRoutes(t.Context()))
	}
	require.Equal(t, before, writes(), "a second look writes nothing")

	require.NoError(t, r.dynamic.Resource(r.gateway.kinds.gateways.resource).Namespace("ns").Delete(t.Context(), "gw", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return len(r.parents(t, "r")) == 1 }, wait, 5*time.Millisecond, "of a parent that is gone nothing is said")
}
