// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

const samplesDir = "../../../deploy/samples"

func call(command func(output.Streams) *cobra.Command, stdin string, args ...string) (stdout, stderr string, err error) {
	var out, errOut bytes.Buffer
	cmd := command(output.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errOut})
	cmd.SetArgs(append([]string{}, args...)) // never nil: then cobra takes those of the test
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), errOut.String(), err
}

// Each folder of testdata holds what a person wrote and what the three commands say to it.
func TestCommands(t *testing.T) {
	golden.Run(t, "testdata", func(t *testing.T, c *golden.Case) {
		t.Helper()
		in := string(c.Input("in.yaml"))
		for name, command := range map[string]func(output.Streams) *cobra.Command{
			"validate.txt": ValidateCommand, "render.yaml": RenderCommand, "explain.txt": ExplainCommand,
		} {
			stdout, stderr, err := call(command, in, "-f", "-")
			text := stdout
			if stderr != "" {
				text += "--- stderr\n" + stderr
			}
			if err != nil {
				require.Equal(t, exit.Invalid, exit.Code(err))
				text += "--- exit code 3\n"
			}
			c.Want(name, []byte(text))
		}
	})
}

func TestEverySampleIsValidAndRenders(t *testing.T) {
	stdout, _, err := call(ValidateCommand, "", samplesDir, "-o", "json")
	require.NoError(t, err, stdout)
	var report Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.True(t, report.Valid)
	files, err := filepath.Glob(samplesDir + "/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, report.Objects, len(files))

	stdout, _, err = call(RenderCommand, "", samplesDir, "-o", "json")
	require.NoError(t, err, stdout)
	var list struct{ Items []struct{ Kind string } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &list))
	require.GreaterOrEqual(t, len(list.Items), report.Objects)
	require.NotContains(t, stdout, "ownerReferences", "the owners have no UID before they are applied, and an API server refuses a reference without one")
}

func TestTheSamplesOfCanariesAreValidAndRender(t *testing.T) {
	stdout, _, err := call(ValidateCommand, "", samplesDir+"/canary", "-o", "json")
	require.NoError(t, err, stdout)
	stdout, _, err = call(RenderCommand, "", samplesDir+"/canary", "-o", "json")
	require.NoError(t, err, stdout)
	for _, name := range []string{"iris-canary-v2-predictor", "iris-shadow-v2-predictor"} {
		require.Contains(t, stdout, `"name": "`+name+`"`)
	}
	require.NotContains(t, stdout, "kserve-go.dev/", "what is said to the controller reaches no child")
}

func TestTheSamplesFindTheirBucketInACluster(t *testing.T) {
	stdout, _, err := call(ExplainCommand, "", "-f", samplesDir+"/sklearn-iris.yaml", "-f", samplesDir+"/cluster", "-o", "json")
	require.NoError(t, err)
	var all []Explanation
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Len(t, all, 1)
	require.Contains(t, all[0].Decisions, Decision{
		Subject: "credentials", Role: "predictor", Workload: "sklearn-iris-predictor", Chosen: "secrets kserve-samples-s3", Why: "service account default lists them",
	})
}

func TestSettingsAndSecretsOfTheFilesCount(t *testing.T) {
	sample, err := os.ReadFile(samplesDir + "/sklearn-iris.yaml")
	require.NoError(t, err)
	config := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: inferenceservice-config, namespace: kserve}\ndata:\n  deploy: '{\"defaultDeploymentMode\": \"Standard\"}'\n"
	stdout, _, err := call(RenderCommand, string(sample)+config, "-f", "-", "-o", "table")
	require.NoError(t, err)
	require.Contains(t, stdout, "Deployment")

	stdout, _, err = call(ValidateCommand, string(sample)+strings.Replace(config, "Standard", "Nonsense", 1), "-f", "-")
	require.Equal(t, exit.Invalid, exit.Code(err))
	require.Contains(t, stdout, "configmap/inferenceservice-config: data.deploy: ")
}

func TestNoFileIsWrongUsage(t *testing.T) {
	for _, command := range []func(output.Streams) *cobra.Command{ValidateCommand, RenderCommand, ExplainCommand} {
		_, _, err := call(command, "")
		require.Equal(t, exit.Usage, exit.Code(err))
	}
}

