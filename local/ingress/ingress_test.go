// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kserve-go/kserve-go/local/ingress/gatewayapi"
)

const wait = 20 * time.Second

// running is a gateway, and the API server that it believes in.
type running struct {
	address string
	client  *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	kinds   *metadatafake.FakeMetadataClient
	gateway *Gateway
	stop    func()
}

// gateway runs one over the objects and returns its address and what stops it.
func gateway(t *testing.T, objects ...runtime.Object) (address string, client *fake.Clientset, stop func()) {
	t.Helper()
	r := run(t, nil, objects...)
	return r.address, r.client, r.stop
}

// run runs a gateway over objects of Kubernetes and of the Gateway API; of the latter the cluster has the kinds when it has an object.
func run(t *testing.T, more []runtime.Object, objects ...runtime.Object) *running {
	t.Helper()
	r := &running{client: fake.NewClientset(objects...)}
	r.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		resource("v1", "gatewayclasses"): "GatewayClassList", resource("v1", "gateways"): "GatewayList", resource("v1", "httproutes"): "HTTPRouteList",
		resource("v1beta1", "referencegrants"): "ReferenceGrantList",
	})
	for _, o := range more {
		r.add(t, o)
	}
	names := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(names))
	r.kinds = metadatafake.NewSimpleMetadataClient(names)
	if len(more) > 0 {
		r.haveKinds(t)
	}
	factory := informers.NewSharedInformerFactory(r.client, 0)
	var err error
	r.gateway, err = New(Options{Client: r.client, Dynamic: r.dynamic, Metadata: r.kinds, Informers: factory, Address: "10.88.0.1", Port: 80})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	r.gateway.sync(ctx)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- r.gateway.Run(ctx, l) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
		factory.Shutdown()
	})
	t.Cleanup(r.stop)
	r.address = l.Addr().String()
	return r
}

// add stores an object of the Gateway API.
func (r *running) add(t *testing.T, o runtime.Object) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	to := map[string]string{"GatewayClass": "gatewayclasses", "Gateway": "gateways", "HTTPRoute": "httproutes"}[u.GetKind()]
	require.NoError(t, r.dynamic.Tracker().Create(resource("v1", to), u, u.GetNamespace()))
}

// haveKinds makes the definitions of the Gateway API.
func (r *running) haveKinds(t *testing.T) {
	t.Helper()
	for _, name := range []string{"gatewayclasses", "gateways", "httproutes", "referencegrants"} {
		r.haveKind(t, name)
	}
}

func (r *running) haveKind(t *testing.T, name string) {
	t.Helper()
	client, ok := r.kinds.Resource(definitions).(metadatafake.MetadataClient)
	require.True(t, ok)
	_, err := client.CreateFake(&metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: name + "." + gatewayv1.GroupName},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func ingress(name string, class *string, rules ...networkingv1.IngressRule) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: networkingv1.IngressSpec{IngressClassName: class, Rules: rules}}
}

// to is a rule for all paths of a host.
func to(host, service string) networkingv1.IngressRule {
	return path(host, "/", networkingv1.PathTypePrefix, service)
}

func path(host, path string, kind networkingv1.PathType, service string) networkingv1.IngressRule {
	return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{{Path: path, PathType: &kind, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}},
	}}}
}

func service(name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.1.1", Ports: ports}}
}

// endpoint is one ready address of a service's port.
func endpoint(t *testing.T, service, port, address string) *discoveryv1.EndpointSlice {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	number := int32(n)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("%s-%s-%d", service, port, n), Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Ports:      []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{host}}},
	}
}

