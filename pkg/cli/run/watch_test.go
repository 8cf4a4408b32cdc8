// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

const (
	row       = `{"instances":[[6.8,2.8,4.8,1.4]]}`
	answerOne = `{"predictions":[1]}`
	answerTwo = `{"predictions":[0]}`
)

// model puts a sample's model file into dir, in the place of the one that is there.
func model(t *testing.T, dir, sample string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.joblib"), read(t, samplesDir+"/models/"+sample+"/model.joblib"), 0o600))
}

// asking asks url for the answer to row until stop is called, which tells the first answer that was lost.
func asking(url string) (stop func() string) {
	done, lost := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(lost)
		for {
			select {
			case <-done:
				return
			default:
			}
			response, err := http.Post(url, "application/json", strings.NewReader(row))
			if err != nil {
				lost <- err.Error()
				return
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				lost <- string(body)
				return
			}
		}
	}()
	return func() string { close(done); return <-lost }
}

func TestWatchServesAModelThatIsTrainedAgain(t *testing.T) {
	for name, scheme := range map[string]string{"a file URI": "file://", "a plain path": "", "a claim": "pvc://trained"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			model(t, dir, "iris")
			uri, o := scheme+dir, Options{Files: []string{filepath.Join(t.TempDir(), "iris.yaml")}, Watch: true}
			if strings.HasPrefix(scheme, "pvc:") {
				uri, o.Claims = scheme, map[string]string{"trained": dir}
			}
			service(t, o.Files[0], "iris", "sklearn", uri, "")
			r := start(t, o)
			serving := r.until("serving")
			require.EqualValues(t, 1, serving["ready"], r.rows)
			require.Nil(t, serving["reloaded"], "it is loaded for the first time")
			url := r.url + "/v1/models/iris:predict"
			_, body := post(t, url, "", row)
			require.JSONEq(t, answerOne, body)
			stop := asking(url)

			model(t, dir, "iris-other")
			serving = r.until("serving")
			require.EqualValues(t, 1, serving["ready"], r.rows)
			require.Equal(t, []any{"default/iris"}, serving["reloaded"])
			_, body = post(t, url, "", row)
			require.JSONEq(t, answerTwo, body)

			// A file that is no model keeps the one before; the next good one takes its place.
			require.NoError(t, os.WriteFile(filepath.Join(dir, "model.joblib"), []byte("half"), 0o600))
			serving = r.until("serving")
			require.EqualValues(t, 1, serving["ready"], r.rows)
			require.EqualValues(t, 1, serving["before"], r.rows)
			require.Nil(t, serving["reloaded"])
			_, body = post(t, url, "", row)
			require.JSONEq(t, answerTwo, body)
			model(t, dir, "iris")
			require.EqualValues(t, 0, r.until("serving")["before"], r.rows)
			_, body = post(t, url, "", row)
			require.JSONEq(t, answerOne, body)
			require.Empty(t, stop())
			require.NoError(t, r.end())
		})
	}
}

func TestWatchServesAModelThatComesLater(t *testing.T) {
	dir, file := filepath.Join(t.TempDir(), "later"), filepath.Join(t.TempDir(), "iris.yaml")
	service(t, file, "iris", "sklearn", "file://"+dir, "")
	r := start(t, Options{Files: []string{file}, Watch: true})
	require.EqualValues(t, 0, r.until("serving")["ready"], r.rows)
	require.NotContains(t, r.rows["default/iris"]["detail"], "stat ")
	require.NoError(t, os.Mkdir(dir, 0o700))
	model(t, dir, "iris")
	for r.until("serving")["ready"] != 1.0 { // the folder alone may have been seen too
	}
	_, body := post(t, r.url+"/v1/models/iris:predict", "", row)
	require.JSONEq(t, answerOne, body)
	require.NoError(t, r.end())
}

