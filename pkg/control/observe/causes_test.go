// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

// TestThePageOfConditions holds docs/conditions.md to the code; -update writes it anew.
func TestThePageOfConditions(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Conditions and reasons\n\n" +
		"What may stand under `status.conditions` of an InferenceService. This page is made of `pkg/control/observe/causes.go` (`make golden`);\n" +
		"[status.md](status.md) tells how a status is found. Messages name the case at hand; this is the general rule.\n\n" +
		"## Conditions\n\n| type | severity | True says |\n|---|---|---|\n")
	for _, c := range observe.Conditions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Type, c.Severity, c.Says)
	}
	titles := map[string]string{
		"components":               "## Reasons of `PredictorReady`, `TransformerReady`, `ExplainerReady`\n\n`Ready` takes over the reason of the first that is not True. With several pods a message begins with a count: `1 of 3 pods: …`.",
		"IngressReady":             "## Reasons of `IngressReady`",
		"CanaryPredictorReady":     "## Reasons of `CanaryPredictorReady`",
		"OciImageVolumeCompatible": "## Reasons of `OciImageVolumeCompatible`",
		"AutoscalerReady":          "## Reasons of `AutoscalerReady`",
		"HostUnique":               "## Reasons of `HostUnique`",
		"canaryStatuses":           "## Reasons of an analysis in `status.canaryStatuses`",
		"all":                      "## Reasons of every condition",
	}
	for _, on := range []string{"all", "components", "IngressReady", "CanaryPredictorReady", "canaryStatuses", "AutoscalerReady", "HostUnique", "OciImageVolumeCompatible"} {
		b.WriteString("\n" + titles[on] + "\n\n| reason | what is the case | tried again | what helps |\n|---|---|---|---|\n")
		for _, c := range observe.Causes() {
			if c.On == on {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Reason, c.Means, dash(c.Again), dash(c.Do))
			}
		}
	}
	golden.File(t, "../../../docs/conditions.md", []byte(b.String()))
	for _, c := range observe.Causes() {
		require.Contains(t, titles, c.On, c.Reason)
	}
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// TestEveryReasonIsExplained: whatever reason the code names, or an example ends with, has its line.
func TestEveryReasonIsExplained(t *testing.T) {
	known := map[string]bool{observe.ReasonInternalError: true} // of events
	for _, c := range observe.Causes() {
		require.False(t, known[c.Reason], "%s is explained twice", c.Reason)
		known[c.Reason] = true
	}
	for _, file := range []string{"reasons.go", "../rollout/rollout.go", "../../apis/serving/v1beta1/conditions.go"} {
		reasons := constants(t, file)
		require.NotEmpty(t, reasons, file)
		for name, reason := range reasons {
			require.True(t, known[reason], "%s of %s has no line in causes.go", name, file)
		}
	}
	types := map[string]bool{}
	for _, c := range observe.Conditions() {
		types[string(c.Type)] = true
	}
	folders, err := os.ReadDir("testdata/cases")
	require.NoError(t, err)
	for _, f := range folders {
		raw, err := os.ReadFile("testdata/cases/" + f.Name() + "/out.yaml")
		require.NoError(t, err)
		var out struct {
			Status servingv1beta1.InferenceServiceStatus `json:"status"`
		}
		require.NoError(t, yaml.Unmarshal(raw, &out))
		for _, c := range out.Status.Conditions {
			require.True(t, types[string(c.Type)] || foreign(f.Name()), "%s: %s is not among the conditions", f.Name(), c.Type)
			if slices.Contains([]string{"PredictorReady", "TransformerReady", "ExplainerReady", "CanaryPredictorReady"}, string(c.Type)) && c.Status != "True" && c.Reason != "" && !foreign(f.Name()) {
				require.True(t, known[c.Reason], "%s: reason %s of %s has no line in causes.go", f.Name(), c.Reason, c.Type)
			}
		}
	}
}

// foreign tells the examples whose reasons are another controller's.
func foreign(name string) bool { return strings.Contains(name, "knative") }

// constants are those of a file whose name begins with Reason, with their values.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(name.Name, "Reason") || i >= len(spec.Values) {
				continue
			}
			if value, ok := spec.Values[i].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(value.Value)
				require.NoError(t, err)
				found[name.Name] = text
			}
		}
		return true
	})
	return found
}
