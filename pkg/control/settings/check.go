// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

type checker struct {
	broken map[string]bool
	faults []Fault
}

func (c *checker) fault(key, path, format string, args ...any) {
	if !c.broken[key] {
		c.faults = append(c.faults, Fault{Key: key, Path: path, Problem: problem(format, args)})
	}
}

func (c *checker) check(s *Settings) {
	c.sidecar("storageInitializer", s.Storage.Sidecar)
	c.sidecar("logger", s.Logger.Sidecar)
	c.sidecar("batcher", s.Batcher.Sidecar)
	c.sidecar("agent", s.Agent)
	c.sidecar("router", s.Router.Sidecar)
	c.quantity("storageInitializer", "$.cpuModelcar", s.Storage.CPUModelcar)
	c.quantity("storageInitializer", "$.memoryModelcar", s.Storage.MemoryModelcar)
	switch s.Storage.Mode {
	case OCIDisabled, OCIModelcar, OCINative, OCIFetch:
	default:
		c.fault("storageInitializer", "$.ociModelMode", "must be one of modelcar, native, fetch, is %q", s.Storage.Mode)
	}
	c.ingress(s.Ingress)
	if _, ok := serving.ParseDeploymentMode(string(s.Deploy.DefaultMode)); !ok {
		c.fault("deploy", "$.defaultDeploymentMode", "must be one of Standard, Knative, ModelMesh, is %q", s.Deploy.DefaultMode)
	}
	c.bound("$.deploymentRolloutStrategy.defaultRollout.maxSurge", s.Deploy.Rollout.Default.MaxSurge)
	c.bound("$.deploymentRolloutStrategy.defaultRollout.maxUnavailable", s.Deploy.Rollout.Default.MaxUnavailable)
	c.rollout(s.Deploy.Rollout.Default.MaxSurge, s.Deploy.Rollout.Default.MaxUnavailable)
	c.boolean("metricsAggregator", "$.enableMetricAggregation", s.Metrics.Aggregation)
	c.boolean("metricsAggregator", "$.enablePrometheusScraping", s.Metrics.Scraping)
	c.resources("inferenceService", s.Service.Resource)
	c.resources("opentelemetryCollector", s.OpenTelemetry.CollectorLimits)
	c.number("batcher", "$.maxBatchSize", s.Batcher.MaxBatchSize)
	c.number("batcher", "$.maxLatency", s.Batcher.MaxLatency)
	c.window("$.scaleUpStabilizationWindowSeconds", s.Autoscaler.ScaleUpStabilization)
	c.window("$.scaleDownStabilizationWindowSeconds", s.Autoscaler.ScaleDownStabilization)
	c.canaryAnalysis(s.CanaryAnalysis)
	switch s.Router.ImagePullPolicy {
	case "", "Always", "IfNotPresent", "Never":
	default:
		c.fault("router", "$.imagePullPolicy", "must be one of Always, IfNotPresent, Never, is %q", s.Router.ImagePullPolicy)
	}
}

func (c *checker) ingress(in Ingress) {
	if in.IngressGateway == "" {
		c.fault("ingress", "$.ingressGateway", "is required")
	}
	if in.EnableGatewayAPI {
		ns, name, ok := strings.Cut(in.KServeGateway, "/")
		if !ok || len(validation.IsDNS1123Label(ns)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			c.fault("ingress", "$.kserveIngressGateway", "must be <namespace>/<name> of a Gateway because enableGatewayApi is true, is %q", in.KServeGateway)
		}
	}
	host, err := execute(in.DomainTemplate, Place{Name: "name", Namespace: "namespace", IngressDomain: in.Domain})
	switch {
	case err != nil:
		c.fault("ingress", "$.domainTemplate", "%v", err)
	case !strings.Contains(in.DomainTemplate, ".Annotations") && !strings.Contains(in.DomainTemplate, ".Labels"):
		// A template that reads the service's own metadata cannot be judged without a service.
		if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 {
			c.fault("ingress", "$.domainTemplate", "gives %q for the service name in namespace namespace, which is no host name", host)
		}
	}
	if in.PathTemplate != "" {
		path, err := Expand(in.PathTemplate, Place{Name: "name", Namespace: "namespace"})
		switch {
		case err != nil:
			c.fault("ingress", "$.pathTemplate", "%v", err)
		case !strings.HasPrefix(path, "/"):
			c.fault("ingress", "$.pathTemplate", "must give a path that starts with /, gives %q", path)
		}
	}
	for i, d := range in.AdditionalDomains {
		if len(validation.IsDNS1123Subdomain(d)) > 0 {
			c.fault("ingress", fmt.Sprintf("$.additionalIngressDomains[%d]", i), "is no domain name: %q", d)
		}
	}
	switch in.PathMatch {
	case "", MatchRegularExpression, MatchPathPrefix:
	default:
		c.fault("ingress", "$.pathMatchType", "must be %s or %s, is %q", MatchRegularExpression, MatchPathPrefix, in.PathMatch)
	}
	if in.URLScheme != "http" && in.URLScheme != "https" {
		c.fault("ingress", "$.urlScheme", "must be http or https, is %q", in.URLScheme)
	}
}