// Whatever is wrong with the new version, the one before goes on, and the way back is as if nothing had been.
func TestAChangeThatGoesWrongKeepsTheVersionBefore(t *testing.T) {
	for name, c := range map[string]struct {
		format, uri, more string
		phase, says       string
		code              int
	}{
		"no runtime serves the format": {"sklern", "s3://kserve-samples/iris", "", "Failed", "sklern", exit.Failed},
		"the model is not there":       {"sklearn", "s3://kserve-samples/nothing", "", "Failed", "nothing", exit.Failed},
		"only a cluster can run it": {
			"sklearn", "s3://kserve-samples/iris", "  transformer:\n    containers: [{name: kserve-container, image: me/mine:1}]\n",
			"Refused", "me/mine:1", exit.Failed,
		},
		"a field that is none": {"sklearn", "s3://kserve-samples/iris", "      storageURL: x\n", "Invalid", "storageURL", exit.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "iris.yaml")
			service(t, filepath.Join(dir, "other.yaml"), "other", "sklearn", "s3://kserve-samples/iris-other", "")
			service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "")
			r := start(t, Options{Files: []string{dir}, Watch: true})
			require.EqualValues(t, 2, r.until("serving")["ready"], r.rows)
			stop := asking(r.url + "/v1/models/iris:predict")
			wrong := func() {
				t.Helper()
				service(t, file, "iris", c.format, c.uri, c.more)
				serving := r.until("serving")
				require.EqualValues(t, 2, serving["ready"], r.rows)
				require.EqualValues(t, 1, serving["before"], r.rows)
				require.EqualValues(t, 0, serving["failed"], r.rows)
				require.Equal(t, c.phase, r.rows["default/iris"]["phase"])
				require.Contains(t, r.rows["default/iris"]["detail"], c.says)
				require.Contains(t, r.rows["default/iris"]["detail"], "the version before goes on serving")
			}
			wrong()
			service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "")
			require.EqualValues(t, 0, r.until("serving")["before"], r.rows)
			require.Equal(t, "Ready", r.rows["default/iris"]["phase"])
			wrong()
			require.Empty(t, stop())
			require.Equal(t, c.code, exit.Code(r.end()))
		})
	}
}

func TestAFileThatCannotBeReadChangesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "iris.yaml")
	service(t, filepath.Join(dir, "other.yaml"), "other", "sklearn", "s3://kserve-samples/iris-other", "")
	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "")
	r := start(t, Options{Files: []string{dir}, Watch: true})
	require.EqualValues(t, 2, r.until("serving")["ready"], r.rows)
	require.NoError(t, os.WriteFile(file, []byte("kind: ["), 0o600))
	require.EqualValues(t, 2, r.until("serving")["ready"], r.rows)
	code, body := post(t, r.url+"/v1/models/iris:predict", "", row)
	require.Equal(t, http.StatusOK, code, body)
	require.Equal(t, exit.Invalid, exit.Code(r.end()))
}

func TestAnObjectThatIsThereTwiceIsTold(t *testing.T) {
	dir := t.TempDir()
	service(t, filepath.Join(dir, "a.yaml"), "iris", "sklearn", "s3://kserve-samples/iris", "")
	service(t, filepath.Join(dir, "b.yaml"), "iris", "sklearn", "s3://kserve-samples/iris-other", "")
	service(t, filepath.Join(dir, "c.yaml"), "other", "sklearn", "s3://kserve-samples/iris", "")
	r := start(t, Options{Files: []string{dir}})
	serving := r.until("serving")
	require.EqualValues(t, 1, serving["ready"], r.rows)
	require.EqualValues(t, 1, serving["failed"], r.rows)
	require.Equal(t, "Invalid", r.rows["default/iris"]["phase"])
	require.Contains(t, r.rows["default/iris"]["detail"], "a.yaml")
	require.Contains(t, r.rows["default/iris"]["detail"], "b.yaml")
	code, _ := post(t, r.url+"/v1/models/iris:predict", "", row)
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, exit.Invalid, exit.Code(r.end()))
}

func TestTheCountIsTrue(t *testing.T) {
	for name, c := range map[string]struct {
		rows []Row
		want string
	}{
		"all":    {[]Row{{Phase: Ready}, {Phase: Ready}}, "serving 2 of 2; ctrl-c stops"},
		"before": {[]Row{{Phase: Failed, Before: true}}, "serving 1 of 1, 1 of them as before a change that went wrong; ctrl-c stops"},
		"faults": {[]Row{{Phase: Ready}, {Phase: Invalid}, {Phase: Failed}}, "serving 1 of 3; 1 with faults in the files; ctrl-c stops"},
	} {
		require.Equal(t, c.want, count(c.rows).sentence(len(c.rows)), name)
	}
}

func TestAGraphThatGoesWrongKeepsTheVersionBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "graph.yaml")
	write := func(target string) {
		t.Helper()
		service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "---\napiVersion: serving.kserve.io/v1alpha1\nkind: InferenceGraph\n"+
			"metadata: {name: chain}\nspec: {nodes: {root: {routerType: Sequence, steps: [{serviceName: "+target+"}]}}}\n")
	}
	write("iris")
	r := start(t, Options{Files: []string{file}, Watch: true})
	require.EqualValues(t, 2, r.until("serving")["ready"], r.rows)
	for _, wrong := range []string{"elsewhere", "''"} { // one cannot be planned, the other is a fault
		write(wrong)
		serving := r.until("serving")
		require.EqualValues(t, 2, serving["ready"], r.rows)
		require.EqualValues(t, 1, serving["before"], r.rows)
		require.Contains(t, r.rows["default/chain"]["detail"], "the version before goes on serving")
		code, body := post(t, r.url+"/serving/default/chain", "", row)
		require.Equal(t, http.StatusOK, code, body)
	}
	write("iris")
	require.EqualValues(t, 0, r.until("serving")["before"], r.rows)
	require.NoError(t, r.end())
}
