// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// target is what a path names.
type target struct {
	base      string // /api/v1 or /apis/group/version
	namespace string
	resource  string
	name      string
	sub       string
}

func parse(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	n := 3
	if parts[0] == "api" {
		n = 2
	}
	if len(parts) <= n {
		return target{}, false
	}
	t := target{base: "/" + strings.Join(parts[:n], "/")}
	if parts = parts[n:]; parts[0] == "namespaces" && len(parts) > 2 {
		t.namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&t.resource, &t.name, &t.sub} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return t, true
}

// holds says whether an object's path is one of a list.
func (t target) holds(path string) bool {
	o, ok := parse(path)
	return ok && o.base == t.base && o.resource == t.resource && (t.namespace == "" || o.namespace == t.namespace) && (t.name == "" || o.name == t.name)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	t, ok := parse(r.URL.Path)
	watch := ok && t.name == "" && r.URL.Query().Get("watch") != ""
	method := r.Method
	if watch {
		method = "WATCH"
	}
	s.mu.Lock()
	s.asked[method+" "+r.URL.Path]++
	before, lacks, status := s.before, s.lacks[t.resource], 0
	for _, f := range s.refused {
		if status == 0 && f.match(r) {
			status = f.status
		}
	}
	s.mu.Unlock()
	if before != nil {
		before(r)
	}
	switch {
	case status != 0:
		refuse(w, status, Refused)
	case !ok || lacks:
		refuse(w, http.StatusNotFound, "the server could not find the requested resource")
	case watch:
		s.watch(w, r, t)
	case t.sub == "log":
		s.mu.Lock()
		text := s.logs[t.namespace+"/"+t.name]
		s.mu.Unlock()
		_, _ = io.WriteString(w, text)
	case t.name == "":
		s.list(w, r, t)
	default:
		s.one(w, r)
	}
}

// refuse answers with a Status.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Message: message,
		Reason: metav1.StatusReason(strings.ReplaceAll(http.StatusText(status), " ", "")), Code: int32(status),
	})
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// one is an object, read or written. What is applied is laid over what is there.
func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	u := s.objects[r.URL.Path]
	s.mu.Unlock()
	if r.Method == http.MethodGet {
		if u == nil {
			refuse(w, http.StatusNotFound, "not found")
			return
		}
		send(w, u)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	var body map[string]any
	if err == nil {
		err = yaml.Unmarshal(raw, &body)
	}
	if r.Method != http.MethodPatch || err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("%s: %v", r.Method, err))
		return
	}
	made := &unstructured.Unstructured{Object: body}
	if u != nil {
		made.Object = over(u.DeepCopy().Object, body)
	}
	if r.URL.Query().Get("dryRun") == "" {
		s.put(made)
	}
	send(w, made)
}

// over lays one document over another; lists are replaced.
func over(base, top map[string]any) map[string]any {
	for k, v := range top {
		inner, isMap := v.(map[string]any)
		old, wasMap := base[k].(map[string]any)
		if isMap && wasMap {
			v = over(old, inner)
		}
		base[k] = v
	}
	return base
}

// selector is what a request asks of objects.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

func selectorOf(r *http.Request) (selector, error) {
	l, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return selector{}, err
	}
	f, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	return selector{l, f}, err
}

func (s selector) takes(u *unstructured.Unstructured) bool {
	if !s.labels.Matches(labels.Set(u.GetLabels())) {
		return false
	}
	for _, req := range s.fields.Requirements() {
		value, _, _ := unstructured.NestedString(u.Object, strings.Split(req.Field, ".")...)
		if value != req.Value {
			return false
		}
	}
	return true
}

// list answers in pages as they are asked for.
func (s *Server) list(w http.ResponseWriter, r *http.Request, t target) {
	sel, err := selectorOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	items := []*unstructured.Unstructured{}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		if u := s.objects[path]; t.holds(path) && sel.takes(u) {
			items = append(items, u)
		}
	}
	version := len(s.events)
	s.mu.Unlock()
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	items = items[min(from, len(items)):]
	about := map[string]any{"resourceVersion": strconv.Itoa(version)}
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && limit < len(items) {
		about["continue"], about["remainingItemCount"] = strconv.Itoa(from+limit), len(items)-limit
		items = items[:limit]
	}
	send(w, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": about, "items": items})
}

// watch tells of what there is, and of what changes, until the client or the server goes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) {
	sel, err := selectorOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w)
	next, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for {
		s.mu.Lock()
		events, changed := s.events[min(next, len(s.events)):], s.changed
		next = len(s.events)
		s.mu.Unlock()
		for _, e := range events {
			u := &unstructured.Unstructured{}
			if !t.holds(e.path) || u.UnmarshalJSON(e.text) != nil || !sel.takes(u) {
				continue
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"type": e.what, "object": e.text})
		}
		_ = flush.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}