func (c *checker) canaryAnalysis(a CanaryAnalysis) {
	if a.Address != "" {
		u, err := url.Parse(a.Address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			// The text may hold a password and is not repeated.
			c.fault("canaryAnalysis", "$.prometheusAddress", "must be an http or https URL without user, query and fragment, such as http://prometheus.monitoring:9090")
		}
	}
	if a.BearerTokenFile != "" && !strings.HasPrefix(a.BearerTokenFile, "/") {
		c.fault("canaryAnalysis", "$.bearerTokenFile", "must be the path of a file of the controller, is %q", a.BearerTokenFile)
	}
	if a.TimeoutSeconds < 1 || a.TimeoutSeconds > 60 {
		c.fault("canaryAnalysis", "$.timeoutSeconds", "must be between 1 and 60, is %d", a.TimeoutSeconds)
	}
	known := []string{"$(namespace)", "$(service)", "$(canary)", "$(window)"}
	c.query("$.successRateQuery", a.SuccessRateQuery, known)
	c.query("$.latencyQuery", a.LatencyQuery, append(known, "$(quantile)"))
}

var placeholder = regexp.MustCompile(`\$\([^()]*\)`)

// query is PromQL that a server could only refuse where a word between $( and ) is none that is filled in.
func (c *checker) query(path, text string, known []string) {
	if strings.TrimSpace(text) == "" {
		c.fault("canaryAnalysis", path, "must be a query in PromQL; remove it for the default")
	}
	for _, word := range placeholder.FindAllString(text, -1) {
		if !slices.Contains(known, word) {
			c.fault("canaryAnalysis", path, "%s is no placeholder; use %s", word, strings.Join(known, ", "))
		}
	}
}

func (c *checker) sidecar(key string, s Sidecar) {
	if s.Image == "" {
		c.fault(key, "$.image", "is required")
	}
	c.quantity(key, "$.cpuRequest", s.CPURequest)
	c.quantity(key, "$.cpuLimit", s.CPULimit)
	c.quantity(key, "$.memoryRequest", s.MemoryRequest)
	c.quantity(key, "$.memoryLimit", s.MemoryLimit)
	c.order(key, "cpu", s.CPURequest, s.CPULimit)
	c.order(key, "memory", s.MemoryRequest, s.MemoryLimit)
}

func (c *checker) resources(key string, r Resources) {
	for path, text := range map[string]string{
		"$.resource.cpuLimit": r.CPULimit, "$.resource.memoryLimit": r.MemoryLimit,
		"$.resource.cpuRequest": r.CPURequest, "$.resource.memoryRequest": r.MemoryRequest,
	} {
		if text != "" {
			c.quantity(key, path, text)
		}
	}
	c.order(key, "resource.cpu", r.CPURequest, r.CPULimit)
	c.order(key, "resource.memory", r.MemoryRequest, r.MemoryLimit)
}

func (c *checker) quantity(key, path, text string) {
	q, err := quantity.Parse(text)
	switch {
	case text == "":
		c.fault(key, path, "is required, a quantity such as 100m or 1Gi")
	case err != nil:
		c.fault(key, path, "is no quantity such as 100m or 1Gi: %q", text)
	case q.Sign() < 0:
		c.fault(key, path, "must not be negative, is %s", text)
	}
}

