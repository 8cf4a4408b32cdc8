// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// API groups of optional kinds.
const (
	gatewayGroup = gatewayv1.GroupName
	knativeGroup = "serving.knative.dev"
	istioGroup   = "networking.istio.io"
)

// title is a role as reasons spell it.
func title(role serving.ComponentRole) string {
	if role == "" {
		return "InferenceService"
	}
	return strings.ToUpper(string(role[:1])) + string(role[1:])
}

func notRouted(role serving.ComponentRole) string { return title(role) + " ingress not created" }

// route judges how the service is reached, and publishes its URL and address once it can be. They stay while a component recovers, and until
// what is to serve there, or to lead there, does.
func (o *observer) route() {
	p := o.in.Plan
	f := o.routable()
	o.conditions.put(servingv1beta1.IngressReady, f)
	if f.status != corev1.ConditionTrue || o.follows || slices.ContainsFunc(slices.Collect(maps.Values(o.parts)), func(p *part) bool { return p.replaces }) {
		return
	}
	if p.Route.URL != "" {
		o.status.URL = p.Route.URL
	}
	if p.Mode == serving.Knative {
		o.entryScheme()
	}
	if p.Route.Address != "" && (o.status.Address == nil || o.status.Address.URL != p.Route.Address) {
		o.status.Address = &serving.Address{URL: p.Route.Address}
	}
}

// routable is True only if every component serves: what is reached and cannot answer is not ready, whichever component it is.
func (o *observer) routable() fact {
	p := o.in.Plan
	gateway := p.Mode == serving.Standard && o.in.Settings != nil && o.in.Settings.Ingress.EnableGatewayAPI && !p.Route.Internal && !p.Route.Disabled
	for _, role := range roles() {
		part := o.parts[role]
		if part == nil || part.status == corev1.ConditionTrue {
			continue
		}
		f := fact{status: corev1.ConditionFalse, reason: notRouted(role), message: "the " + string(role) + " is not ready", weak: part.weak}
		if role != serving.Predictor && part.message != "" {
			f.message += ": " + part.message // which is all that Ready says
		}
		if gateway {
			f.reason = title(role) + " Deployment NotReady"
		}
		if part.status == corev1.ConditionUnknown {
			f.status = corev1.ConditionUnknown
		}
		return f
	}
	if kind, _ := objectOf(o.in.Failure); isRoute(kind) {
		t := o.trouble()
		return fact{status: corev1.ConditionFalse, reason: t.reason, message: t.message}
	}
	switch {
	case p.Mode == serving.Knative:
		return o.knativeRoutable()
	case p.Route.Internal || p.Route.Disabled:
		return fact{status: corev1.ConditionTrue}
	case gateway:
		return o.gatewayRoutable()
	}
	ingress := o.in.Children.Ingress(o.svc.Name)
	if ingress == nil || !ingress.DeletionTimestamp.IsZero() {
		return o.missing(notRouted(serving.Predictor), "Ingress", o.svc.Name)
	}
	return fact{status: corev1.ConditionTrue}
}

// missing is a route that is not there: because of what applying met, else not yet.
func (o *observer) missing(reason, kind, name string) fact {
	if o.in.Failure != nil {
		t := o.trouble()
		return fact{status: corev1.ConditionFalse, reason: t.reason, message: t.message}
	}
	return fact{status: corev1.ConditionFalse, reason: reason, message: kind + " " + name + " does not exist yet"}
}

