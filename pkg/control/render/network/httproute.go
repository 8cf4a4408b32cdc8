// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/loose"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// What routes match. The patterns are those that existing clusters have; where the operator wants no regular expressions, the same is said in
// prefixes.
const (
	anyPath       = `^/.*$`
	explainPath   = `^/v1/models/[\w-]+:explain$`
	grpcPath      = `^/inference\.GRPCInferenceService/.*$`
	grpcType      = `^application/grpc.*`
	grpcPrefix    = "/inference.GRPCInferenceService"
	headerName    = "KServe-Isvc-Name"
	headerNS      = "KServe-Isvc-Namespace"
	defaultBudget = 60 // seconds
)

// routes builds the HTTPRoutes of one service.
type routes struct {
	p    *plan.Plan
	st   *settings.Settings
	made []plan.Object
	err  error
}

// HTTPRoutes are one route for each component's own host and one for the service's.
func HTTPRoutes(p *plan.Plan, st *settings.Settings) ([]plan.Object, error) {
	r := &routes{p: p, st: st}
	for _, role := range []serving.ComponentRole{serving.Predictor, serving.Transformer, serving.Explainer} {
		c := p.Component(role)
		if c == nil {
			continue
		}
		name := c.Name
		if role == serving.Predictor {
			name = names.PredictorRoute(p.Owner.Name)
		}
		r.route(name, []string{c.Host}, r.toComponent(c))
	}
	var rules []gatewayv1.HTTPRouteRule
	if e := p.Component(serving.Explainer); e != nil {
		rules = append(rules, r.rule(e, r.explain(), restPort(e)))
	}
	rules = append(rules, r.toComponent(p.Entry())...)
	r.route(p.Owner.Name, append([]string{p.Route.Host}, p.Route.MoreHosts...), rules)
	if p.Route.Path != "" {
		r.pathRoute()
	}
	return r.made, r.err
}

// route adds one HTTPRoute, without the status that the Go type would write.
func (r *routes) route(name string, hosts []string, rules []gatewayv1.HTTPRouteRule) {
	ns, gateway, _ := strings.Cut(r.st.Ingress.KServeGateway, "/")
	hostnames := make([]gatewayv1.Hostname, 0, len(hosts))
	for _, h := range hosts {
		hostnames = append(hostnames, gatewayv1.Hostname(h))
	}
	o, err := loose.Object(metav1.TypeMeta{APIVersion: gatewayv1.GroupVersion.String(), Kind: "HTTPRoute"}, metav1.ObjectMeta{
		Name: name, Labels: plan.Without(r.p.Owner.Labels, r.st.DisallowedLabels()), Annotations: plan.Without(r.p.Owner.Annotations, r.st.DisallowedAnnotations()),
	}, gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
			Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")),
			Namespace: new(gatewayv1.Namespace(ns)), Name: gatewayv1.ObjectName(gateway),
		}}},
		Hostnames: hostnames,
		Rules:     rules,
	})
	r.made, r.err = append(r.made, o), errors.Join(r.err, err)
}

// toComponent sends everything to a component: gRPC to its gRPC port where it has both kinds of port.
func (r *routes) toComponent(c *plan.Component) []gatewayv1.HTTPRouteRule {
	rest, grpc := c.Ports()
	if rest == nil || grpc == nil {
		return []gatewayv1.HTTPRouteRule{r.rule(c, r.everything(), clusterPort)}
	}
	return []gatewayv1.HTTPRouteRule{r.rule(c, r.calls(), grpc.Port), r.rule(c, r.everything(), rest.Port)}
}

// restPort is the port of the component's Service where HTTP is spoken, else its first.
func restPort(c *plan.Component) int32 {
	if rest, _ := c.Ports(); rest != nil {
		return rest.Port
	}
	return clusterPort
}

func (r *routes) prefixes() bool { return r.st.Ingress.PathMatch == settings.MatchPathPrefix }

// everything matches every request.
func (r *routes) everything() gatewayv1.HTTPRouteMatch {
	if r.prefixes() {
		return matchPath(gatewayv1.PathMatchPathPrefix, "/")
	}
	return matchPath(gatewayv1.PathMatchRegularExpression, anyPath)
}

// calls matches gRPC calls of the inference protocol. No request of another protocol has such a path.
func (r *routes) calls() gatewayv1.HTTPRouteMatch {
	if r.prefixes() {
		return matchPath(gatewayv1.PathMatchPathPrefix, grpcPrefix)
	}
	m := matchPath(gatewayv1.PathMatchRegularExpression, grpcPath)
	m.Headers = []gatewayv1.HTTPHeaderMatch{{Type: new(gatewayv1.HeaderMatchRegularExpression), Name: "content-type", Value: grpcType}}
	return m
}

// explain matches requests for explanations; without regular expressions those for the model that has the service's name.
func (r *routes) explain() gatewayv1.HTTPRouteMatch {
	if r.prefixes() {
		return matchPath(gatewayv1.PathMatchExact, r.explained())
	}
	return matchPath(gatewayv1.PathMatchRegularExpression, explainPath)
}

func (r *routes) explained() string { return "/v1/models/" + r.p.Owner.Name + ":explain" }

func matchPath(kind gatewayv1.PathMatchType, value string) gatewayv1.HTTPRouteMatch {
	return gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Type: &kind, Value: &value}}
}

