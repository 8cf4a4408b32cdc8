// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/yaml"
)

const controller = "example.com/gateway"

// read makes an object of its YAML.
func read[T any](t *testing.T, text string) *T {
	t.Helper()
	var o T
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &o), text)
	return &o
}

// world has a gateway with one listener for everybody, and the Services a to e with port 80.
func world(t *testing.T, routes ...string) World {
	t.Helper()
	w := World{
		Classes: []*gatewayv1.GatewayClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "own", Generation: 2}, Spec: gatewayv1.GatewayClassSpec{ControllerName: controller}},
			{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: gatewayv1.GatewayClassSpec{ControllerName: "example.com/other"}},
		},
		Service: func(namespace, name string) *corev1.Service {
			if !strings.Contains("abcde", name) {
				return nil
			}
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		},
		Labels: func(namespace string) labels.Set { return labels.Set{"name": namespace} },
	}
	w.Gateways = append(w.Gateways, read[gatewayv1.Gateway](t, `
metadata: {name: gw, namespace: gw, generation: 3}
spec: {gatewayClassName: own, listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]}`))
	for i, text := range routes {
		r := read[gatewayv1.HTTPRoute](t, text)
		if r.CreationTimestamp.IsZero() {
			r.CreationTimestamp = metav1.Unix(int64(i), 0)
		}
		r.Namespace, r.Generation = "ns", 7
		if len(r.Spec.ParentRefs) == 0 {
			r.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gw", Namespace: new(gatewayv1.Namespace("gw"))}}
		}
		w.Routes = append(w.Routes, r)
	}
	return w
}

func compile(w World) *Result {
	return (&Compiler{Controller: controller, Address: "10.0.0.1", Port: 80}).Compile(w)
}

// to is a rule to a Service, with matches as YAML.
func to(service, matches string) string {
	return "{matches: [" + matches + "], backendRefs: [{name: " + service + ", port: 80}]}"
}

func route(name, hosts string, rules ...string) string {
	return "{metadata: {name: " + name + "}, spec: {hostnames: [" + hosts + "], rules: [" + strings.Join(rules, ", ") + "]}}"
}

func request(t *testing.T, line string) *http.Request {
	t.Helper()
	words := strings.Fields(line)
	r := httptest.NewRequest(words[0], words[1], nil)
	for _, h := range words[2:] {
		name, value, _ := strings.Cut(h, "=")
		r.Header.Add(name, value)
	}
	return r
}

// leads is the Service that a request is led to; empty where there is none.
func leads(t *testing.T, table *Table, line string) string {
	t.Helper()
	r := request(t, line)
	found := table.Find(Host(r.Host), r)
	if found.Match == nil {
		return ""
	}
	return found.Match.Rule.Pick().Service
}

