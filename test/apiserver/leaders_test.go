// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster/faults"
)

// replica is a controller process whose requests are seen.
type replica struct {
	*cluster.Process
	wire *faults.Proxy
}

// replica makes one that is not started. Its lease is short, so that nobody waits long for the next leader.
func (w *world) replica(t *testing.T, name string) *replica {
	t.Helper()
	p, err := faults.New(w.Admin, seed)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	config, err := w.As(t.Context(), cluster.ControllerAccount)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, cluster.WriteKubeconfig(path, p.Over(config), cluster.ControllerAccount))
	process, err := w.Another(t.Context(), name, path, "--leader-elect", "--pod-name="+name,
		"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=500ms")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = process.Signal(syscall.SIGCONT)
		_ = process.Kill()
	})
	return &replica{process, p}
}

// writes are what a replica has written since, the lease and events aside: every replica asks for the one and may tell the other.
func (r *replica) writes(since time.Time) []faults.Request {
	return r.wire.Requests(func(q faults.Request) bool {
		return q.Writes() && q.Time.After(since) && q.Resource != "leases" && q.Resource != "events" && q.Resource != "selfsubjectaccessreviews"
	})
}

func TestOneOfTwoControllersWrites(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Controller.Stop())
	t.Cleanup(func() { require.NoError(t, w.Controller.Start(context.Background())) })
	began := time.Now()
	a, b := w.replica(t, "a"), w.replica(t, "b")
	require.NoError(t, a.Start(t.Context()))
	w.apply(sklearn("m", "s3://models/v1"))
	w.ready("m")
	require.NoError(t, b.Start(t.Context()))
	w.change(w.service("m"), `{"spec":{"predictor":{"model":{"storageUri":"s3://models/v2"}}}}`)
	w.ready("m")
	require.NotEmpty(t, a.writes(began))
	require.Empty(t, b.writes(began), "the one that waits for the lease writes nothing")

	// A leader that is killed gives nothing back.
	require.NoError(t, a.Kill())
	w.apply(sklearn("after", "s3://models/v1"))
	w.ready("after")
	require.NotEmpty(t, b.writes(began))

	// A leader that is paused goes on where it stopped, and must see that another has taken over.
	require.NoError(t, b.Signal(syscall.SIGSTOP))
	require.NoError(t, a.Start(t.Context()))
	w.change(w.service("m"), `{"spec":{"predictor":{"model":{"storageUri":"s3://models/v3"}}}}`)
	has(w, "m-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		if source := d.Spec.Template.Annotations["internal.serving.kserve.io/storage-initializer-sourceuri"]; source != "s3://models/v3" {
			return errors.New(source)
		}
		return nil
	})
	w.ready("m")
	before := has(w, "m-predictor", &appsv1.Deployment{}, nil).ResourceVersion
	resumed := time.Now()
	require.NoError(t, b.Signal(syscall.SIGCONT))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, b.Ended(ctx), "a process that has lost its lease ends, and is started again like any other")
	require.NoError(t, b.WaitLogged(t.Context(), "the leader's lease is lost", "a has it"))
	require.Empty(t, b.writes(resumed))
	require.Equal(t, before, has(w, "m-predictor", &appsv1.Deployment{}, nil).ResourceVersion)
}