func (r *routes) rule(c *plan.Component, match gatewayv1.HTTPRouteMatch, port int32) gatewayv1.HTTPRouteRule {
	out := gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{match},
		Filters: []gatewayv1.HTTPRouteFilter{{
			Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier,
			RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{Set: []gatewayv1.HTTPHeader{
				{Name: headerName, Value: r.p.Owner.Name}, {Name: headerNS, Value: r.p.Owner.Namespace},
			}},
		}},
		BackendRefs: r.backends(c, port),
	}
	out.Filters = append(out.Filters, r.mirrors(c, port)...)
	if !r.st.Ingress.DisableHTTPRouteTimeout {
		seconds := int64(defaultBudget)
		if c.TimeoutSeconds != nil {
			seconds = *c.TimeoutSeconds
		}
		out.Timeouts = &gatewayv1.HTTPRouteTimeouts{Request: new(duration(seconds))}
	}
	return out
}

// backends are the component's Service, and for the predictor those of its ready canaries with their shares.
func (r *routes) backends(c *plan.Component, port int32) []gatewayv1.HTTPBackendRef {
	stable := r.backend(c.Name, port)
	canaries := r.p.Tracks()
	if c.Role != serving.Predictor || len(canaries) == 0 {
		return []gatewayv1.HTTPBackendRef{stable}
	}
	refs := []gatewayv1.HTTPBackendRef{stable}
	rest := int32(100)
	for _, canary := range canaries {
		if !canary.Ready || canary.Shadow > 0 {
			continue
		}
		at, ok := r.portOf(canary, c, port)
		if !ok {
			continue
		}
		ref := r.backend(canary.Workload, at)
		ref.Weight = new(canary.Weight)
		rest -= canary.Weight
		refs = append(refs, ref)
	}
	refs[0].Weight = new(max(rest, 0))
	return refs
}

// portOf is the port of a canary where the same is spoken as at a port of the stable predictor; a canary that does not speak it gets no such
// requests. Of a canary that cannot be planned nothing else is known than that it had the ports of the stable one.
func (r *routes) portOf(canary plan.Track, stable *plan.Component, port int32) (int32, bool) {
	for _, c := range r.p.Canaries() {
		if c.Name != canary.Workload {
			continue
		}
		own, ownGRPC := c.Ports()
		if _, grpc := stable.Ports(); grpc != nil && grpc.Port == port {
			own = ownGRPC
		}
		if own == nil {
			return 0, false
		}
		return own.Port, true
	}
	return port, true
}

// mirrors copy requests for the predictor to the canaries that ask for copies. What they answer is thrown away by the gateway.
func (r *routes) mirrors(c *plan.Component, port int32) []gatewayv1.HTTPRouteFilter {
	var filters []gatewayv1.HTTPRouteFilter
	if c.Role != serving.Predictor {
		return nil
	}
	for _, canary := range r.p.Tracks() {
		at, ok := r.portOf(canary, c, port)
		if canary.Copies == 0 || !ok {
			continue
		}
		filters = append(filters, gatewayv1.HTTPRouteFilter{
			Type: gatewayv1.HTTPRouteFilterRequestMirror,
			RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{
				BackendRef: r.backend(canary.Workload, at).BackendObjectReference, Percent: new(canary.Copies),
			},
		})
	}
	return filters
}

func (r *routes) backend(service string, port int32) gatewayv1.HTTPBackendRef {
	return gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
		Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Service")), Name: gatewayv1.ObjectName(service),
		Namespace: new(gatewayv1.Namespace(r.p.Owner.Namespace)), Port: new(port),
	}}}
}

// duration is a time as routes write it: at most five digits a unit.
func duration(seconds int64) gatewayv1.Duration {
	const most = 99_999
	if seconds <= most {
		return gatewayv1.Duration(fmt.Sprintf("%ds", seconds))
	}
	hours := min(seconds/3600, most)
	text := fmt.Sprintf("%dh", hours)
	if rest := seconds - hours*3600; rest > 0 && rest < 3600 {
		text += fmt.Sprintf("%ds", rest)
	}
	return gatewayv1.Duration(text)
}

// pathRoute gives the service its path on the shared domain, and takes the path away before the model sees the request. It is a route of its own,
// so that no other path of the shared domain is touched. A rewrite goes with prefixes and whole paths only, so an explanation is asked for by
// the model's whole path.
func (r *routes) pathRoute() {
	path := r.p.Route.Path
	var rules []gatewayv1.HTTPRouteRule
	if e := r.p.Component(serving.Explainer); e != nil {
		rule := r.rule(e, matchPath(gatewayv1.PathMatchExact, path+r.explained()), restPort(e))
		rule.Filters = append(rule.Filters, rewrite(gatewayv1.HTTPPathModifier{Type: gatewayv1.FullPathHTTPPathModifier, ReplaceFullPath: new(r.explained())}))
		rules = append(rules, rule)
	}
	entry := r.p.Entry()
	rule := r.rule(entry, matchPath(gatewayv1.PathMatchPathPrefix, path), restPort(entry))
	rule.Filters = append(rule.Filters, rewrite(gatewayv1.HTTPPathModifier{Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new("/")}))
	r.route(names.PathRoute(r.p.Owner.Name), []string{r.st.Ingress.Domain}, append(rules, rule))
}

func rewrite(path gatewayv1.HTTPPathModifier) gatewayv1.HTTPRouteFilter {
	return gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterURLRewrite, URLRewrite: &gatewayv1.HTTPURLRewriteFilter{Path: &path}}
}