func ask(t *testing.T, address, host, path, body string) (int, string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Host = host
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

// refused is an address where nothing listens.
func refused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func echo(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Host, r.URL.RequestURI(), r.Header.Get("X-Forwarded-For"), b)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestARequestGoesToTheServiceOfItsHost(t *testing.T) {
	class, other := Class, "nginx"
	address, client, _ := gateway(t,
		ingress("iris", &class, to("iris-ns.example.com", "iris"), to("gone.example.com", "gone")), ingress("foreign", &other, to("foreign.example.com", "iris")),
		ingress("empty", nil, to("empty.example.com", "empty")),
		service("iris", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "iris", "http", echo(t)),
		service("empty", corev1.ServicePort{Name: "http", Port: 80}))

	code, body := ask(t, address, "iris-ns.example.com", "/v1/models/iris:predict?a=b;c", "payload")
	require.Equal(t, 200, code, body)
	require.Equal(t, "iris-ns.example.com /v1/models/iris:predict?a=b;c 127.0.0.1 payload", body)
	code, _ = ask(t, address, "IRIS-ns.example.com:8080", "/", "")
	require.Equal(t, 200, code, "a port and capitals do not matter")

	for host, want := range map[string]struct {
		code int
		why  string
	}{
		"foreign.example.com": {404, "no Ingress and no HTTPRoute has host foreign.example.com"},
		"empty.example.com":   {503, "Service ns/empty has no ready endpoint"},
		"gone.example.com":    {503, "host gone.example.com leads to Service ns/gone, which does not exist"},
	} {
		code, body := ask(t, address, host, "/", "")
		require.Equal(t, want.code, code, host)
		var e map[string]string
		require.NoError(t, json.Unmarshal([]byte(body), &e))
		require.Equal(t, want.why, e["error"])
	}

	in, err := client.NetworkingV1().Ingresses("ns").Get(t.Context(), "iris", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "10.88.0.1", in.Status.LoadBalancer.Ingress[0].IP)
	in, err = client.NetworkingV1().Ingresses("ns").Get(t.Context(), "foreign", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, in.Status.LoadBalancer.Ingress, "another controller's")
}

func TestAChangeIsFollowed(t *testing.T) {
	address, client, _ := gateway(t, service("iris", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "iris", "http", echo(t)))
	code, _ := ask(t, address, "iris.example.com", "/", "")
	require.Equal(t, 404, code)
	_, err := client.NetworkingV1().Ingresses("ns").Create(t.Context(), ingress("iris", nil, to("iris.example.com", "iris")), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { code, _ := ask(t, address, "iris.example.com", "/", ""); return code == 200 }, wait, 10*time.Millisecond)
	require.NoError(t, client.NetworkingV1().Ingresses("ns").Delete(t.Context(), "iris", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { code, _ := ask(t, address, "iris.example.com", "/", ""); return code == 404 }, wait, 10*time.Millisecond)
}

func TestAnEndpointThatRefusesIsPassedOver(t *testing.T) {
	dead := refused(t)
	address, _, _ := gateway(t, ingress("iris", nil, to("iris.example.com", "iris"), to("dead.example.com", "dead")),
		service("iris", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "iris", "http", echo(t)), endpoint(t, "iris", "http", dead),
		service("dead", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "dead", "http", dead))
	for i := range 50 {
		code, body := ask(t, address, "iris.example.com", "/", strconv.Itoa(i))
		require.Equal(t, 200, code, body)
		require.True(t, strings.HasSuffix(body, " "+strconv.Itoa(i)), "the body arrives whole: %s", body)
	}
	code, body := ask(t, address, "dead.example.com", "/", "x")
	require.Equal(t, 502, code)
	require.Contains(t, body, "connection refused")
}

func TestAStreamReachesTheClientAsItComes(t *testing.T) {
	next := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "data: token\n")
			_ = http.NewResponseController(w).Flush()
			<-next // the next one is sent only when the client has this one
		}
	}))
	defer s.Close()
	address, _, _ := gateway(t, ingress("iris", nil, to("", "iris")),
		service("iris", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "iris", "http", s.Listener.Addr().String()))
	res, err := http.Get("http://" + address)
	require.NoError(t, err)
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for range 3 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "data: token\n", line)
		next <- struct{}{}
	}
}

func TestAnUpgradedConnectionIsCarriedBothWays(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
	}))
	defer s.Close()
	address, _, _ := gateway(t, ingress("iris", nil, to("", "iris")),
		service("iris", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "iris", "http", s.Listener.Addr().String()))
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	_, err = io.WriteString(c, "hello\n")
	require.NoError(t, err)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "got hello\n", line)
}

func grpcServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

func TestGRPCFindsItsPortAndKeepsItsTrailers(t *testing.T) {
	h2c := "kubernetes.io/h2c"
	address, _, _ := gateway(t,
		ingress("iris", nil, to("one.example.com", "one"), to("both.example.com", "both"), to("dead.example.com", "dead")),
		service("one", corev1.ServicePort{Name: "h2c", Port: 80, AppProtocol: &h2c}), endpoint(t, "one", "h2c", grpcServer(t)),
		service("both", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "grpc", Port: 8081}),
		endpoint(t, "both", "http", echo(t)), endpoint(t, "both", "grpc", grpcServer(t)),
		service("dead", corev1.ServicePort{Name: "h2c", Port: 80}))
	call := func(host, name string) error {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(host))
		require.NoError(t, err)
		defer conn.Close()
		_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		return err
	}
	for _, host := range []string{"one.example.com", "both.example.com"} {
		require.NoError(t, call(host, ""), host)
		require.Equal(t, codes.NotFound, status.Code(call(host, "unknown")), "the status of an answer without messages")
	}
	code, _ := ask(t, address, "both.example.com", "/", "x")
	require.Equal(t, 200, code, "HTTP has the other port")
	err := call("unknown.example.com", "")
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Contains(t, err.Error(), "no Ingress and no HTTPRoute has host unknown.example.com")
	err = call("dead.example.com", "")
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Contains(t, err.Error(), "no ready endpoint")
}

func TestARequestUnderWayEndsBeforeTheGateway(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-goOn
		_, _ = io.WriteString(w, "done")
	}))
	defer s.Close()
	address, _, stop := gateway(t, ingress("iris", nil, to("", "iris")),
		service("iris", corev1.ServicePort{Name: "http", Port: 80}), endpoint(t, "iris", "http", s.Listener.Addr().String()))
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + address)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		answer <- string(b)
	}()
	<-arrived
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err != nil
	}, wait, 10*time.Millisecond, "it takes no new connections")
	close(goOn)
	require.Equal(t, "done", <-answer)
	<-stopped
}

func TestWhichRuleWins(t *testing.T) {
	old := ingress("old", nil,
		path("a.example.com", "/v1", networkingv1.PathTypePrefix, "v1"), path("a.example.com", "/v1/models", networkingv1.PathTypePrefix, "models"),
		path("a.example.com", "/v1/models/x", networkingv1.PathTypeExact, "exact"), path("a.example.com", "/impl/", networkingv1.PathTypeImplementationSpecific, "impl"),
		to("*.example.org", "wild"), path("", "/any", networkingv1.PathTypePrefix, "any"))
	young := ingress("young", nil, path("a.example.com", "/v1", networkingv1.PathTypePrefix, "late"))
	young.CreationTimestamp = metav1.Now()
	table := newTable([]*networkingv1.Ingress{young, old})
	for url, want := range map[string]string{
		"a.example.com/v1":            "v1",
		"a.example.com/v1/":           "v1",
		"a.example.com/v1/modelsx":    "v1",
		"a.example.com/v1/models":     "models",
		"a.example.com/v1/models/x":   "exact",
		"a.example.com/v1/models/x/y": "models",
		"a.example.com/v10":           "",
		"a.example.com/impl":          "impl",
		"a.example.com/impl/a":        "impl",
		"a.example.com/any/thing":     "any",
		"b.example.org/x":             "wild",
		"c.b.example.org/x":           "",
		"example.org/x":               "",
		"[::1]:80/any":                "any",
	} {
		host, rest, _ := strings.Cut(url, "/")
		got, _, _ := table.find(gatewayapi.Host(host), "/"+rest)
		require.Equal(t, want, got.service, url)
	}
	rest := ingress("rest", nil)
	rest.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "rest"}}
	got, found, _ := newTable([]*networkingv1.Ingress{old, rest}).find("a.example.com", "/v10")
	require.True(t, found)
	require.Equal(t, "rest", got.service)
}
