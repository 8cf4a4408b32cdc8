// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"regexp"
	"strings"
	"testing"
)

var console = regexp.MustCompile("(?s)```console\n\\$ (kserve [^\n]*)\n(.*?)```")

// Each command of docs/cli.md does what the page shows: every line below it is in its output.
func TestCommandsOfTheDocumentation(t *testing.T) {
	s := serve(t, "-f", "deploy/samples/sklearn-iris.yaml", "--cache-dir", t.TempDir())
	// The page uses the standard ports, this run free ones.
	toHere := strings.NewReplacer("predict sklearn-iris -p grpc", "predict sklearn-iris -p grpc --grpc-address "+s.grpc,
		"predict sklearn-iris -d", "predict sklearn-iris --url "+s.url+" -d")
	examples := console.FindAllStringSubmatch(read(t, "docs/cli.md"), -1)
	if len(examples) < 5 {
		t.Fatalf("docs/cli.md has %d examples", len(examples))
	}
	for _, m := range examples {
		t.Run(m[1], func(t *testing.T) {
			if strings.HasPrefix(m[1], "kserve run") {
				return // it is what serves the other examples
			}
			r := call(t, "", "kserve", words(toHere.Replace(m[1]))[1:]...)
			if r.code != 0 {
				t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			for line := range strings.Lines(m[2]) {
				if !strings.Contains(r.stdout, strings.TrimRight(line, "\n")) {
					t.Errorf("the page shows %q, the command prints\n%s", line, r.stdout)
				}
			}
		})
	}
}

// words splits a command line; single quotes hold words together.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}
