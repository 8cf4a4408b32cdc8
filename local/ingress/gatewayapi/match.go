// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// pathKind is how a path is compared; a greater one goes before. Where patterns stand is every gateway's own decision: here they come after
// prefixes, of which they might be meant to be the rest, but before the prefix / that a rule without any match has.
type pathKind int

const (
	everyPath pathKind = iota
	pattern
	prefix
	exact
)

// condition is a header or a query parameter that must be there.
type condition struct {
	name, value string
	pattern     *regexp.Regexp
}

func (c *condition) holds(value string) bool {
	if c.pattern != nil {
		return c.pattern.MatchString(value)
	}
	return value == c.value
}

// Match is one alternative of one rule.
type Match struct {
	Rule *Rule
	// Prefix is the path prefix that was matched, where it was one.
	Prefix string

	kind    pathKind
	path    string
	pattern *regexp.Regexp
	method  string
	headers []condition
	queries []condition
}

// order is how matches of the same host are tried, of which the standard's sentence is: an exact path, the longest prefix, a method, the
// most headers, the most query parameters. Those that are alike keep the order in which they came: the oldest route first.
func order(a, b *Match) int {
	method := func(m *Match) int { return min(len(m.method), 1) }
	return cmp.Or(cmp.Compare(b.kind, a.kind), cmp.Compare(len(b.Prefix), len(a.Prefix)), cmp.Compare(method(b), method(a)),
		cmp.Compare(len(b.headers), len(a.headers)), cmp.Compare(len(b.queries), len(a.queries)))
}

// matches says whether a request is one of this match. The parsed query is kept for the next match that asks.
func (m *Match) matches(r *http.Request, query *url.Values) bool {
	switch m.kind {
	case exact:
		if r.URL.Path != m.path {
			return false
		}
	case prefix:
		// Element by element: /a matches /a and /a/b, not /ab.
		rest, ok := strings.CutPrefix(r.URL.Path, m.path)
		if !ok || rest != "" && rest[0] != '/' {
			return false
		}
	case pattern:
		if !m.pattern.MatchString(r.URL.Path) {
			return false
		}
	case everyPath:
	}
	if m.method != "" && m.method != r.Method {
		return false
	}
	for i := range m.headers {
		values := r.Header[m.headers[i].name]
		if len(values) == 0 || !m.headers[i].holds(joined(values)) {
			return false
		}
	}
	for i := range m.queries {
		if *query == nil {
			*query = r.URL.Query()
		}
		values := (*query)[m.queries[i].name]
		if len(values) == 0 || !m.queries[i].holds(values[0]) {
			return false
		}
	}
	return true
}

// joined is a header that came several times as the one that it means.
func joined(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ",")
}

// Table finds the rule of a request. It is built anew from all routes and never changed.
type Table struct {
	exact map[string][]*Match
	// below has the hosts of wildcards without their star, as ".example.com".
	below map[string][]*Match
	any   []*Match
}

// Found is what a table knows about a request.
type Found struct {
	// Match is nil where no rule matches.
	Match *Match
	// Host says that a route names the host, exactly or by a wildcard.
	Host bool
}

// Find returns what there is for a request to a host, which comes without port and in small letters: the most particular host first.
func (t *Table) Find(host string, r *http.Request) Found {
	var query url.Values
	list, known := t.exact[host]
	if m := first(list, r, &query); m != nil {
		return Found{m, true}
	}
	for rest := host; len(t.below) > 0; {
		i := strings.IndexByte(rest[min(1, len(rest)):], '.')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		list, ok := t.below[rest]
		known = known || ok
		if m := first(list, r, &query); m != nil {
			return Found{m, true}
		}
	}
	return Found{first(t.any, r, &query), known}
}

func first(list []*Match, r *http.Request, query *url.Values) *Match {
	for _, m := range list {
		if m.matches(r, query) {
			return m
		}
	}
	return nil
}

