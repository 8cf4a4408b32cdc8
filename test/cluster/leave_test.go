// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rolesWereEnough reads what the API server refused to the accounts of the control plane in all the tests before.
func (w *world) rolesWereEnough(t *testing.T) {
	f, err := os.Open(w.auditLog())
	require.NoError(t, err)
	defer f.Close()
	asked, refused := map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			ResponseStatus struct{ Message string }
			Time           time.Time `json:"requestReceivedTimestamp"`
			Annotations    map[string]string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e), "%s", lines.Text())
		if !strings.HasPrefix(e.User.Username, "system:serviceaccount:"+system+":") {
			continue
		}
		account := e.User.Username[strings.LastIndex(e.User.Username, ":")+1:]
		asked[account]++
		// A server that starts refuses until it has read the roles, and a namespace that is being deleted refuses with the same code.
		starting := e.Time.After(w.restart) && e.Time.Before(w.restarted)
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" && !starting {
			o := e.ObjectRef
			refused[fmt.Sprintf("%s may not %s %s.%s %s in %q: %s", account, e.Verb, o.Resource, o.APIGroup, o.Subresource, o.Namespace, e.ResponseStatus.Message)]++
		}
	}
	require.NoError(t, lines.Err())
	for _, account := range []string{controller, webhook} {
		require.Positive(t, asked[account], "the test sees what %s asks", account)
	}
	require.Empty(t, refused)
	tell("  the control plane's accounts asked %v times and were never refused", asked)
}

// stock is what a cluster could leave on a machine.
type stock struct {
	interfaces, mounts, groups []string
}

func takeStock(t *testing.T) stock {
	t.Helper()
	var s stock
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range all {
		s.interfaces = append(s.interfaces, i.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		s.mounts = append(s.mounts, strings.Fields(line)[4])
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error { // what cannot be read holds none of ours
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "kserve-"+clusterName+"-") {
			s.groups = append(s.groups, path)
		}
		return nil
	})
	return s
}

// more is what now has and before had not.
func more(now, before []string) []string {
	return slices.DeleteFunc(slices.Clone(now), func(s string) bool { return slices.Contains(before, s) })
}

// down ends the cluster and looks for what it left: processes, mounts, interfaces, control groups, and files outside its folder. Home and
// temporary folder are ones of this run's own, and were empty.
func (w *world) down(t *testing.T, before stock) {
	t.Helper()
	inside := w.processes(t, "")
	require.Greater(t, len(inside), 5, "the test sees what it looks for")
	out, err := w.local(t.Context(), "down")
	require.NoError(t, err, "%s", out)
	w.isUp = false
	var left []string
	dying := time.Now().Add(5 * time.Second) // the kernel ends what a namespace held when the namespace has ended
	for _, p := range inside {
		for p.Lives() && time.Now().Before(dying) {
			pause(t.Context())
		}
		if p.Lives() {
			left = append(left, fmt.Sprintf("process %d %s", p.PID, p.Name))
		}
	}
	now := takeStock(t)
	for kind, names := range map[string][]string{
		"interface": more(now.interfaces, before.interfaces), "mount": more(now.mounts, before.mounts), "control group": more(now.groups, before.groups),
	} {
		for _, name := range names {
			left = append(left, kind+" "+name)
		}
	}
	for _, dir := range []string{w.home(), w.tmp()} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				left = append(left, "file "+path)
			}
			return err
		}))
	}
	require.Empty(t, left)
	out, err = w.local(t.Context(), "down")
	require.NoError(t, err, "a second time: %s", out)
}
