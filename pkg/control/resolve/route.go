// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Hosts are the host names that a service would get of the operator's template, whatever their length; admission checks them before
// anything is made. In other modes than Standard somebody else makes them.
func Hosts(svc *servingv1beta1.InferenceService, st *settings.Settings) servingv1beta1.Hosts {
	if svc.Mode(st.Deploy.DefaultMode) != serving.Standard {
		return servingv1beta1.Hosts{}
	}
	predictor := names.Predictor(svc.Name, svc.Spec.Predictor.Name)
	if st.Ingress.EnableGatewayAPI {
		predictor = names.PredictorRoute(svc.Name)
	}
	wanted := []string{svc.Name, predictor}
	if svc.Spec.Transformer != nil {
		wanted = append(wanted, names.Transformer(svc.Name))
	}
	if svc.Spec.Explainer != nil {
		wanted = append(wanted, names.Explainer(svc.Name))
	}
	hosts := servingv1beta1.Hosts{Names: make([]string, 0, len(wanted))}
	for _, name := range wanted {
		host, err := settings.Expand(st.Ingress.DomainTemplate, settings.Place{
			Name: name, Namespace: svc.Namespace, IngressDomain: st.Ingress.Domain, Annotations: svc.Annotations, Labels: svc.Labels,
		})
		if err != nil {
			hosts.Fault = err.Error()
			continue
		}
		hosts.Names = append(hosts.Names, host)
	}
	return hosts
}

