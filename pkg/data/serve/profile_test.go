// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"
)

func TestProfilesAreOnLoopbackUnlessAHostIsNamed(t *testing.T) {
	for _, addr := range []string{"0", ":0", "127.0.0.1:0"} {
		at, stop, err := profiles(t.Context(), addr, zaptest.NewLogger(t))
		require.NoError(t, err)
		require.True(t, at.(*net.TCPAddr).IP.IsLoopback(), "%s", at)
		resp, err := http.Get("http://" + at.String() + "/debug/pprof/goroutine?debug=1")
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		stop()
		_, err = http.Get("http://" + at.String() + "/debug/pprof/")
		require.Error(t, err)
	}
	_, _, err := profiles(t.Context(), "nonsense", zaptest.NewLogger(t))
	require.ErrorContains(t, err, "listen for profiles on nonsense")
}