func TestWhichRouteWins(t *testing.T) {
	for sentence, c := range map[string]struct {
		routes []string
		want   map[string]string
	}{
		"an exact path, then the longest prefix, then a pattern, then everything": {
			[]string{route("r", "h.test",
				to("e", ""), to("d", `{path: {type: RegularExpression, value: "^/.*$"}}`), to("c", "{path: {value: /v1}}"),
				to("b", "{path: {value: /v1/models}}"), to("a", "{path: {type: Exact, value: /v1/models/x}}"))},
			map[string]string{
				"GET http://h.test/v1/models/x": "a", "GET http://h.test/v1/models/y": "b", "GET http://h.test/v1/models": "b", "GET http://h.test/v1/modelsx": "c",
				"GET http://h.test/v10": "d", "GET http://h.test/": "d", "GET http://other.test/": "",
			},
		},
		"of patterns the first": {
			[]string{route("r", "h.test", to("a", `{path: {type: RegularExpression, value: '^/v1/models/[\w-]+:explain$'}}`), to("b", `{path: {type: RegularExpression, value: "^/.*$"}}`))},
			map[string]string{"POST http://h.test/v1/models/m-1:explain": "a", "POST http://h.test/v1/models/m-1:predict": "b", "POST http://h.test/v1/models/m:explain/x": "b"},
		},
		"a pattern matches the whole path": {
			[]string{route("r", "h.test", to("a", `{path: {type: RegularExpression, value: "/v1"}}`))},
			map[string]string{"GET http://h.test/v1": "a", "GET http://h.test/v1/x": ""},
		},
		"a method before headers, headers before queries": {
			[]string{route("r", "h.test", to("e", ""), to("d", "{queryParams: [{name: q, value: x}, {name: p, value: z}]}"), to("c", "{headers: [{name: v, value: x}]}"),
				to("b", "{headers: [{name: v, value: x}, {name: w, value: '[0-9]+', type: RegularExpression}]}"), to("a", "{method: PUT}"))},
			map[string]string{
				"PUT http://h.test/?q=x V=x": "a", "GET http://h.test/ V=x W=12": "b", "GET http://h.test/?q=x&p=z V=x W=1a": "c", "GET http://h.test/?q=x&p=z": "d",
				"GET http://h.test/?q=x": "e", "GET http://h.test/?p=z&q=z&q=x": "e",
			},
		},
		"gRPC by its path and type": {
			[]string{route("r", "h.test", to("a", `{path: {type: RegularExpression, value: '^/inference\.GRPCInferenceService/.*$'}, headers: [{type: RegularExpression, name: content-type, value: "^application/grpc.*"}]}`),
				to("b", `{path: {type: RegularExpression, value: "^/.*$"}}`))},
			map[string]string{
				"POST http://h.test/inference.GRPCInferenceService/ModelInfer Content-Type=application/grpc+proto": "a",
				"POST http://h.test/inference.GRPCInferenceService/ModelInfer Content-Type=application/json":       "b",
			},
		},
		"the older route": {
			[]string{route("z", "h.test", to("a", "")), route("b", "h.test", to("b", ""))},
			map[string]string{"GET http://h.test/": "a"},
		},
		"of two of one age the first by name": {
			[]string{
				"{metadata: {name: z, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {hostnames: [h.test], rules: [" + to("a", "") + "]}}",
				"{metadata: {name: b, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {hostnames: [h.test], rules: [" + to("b", "") + "]}}",
			},
			map[string]string{"GET http://h.test/": "b"},
		},
		"the more particular host, and the others for what it has not": {
			[]string{route("any", "", to("a", "{path: {value: /any}}")), route("wide", `"*.test"`, to("b", "")), route("near", `"*.h.test"`, to("c", "")), route("exact", "x.h.test", to("d", "{path: {value: /d}}"))},
			map[string]string{
				"GET http://x.h.test/d": "d", "GET http://x.h.test/": "c", "GET http://y.x.h.test/": "c", "GET http://h.test/": "b", "GET http://X.H.TEST:8080/d": "d",
				"GET http://test/": "", "GET http://test/any/x": "a", "GET http://10.0.0.1:80/any": "a", "GET http://[::1]:80/any": "a",
			},
		},
		"a rule without rules for paths takes every one": {
			[]string{route("r", "h.test", "{backendRefs: [{name: a, port: 80}]}")},
			map[string]string{"GET http://h.test/x/y": "a"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			table := compile(world(t, c.routes...)).Table
			for line, want := range c.want {
				require.Equal(t, want, leads(t, table, line), line)
			}
		})
	}
}

func TestRequestsAreSharedByWeight(t *testing.T) {
	for sentence, c := range map[string]struct {
		backends string
		want     map[string]int
	}{
		"80 to 20":                    {"{name: a, port: 80, weight: 80}, {name: b, port: 80, weight: 20}", map[string]int{"a": 8000, "b": 2000}},
		"without weights alike":       {"{name: a, port: 80}, {name: b, port: 80}", map[string]int{"a": 5000, "b": 5000}},
		"three that are odd":          {"{name: a, port: 80, weight: 1}, {name: b, port: 80, weight: 2}, {name: c, port: 80, weight: 7}", map[string]int{"a": 1000, "b": 2000, "c": 7000}},
		"weight 0 gets none":          {"{name: a, port: 80, weight: 0}, {name: b, port: 80, weight: 3}", map[string]int{"b": 10000}},
		"nobody gets any":             {"{name: a, port: 80, weight: 0}", map[string]int{"": 10000}},
		"a Service that is not there": {"{name: none, port: 80, weight: 10}, {name: b, port: 80, weight: 90}", map[string]int{"none!": 1000, "b": 9000}},
	} {
		t.Run(sentence, func(t *testing.T) {
			table := compile(world(t, route("r", "h.test", "{backendRefs: ["+c.backends+"]}"))).Table
			r := request(t, "GET http://h.test/")
			got := map[string]int{}
			longest, run, last := 0, 0, ""
			for range 10000 {
				name := ""
				if b := table.Find("h.test", r).Match.Rule.Pick(); b != nil {
					name = b.Service
					if b.Fault != "" {
						name += "!"
					}
				}
				got[name]++
				if name != last {
					run, last = 0, name
				}
				run++
				longest = max(longest, run)
			}
			require.Equal(t, c.want, got)
			if len(got) > 1 {
				require.LessOrEqual(t, longest, 20, "well mixed")
			}
		})
	}
}