// checkNames refuses derived names that Kubernetes would refuse later, object by object.
func (r *resolver) checkNames() error {
	for i := range r.plan.Components {
		if err := r.checkName(&r.plan.Components[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *resolver) checkName(c *plan.Component) error {
	if r.plan.Mode == serving.Standard {
		if err := names.Check("label "+serving.LabelApp, names.App(c.Name)); err != nil {
			return unsupported("%v", err)
		}
	}
	if err := names.Check("Service", c.Name); err != nil {
		return unsupported("%v", err)
	}
	if w := c.Workers; w != nil {
		for _, err := range []error{names.Check("label "+serving.LabelApp, names.App(c.Name+"-worker")), names.Check("Service", w.Service)} {
			if err != nil {
				return unsupported("%v", err)
			}
		}
	}
	return nil
}

func (r *resolver) route() error {
	if r.plan.Mode == serving.Standard {
		return r.standardRoute()
	}
	return r.knativeRoute()
}

// host evaluates the operator's domain template.
func (r *resolver) host(name string) (string, error) {
	host, err := settings.Expand(r.st.Ingress.DomainTemplate, settings.Place{
		Name: name, Namespace: r.svc.Namespace, IngressDomain: r.st.Ingress.Domain, Annotations: r.svc.Annotations, Labels: r.svc.Labels,
	})
	if err != nil {
		return "", unsupported("ingress.domainTemplate of %s %v", settings.ConfigMapName, err)
	}
	if err := names.CheckHost("the host", host); err != nil {
		return "", unsupported("%v (ingress.domainTemplate is %q)", err, r.st.Ingress.DomainTemplate)
	}
	if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 || !strings.Contains(host, ".") {
		return "", unsupported("ingress.domainTemplate %q gives %q for this service, which is no full host name of lower-case letters, digits, - and dots", r.st.Ingress.DomainTemplate, host)
	}
	return host, nil
}

func (r *resolver) standardRoute() error {
	in := &r.st.Ingress
	route := &r.plan.Route
	var err error
	if route.Host, err = r.host(r.svc.Name); err != nil {
		return err
	}
	for i := range r.plan.Components {
		c := &r.plan.Components[i]
		if c.Canary != nil {
			continue
		}
		name := c.Name
		if c.Role == serving.Predictor && in.EnableGatewayAPI {
			name = names.PredictorRoute(r.svc.Name)
		}
		if c.Host, err = r.host(name); err != nil {
			return err
		}
		c.URL = in.URLScheme + "://" + c.Host
	}
	route.URL = in.URLScheme + "://" + route.Host
	route.Internal = r.svc.Labels[serving.LabelVisibility] == serving.VisibilityClusterLocal || in.Domain == "svc."+r.st.ClusterDomain || in.Domain == "svc.cluster.local"
	route.Disabled = in.DisableCreation
	route.MoreHosts = moreHosts(route.Host, []string{in.Domain}, in.AdditionalDomains)
	if route.Path, err = r.path(); err != nil {
		return err
	}
	for i := range r.plan.Components {
		if c := &r.plan.Components[i]; c.Canary == nil {
			r.protocols(c)
		}
	}
	entry := r.plan.Entry()
	route.Address = "http://" + r.clusterHost(entry.Name) + r.httpPort(entry)
	why := "ingress.domainTemplate " + in.DomainTemplate
	switch {
	case route.Internal:
		why += "; nothing outside the cluster reaches it, because the service is cluster-local"
	case route.Disabled:
		why += "; no route is created, because ingress.disableIngressCreation is true"
	case in.EnableGatewayAPI:
		why += "; routed by HTTPRoutes on Gateway " + in.KServeGateway
	default:
		why += "; routed by an Ingress"
	}
	r.decide(plan.Decision{Subject: plan.SubjectURL, Chosen: route.URL, Why: why})
	return nil
}

// protocols gives a component that speaks gRPC an address for each protocol: on the Gateway where the routes tell the protocols apart, else on the
// component's Service, which always does.
func (r *resolver) protocols(c *plan.Component) {
	rest, grpc := c.Ports()
	if grpc == nil {
		return
	}
	in, route := &r.st.Ingress, &r.plan.Route
	inside := r.clusterHost(c.Name)
	c.GRPCURL = "grpc://" + inside + r.portOf(grpc, 0)
	if rest != nil {
		c.RestURL = "http://" + inside + r.portOf(rest, handoff.ServicePort)
	}
	switch outside := !route.Internal && !route.Disabled; {
	case outside && in.EnableGatewayAPI:
		c.GRPCURL = "grpc://" + c.Host + ":80"
		if in.URLScheme == "https" {
			c.GRPCURL = "grpcs://" + c.Host + ":443"
		}
		if rest != nil {
			c.RestURL = c.URL
		}
	case outside && rest != nil && rest.Port == handoff.ServicePort: // where an Ingress leads to
		c.RestURL = c.URL
	}
}

// httpPort is the part of a component's address that says at which port HTTP is spoken, empty where it is the usual one. A headless Service has no
// ports of its own: its name leads to the pods.
func (r *resolver) httpPort(c *plan.Component) string {
	rest, grpc := c.Ports()
	if rest == nil {
		rest = grpc
	}
	return r.portOf(rest, handoff.ServicePort)
}

func (r *resolver) portOf(p *corev1.ServicePort, usual int32) string {
	switch {
	case r.st.ClusterService.Headless:
		return ":" + p.TargetPort.String()
	case p.Port != usual:
		return ":" + strconv.Itoa(int(p.Port))
	}
	return ""
}

func (r *resolver) clusterHost(name string) string {
	return name + "." + r.svc.Namespace + ".svc." + r.st.ClusterDomain
}

// path evaluates the operator's path template, which may be empty.
func (r *resolver) path() (string, error) {
	if r.st.Ingress.PathTemplate == "" {
		return "", nil
	}
	p, err := settings.Expand(r.st.Ingress.PathTemplate, settings.Place{Name: r.svc.Name, Namespace: r.svc.Namespace})
	if err != nil {
		return "", unsupported("ingress.pathTemplate of %s %v", settings.ConfigMapName, err)
	}
	u, err := url.ParseRequestURI(p)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "", unsupported("ingress.pathTemplate %q gives %q, which is no path", r.st.Ingress.PathTemplate, p)
	}
	return strings.TrimRight(u.Path, "/"), nil
}

// moreHosts moves a host under further domains; what would be no host name is left out.
func moreHosts(host string, domains, additional []string) []string {
	var hosts []string
	for _, domain := range domains {
		sub, ok := strings.CutSuffix(host, domain)
		if !ok {
			continue
		}
		for _, d := range additional {
			h := sub + d
			if h != host && !slices.Contains(hosts, h) && len(validation.IsDNS1123Subdomain(h)) == 0 {
				hosts = append(hosts, h)
			}
		}
		break
	}
	return hosts
}

// knativeRoute follows the URLs that Knative has given, or will give where the service is new.
func (r *resolver) knativeRoute() error {
	in := &r.st.Ingress
	domain := in.Domain
	if len(r.snap.KnativeDomains) > 0 {
		domain = r.snap.KnativeDomains[0]
	}
	for i := range r.plan.Components {
		c := &r.plan.Components[i]
		c.URL = "http://" + c.Name + "." + r.svc.Namespace + "." + domain
		if known := r.svc.Status.Components[c.Role].URL; known != "" {
			c.URL = known
		}
		u, err := url.Parse(c.URL)
		if err != nil {
			return unsupported("status.components.%s.url %q is no URL: %v", c.Role, c.URL, err)
		}
		c.Host = u.Host
	}
	entry := r.plan.Entry()
	if entry == nil {
		return nil
	}
	route := &r.plan.Route
	var err error
	if route.Path, err = r.path(); err != nil {
		return err
	}
	route.Mesh, route.NoVirtualService = !in.DisableIstioVirtualHost, r.snap.NoVirtualServices
	route.Host = entry.Host
	route.Address = "http://" + r.clusterHost(entry.Name)
	if route.Mesh {
		route.Host = serviceHost(entry.Host, entry.Role)
		route.Address = "http://" + r.clusterHost(r.svc.Name)
	}
	route.URL = in.URLScheme + "://" + route.Host
	why := "the host that Knative gives the " + string(entry.Role)
	if route.Path != "" {
		route.URL = in.URLScheme + "://" + in.Domain + route.Path
		why = "ingress.pathTemplate " + in.PathTemplate
	}
	route.Internal = r.svc.Labels[serving.LabelKnativeVisibility] == serving.VisibilityClusterLocal || route.Host == r.clusterHost(r.svc.Name)
	route.MoreHosts = moreHosts(route.Host, r.snap.KnativeDomains, in.AdditionalDomains)
	r.decide(plan.Decision{Subject: plan.SubjectURL, Chosen: route.URL, Why: why})
	return nil
}

// serviceHost takes the component out of a host that Knative gave: foo-predictor.ns.example.com becomes foo.ns.example.com.
func serviceHost(host string, role serving.ComponentRole) string {
	if strings.Contains(host, "-default") {
		return strings.Replace(host, "-"+string(role)+"-default", "", 1)
	}
	return strings.Replace(host, "-"+string(role), "", 1)
}