// add puts matches under a host, which may be a wildcard or empty.
func (t *Table) add(host string, list []*Match) {
	switch below, isWild := strings.CutPrefix(host, "*"); {
	case host == "":
		t.any = append(t.any, list...)
	case isWild:
		t.below[below] = append(t.below[below], list...)
	default:
		t.exact[host] = append(t.exact[host], list...)
	}
}

func (t *Table) sort() {
	slices.SortStableFunc(t.any, order)
	for _, hosts := range []map[string][]*Match{t.exact, t.below} {
		for _, list := range hosts {
			slices.SortStableFunc(list, order)
		}
	}
}

// match reads one alternative of a rule.
func (c *compiler) match(m *gatewayv1.HTTPRouteMatch) (*Match, error) {
	out := &Match{kind: everyPath}
	if m.Path != nil {
		if err := c.path(out, m.Path); err != nil {
			return nil, err
		}
	}
	if m.Method != nil {
		out.method = string(*m.Method)
	}
	for i := range m.Headers {
		h := &m.Headers[i]
		name := http.CanonicalHeaderKey(string(h.Name))
		if slices.ContainsFunc(out.headers, func(c condition) bool { return c.name == name }) {
			continue // the standard: only the first of a name counts
		}
		add, err := c.condition(name, h.Value, h.Type != nil && *h.Type == gatewayv1.HeaderMatchRegularExpression)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", h.Name, err)
		}
		out.headers = append(out.headers, add)
	}
	for i := range m.QueryParams {
		q := &m.QueryParams[i]
		if slices.ContainsFunc(out.queries, func(c condition) bool { return c.name == string(q.Name) }) {
			continue // the same
		}
		add, err := c.condition(string(q.Name), q.Value, q.Type != nil && *q.Type == gatewayv1.QueryParamMatchRegularExpression)
		if err != nil {
			return nil, fmt.Errorf("query parameter %s: %w", q.Name, err)
		}
		out.queries = append(out.queries, add)
	}
	return out, nil
}

func (c *compiler) path(out *Match, p *gatewayv1.HTTPPathMatch) error {
	kind, value := gatewayv1.PathMatchPathPrefix, "/"
	if p.Type != nil {
		kind = *p.Type
	}
	if p.Value != nil {
		value = *p.Value
	}
	var err error
	switch kind {
	case gatewayv1.PathMatchExact:
		out.kind, out.path = exact, value
	case gatewayv1.PathMatchPathPrefix:
		if out.Prefix = value; value != "/" {
			out.kind, out.path = prefix, strings.TrimSuffix(value, "/")
		}
	case gatewayv1.PathMatchRegularExpression:
		out.kind = pattern
		out.pattern, err = c.compiled(value)
	default:
		err = fmt.Errorf("paths cannot be matched by %s", kind)
	}
	return err
}

func (c *compiler) condition(name, value string, isPattern bool) (condition, error) {
	out := condition{name: name, value: value}
	var err error
	if isPattern {
		out.pattern, err = c.compiled(value)
	}
	return out, err
}

// compiled reads a pattern, which must match a value whole, as in other gateways. Patterns are few and in many routes.
func (c *compiler) compiled(text string) (*regexp.Regexp, error) {
	if p := c.patterns[text]; p != nil {
		return p, nil
	}
	p, err := regexp.Compile("^(?s:" + text + ")$")
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be read: %w", text, err)
	}
	c.patterns[text] = p
	return p, nil
}

// hostAndPort takes a host apart as a request has it.
func hostAndPort(host string) (name, port string) {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") && (host[0] == '[' || strings.IndexByte(host, ':') == i) {
		host, port = host[:i], host[i+1:]
	}
	return strings.Trim(host, "[]"), port
}

// Host is that of a request without port and closing dot, in small letters.
func Host(host string) string {
	name, _ := hostAndPort(host)
	return strings.ToLower(strings.TrimSuffix(name, "."))
}
