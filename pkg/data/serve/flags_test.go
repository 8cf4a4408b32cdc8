// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"math"
	"os"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

// parsed reads a command line of a server with the engines sklearn, xgboost and lightgbm.
func parsed(t *testing.T, env map[string]string, args ...string) (*flags, bool, int, string, string) {
	t.Helper()
	errs, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer errs.Close()
	var out bytes.Buffer
	c := &Command{
		Name: "model-server", About: "Serves models.\n", Engines: []engine.Engine{sklearn.New(), xgboost.New(), lightgbm.New()},
		Getenv: func(name string) string { return env[name] }, Stdout: &out, Stderr: errs,
	}
	o, done, code := c.parse(args)
	text, err := os.ReadFile(errs.Name())
	require.NoError(t, err)
	return o, done, code, out.String(), string(text)
}

func TestFlags(t *testing.T) {
	o, done, _, _, errs := parsed(t, map[string]string{"PREDICT_PROBA": "True", "KSERVE_LOGLEVEL": "WARNING"},
		"--model_dir=/mnt/models", "--model-name", "iris", "--http_port=9000", "--grpc_port", "9001", "--nthread=2",
		"--timeout-keep-alive=5", "--enable_docs_url=Yes", "--enable_latency_logging", "off", "--workers=2", "--event-loop=uvloop")
	require.False(t, done, errs)
	s := o.options(zap.NewNop())
	require.Equal(t, "/mnt/models", s.ModelDir)
	require.Equal(t, "iris", s.ModelName)
	require.True(t, s.ModelExpected)
	require.Equal(t, ":9000", s.Server.HTTP.Addr)
	require.Equal(t, ":9001", s.Server.GRPC.Addr)
	require.Equal(t, 2, s.Threads)
	require.Equal(t, 5*time.Second, s.Server.IdleTimeout)
	require.True(t, s.Docs)
	require.False(t, bool(o.trace))
	require.True(t, s.Proba)
	require.Equal(t, "WARNING", o.log.Level)
	require.Equal(t, []string{"--workers", "--event_loop"}, o.idle)
	require.Empty(t, o.ignored)
}

func TestDefaults(t *testing.T) {
	o, _, _, _, _ := parsed(t, nil, "--model_dir=/m")
	s := o.options(zap.NewNop())
	require.Equal(t, "model", s.ModelName)
	require.False(t, s.ModelExpected)
	require.Equal(t, ":8080", s.Server.HTTP.Addr)
	require.Equal(t, ":8081", s.Server.GRPC.Addr)
	require.Equal(t, 1, s.Threads)
	require.Equal(t, 65*time.Second, s.Server.IdleTimeout)
	require.Equal(t, 8<<20, s.MaxGRPCReceive)
	require.True(t, bool(o.trace))
	require.False(t, s.Docs)
	require.False(t, s.Proba)

	o, _, _, _, _ = parsed(t, nil, "--model_dir=/m", "--enable_grpc=0")
	require.Empty(t, o.options(zap.NewNop()).Server.GRPC.Addr)

	o, _, _, _, _ = parsed(t, nil, "--model_dir=/m", "--grpc_max_receive_message_length=-1")
	require.Equal(t, math.MaxInt32, o.options(zap.NewNop()).MaxGRPCReceive)
}

func TestThePageNamesEveryFlag(t *testing.T) {
	page, err := os.ReadFile("../../../docs/model-server.md")
	require.NoError(t, err)
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&flags{}).BindFlags(fs)
	flags := 0
	fs.VisitAll(func(f *pflag.Flag) {
		flags++
		require.Contains(t, string(page), "`--"+f.Name+"`")
	})
	require.Greater(t, flags, 30)
}

