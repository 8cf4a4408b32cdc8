// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is one request that the API server has answered.
type Request struct {
	// User is a service account's own name when it is one of our system's, else the whole user name.
	User                                                string
	Verb, Group, Resource, Subresource, Namespace, Name string
	// Path is set for what is no resource, such as /metrics.
	Path string
	Code int
	// Forbidden says that the roles did not allow it. (Admission answers 403 as well.)
	Forbidden bool
	// Lists says that a watch began with what is there: a list and a watch in one, which older servers do not have.
	Lists bool
	// DryRun says that nothing was to be stored.
	DryRun bool
	Time   time.Time
}

// Kind is the resource with its subresource.
func (r Request) Kind() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// Writes tells whether the request is one that changes something.
func (r Request) Writes() bool {
	return !r.DryRun && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

func (r Request) String() string {
	what := r.Path
	if r.Resource != "" {
		what = r.Kind() + " " + r.Namespace + "/" + r.Name
		if r.Group != "" {
			what = r.Kind() + "." + r.Group + " " + r.Namespace + "/" + r.Name
		}
	}
	return fmt.Sprintf("%s: %s %s: %d", r.User, r.Verb, what, r.Code)
}

// auditLog reads the server's file from where it stopped the last time.
type auditLog struct {
	path     string
	mu       sync.Mutex
	offset   int64
	requests []Request
}

type auditEvent struct {
	Stage, RequestURI, Verb string
	User                    struct{ Username string }
	ObjectRef               *struct {
		Resource, Subresource, Namespace, Name, APIGroup string
	}
	ResponseStatus struct{ Code int }
	StageTimestamp time.Time
	Annotations    map[string]string
}

const accountPrefix = "system:serviceaccount:" + System + ":"

// read returns everything that was answered so far.
func (a *auditLog) read() ([]Request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	file, err := os.Open(a.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	lines := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return slices.Clip(a.requests), nil // half a line is read the next time
		}
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		a.offset += int64(len(line))
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		// A watch is counted when it starts, everything else when it is answered.
		if (e.Stage == "ResponseStarted") != (e.Verb == "watch") {
			continue
		}
		a.requests = append(a.requests, e.request())
	}
}

func (e *auditEvent) request() Request {
	r := Request{
		User: strings.TrimPrefix(e.User.Username, accountPrefix), Verb: e.Verb, Code: e.ResponseStatus.Code, Time: e.StageTimestamp,
		Forbidden: e.Annotations["authorization.k8s.io/decision"] == "forbid", DryRun: strings.Contains(e.RequestURI, "dryRun=All"),
		Lists: e.Verb == "list" || strings.Contains(e.RequestURI, "sendInitialEvents=true"),
	}
	if ref := e.ObjectRef; ref != nil {
		r.Resource, r.Subresource, r.Namespace, r.Name, r.Group = ref.Resource, ref.Subresource, ref.Namespace, ref.Name, ref.APIGroup
	} else {
		r.Path, _, _ = strings.Cut(e.RequestURI, "?")
	}
	return r
}

// Requests are all that our processes asked for so far, and all that anybody changed; by restricts them to one user.
func (c *Cluster) Requests(by ...string) ([]Request, error) {
	all, err := c.audit.read()
	if err != nil || len(by) == 0 {
		return all, err
	}
	var own []Request
	for _, r := range all {
		if slices.Contains(by, r.User) {
			own = append(own, r)
		}
	}
	return own, nil
}

// Forbidden are the requests of our processes that their roles do not allow: there must be none.
func (c *Cluster) Forbidden() ([]Request, error) {
	own, err := c.Requests(ControllerAccount, WebhookAccount)
	return slices.DeleteFunc(own, func(r Request) bool { return !r.Forbidden }), err
}

// Unused lists what the roles grant to our processes and none of them has asked for, one line "account group/resource verb" each.
func (c *Cluster) Unused(ctx context.Context) ([]string, error) {
	var unused []string
	for _, account := range []string{ControllerAccount, WebhookAccount} {
		requests, err := c.Requests(account)
		if err != nil {
			return nil, err
		}
		rules, err := c.granted(ctx, account)
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			for _, grant := range grants(rule) {
				if !slices.ContainsFunc(requests, grant.covers) {
					unused = append(unused, account+" "+grant.String())
				}
			}
		}
	}
	slices.Sort(unused)
	return slices.Compact(unused), nil
}

// grant is one verb on one kind of thing.
type grant struct {
	group, resource, verb string
	names                 []string
}

func grants(rule rbacv1.PolicyRule) []grant {
	var all []grant
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, grant{group, resource, verb, rule.ResourceNames})
			}
		}
	}
	return all
}

func (g grant) covers(r Request) bool {
	verb := r.Verb
	if g.verb == "create" && verb == "patch" && r.Code == http.StatusCreated {
		verb = "create" // an apply that finds nothing needs both
	}
	if g.verb == "list" && r.Lists {
		verb = "list"
	}
	return r.Group == g.group && r.Kind() == g.resource && verb == g.verb && (len(g.names) == 0 || slices.Contains(g.names, r.Name))
}

func (g grant) String() string {
	s := g.resource
	if g.group != "" {
		s = g.group + "/" + g.resource
	}
	if len(g.names) > 0 {
		s += "[" + strings.Join(g.names, ",") + "]"
	}
	return s + " " + g.verb
}

// granted are the rules of every role that is bound to an account.
func (c *Cluster) granted(ctx context.Context, account string) ([]rbacv1.PolicyRule, error) {
	bound := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == System && s.Name == account
		})
	}
	var rules []rbacv1.PolicyRule
	add := func(ref rbacv1.RoleRef, ns string) error {
		if ref.Kind == "Role" {
			role := &rbacv1.Role{}
			err := c.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: ref.Name}, role)
			rules = append(rules, role.Rules...)
			return err
		}
		role := &rbacv1.ClusterRole{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, role)
		rules = append(rules, role.Rules...)
		return err
	}
	var wide rbacv1.ClusterRoleBindingList
	if err := c.Client.List(ctx, &wide); err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	for _, b := range wide.Items {
		if bound(b.Subjects) {
			if err := add(b.RoleRef, ""); err != nil {
				return nil, fmt.Errorf("read role: %w", err)
			}
		}
	}
	var narrow rbacv1.RoleBindingList
	if err := c.Client.List(ctx, &narrow); err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	for _, b := range narrow.Items {
		if bound(b.Subjects) {
			if err := add(b.RoleRef, b.Namespace); err != nil {
				return nil, fmt.Errorf("read role: %w", err)
			}
		}
	}
	return rules, nil
}
