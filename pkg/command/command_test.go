// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// stderr is a file to write to.
func stderr(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func written(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return string(text)
}

func TestACommandLineIsRunOrExplained(t *testing.T) {
	for name, tt := range map[string]struct {
		args        []string
		done        bool
		code        int
		out, errOut string
	}{
		"flags are read":        {args: []string{"--port", "9"}},
		"help":                  {args: []string{"-h"}, done: true, out: "Serves things.\n\nUsage: server [flags]\n"},
		"a switch is a word":    {args: []string{"--help"}, done: true, out: "      --version                print the version and exit\n"},
		"help names the codes":  {args: []string{"--help"}, done: true, out: "1 failed, 2 wrong flags"},
		"version":               {args: []string{"--version"}, done: true, out: version.String() + "\n"},
		"an unknown flag":       {args: []string{"--prot=1"}, done: true, code: 2, errOut: "server: unknown flag: --prot; see --help\n"},
		"a value of wrong type": {args: []string{"--port=x"}, done: true, code: 2, errOut: `invalid argument "x" for "--port" flag`},
		"an argument":           {args: []string{"extra"}, done: true, code: 2, errOut: `unexpected argument "extra"`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			errs := stderr(t)
			port := 0
			done, code := Line{
				Name: "server", About: "Serves things.\n", Stdout: &out, Stderr: errs,
				Bind: func(fs *pflag.FlagSet) { fs.IntVar(&port, "port", 1, "port") },
			}.parse(tt.args)
			require.Equal(t, tt.done, done)
			require.Equal(t, tt.code, code)
			require.Contains(t, out.String(), tt.out)
			require.Contains(t, written(t, errs), tt.errOut)
			if !tt.done {
				require.Equal(t, 9, port)
			}
		})
	}
}

func TestAServerEndsWithTheCodeOfWhatEndedIt(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		run    func(ctx context.Context, log *zap.Logger) error
		code   int
		errOut string
	}{
		"a signal": {run: func(ctx context.Context, _ *zap.Logger) error {
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}},
		"a fault":                   {run: func(context.Context, *zap.Logger) error { return errors.New("the port is busy") }, code: 1, errOut: "the port is busy"},
		"a log level that is none":  {args: []string{"--log_level=loud"}, code: 2, errOut: "loud"},
		"nothing is run after help": {args: []string{"--help"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			errs := stderr(t)
			var log telemetry.LogOptions
			code := Line{Name: "server", Bind: log.BindFlags, Log: &log, Run: tt.run, Stdout: &out, Stderr: errs}.Main(tt.args)
			require.Equal(t, tt.code, code)
			require.Contains(t, written(t, errs), tt.errOut)
		})
	}
}