func TestLookingUpCostsNothing(t *testing.T) {
	table := compile(world(t, route("r", "h.test, \"*.x.test\"", "{backendRefs: [{name: a, port: 80, weight: 3}, {name: b, port: 80}]}"))).Table
	r := request(t, "GET http://h.test/v1/models/m")
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Find(Host("h.test:8080"), r).Match.Rule.Pick() }))
	require.Zero(t, testing.AllocsPerRun(100, func() { table.Find(Host("a.b.x.test"), r).Match.Rule.Pick() }))
}

// conditions are those of a parent, as "Accepted=True Accepted".
func conditions(list []metav1.Condition) map[string]string {
	out := map[string]string{}
	for _, c := range list {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

func TestWhatRoutesAreTold(t *testing.T) {
	const good, refs = "True Accepted", "True ResolvedRefs"
	for sentence, c := range map[string]struct {
		route          string
		accepted, refs string
		says           string
	}{
		"all is well":                 {route("r", "h.test", to("a", "")), good, refs, ""},
		"a Service that is not there": {route("r", "h.test", to("none", "")), good, "False BackendNotFound", "Service ns/none does not exist"},
		"a port that is not there":    {"{metadata: {name: r}, spec: {rules: [{backendRefs: [{name: a, port: 81}]}]}}", good, "False BackendNotFound", "has no port 81"},
		"no port":                     {"{metadata: {name: r}, spec: {rules: [{backendRefs: [{name: a}]}]}}", good, "False BackendNotFound", "names no port"},
		"another kind":                {"{metadata: {name: r}, spec: {rules: [{backendRefs: [{group: x.test, kind: Bucket, name: a, port: 80}]}]}}", good, "False InvalidKind", "x.test/Bucket"},
		"another namespace, ungranted": {
			"{metadata: {name: r}, spec: {rules: [{backendRefs: [{name: a, namespace: closed, port: 80}]}]}}", good, "False RefNotPermitted", "no ReferenceGrant of namespace closed",
		},
		"another namespace, granted": {"{metadata: {name: r}, spec: {rules: [{backendRefs: [{name: a, namespace: open, port: 80}]}]}}", good, refs, ""},
		"a mirror that is not there": {
			"{metadata: {name: r}, spec: {rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: none, port: 80}}}], backendRefs: [{name: a, port: 80}]}]}}",
			good, "False BackendNotFound", "Service ns/none",
		},
		"a listener that is not there": {
			"{metadata: {name: r}, spec: {parentRefs: [{name: gw, namespace: gw, sectionName: https}], rules: [" + to("a", "") + "]}}", "False NoMatchingParent", refs, "no listener of the name",
		},
		"a listener that is not served": {
			"{metadata: {name: r}, spec: {parentRefs: [{name: bad, namespace: gw}], rules: [" + to("a", "") + "]}}", "False NoMatchingParent", refs, "protocol TLS is not spoken",
		},
		"a listener for others": {
			"{metadata: {name: r}, spec: {parentRefs: [{name: closed, namespace: gw}], rules: [" + to("a", "") + "]}}", "False NotAllowedByListeners", refs, "HTTPRoutes of namespace ns",
		},
		"a host that no listener has": {
			"{metadata: {name: r}, spec: {parentRefs: [{name: hosts, namespace: gw}], hostnames: [h.test], rules: [" + to("a", "") + "]}}", "False NoMatchingListenerHostname", refs, "has a host of the route",
		},
		"a pattern that is none": {
			route("r", "h.test", to("a", `{path: {type: RegularExpression, value: "("}}`)), "False UnsupportedValue", refs, `rule 0: the pattern "(" cannot be read`,
		},
		"a filter that is not known": {
			"{metadata: {name: r}, spec: {rules: [{filters: [{type: ExtensionRef, extensionRef: {group: x, kind: y, name: z}}]}]}}", "False UnsupportedValue", refs, "filter ExtensionRef",
		},
		"a prefix to replace where none is matched": {
			"{metadata: {name: r}, spec: {rules: [{matches: [{path: {type: Exact, value: /x}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]}]}}",
			"False UnsupportedValue", refs, "ReplacePrefixMatch",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := world(t, c.route)
			for _, g := range []string{
				"{metadata: {name: bad, namespace: gw}, spec: {gatewayClassName: own, listeners: [{name: tls, protocol: TLS, port: 443, allowedRoutes: {namespaces: {from: All}, kinds: [{kind: HTTPRoute}]}}]}}",
				"{metadata: {name: closed, namespace: gw}, spec: {gatewayClassName: own, listeners: [{name: http, protocol: HTTP, port: 80}]}}",
				`{metadata: {name: hosts, namespace: gw}, spec: {gatewayClassName: own, listeners: [{name: http, protocol: HTTP, port: 80, hostname: "*.x.test", allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {name: ns}}}}}]}}`,
			} {
				w.Gateways = append(w.Gateways, read[gatewayv1.Gateway](t, g))
			}
			w.Grants = []*gatewayv1beta1.ReferenceGrant{read[gatewayv1beta1.ReferenceGrant](t,
				"{metadata: {name: g, namespace: open}, spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ns}], to: [{group: '', kind: Service}]}}")}
			parents := compile(w).Routes[Name{"ns", "r"}]
			require.Len(t, parents, 1)
			require.EqualValues(t, controller, parents[0].ControllerName)
			require.Equal(t, map[string]string{"Accepted": c.accepted, "ResolvedRefs": c.refs}, conditions(parents[0].Conditions))
			said := ""
			for _, condition := range parents[0].Conditions {
				require.EqualValues(t, 7, condition.ObservedGeneration)
				said += condition.Message
			}
			require.Contains(t, said, c.says)
		})
	}
}

func TestForeignGatewaysAreLeftAlone(t *testing.T) {
	w := world(t, "{metadata: {name: r}, spec: {parentRefs: [{name: theirs, namespace: gw}, {kind: Service, group: '', name: a}], rules: ["+to("a", "")+"]}}")
	w.Gateways = append(w.Gateways, read[gatewayv1.Gateway](t, "{metadata: {name: theirs, namespace: gw}, spec: {gatewayClassName: foreign, listeners: [{name: http, protocol: HTTP, port: 80}]}}"))
	made := compile(w)
	require.Empty(t, made.Routes)
	require.NotContains(t, made.Gateways, Name{"gw", "theirs"})
	require.NotContains(t, made.Classes, "foreign")
	require.Empty(t, leads(t, made.Table, "GET http://any.test/"))
}

func TestWhatGatewaysAreTold(t *testing.T) {
	w := world(t, route("one", "h.test", to("a", "")), route("two", "x.h.test", to("a", "")), "{metadata: {name: three}, spec: {parentRefs: [{name: gw, namespace: gw, sectionName: http}], rules: []}}")
	w.Gateways[0].Spec.Listeners = append(w.Gateways[0].Spec.Listeners, gatewayv1.Listener{Name: "again", Protocol: "HTTP", Port: 80}, gatewayv1.Listener{Name: "other", Protocol: "HTTP", Port: 8080})
	w.Gateways = append(w.Gateways, read[gatewayv1.Gateway](t, "{metadata: {name: bad, namespace: gw}, spec: {gatewayClassName: own, addresses: [{value: 10.9.9.9}], listeners: [{name: tcp, protocol: TCP, port: 9}]}}"))
	made := compile(w)
	require.Equal(t, map[string]string{"Accepted": "True Accepted"}, conditions(made.Classes["own"].Conditions))
	s := made.Gateways[Name{"gw", "gw"}]
	require.Equal(t, "10.0.0.1", s.Addresses[0].Value)
	require.Equal(t, map[string]string{"Accepted": "True ListenersNotValid", "Programmed": "True Programmed"}, conditions(s.Conditions))
	require.EqualValues(t, 3, s.Listeners[0].AttachedRoutes)
	require.Equal(t, map[string]string{"Accepted": "True Accepted", "Programmed": "True Programmed", "ResolvedRefs": "True ResolvedRefs", "Conflicted": "False NoConflicts"}, conditions(s.Listeners[0].Conditions))
	require.Equal(t, "True HostnameConflict", conditions(s.Listeners[1].Conditions)["Conflicted"])
	require.Equal(t, "False PortUnavailable", conditions(s.Listeners[2].Conditions)["Accepted"])
	bad := made.Gateways[Name{"gw", "bad"}]
	require.Equal(t, map[string]string{"Accepted": "False ListenersNotValid", "Programmed": "False AddressNotUsable"}, conditions(bad.Conditions))
	require.Equal(t, "False UnsupportedProtocol", conditions(bad.Listeners[0].Conditions)["Accepted"])
}

func TestHostsOfRouteAndListenerMeet(t *testing.T) {
	for sentence, c := range map[string]struct {
		listener string
		route    []gatewayv1.Hostname
		want     []string
	}{
		"neither has any":                   {"", nil, []string{""}},
		"the listener's alone":              {"*.a.test", nil, []string{"*.a.test"}},
		"the route's alone":                 {"", []gatewayv1.Hostname{"A.test", "*.b.test"}, []string{"a.test", "*.b.test"}},
		"one below the listener's wildcard": {"*.a.test", []gatewayv1.Hostname{"x.a.test", "y.b.test", "a.test"}, []string{"x.a.test"}},
		"one below the route's wildcard":    {"x.a.test", []gatewayv1.Hostname{"*.a.test"}, []string{"x.a.test"}},
		"a wildcard in a wildcard":          {"*.test", []gatewayv1.Hostname{"*.a.test", "*.test"}, []string{"*.a.test", "*.test"}},
	} {
		require.Equal(t, c.want, common(c.listener, c.route), sentence)
	}
}

func TestTimesOfConditionsStay(t *testing.T) {
	then, now := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	old := []metav1.Condition{
		{Type: "Accepted", Status: "True", Reason: "Old", LastTransitionTime: then}, {Type: "Programmed", Status: "Unknown", LastTransitionTime: then}, {Type: "Theirs", LastTransitionTime: then},
	}
	got := Conditions(old, []metav1.Condition{{Type: "Accepted", Status: "True", Reason: "New"}, {Type: "Programmed", Status: "True"}}, now)
	require.Equal(t, []metav1.Condition{
		{Type: "Accepted", Status: "True", Reason: "New", LastTransitionTime: then}, {Type: "Programmed", Status: "True", LastTransitionTime: now}, {Type: "Theirs", LastTransitionTime: then},
	}, got)
}

func TestPathsAreRewritten(t *testing.T) {
	for line, want := range map[string]string{
		"/foo/bar /foo /xyz": "/xyz/bar", "/foo/bar /foo /xyz/": "/xyz/bar", "/foo/bar /foo/ /xyz": "/xyz/bar", "/foo/bar /foo/ /xyz/": "/xyz/bar", "/foo /foo /xyz": "/xyz",
		"/foo/ /foo /xyz": "/xyz/", "/foo/bar /foo -": "/bar", "/foo/ /foo -": "/", "/foo /foo -": "/", "/foo/ /foo /": "/", "/foo /foo /": "/", "/x / /y": "/y/x",
		"/foo/a%2Fb /foo /xyz": "/xyz/a%2Fb", "/foo/a%20b /foo /": "/a%20b",
	} {
		words := strings.Fields(line)
		u := request(t, "GET http://h.test"+words[0]).URL
		(&Rewrite{path: &newPath{text: strings.Trim(words[2], "-"), prefix: true}}).Path(u, words[1])
		require.Equal(t, want, u.EscapedPath(), line)
	}
	u := request(t, "GET http://h.test/any").URL
	(&Rewrite{path: &newPath{text: "/whole"}}).Path(u, "")
	require.Equal(t, "/whole", u.Path)
}

func TestWhereRedirectsLead(t *testing.T) {
	for sentence, c := range map[string]struct {
		filter, from, to string
	}{
		"another scheme":             {"{scheme: https}", "http://h.test:8080/a?b=c", "https://h.test/a?b=c"},
		"another scheme and port":    {"{scheme: https, port: 8443}", "http://h.test/a", "https://h.test:8443/a"},
		"another host":               {"{hostname: other.test, statusCode: 301}", "http://h.test/a", "http://other.test/a"},
		"the port that was asked":    {"{hostname: other.test}", "http://h.test:8080/a", "http://other.test:8080/a"},
		"the usual port is not said": {"{port: 80}", "http://h.test:8080/a", "http://h.test/a"},
		"another path":               {"{path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}", "http://h.test/a/c?d", "http://h.test/b/c?d"},
		"a whole path":               {"{path: {type: ReplaceFullPath, replaceFullPath: /b}}", "http://h.test/a/c", "http://h.test/b"},
	} {
		d, err := newRedirect(read[gatewayv1.HTTPRequestRedirectFilter](t, c.filter), true)
		require.NoError(t, err, sentence)
		require.Equal(t, c.to, d.Location(request(t, "GET "+c.from), "/a"), sentence)
	}
	_, err := newRedirect(&gatewayv1.HTTPRequestRedirectFilter{StatusCode: new(200)}, true)
	require.ErrorContains(t, err, "status 200")
}