func TestAFormatThatNoRuntimeServesIsAWarning(t *testing.T) {
	sample, err := os.ReadFile(samplesDir + "/sklearn-iris.yaml")
	require.NoError(t, err)
	in := strings.Replace(string(sample), "name: sklearn\n", "name: sklern\n", 1)
	require.NotEqual(t, string(sample), in)
	stdout, _, err := call(ValidateCommand, in, "-f", "-")
	require.NoError(t, err, stdout)
	require.Regexp(t, `warning: stdin:\d+ .*spec.predictor.model.modelFormat: no runtime supports model format "sklern".*did you mean "sklearn"`, stdout)
	require.Contains(t, stdout, "1 object is valid")
	stdout, _, err = call(ValidateCommand, in, "-f", "-", "-o", "json")
	require.NoError(t, err)
	var report Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Len(t, report.Warnings, 1)
	stdout, _, err = call(ExplainCommand, in, "-f", "-")
	require.Equal(t, exit.Invalid, exit.Code(err))
	require.Contains(t, stdout, `did you mean "sklearn"?`)
}

func TestAModelThatAClusterCannotGetIsAWarning(t *testing.T) {
	in := func(spec string) string {
		return "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: a}\nspec: {predictor: {" + spec + "}}"
	}
	model := func(uri string) string {
		return in("model: {modelFormat: {name: sklearn}, storageUri: \"" + uri + "\"}")
	}
	for name, c := range map[string]struct{ in, want string }{
		"a path":          {model("file:///srv/model"), "spec.predictor.model.storageUri: file:///srv/model is a path on this machine for kserve run alone: in a cluster it is looked for inside the pod"},
		"older form":      {in(`sklearn: {storageUri: "file:///srv/model"}`), "spec.predictor.sklearn.storageUri: file:///srv/model is a path"},
		"not built in":    {model("gs://b/m"), "spec.predictor.model.storageUri: not built in yet: gs (gs://b/m); this program fetches file, http, pvc, s3, here and in a cluster"},
		"a hub":           {model("hf://me/m"), "not built in yet: hf"},
		"an object":       {model("s3://b/m"), ""},
		"a claim":         {model("pvc://c/m"), ""},
		"a page":          {model("https://example.com/m"), ""},
		"an image":        {model("oci://example.com/m:1"), ""},
		"no model at all": {in("containers: [{name: kserve-container, image: i}]"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := call(ValidateCommand, c.in, "-f", "-")
			require.NoError(t, err, stdout+stderr)
			explained, stderr, err := call(ExplainCommand, c.in, "-f", "-")
			require.NoError(t, err, stderr)
			if c.want == "" {
				require.NotContains(t, stdout, "warning")
				require.NotContains(t, explained, "built in yet")
				return
			}
			require.Contains(t, stdout, "warning: stdin:4")
			require.Contains(t, stdout, c.want)
			require.Contains(t, explained, c.want)
		})
	}
}

func TestTheModeThatWasNotAskedForIsTold(t *testing.T) {
	const hint = "the annotation serving.kserve.io/deploymentMode: Standard for any"
	for _, command := range []func(output.Streams) *cobra.Command{RenderCommand, ExplainCommand} {
		_, stderr, err := call(command, iris, "-f", "-")
		require.NoError(t, err)
		require.Contains(t, stderr, hint)
		for _, in := range []string{iris + "---" + standardSettings, strings.Replace(iris, "name: iris", "name: iris, annotations: {serving.kserve.io/deploymentMode: Standard}", 1)} {
			_, stderr, err = call(command, in, "-f", "-")
			require.NoError(t, err)
			require.NotContains(t, stderr, hint)
		}
		stdout, stderr, err := call(command, iris, "-f", "-", "-f", "../../../deploy/overlays/local/settings.yaml")
		require.NoError(t, err, stderr)
		require.Contains(t, stdout, "Deployment", "the file that the hint names has what it says")
	}
}

func TestReasonsSpeakOfWhatWasWritten(t *testing.T) {
	const head = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: iris"
	why := func(spec, workload, subject string) string {
		stdout, stderr, err := call(ExplainCommand, head+spec, "-f", "-", "-o", "json")
		require.NoError(t, err, stderr)
		var all []Explanation
		require.NoError(t, json.Unmarshal([]byte(stdout), &all))
		for _, d := range all[0].Decisions {
			if d.Subject == subject && d.Workload == workload {
				return d.Why
			}
		}
		return ""
	}
	older := "}\nspec: {predictor: {sklearn: {storageUri: \"s3://b/m\"}}}"
	require.Equal(t, "the operator's default (deploy.defaultDeploymentMode)", why(older, "", "mode"))
	require.Contains(t, why(older, "iris-predictor", "storage"), "spec.predictor.sklearn.storageUri")
	canary := ", annotations: {serving.kserve.io/deploymentMode: Standard}}\nspec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: \"s3://b/m\"}}, canary: [{trafficPercent: 10, predictor: {name: v2, model: {modelFormat: {name: sklearn}, storageUri: \"s3://b/2\"}}}]}"
	require.Equal(t, "the stable predictor has it, and the model format is the same", why(canary, "iris-v2-predictor", "runtime"))
	require.Contains(t, why(canary, "iris-v2-predictor", "storage"), "spec.canary[0].predictor.model.storageUri")
}
