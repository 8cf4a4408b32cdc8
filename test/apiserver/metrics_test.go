// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var named = regexp.MustCompile("`([a-z_]+)(\\*|\\{[^}]*\\})?`")

// TestTheMetricsOfTheDocumentationAreThere holds docs/control-plane.md and the running controller together, in both directions.
func TestTheMetricsOfTheDocumentationAreThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	text, err := os.ReadFile("../../docs/control-plane.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Metrics\n")
	require.True(t, found)
	var documented, families []string
	for line := range strings.Lines(section) {
		column, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range named.FindAllStringSubmatch(column, -1) {
			if m[2] == "*" {
				families = append(families, m[1])
			} else {
				documented = append(documented, m[1])
			}
		}
	}
	require.Greater(t, len(documented), 5)
	served := map[string]bool{}
	require.NoError(t, get(t.Context(), "http://"+w.Controller.Metrics+"/metrics", func(line string) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			served[strings.Fields(name)[0]] = true
		}
	}))
	for _, name := range documented {
		require.True(t, served[name], "%s is documented and not served", name)
	}
	for _, family := range families {
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(served)), func(name string) bool { return strings.HasPrefix(name, family) }), "%s* are documented and not served", family)
	}
	for name := range served {
		if strings.HasPrefix(name, "kserve_") {
			require.Contains(t, documented, name, "it is served and not documented")
		}
	}
}
