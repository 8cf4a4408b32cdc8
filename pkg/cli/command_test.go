// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/version"
)

func kserve(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = Main(context.Background(), append([]string{}, args...), output.Streams{In: strings.NewReader(""), Out: &out, Err: &errOut})
	return code, out.String(), errOut.String()
}

func TestExitCodes(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		say  string
	}{
		"no command shows help":     {nil, exit.OK, ""},
		"an unknown command":        {[]string{"serve"}, exit.Usage, `unknown command "serve" for "kserve"; see kserve --help`},
		"a misspelt command":        {[]string{"validat", "-f", "x"}, exit.Usage, `unknown command "validat" for "kserve"; did you mean "validate"?`},
		"one below":                 {[]string{"local", "--name", "x", "statsu", "-o", "json"}, exit.Usage, `unknown command "statsu" for "kserve local"; did you mean "status"?`},
		"one at another place":      {[]string{"up", "--wait=5m"}, exit.Usage, `unknown command "up" for "kserve"; did you mean "kserve local up"?`},
		"a flag before it":          {[]string{"--frob", "validat"}, exit.Usage, "unknown flag: --frob"},
		"help of a misspelt one":    {[]string{"help", "rendr"}, exit.Usage, `did you mean "render"?`},
		"an unknown flag":           {[]string{"run", "--prot", "1"}, exit.Usage, "unknown flag: --prot; did you mean --port?"},
		"a misspelt flag":           {[]string{"predict", "m", "--protocoll", "v1"}, exit.Usage, "unknown flag: --protocoll; did you mean --protocol?"},
		"one of all commands below": {[]string{"local", "status", "--nam", "x"}, exit.Usage, "unknown flag: --nam; did you mean --name?"},
		"the beginning of a flag":   {[]string{"status", "--all", "x"}, exit.Usage, "unknown flag: --all; did you mean --all-namespaces?"},
		"a flag after one dash":     {[]string{"predict", "m", "-url", "x"}, exit.Usage, "did you mean --url?"},
		"a local cluster's name":    {[]string{"status", "--name", "x"}, exit.Usage, "unknown flag: --name; did you mean --cluster?"},
		"the other way round":       {[]string{"local", "logs", "--cluster", "x"}, exit.Usage, "unknown flag: --cluster; did you mean --name?"},
		"a flag like no other":      {[]string{"status", "--frobnicate"}, exit.Usage, "unknown flag: --frobnicate; see kserve status --help"},
		"a flag of a wrong type":    {[]string{"run", "--port", "many"}, exit.Usage, "invalid argument"},
		"an unknown output":         {[]string{"validate", "-o", "xml"}, exit.Usage, "none of table, json, yaml"},
		"no model to ask":           {[]string{"predict"}, exit.Usage, "accepts 1 arg"},
		"no file":                   {[]string{"validate"}, exit.Usage, "no file"},
		"a file that is not there":  {[]string{"validate", "-f", "none.yaml"}, exit.Invalid, ""},
		"arguments to version":      {[]string{"version", "please"}, exit.Usage, "version"},
		"help for what there is":    {[]string{"help", "run"}, exit.OK, ""},
		"help for what is not":      {[]string{"help", "serve"}, exit.Usage, `unknown command "serve" for "kserve"; see kserve --help`},
		"completion of a shell":     {[]string{"completion", "zsh"}, exit.OK, ""},
		"completion of no shell":    {[]string{"completion", "cmd.exe"}, exit.Usage, `unknown command "cmd.exe" for "kserve completion"`},
		"completion alone":          {[]string{"completion"}, exit.OK, ""},
		"shell completion is there": {[]string{"completion", "bash"}, exit.OK, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := kserve(c.args...)
			require.Equal(t, c.code, code, stderr)
			require.Contains(t, stderr, c.say)
			if c.say != "" {
				require.Equal(t, 1, strings.Count(stderr, "\n"), "one sentence: %s", stderr)
			}
		})
	}
}

func TestAKubeconfigThatIsMissingIsNamed(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "/nonexist")
	for _, args := range [][]string{{"status"}, {"diff"}, {"predict", "m", "-n", "x", "-d", "{\"instances\": []}"}} {
		code, _, stderr := kserve(args...)
		require.Equal(t, exit.Usage, code, args)
		require.Contains(t, stderr, "KUBECONFIG names /nonexist, which does not exist", args)
	}
}

func TestShellsCompleteFlagsWithTheWordsTheyTake(t *testing.T) {
	_, formats, _ := kserve("__complete", "render", "-o", "")
	require.Equal(t, "table\njson\nyaml\n:4\n", formats)
	_, protocols, _ := kserve("__complete", "predict", "iris", "--protocol", "")
	require.Equal(t, "v1\nv2\ngrpc\n:4\n", protocols)
	_, files, _ := kserve("__complete", "validate", "-f", "")
	require.Equal(t, ":0\n", files, "files are completed by the shell")
}

func TestVersionInEveryForm(t *testing.T) {
	_, flag, _ := kserve("--version")
	require.Equal(t, version.String()+"\n", flag)
	_, text, _ := kserve("version")
	require.Equal(t, flag, text)
	_, raw, _ := kserve("version", "-o", "json")
	var b Build
	require.NoError(t, json.Unmarshal([]byte(raw), &b))
	require.Equal(t, "dev", b.Version)
}

func TestHelpShowsSwitchesAsWords(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"help", "predict"}, {"validate", "-h"}} {
		_, help, _ := kserve(args...)
		require.Contains(t, help, "--help ", args)
		require.NotContains(t, help, "true|false", args)
	}
}

// The page tells what the program tells.
func TestDocumentationIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	_, help, _ := kserve("--help")
	require.Contains(t, help, exit.Table)
	for line := range strings.Lines(exit.Table) {
		if code, text, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			require.Contains(t, string(page), "| "+code+" | "+text, "docs/cli.md lacks an exit code")
		}
	}
	for _, cmd := range Command(output.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}).Commands() {
		require.Contains(t, string(page), "kserve "+cmd.Name(), "docs/cli.md lacks a command")
	}
}