// order finds a request above its limit, which no pod could ever be created with.
func (c *checker) order(key, what, request, limit string) {
	r, errR := quantity.Parse(request)
	l, errL := quantity.Parse(limit)
	if errR == nil && errL == nil && r.Cmp(l) > 0 {
		c.fault(key, "$."+what+"Request", "%s is above %sLimit %s", request, what, limit)
	}
}

func (c *checker) bound(path, text string) {
	if text == "" {
		return
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil || n < 0 {
		c.fault("deploy", path, "must be a number or a percentage such as 25%%, is %q", text)
	}
}

// rollout finds what no Deployment could be made with.
func (c *checker) rollout(surge, unavailable string) {
	const path = "$.deploymentRolloutStrategy.defaultRollout.maxUnavailable"
	number := func(text string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
		if err != nil {
			return -1
		}
		return n
	}
	switch {
	case number(surge) == 0 && number(unavailable) == 0:
		c.fault("deploy", path, "must not be 0 beside a maxSurge of 0: no pod could ever be replaced")
	case strings.HasSuffix(unavailable, "%") && number(unavailable) > 100:
		c.fault("deploy", path, "must not be above 100%%, is %q", unavailable)
	}
}

// maxWindow is the longest window that an autoscaler may have.
const maxWindow = 3600

func (c *checker) window(path, text string) {
	c.number("autoscaler", path, text)
	if n, err := strconv.Atoi(text); err == nil && n > maxWindow {
		c.fault("autoscaler", path, "must be at most %d, is %d", maxWindow, n)
	}
}

func (c *checker) boolean(key, path, text string) {
	if text != "" && text != "true" && text != "false" {
		c.fault(key, path, `must be "true" or "false", is %q`, text)
	}
}

func (c *checker) number(key, path, text string) {
	if n, err := strconv.Atoi(text); text != "" && (err != nil || n < 0) {
		c.fault(key, path, "must be a whole number of at least 0 as text, is %q", text)
	}
}

// Place is what domainTemplate and pathTemplate can name.
type Place struct {
	Name, Namespace, IngressDomain string
	Annotations, Labels            map[string]string
}

// absent is what a template prints for a key that a map lacks.
const absent = "<no value>"

// Expand executes a domain or path template. A key of .Labels or .Annotations that the service lacks may be asked for in a condition, but is
// never printed: what it stands in is an address.
func Expand(text string, p Place) (string, error) {
	if out, ok := Plain(text, map[string]string{".Name": p.Name, ".Namespace": p.Namespace, ".IngressDomain": p.IngressDomain}); ok && !strings.Contains(out, absent) {
		return out, nil
	}
	out, err := execute(text, p)
	if err != nil || !strings.Contains(out, absent) {
		return out, err
	}
	what := "a label or annotation that the service does not have"
	if _, err := execute(text, p, "missingkey=error"); err != nil {
		if _, key, found := strings.Cut(err.Error(), "map has no entry for key "); found {
			key, _, _ = strings.Cut(key, ";")
			what = "the label or annotation " + key + ", which the service does not have: set it in metadata"
		}
	}
	return "", fmt.Errorf("needs %s", what)
}

const longestPlain = 16 << 10

// Plain fills in a template that does nothing but name values, as nearly all do: reading it as a template costs more than all the rest of a
// decision. It says whether the text is one, and not a long one.
func Plain(text string, values map[string]string) (string, bool) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		action, after, closed := strings.Cut(rest, "}}")
		value, known := values[strings.Trim(action, " ")]
		if !closed || !known || out.Len() > longestPlain {
			return "", false
		}
		out.WriteString(value)
		text = after
	}
}

func execute(text string, p Place, options ...string) (string, error) {
	t, err := template.New("template").Option(options...).Parse(text)
	if err != nil {
		return "", fmt.Errorf("is no template: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, p); err != nil {
		return "", fmt.Errorf("cannot be executed: %w; it may name .Name, .Namespace, .IngressDomain, .Annotations and .Labels", err)
	}
	return out.String(), nil
}
