// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/version"
)

func TestACommandLineIsRunOrExplained(t *testing.T) {
	for name, tt := range map[string]struct {
		args        []string
		done        bool
		code        int
		out, errOut string
	}{
		"flags are read":        {args: []string{"--port", "9"}},
		"help":                  {args: []string{"-h"}, done: true, out: "Serves things.\n\nUsage: server [flags]\n"},
		"help names the codes":  {args: []string{"--help"}, done: true, out: "1 failed, 2 wrong flags"},
		"version":               {args: []string{"--version"}, done: true, out: version.String() + "\n"},
		"an unknown flag":       {args: []string{"--prot=1"}, done: true, code: 2, errOut: "server: unknown flag: --prot; see --help\n"},
		"a value of wrong type": {args: []string{"--port=x"}, done: true, code: 2, errOut: `invalid argument "x" for "--port" flag`},
		"an argument":           {args: []string{"extra"}, done: true, code: 2, errOut: `unexpected argument "extra"`},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			port := 0
			done, code := Line{
				Name: "server", About: "Serves things.\n", Stdout: &out, Stderr: &errOut,
				Bind: func(fs *pflag.FlagSet) { fs.IntVar(&port, "port", 1, "port") },
			}.Parse(tt.args)
			require.Equal(t, tt.done, done)
			require.Equal(t, tt.code, code)
			require.Contains(t, out.String(), tt.out)
			require.Contains(t, errOut.String(), tt.errOut)
			if !tt.done {
				require.Equal(t, 9, port)
			}
		})
	}
}
