// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Variable is set where an API server may be started: by `make test-api`. Without it the tests of a package with Main stand aside.
const Variable = "KSERVE_TEST_API"

// eventually is how long Eventually waits: long enough for a busy machine; what is waited for mostly comes at once.
const eventually = time.Minute

// atOnce is how many tests run side by side: they wait for others most of the time, so that more of them go on than there are processors.
const atOnce = "6"

// shared is the one cluster of a test binary.
type shared struct {
	options Options
	once    sync.Once
	cluster *Cluster
	err     error
	used    sync.Mutex
	names   map[string]int
}

var one shared //nolint:gochecknoglobals // one API server for all tests of a package is the point

// Main runs the tests of a package on one cluster, which the first test that asks for it starts. Afterwards it fails when a request of
// our processes was forbidden, and calls each after with the cluster, if there is one; an error of it is a failure too.
func Main(m *testing.M, o Options, after ...func(context.Context, *Cluster) error) int {
	if os.Getenv(Variable) == "" {
		fmt.Fprintln(os.Stdout, Variable+" is not set: no API server is started (make test-api)")
		return 0
	}
	one.options = o
	if f := flag.Lookup("test.parallel"); f != nil && !flag.Parsed() {
		_ = f.Value.Set(atOnce) // a flag of the command line still comes after
	}
	code := m.Run()
	if one.cluster == nil {
		return code
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "FAIL:", err)
			code = max(code, 1)
		}
	}
	fail(one.cluster.MustAllow())
	for _, check := range after {
		fail(check(ctx, one.cluster))
	}
	if code != 0 {
		for _, p := range []*Process{one.cluster.Controller, one.cluster.Webhook} {
			if p != nil {
				fmt.Fprintf(os.Stderr, "--- end of %s's log\n%s\n", p.Name, p.Tail())
			}
		}
	}
	fail(one.cluster.Close())
	return code
}

// MustAllow is an error that names each request of our processes that was forbidden.
func (c *Cluster) MustAllow() error {
	forbidden, err := c.Forbidden()
	if err != nil || len(forbidden) == 0 {
		return err
	}
	lines := map[string]bool{}
	var b strings.Builder
	for _, r := range forbidden {
		if line := r.String(); !lines[line] {
			lines[line] = true
			b.WriteString("\n  " + line)
		}
	}
	return fmt.Errorf("the shipped roles forbade %d requests of our processes:%s", len(forbidden), b.String())
}

// Shared is the cluster of this test binary, started when the first test asks for it.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	if os.Getenv(Variable) == "" {
		tb.Skip("needs an API server: make test-api")
	}
	one.once.Do(func() { one.cluster, one.err = Open(context.Background(), one.options) })
	require.NoError(tb, one.err, "start the cluster")
	return one.cluster
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace makes a namespace for one test, with a short name of its own. Its InferenceServices, graphs and trained models are deleted
// when the test ends.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(tb.Name(), "Test")), "-"), "-")
	name = strings.TrimRight(name[:min(len(name), 30)], "-")
	one.used.Lock()
	if one.names == nil {
		one.names = map[string]int{}
	}
	one.names[name]++
	if n := one.names[name]; n > 1 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	one.used.Unlock()
	require.NoError(tb, c.MakeNamespace(tb.Context(), name))
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), eventually)
		defer cancel()
		if err := c.Clean(ctx, name); err != nil {
			tb.Errorf("clean up namespace %s: %v", name, err)
		}
	})
	return name
}

// MakeNamespace makes a namespace; one that exists is no error.
func (c *Cluster) MakeNamespace(ctx context.Context, name string) error {
	return c.create(ctx, []*unstructured.Unstructured{namespace(name)})
}

// Clean deletes what our controller works on in a namespace, and waits until it has let go of it.
func (c *Cluster) Clean(ctx context.Context, ns string) error {
	ours := func(r Ref) bool { return r.GVK.Group == "serving.kserve.io" && r.GVK.Kind != "ServingRuntime" }
	return poll(ctx, func(ctx context.Context) error {
		left := 0
		for _, ref := range c.Refs(ns) {
			if !ours(ref) {
				continue
			}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(ref.GVK)
			o.SetNamespace(ns)
			o.SetName(ref.Name)
			if err := c.Delete(ctx, ns, o); err != nil {
				return err
			}
			left++
		}
		if left > 0 {
			return fmt.Errorf("%d objects of %s are still there", left, ns)
		}
		return nil
	})
}

// MustApply applies every document of the texts as `kubectl apply` would.
func (c *Cluster) MustApply(tb testing.TB, ns string, texts ...string) {
	tb.Helper()
	for _, text := range texts {
		docs, err := Documents(text)
		require.NoError(tb, err)
		for _, d := range docs {
			require.NoError(tb, c.Apply(tb.Context(), ns, d), "apply %s %s", d.GetKind(), d.GetName())
		}
	}
}

// Eventually asks again until the answer is no error; what says in words what is waited for.
func (c *Cluster) Eventually(tb testing.TB, what string, ask func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), eventually)
	defer cancel()
	if err := poll(ctx, ask); err != nil {
		tail := ""
		if c.Controller != nil {
			tail = "\n--- end of the controller's log\n" + c.Controller.Tail()
		}
		tb.Fatalf("waited %s for %s: %v%s", eventually, what, err, tail)
	}
}
