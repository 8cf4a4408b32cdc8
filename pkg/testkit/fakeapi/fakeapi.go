// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakeapi is an API server in this process, for tests of what a client does with answers that a real one does not give at will:
// refusals, pages, objects of a megabyte, a death in the middle. It checks nothing that is written; the real server is asked in
// test/apiserver.
//
// `s := fakeapi.New(t, yaml…)`, then `s.Kubeconfig()` leads to it.
//
// Called by: tests of pkg/cli.
// Next: nothing; answers come from memory.
package fakeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Namespace is the one of the kubeconfig's context.
const Namespace = "team"

// Server is the API server. Its methods may be called while it is asked.
type Server struct {
	t       testing.TB
	address string

	mu      sync.Mutex
	serving *http.Server
	objects map[string]*unstructured.Unstructured // by path
	logs    map[string]string                     // by namespace/pod
	lacks   map[string]bool
	refused []refusal
	before  func(*http.Request)
	asked   map[string]int
	events  []event
	changed chan struct{} // closed at the next change
}

// event is a change, for those who watch.
type event struct {
	kind metav1.GroupVersionKind
	path string
	what string
	text json.RawMessage
}

type refusal struct {
	match  func(*http.Request) bool
	status int
}

// Refused is the message of every refusal. It holds what a terminal would obey.
const Refused = "no\x1b[2J\u202e"

// New starts a server that has some objects, each text one or more YAML documents.
func New(tb testing.TB, objects ...string) *Server {
	tb.Helper()
	s := &Server{
		t: tb, objects: map[string]*unstructured.Unstructured{}, logs: map[string]string{}, lacks: map[string]bool{},
		asked: map[string]int{}, changed: make(chan struct{}),
	}
	s.Put(objects...)
	s.Start()
	tb.Cleanup(s.Stop)
	return s
}

// Start serves, after Stop at the same address as before.
func (s *Server) Start() {
	s.t.Helper()
	address := s.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		s.t.Fatalf("listen: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = l.Addr().String()
	s.serving = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	go func(h *http.Server) { _ = h.Serve(l) }(s.serving)
}

// Stop cuts every connection and refuses new ones, as the death of a server does.
func (s *Server) Stop() {
	s.mu.Lock()
	h := s.serving
	s.serving = nil
	s.mu.Unlock()
	if h != nil {
		_ = h.Close()
	}
}

// Kubeconfig writes a file that leads to the server.
func (s *Server) Kubeconfig() string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": "http://%s"}}, {"name": "away", "cluster": {"server": "http://127.0.0.1:1"}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "namespace": %q}}, {"name": "away", "context": {"cluster": "away"}}]}`, s.address, Namespace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatalf("write the kubeconfig: %v", err)
	}
	return path
}

// Put creates or replaces objects; who watches is told.
func (s *Server) Put(objects ...string) {
	s.t.Helper()
	for _, text := range objects {
		for doc := range strings.SplitSeq(text, "\n---") {
			if strings.TrimSpace(strings.TrimPrefix(doc, "---")) == "" {
				continue
			}
			raw, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil {
				s.t.Fatalf("read an object: %v", err)
			}
			u := &unstructured.Unstructured{}
			if err := u.UnmarshalJSON(raw); err != nil {
				s.t.Fatalf("read an object: %v\n%s", err, doc)
			}
			s.put(u)
		}
	}
}

func (s *Server) put(u *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := pathOf(u)
	what := "MODIFIED"
	if s.objects[path] == nil {
		what = "ADDED"
	}
	u.SetResourceVersion(strconv.Itoa(len(s.events) + 1))
	s.objects[path] = u
	s.tell(what, path, u)
}

// Delete takes an object away by its path.
func (s *Server) Delete(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.objects[path]; u != nil {
		delete(s.objects, path)
		s.tell("DELETED", path, u)
	}
}

// tell is called with the lock held.
func (s *Server) tell(what, path string, u *unstructured.Unstructured) {
	text, err := u.MarshalJSON()
	if err != nil {
		s.t.Errorf("write an object: %v", err)
		return
	}
	s.events = append(s.events, event{kind: metav1.GroupVersionKind(u.GroupVersionKind()), path: path, what: what, text: text})
	close(s.changed)
	s.changed = make(chan struct{})
}

// Log is what the containers of a pod, named as namespace/name, have logged.
func (s *Server) Log(pod, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[pod] = text
}

// Lacks makes the server not know some resources, as without their CustomResourceDefinition.
func (s *Server) Lacks(resources ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range resources {
		s.lacks[r] = true
	}
}

// Refuse answers matching requests with a status.
func (s *Server) Refuse(status int, match func(*http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, refusal{match, status})
}

// Path matches requests whose path has a part, Writes those that are no reads.
func Path(part string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

// Writes matches requests that are no reads.
func Writes(r *http.Request) bool { return r.Method != http.MethodGet }

// Before is called with each request before it is answered.
func (s *Server) Before(f func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Asked counts requests by method and path, such as "GET /api/v1/namespaces/team/pods". A page of a list counts as one; a watch is "WATCH".
func (s *Server) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]int, len(s.asked))
	for k, n := range s.asked {
		all[k] = n
	}
	return all
}

// pathOf is where an object is stored.
func pathOf(u *unstructured.Unstructured) string {
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	base := "/apis/" + u.GetAPIVersion()
	if u.GroupVersionKind().Group == "" {
		base = "/api/" + u.GetAPIVersion()
	}
	if ns := u.GetNamespace(); ns != "" {
		base += "/namespaces/" + ns
	}
	return base + "/" + resource.Resource + "/" + u.GetName()
}

// AsLocal makes the server that of a local cluster: the files that one writes about itself lie in root, and its name is held until the test
// ends. The gateway may be empty.
func (s *Server) AsLocal(root, name, gateway string) (kubeconfig string) {
	s.t.Helper()
	dir := filepath.Join(root, name)
	kubeconfig = filepath.Join(dir, "kubeconfig")
	const pid = 1
	text, err := json.Marshal(map[string]any{"name": name, "kubeconfig": kubeconfig, "apiServer": "http://" + s.address, "gateway": gateway, "state": dir, "pid": pid})
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "ready.json"), text, 0o600)
	}
	var own []byte
	if err == nil {
		own, err = os.ReadFile(s.Kubeconfig())
	}
	if err == nil {
		err = os.WriteFile(kubeconfig, own, 0o600)
	}
	var lock *os.File
	if err == nil {
		lock, err = os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	}
	if err == nil {
		s.t.Cleanup(func() { _ = lock.Close() })
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		_, err = fmt.Fprintln(lock, pid)
	}
	if err != nil {
		s.t.Fatalf("write the files of a local cluster: %v", err)
	}
	return kubeconfig
}
