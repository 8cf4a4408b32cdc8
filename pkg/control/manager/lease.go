// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is the lock of the leader, nil without an election. In a pod it is taken in the pod's name: a process that was killed is started
// again in its pod, and under that name it goes on leading at once, where under a name of its own it would wait until its own old lease
// ends. In a pod there is one controller at a time, and no two pods have one name. The fence learns how the lease does.
func lease(o Options, config *rest.Config, f *fence) (resourcelock.Interface, error) {
	if !o.LeaderElect {
		return nil, nil //nolint:nilnil // no election
	}
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = max(o.RenewDeadline/2, time.Second) // one request that hangs must not cost the lease
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the lease's client: %w", err)
	}
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the lease's client: %w", err)
	}
	identity := o.PodName
	if identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("find a name for the lease: %w", err)
		}
		identity = host + "_" + string(uuid.NewUUID())
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, leaseName, core, leases, resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return nil, fmt.Errorf("make the lease: %w", err)
	}
	return &fenced{lock, f}, nil
}

// fenced is a lock that tells the fence what it learns.
type fenced struct {
	resourcelock.Interface
	fence *fence
}

func (l *fenced) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.fence.taken(record.HolderIdentity)
	}
	return record, raw, err
}

func (l *fenced) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	at := l.fence.now()
	err := l.Interface.Create(ctx, record)
	l.learn(record, at, err)
	return err
}

func (l *fenced) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	at := l.fence.now()
	if record.HolderIdentity != l.Identity() {
		l.fence.given() // another may lead before the answer is here
	}
	err := l.Interface.Update(ctx, record)
	l.learn(record, at, err)
	return err
}

func (l *fenced) learn(record resourcelock.LeaderElectionRecord, at time.Time, err error) {
	if err == nil && record.HolderIdentity == l.Identity() {
		l.fence.renewed(at)
	}
}

// fence keeps a process from writing that does not hold the lease. One that was paused (by its machine, a debugger, a signal) goes on where
// it stopped, before it looks at the lease again: until then another may lead, and what this one would write is from another time.
type fence struct {
	now      func() time.Time
	duration time.Duration
	// lost is told once who has the lease that this process had.
	lost func(holder string)

	mu   sync.Mutex
	last time.Time // of the request that renewed the lease; zero while this process does not lead
}

func (f *fence) renewed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = at
}

// given is the end of a process that gives the lease back itself.
func (f *fence) given() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = time.Time{}
}

func (f *fence) taken(holder string) {
	f.mu.Lock()
	had := !f.last.IsZero()
	f.last = time.Time{}
	f.mu.Unlock()
	if had {
		f.lost(holder)
	}
}

// closed says why nothing may be written now; empty where something may.
func (f *fence) closed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.IsZero() {
		return "this replica does not hold the leader's lease"
	}
	// A clock that was set back must not open the fence, and a machine that slept may have stopped the other.
	now := f.now()
	if age := max(now.Sub(f.last), now.Round(0).Sub(f.last.Round(0))); age >= f.duration {
		return fmt.Sprintf("this replica has not renewed the leader's lease for %s", age.Round(time.Millisecond))
	}
	return ""
}
