// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/inspect"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// kubeconfig is another way to the same API server.
func (w *world) kubeconfig(change func(*api.Config)) string {
	w.t.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig)
	require.NoError(w.t, err)
	change(config)
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*config, file))
	return file
}

func run(ctx context.Context, out, errs io.Writer, args ...string) int {
	return cli.Main(ctx, args, output.Streams{In: &bytes.Buffer{}, Out: out, Err: errs})
}

func TestExplainWithAClusterSaysWhatItsControllerMakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://b/m"))
	w.ready("m")
	file := filepath.Join(t.TempDir(), "m.yaml")
	require.NoError(t, os.WriteFile(file, []byte(sklearn("m", "s3://b/m")), 0o600))
	explain := func(kubeconfig string) (inspect.Explanation, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), &out, &errs, "explain", "-f", file, "-n", w.ns, "-o", "json", "--kubeconfig", kubeconfig)
		require.Equal(t, exit.OK, code, "%s%s", &out, &errs)
		var all []inspect.Explanation
		require.NoError(t, json.Unmarshal(out.Bytes(), &all))
		require.Len(t, all, 1)
		return all[0], errs.String()
	}
	e, said := explain(w.Kubeconfig)
	require.Contains(t, said, "settings: ConfigMap kserve/inferenceservice-config of https://")
	require.NotContains(t, said, "not read")
	made := []string{}
	for _, ref := range w.Refs(w.ns) {
		if strings.HasPrefix(ref.Name, "m") && ref.GVK.Kind != servingv1beta1.InferenceServiceKind {
			made = append(made, ref.GVK.Kind+" "+ref.Name)
		}
	}
	require.Subset(t, made, e.Objects, "what is told is what the controller has made")
	require.NotEmpty(t, e.Objects)

	// Somebody who may see a namespace, and nothing of the whole cluster.
	user := "only-" + w.ns
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "look", Namespace: w.ns},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"serving.kserve.io"}, Resources: []string{"inferenceservices", "servingruntimes"}, Verbs: []string{"get", "list"}},
			{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"get"}},
		},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "look", Namespace: w.ns}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "look"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	require.NoError(t, w.Client.Create(t.Context(), role))
	require.NoError(t, w.Client.Create(t.Context(), binding))
	limited := w.kubeconfig(func(c *api.Config) {
		for _, a := range c.AuthInfos {
			a.Impersonate = user
		}
	})
	var errs bytes.Buffer
	w.Eventually(t, "the role counts", func(ctx context.Context) error {
		errs.Reset()
		if code := run(ctx, io.Discard, &errs, "status", "m", "-n", w.ns, "--kubeconfig", limited); code != exit.OK {
			return exit.Errorf(code, "%s", &errs)
		}
		return nil
	})
	less, said := explain(limited)
	require.Equal(t, e.Objects, less.Objects)
	require.Contains(t, said, "not read, for lack of a right: ")
	require.Contains(t, said, "clusterservingruntimes")
	require.Contains(t, said, "assumed: the shipped settings")
}

// way leads to the API server and can be cut.
type way struct {
	t       testing.TB
	to      string
	address string
	mu      sync.Mutex
	l       net.Listener
	open    []net.Conn
}

func (y *way) build() {
	l, err := net.Listen("tcp", y.address)
	require.NoError(y.t, err)
	y.mu.Lock()
	y.l, y.address = l, l.Addr().String()
	y.mu.Unlock()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", y.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			y.mu.Lock()
			y.open = append(y.open, from, to)
			y.mu.Unlock()
			go func() { _, _ = io.Copy(to, from) }()
			go func() { _, _ = io.Copy(from, to) }()
		}
	}()
}

func (y *way) cut() {
	y.mu.Lock()
	defer y.mu.Unlock()
	_ = y.l.Close()
	for _, c := range y.open {
		_ = c.Close()
	}
	y.open = nil
}

// pieces are what a command prints, as it comes.
type pieces chan string

func (p pieces) Write(b []byte) (int, error) {
	p <- string(b)
	return len(b), nil
}

func (p pieces) until(t *testing.T, text string) {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		select {
		case got := <-p:
			if strings.Contains(got, text) {
				return
			}
		case <-deadline:
			t.Fatalf("%q was not printed", text)
		}
	}
}

func TestStatusFollowsThroughACut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://b/m"))
	w.ready("m")
	server, err := url.Parse(w.Admin.Host)
	require.NoError(t, err)
	y := &way{t: t, to: server.Host, address: "127.0.0.1:0"}
	y.build()
	defer y.cut()
	kubeconfig := w.kubeconfig(func(c *api.Config) {
		for _, one := range c.Clusters {
			one.Server = "https://" + y.address
			one.TLSServerName = server.Hostname()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	out, errs, code := make(pieces, 100), make(pieces, 100), make(chan int, 1)
	go func() { code <- run(ctx, out, errs, "status", "m", "-n", w.ns, "-w", "--kubeconfig", kubeconfig) }()
	out.until(t, w.ns+"/m: ready")
	y.cut()
	errs.until(t, "still looking")
	y.build()
	errs.until(t, "answers again")
	w.apply(sklearn("m", "s3://b/m", `serving.kserve.io/stop: "true"`))
	out.until(t, "Stopped")
	cancel()
	require.Equal(t, exit.OK, <-code)
}