// gatewayRoutable asks every HTTPRoute whether its Gateway took it. One that is refused explains more than one that is still to be taken up, and is
// told also when that has come to be the case meanwhile.
func (o *observer) gatewayRoutable() fact {
	was := statusOf(o.old, servingv1beta1.IngressReady) == corev1.ConditionTrue
	p := o.in.Plan
	type route struct{ who, name string }
	var routes []route
	for _, role := range roles() {
		c := p.Component(role)
		if c == nil {
			continue
		}
		name := c.Name
		if role == serving.Predictor {
			name = names.PredictorRoute(o.svc.Name)
		}
		routes = append(routes, route{title(role), name})
	}
	routes = append(routes, route{title(""), o.svc.Name})
	if p.Route.Path != "" {
		routes = append(routes, route{title(""), names.PathRoute(o.svc.Name)})
	}
	worst := fact{status: corev1.ConditionTrue}
	for _, r := range routes {
		f, refused := o.httpRoute(r.who, r.name, was)
		if refused {
			return f
		}
		if worst.status == corev1.ConditionTrue {
			worst = f
		}
	}
	return worst
}

// httpRoute judges one HTTPRoute by what its parents say of it. Of a service that was reached before, the route that was accepted last still leads
// there: it has a while to follow a change, unless that is refused.
func (o *observer) httpRoute(who, name string, was bool) (judged fact, refused bool) {
	no := fact{status: corev1.ConditionFalse}
	u := o.in.Children.OptionalObject(gatewayGroup, "HTTPRoute", name)
	if u == nil || u.GetDeletionTimestamp() != nil {
		return o.missing(who+" Deployment NotReady", "HTTPRoute", name), false
	}
	parents := parentsOf(u)
	stale, fresh := false, false // by the Gateway's controller; others, of policies for instance, may add what they have to say
	for i := range parents {
		parent := &parents[i]
		for _, c := range parent.Conditions {
			if refuses(c) {
				no.reason, no.message = c.Reason, fmt.Sprintf("%s: HTTPRoute %s, Gateway %s: %s is %s: %s", who, name, parent.ParentRef.Name, c.Type, c.Status, c.Message)
				no.message += o.withoutPatterns(c)
				no.tell = true
				return no, true
			}
			if c.Type == string(gatewayv1.RouteConditionAccepted) && c.Status == metav1.ConditionTrue {
				isFresh := c.ObservedGeneration == 0 || c.ObservedGeneration >= u.GetGeneration()
				fresh, stale = fresh || isFresh, stale || !isFresh
			}
		}
	}
	if fresh {
		return fact{status: corev1.ConditionTrue}, false
	}
	changed := plan.WrittenAt(u)
	left := o.patienceSince(changed)
	if was && (left > 0 || changed.IsZero() && stale) {
		o.follows = true
		if !changed.IsZero() {
			o.lookAgain(left)
		}
		return fact{status: corev1.ConditionTrue}, false
	}
	no.reason = ReasonParentStatus
	lasting := ""
	switch {
	case changed.IsZero():
	case left > 0:
		o.lookAgain(left)
	default:
		lasting, no.tell = " for over a minute", true
	}
	switch {
	case len(parents) == 0:
		no.message = who + " HttpRouteNotReady: no Gateway has answered for HTTPRoute " + name + lasting + "; see whether the Gateway exists and its controller runs"
	case stale && lasting != "":
		no.message = fmt.Sprintf("%s HttpRouteNotReady: Gateway %s has not taken up the latest change of HTTPRoute %s%s; requests go as before it, see whether the Gateway's controller runs", who, parents[0].ParentRef.Name, name, lasting)
	case lasting != "":
		no.message = fmt.Sprintf("%s HttpRouteNotReady: Gateway %s has not accepted HTTPRoute %s%s; see whether the Gateway's controller runs", who, parents[0].ParentRef.Name, name, lasting)
	default:
		no.message = fmt.Sprintf("%s HttpRouteNotReady: Gateway %s has not accepted HTTPRoute %s yet", who, parents[0].ParentRef.Name, name)
	}
	return no, false
}

