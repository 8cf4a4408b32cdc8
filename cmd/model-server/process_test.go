// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

const models = "../../test/data/protocol/models"

// buildDir is where the first test that needs the program builds it.
var buildDir string

var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "model-server")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if buildDir, err = os.MkdirTemp("", "model-server-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(buildDir)
	return m.Run()
}

func start(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), path, args...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	return cmd, &log
}

func TestTheProgramIsStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ELF is Linux's")
	}
	path, err := program()
	require.NoError(t, err)
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "it needs a dynamic loader")
	}
}

// A start that cannot succeed ends with one line of what is wrong and exit code 1.
func TestStartFaults(t *testing.T) {
	corrupt, two := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(corrupt, "model.joblib"), []byte("this is no pickle"), 0o600))
	for _, name := range []string{"a.pkl", "b.joblib"} {
		require.NoError(t, os.WriteFile(filepath.Join(two, name), []byte("x"), 0o600))
	}
	stray := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(stray, "iris"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(stray, "labels.json"), []byte(`{"a": 1}`), 0o600))
	busy, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer busy.Close()
	_, busyPort, err := net.SplitHostPort(busy.Addr().String())
	require.NoError(t, err)
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"no such directory": {[]string{"--model_dir=" + filepath.Join(corrupt, "absent")}, 1, "no such directory"},
		"a corrupt file":    {[]string{"--model_dir=" + corrupt}, 1, filepath.Join(corrupt, "model.joblib") + " as sklearn: "},
		"two model files":   {[]string{"--model_dir=" + two}, 1, "More than one model file is detected, Only one is allowed within model_dir: a.pkl, b.joblib"},
		"a file beside directories": {
			args: []string{"--model_dir=" + stray}, code: 1,
			want: "labels.json directly in " + stray + " is taken for the one model because of its ending: move it away to serve the directories beside it (iris)",
		},
		"a busy port":  {[]string{"--model_dir=" + corrupt, "--http_port=" + busyPort}, 1, "another process has this port: stop it or choose another with --http_port"},
		"a wrong flag": {[]string{"--model_dir=" + corrupt, "--nthread=x"}, 2, "--nthread"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--http_port=" + freeport.Text(t), "--grpc_port=" + freeport.Text(t)}, c.args...)
			cmd, log := start(t, args...)
			err := cmd.Run()
			require.Error(t, err)
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), log.String())
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if c.code == 1 {
				var line map[string]any
				require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &line), log.String())
				require.Equal(t, "error", line["level"])
				require.Contains(t, line["error"], c.want)
				require.NotContains(t, line["error"], "\n")
				require.NotContains(t, log.String(), "unloaded", "it was never loaded")
				return
			}
			require.Contains(t, log.String(), c.want)
		})
	}
}

func TestItServesUntilItIsAskedToStop(t *testing.T) {
	port := freeport.Text(t)
	cmd, log := start(t, "--model_dir="+filepath.Join(models, "iris-logreg"), "--model_name=iris", "--http_port="+port,
		"--grpc_port="+freeport.Text(t), "--drain_delay=50ms", "--nonsense")
	require.NoError(t, cmd.Start())
	url := "http://127.0.0.1:" + port
	require.Eventually(t, func() bool {
		resp, err := http.Get(url + "/v2/health/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 10*time.Second, 2*time.Millisecond)
	resp, err := http.Post(url+"/v1/models/iris:predict", "", strings.NewReader(`{"instances":[[5.1,3.5,1.4,0.2]]}`))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, `{"predictions":[0]}`, string(body))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), log.String())
	require.Contains(t, log.String(), `unknown arguments are ignored","arguments":["--nonsense"]`)
	require.Contains(t, log.String(), `"model":"iris"`)
}
