// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is the lock of the leader in the name of the pod, nil without one. A process that was killed is started again in its pod: under
// that name it goes on leading at once, where under a name of its own it would wait until its own old lease ends. In a pod there is one
// controller at a time, and no two pods have one name.
func lease(o Options, config *rest.Config) (resourcelock.Interface, error) {
	if o.PodName == "" || !o.LeaderElect {
		return nil, nil //nolint:nilnil // controller-runtime then makes a lock of its own
	}
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = renewDeadline / 2 // one request that hangs must not cost the lease
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the lease's client: %w", err)
	}
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the lease's client: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.Namespace, leaseName, core, leases, resourcelock.ResourceLockConfig{Identity: o.PodName})
	if err != nil {
		return nil, fmt.Errorf("make the lease: %w", err)
	}
	return lock, nil
}