// withoutPatterns is an advice where a Gateway may have refused the regular expressions of a route, which not every Gateway knows.
func (o *observer) withoutPatterns(c metav1.Condition) string {
	if o.in.Settings == nil || o.in.Settings.Ingress.PathMatch == settings.MatchPathPrefix {
		return ""
	}
	said := strings.ToLower(strings.ReplaceAll(c.Message, " ", ""))
	if c.Reason != string(gatewayv1.RouteReasonUnsupportedValue) && !strings.Contains(said, "regularexpression") && !strings.Contains(said, "regex") && !strings.Contains(said, "^/") {
		return ""
	}
	return "; if the Gateway knows no regular expressions, set ingress.pathMatchType in " + settings.ConfigMapName + " to " + settings.MatchPathPrefix
}

// refuses says that a condition of a route is bad news: one that is False, but for the one that is good while it is False.
func refuses(c metav1.Condition) bool {
	if c.Type == string(gatewayv1.RouteConditionPartiallyInvalid) {
		return c.Status == metav1.ConditionTrue
	}
	return c.Status == metav1.ConditionFalse
}

// parentsOf are what the Gateways that a route names have said of it. A Gateway that it named before may have left its word behind.
func parentsOf(u *unstructured.Unstructured) []gatewayv1.RouteParentStatus {
	var s gatewayv1.HTTPRouteStatus
	if !readStatus(u, &s) {
		return nil
	}
	var spec gatewayv1.CommonRouteSpec
	if raw, ok := u.Object["spec"].(map[string]any); !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &spec) != nil || len(spec.ParentRefs) == 0 {
		return s.Parents
	}
	place := func(p gatewayv1.ParentReference) string {
		ns := u.GetNamespace()
		if p.Namespace != nil {
			ns = string(*p.Namespace)
		}
		return ns + "/" + string(p.Name)
	}
	var named []gatewayv1.RouteParentStatus
	for i := range s.Parents {
		if slices.ContainsFunc(spec.ParentRefs, func(p gatewayv1.ParentReference) bool { return place(p) == place(s.Parents[i].ParentRef) }) {
			named = append(named, s.Parents[i])
		}
	}
	return named
}

// knativeRoutable follows the URL of the component that requests reach first.
func (o *observer) knativeRoutable() fact {
	p := o.in.Plan
	entry := p.Entry()
	if entry == nil {
		return fact{status: corev1.ConditionUnknown}
	}
	known := o.status.Components[entry.Role].URL
	if known == "" {
		return fact{status: corev1.ConditionUnknown, reason: notRouted(entry.Role), message: "Knative has not given the " + string(entry.Role) + " a URL yet"}
	}
	if withoutScheme(known) != withoutScheme(entry.URL) {
		// The plan was made before the URL was known; the next one has it.
		o.lookAgain(soon)
		return fact{status: corev1.ConditionUnknown, reason: notRouted(entry.Role), message: "the routes still have to follow the URL that Knative has given"}
	}
	if p.Route.Mesh && !p.Route.NoVirtualService && o.in.Children.OptionalObject(istioGroup, "VirtualService", o.svc.Name) == nil {
		return o.missing(notRouted(entry.Role), "VirtualService", o.svc.Name)
	}
	return fact{status: corev1.ConditionTrue}
}

// entryScheme shows the URL of the component that requests reach first with the scheme that the operator's gateway has.
func (o *observer) entryScheme() {
	entry := o.in.Plan.Entry()
	if o.in.Settings == nil || o.in.Settings.Ingress.URLScheme == "" || entry == nil {
		return
	}
	if c := o.status.Components[entry.Role]; c.URL != "" {
		c.URL = o.in.Settings.Ingress.URLScheme + "://" + withoutScheme(c.URL)
		o.status.Components[entry.Role] = c
	}
}

func withoutScheme(url string) string {
	if _, rest, found := strings.Cut(url, "://"); found {
		return rest
	}
	return url
}

// readStatus reads the status of an object of an optional kind. What cannot be read is as good as not there.
func readStatus(u *unstructured.Unstructured, into any) bool {
	raw, ok := u.Object["status"].(map[string]any)
	return ok && runtime.DefaultUnstructuredConverter.FromUnstructured(raw, into) == nil
}
