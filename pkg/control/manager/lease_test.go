// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestTheLeaseIsTakenInTheNameOfThePod(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	lock, err := lease(Options{PodName: "kserve-controller-manager-1-a", LeaderElect: true, Namespace: "kserve"}, config, nil)
	require.NoError(t, err)
	require.Equal(t, "kserve-controller-manager-1-a", lock.Identity())
	require.Equal(t, "kserve/"+leaseName, lock.Describe())

	lock, err = lease(Options{LeaderElect: true, Namespace: "kserve"}, config, nil)
	require.NoError(t, err)
	other, err := lease(Options{LeaderElect: true, Namespace: "kserve"}, config, nil)
	require.NoError(t, err)
	require.NotEqual(t, lock.Identity(), other.Identity(), "outside of a pod no two processes have one name")

	lock, err = lease(Options{PodName: "p"}, config, nil)
	require.NoError(t, err)
	require.Nil(t, lock, "without an election")
}

// stored is a lock whose lease is in memory.
type stored struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	fails  error
}

func (s *stored) Identity() string { return "me" }

func (s *stored) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := s.record
	return &record, nil, s.fails
}

func (s *stored) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return s.Update(ctx, r)
}

func (s *stored) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if s.fails == nil {
		s.record = r
	}
	return s.fails
}

func TestTheFenceIsOpenWhileTheLeaseIsOurs(t *testing.T) {
	now := time.Now()
	var lost []string
	f := &fence{now: func() time.Time { return now }, duration: 30 * time.Second, lost: func(holder string) { lost = append(lost, holder) }}
	lease := &stored{}
	lock := &fenced{lease, f}
	mine, ctx := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, t.Context()

	require.Contains(t, f.closed(), "does not hold")
	lease.record.HolderIdentity = "another"
	_, _, err := lock.Get(ctx)
	require.NoError(t, err)
	require.Empty(t, lost, "who never led has lost nothing")

	require.NoError(t, lock.Create(ctx, mine))
	require.Empty(t, f.closed())
	now = now.Add(29 * time.Second)
	require.Empty(t, f.closed())

	// A renewal that fails opens nothing.
	lease.fails = errors.New("no")
	require.Error(t, lock.Update(ctx, mine))
	now = now.Add(time.Second)
	require.Contains(t, f.closed(), "has not renewed")
	lease.fails = nil
	require.NoError(t, lock.Update(ctx, mine))
	require.Empty(t, f.closed())

	// Who gives the lease back writes no more, whether or not the answer comes.
	lease.fails = errors.New("no")
	require.Error(t, lock.Update(ctx, resourcelock.LeaderElectionRecord{}))
	require.Contains(t, f.closed(), "does not hold")
	lease.fails = nil

	require.NoError(t, lock.Update(ctx, mine))
	lease.record.HolderIdentity = "another"
	for range 2 {
		_, _, err = lock.Get(ctx)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"another"}, lost, "it is told once")
	require.Contains(t, f.closed(), "does not hold")
}

func TestAClockThatJumpsDoesNotOpenTheFence(t *testing.T) {
	// Times of the wall clock alone, as after a machine slept.
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	f := &fence{now: func() time.Time { return now }, duration: 30 * time.Second}
	f.renewed(now)
	now = start.Add(time.Hour)
	require.NotEmpty(t, f.closed(), "an hour later it is too late, whoever says so")
	f.renewed(now)
	now = start
	require.Empty(t, f.closed(), "a clock that went back an hour tells no age")
}