func TestACertificateMovesThePort(t *testing.T) {
	env := map[string]string{"KSERVE_TLS_CERT_FILE": "/c", "KSERVE_TLS_KEY_FILE": "/k"}
	o, _, _, _, _ := parsed(t, env, "--model_dir=/m")
	s := o.options(zap.NewNop())
	require.Equal(t, ":8443", s.Server.HTTP.Addr)
	require.Equal(t, "/c", s.Server.TLS.CertFile)
	o, _, _, _, _ = parsed(t, env, "--model_dir=/m", "--http_port=8080", "--ssl_certfile=/other")
	s = o.options(zap.NewNop())
	require.Equal(t, ":8080", s.Server.HTTP.Addr)
	require.Equal(t, "/other", s.Server.TLS.CertFile)
	_, done, code, _, errs := parsed(t, nil, "--model_dir=/m", "--ssl_certfile=/c")
	require.True(t, done)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--ssl_certfile and --ssl_keyfile go together")
}

func TestUnknownArgumentsAreKeptForTheWarning(t *testing.T) {
	o, done, _, _, errs := parsed(t, nil, "--model_dir", "/m", "--nonsense=1", "stray", "--other", "value", "--model_name=m")
	require.False(t, done, errs)
	require.Equal(t, []string{"--nonsense=1", "stray", "--other", "value"}, o.ignored)
	require.Equal(t, "m", o.modelName)
}

func TestWrongFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no directory":         {nil, "the following arguments are required: --model_dir"},
		"a number that is not": {[]string{"--model_dir=/m", "--workers=abc"}, `invalid argument "abc" for "--workers" flag`},
		"a truth that is not":  {[]string{"--model_dir=/m", "--enable_grpc=maybe"}, `"maybe": expected true or false`},
		"a truth without one":  {[]string{"--model_dir=/m", "--enable_grpc"}, "flag needs an argument: --enable_grpc"},
		"a framework unknown":  {[]string{"--model_dir=/m", "--framework=onnx"}, `argument --framework: invalid choice: "onnx" (choose from sklearn, xgboost, lightgbm)`},
		"a port too high":      {[]string{"--model_dir=/m", "--http_port=70000"}, "argument --http_port: 70000 is no port"},
		"a name with a slash":  {[]string{"--model_dir=/m", "--model_name=a/b"}, `argument --model_name: "a/b": expected a name without slashes`},
		"no body at all":       {[]string{"--model_dir=/m", "--max_body_bytes=0"}, "argument --max_body_bytes: 0: expected 1 or more"},
		"no connection":        {[]string{"--model_dir=/m", "--max_connections=0"}, "argument --max_connections: 0: expected 1 or more"},
		"a queue below none":   {[]string{"--model_dir=/m", "--max_queue=-1"}, "argument --max_queue: -1: expected 1 or more"},
		"a negative time":      {[]string{"--model_dir=/m", "--queue_timeout=-1s"}, "argument --queue_timeout: -1s: expected no negative time"},
		"seconds below none":   {[]string{"--model_dir=/m", "--timeout_keep_alive=-1"}, "argument --timeout_keep_alive: -1: expected a number of seconds"},
		"rows below none":      {[]string{"--model_dir=/m", "--max_batch_size=-1"}, "argument --max_batch_size: -1: expected a number of rows"},
		"a delay for nobody":   {[]string{"--model_dir=/m", "--max_batch_delay=1ms"}, "--max_batch_delay needs --max_batch_size"},
		"cores below none":     {[]string{"--model_dir=/m", "--nthread=-1"}, "argument --nthread: -1: expected a number of cores"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, done, code, _, errs := parsed(t, nil, c.args...)
			require.True(t, done)
			require.Equal(t, exitUsage, code)
			require.Contains(t, errs, c.want)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	_, done, code, out, _ := parsed(t, nil, "--help")
	require.True(t, done)
	require.Zero(t, code)
	for _, want := range []string{"--model_dir", "--nthread", "--grpc_max_receive_message_length", "--drain_timeout", "Exit codes: 0"} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "[=true|false]")
	_, done, code, out, _ = parsed(t, nil, "--version")
	require.True(t, done)
	require.Zero(t, code)
	require.Regexp(t, `^\S+ .*linux|darwin`, out)
}
