// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

// The program itself, with the flags of a pod, before the model server's own program.
func TestTheProgramsWorkTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds two programs: run without -short")
	}
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".", "../../cmd/model-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "features.json"), []byte(`{"setosa": [5.1, 3.5, 1.4, 0.2], "virginica": [6.7, 3.0, 5.2, 2.3]}`), 0o600))

	rest, calls := freeport.Text(t), freeport.Text(t)
	run(t, filepath.Join(bin, "model-server"), "--model_dir=../../test/data/protocol/models/iris-logreg", "--model_name=iris", "--http_port="+rest, "--grpc_port="+calls)
	for protocol, port := range map[string]string{"v1": rest, "v2": rest, "grpc-v2": calls} {
		own := freeport.Text(t)
		stop := run(t, filepath.Join(bin, "feature-lookup"), "--model_name=iris", "--model_dir="+dir, "--http_port="+own, "--enable_grpc=false",
			"--predictor_host=127.0.0.1:"+port, "--predictor_protocol="+protocol, "--enable_predictor_health_check", "--drain_delay=0s")
		url := "http://127.0.0.1:" + own
		require.Eventually(t, func() bool {
			resp, err := http.Get(url + "/v2/health/ready")
			return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
		}, 30*time.Second, 10*time.Millisecond, protocol)
		resp, err := http.Post(url+"/v1/models/iris:predict", "application/json", strings.NewReader(`{"instances":["virginica","setosa"]}`))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, `{"predictions":[2,0]}`, string(body), protocol)
		stop()
	}
}

// run starts a program for the time of a test; stop ends it sooner, as a pod is ended.
func run(t *testing.T, program string, args ...string) (stop func()) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), log.String())
	}
	t.Cleanup(stop)
	return stop
}
