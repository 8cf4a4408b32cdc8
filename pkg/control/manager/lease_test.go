// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

func TestTheLeaseIsTakenInTheNameOfThePod(t *testing.T) {
	lock, err := lease(Options{PodName: "kserve-controller-manager-1-a", LeaderElect: true, Namespace: "kserve"}, &rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	require.Equal(t, "kserve-controller-manager-1-a", lock.Identity())
	require.Equal(t, "kserve/"+leaseName, lock.Describe())
	for name, o := range map[string]Options{"not in a pod": {LeaderElect: true}, "without an election": {PodName: "p"}} {
		lock, err = lease(o, &rest.Config{})
		require.NoError(t, err, name)
		require.Nil(t, lock, name)
	}
}
