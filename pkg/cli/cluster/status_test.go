// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
)

func TestWhosePodALogIsReadOf(t *testing.T) {
	pod := func(name, service string, ready bool) live.Pod {
		return live.Pod{Name: name, Ready: ready, Labels: map[string]string{serviceLabel: service}}
	}
	pods := []live.Pod{pod("iris-1", "iris", true), pod("iris-2", "iris", false), pod("iris-3", "iris", false), pod("wine-1", "wine", true), pod("plain", "", true)}
	cases := map[string]struct{ name, want string }{
		"a pod":                           {"iris-1", "iris-1"},
		"a pod of nobody":                 {"plain", "plain"},
		"a service whose pods serve":      {"wine", "wine-1"},
		"a service with a pod that waits": {"iris", "iris-2"},
		"neither":                         {"rose", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, ok := podFor(pods, c.name)
			require.Equal(t, c.want, found.Name)
			require.Equal(t, c.want != "", ok)
		})
	}
}
