// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

const samplesDir = "../../../deploy/samples"

// running is a `kserve run` inside the test.
type running struct {
	t      *testing.T
	url    string
	stop   context.CancelFunc
	ended  chan error
	events chan map[string]any
	rows   map[string]map[string]any
	stderr *bytes.Buffer
}

// start runs o and waits until it serves. The caller may call end.
func start(t *testing.T, o Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	r := &running{t: t, stop: cancel, ended: make(chan error, 1), events: make(chan map[string]any, 1024), rows: map[string]map[string]any{}, stderr: &bytes.Buffer{}}
	if o.Address == "" {
		o.Address = "127.0.0.1"
	}
	if o.CacheDir == "" {
		o.CacheDir = t.TempDir()
	}
	o.DrainTimeout, o.Output, o.Log.Level = 5*time.Second, output.JSON, "error"
	go func() {
		err := Run(ctx, o, output.Streams{In: strings.NewReader(""), Out: writer, Err: r.stderr})
		_ = writer.Close()
		r.ended <- err
	}()
	go func() {
		defer close(r.events)
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			event := map[string]any{}
			if json.Unmarshal(lines.Bytes(), &event) == nil {
				r.events <- event
			}
		}
	}()
	t.Cleanup(func() { cancel() })
	return r
}

// until reads events up to the named one and keeps the rows; it is nil when the run ended first.
func (r *running) until(name string) map[string]any {
	r.t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case event, ok := <-r.events:
			if !ok {
				return nil
			}
			switch event["event"] {
			case "listening":
				r.url, _ = event["url"].(string)
			case "status":
				key, _ := event["name"].(string)
				r.rows[key] = event
			}
			if event["event"] == name {
				return event
			}
		case <-timeout:
			r.t.Fatalf("no event %s", name)
		}
	}
}

func (r *running) end() error {
	r.stop()
	for range r.events {
	}
	return <-r.ended
}

func post(t *testing.T, url, host, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func TestEverySampleAnswersAsItsLibrary(t *testing.T) {
	r := start(t, Options{Files: []string{samplesDir}})
	serving := r.until("serving")
	require.NotNil(t, serving, r.stderr.String())
	require.EqualValues(t, 0, serving["failed"], r.rows)
	files, err := filepath.Glob(samplesDir + "/golden/*.json")
	require.NoError(t, err)
	checked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var g struct {
			Service     string
			Request     json.RawMessage
			Predictions any
		}
		require.NoError(t, json.Unmarshal(text, &g))
		row := r.rows["default/"+g.Service]
		if row == nil {
			require.Equal(t, "sklearn-iris-other", g.Service, "every other golden file is of a sample")
			continue
		}
		checked++
		url, _ := row["url"].(string)
		host, _ := row["host"].(string)
		code, body := post(t, url, "", string(g.Request))
		require.Equal(t, http.StatusOK, code, body)
		var answer struct{ Predictions any }
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		closeTo(t, g.Service, g.Predictions, answer.Predictions)

		// The same by the name that a cluster's ingress would route by.
		path := "/"
		if row["kind"] == "InferenceService" {
			path = strings.TrimPrefix(url, r.url)
		}
		_, again := post(t, r.url+path, host, string(g.Request))
		require.Equal(t, body, again, g.Service)
	}
	require.Equal(t, len(r.rows), checked, "every sample has a golden file")

	code, body := post(t, r.url+"/v1/models/xgboost-iris:predict", "sklearn-iris.default.example.com", `{"instances":[[1,2,3,4]]}`)
	require.Equal(t, http.StatusNotFound, code, body)
	code, body = post(t, r.url+"/serving/default/sklearn-iris/v1/models/sklearn-iris:predict", "", `{"instances":[[6.8,2.8,4.8,1.4]]}`)
	require.Equal(t, http.StatusOK, code, body)
	require.JSONEq(t, `{"predictions":[1]}`, body)
	require.NoError(t, r.end(), "a clean end")
}

func closeTo(t *testing.T, name string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case []any:
		list, ok := got.([]any)
		require.True(t, ok, name)
		require.Len(t, list, len(want), name)
		for i := range want {
			closeTo(t, name, want[i], list[i])
		}
	default:
		require.InEpsilon(t, 1+want.(float64), 1+got.(float64), 1e-6, name)
	}
}

// service writes a file with one InferenceService that serves a folder of the sample models.
func service(t *testing.T, path, name, format, model, more string) {
	t.Helper()
	text := fmt.Sprintf("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata:\n  name: %s\nspec:\n  predictor:\n    model:\n      modelFormat: {name: %s}\n      storageUri: %s\n%s",
		name, format, model, more)
	temp := path + ".new"
	require.NoError(t, os.WriteFile(temp, []byte(text), 0o600))
	require.NoError(t, os.Rename(temp, path))
}

func TestOneBadServiceDoesNotStopTheOthers(t *testing.T) {
	dir := t.TempDir()
	service(t, dir+"/a.yaml", "good", "sklearn", "s3://kserve-samples/iris", "")
	service(t, dir+"/b.yaml", "absent", "sklearn", "s3://kserve-samples/nothing", "")
	service(t, dir+"/c.yaml", "mistaken", "xgboost", "s3://kserve-samples/iris", "")
	service(t, dir+"/d.yaml", "proba", "sklearn", "s3://kserve-samples/iris-other", "      env: [{name: PREDICT_PROBA, value: \"true\"}]\n")
	service(t, dir+"/e.yaml", "transformed", "sklearn", "s3://kserve-samples/iris", "  transformer:\n    containers: [{name: kserve-container, image: me/mine:1}]\n")
	service(t, dir+"/f.yaml", "elsewhere", "tensorflow", "s3://kserve-samples/iris", "")
	require.NoError(t, os.WriteFile(dir+"/g.yaml", []byte("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: odd}\nspec: {predictr: {}}\n"), 0o600))
	r := start(t, Options{Files: []string{dir}})
	serving := r.until("serving")
	require.NotNil(t, serving, r.stderr.String())
	require.EqualValues(t, 2, serving["ready"], r.rows)
	require.EqualValues(t, 5, serving["failed"], r.rows)
	require.Equal(t, "Invalid", r.rows["default/odd"]["phase"])
	require.Contains(t, r.stderr.String(), `spec.predictr: unknown field; did you mean "predictor"?`)
	detail := func(name string) string {
		return fmt.Sprint(r.rows["default/"+name]["phase"], ": ", r.rows["default/"+name]["detail"])
	}
	require.Contains(t, detail("absent"), "Failed: fetch s3://kserve-samples/nothing: ")
	require.Contains(t, detail("mistaken"), "Failed: load the model of s3://kserve-samples/iris: ")
	require.Equal(t, "Refused: spec.transformer runs the container image me/mine:1, and kserve run starts no containers; apply the service to a cluster, or remove spec.transformer to serve the model alone", detail("transformed"))
	require.Contains(t, detail("elsewhere"), "Refused: ClusterServingRuntime kserve-tensorflow-serving runs the container image")
	_, body := post(t, r.url+"/v1/models/proba:predict", "", `{"instances":[[6.8,2.8,4.8,1.4]]}`)
	require.Regexp(t, `^\{"predictions":\[\[0\.\d+,0\.\d+\]\]\}`, body)
	require.Equal(t, exit.Failed, exit.Code(r.end()))
}

func TestWatchReplacesWithoutLosingARequest(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "iris.yaml")
	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "")
	r := start(t, Options{Files: []string{file}, Watch: true})
	require.NotNil(t, r.until("serving"), r.stderr.String())
	row := `{"instances":[[6.8,2.8,4.8,1.4]]}`
	url := r.url + "/v1/models/iris:predict"
	var asked atomic.Int64
	stop, lost := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(lost)
		for {
			select {
			case <-stop:
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
			asked.Add(1)
		}
	}()
	_, body := post(t, url, "", row)
	require.JSONEq(t, `{"predictions":[1]}`, body)

	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris-other", "")
	require.NotNil(t, r.until("serving"))
	_, body = post(t, url, "", row)
	require.JSONEq(t, `{"predictions":[0]}`, body, "the other model answers now")

	// A fault in the file changes nothing; a second service is added beside the first; a removed one is gone.
	require.NoError(t, os.WriteFile(file, []byte("kind: ["), 0o600))
	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris-other", "---\n"+strings.ReplaceAll(string(read(t, samplesDir+"/xgboost-iris.yaml")), "#", "#"))
	require.NotNil(t, r.until("serving"))
	code, _ := post(t, r.url+"/v1/models/xgboost-iris:predict", "", row)
	require.Equal(t, http.StatusOK, code)
	close(stop)
	require.Empty(t, <-lost)
	require.Positive(t, asked.Load())

	service(t, file, "renamed", "sklearn", "s3://kserve-samples/iris", "")
	require.NotNil(t, r.until("serving"))
	code, _ = post(t, url, "", row)
	require.Equal(t, http.StatusNotFound, code)
	code, _ = post(t, r.url+"/v1/models/renamed:predict", "", row)
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, r.end())
}

func TestWatchSeesAFolderThatIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "services")
	require.NoError(t, os.Mkdir(dir, 0o700))
	service(t, dir+"/iris.yaml", "iris", "sklearn", "s3://kserve-samples/iris", "")
	r := start(t, Options{Files: []string{dir}, Watch: true})
	require.NotNil(t, r.until("serving"), r.stderr.String())
	// As a checkout does it: the new folder takes the old one's name.
	fresh := filepath.Join(t.TempDir(), "services")
	require.NoError(t, os.Mkdir(fresh, 0o700))
	service(t, fresh+"/other.yaml", "other", "sklearn", "s3://kserve-samples/iris", "")
	require.NoError(t, os.Rename(dir, dir+".old"))
	require.NoError(t, os.Rename(fresh, dir))
	require.NotNil(t, r.until("serving"))
	code, _ := post(t, r.url+"/v1/models/other:predict", "", `{"instances":[[6.8,2.8,4.8,1.4]]}`)
	require.Equal(t, http.StatusOK, code)
	require.NoError(t, r.end())
}

func TestWatchDoesNotWaitForAFetchThatAChangeMakesPointless(t *testing.T) {
	asked, let := make(chan struct{}, 1), make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-r.Context().Done():
		case <-let:
		}
	}))
	defer stuck.Close()
	defer close(let)
	file := filepath.Join(t.TempDir(), "iris.yaml")
	other := strings.ReplaceAll(string(read(t, samplesDir+"/sklearn-iris.yaml")), "name: sklearn-iris", "name: other")
	service(t, file, "iris", "sklearn", stuck.URL+"/model.joblib", "---\n"+other)
	r := start(t, Options{Files: []string{file}, Watch: true})
	require.NotNil(t, r.until("listening"), r.stderr.String())
	<-asked
	for r.rows["default/other"]["phase"] != "Ready" {
		require.NotNil(t, r.until("status"))
	}
	code, body := post(t, r.url+"/serving/default/other/v1/models/other:predict", "", `{"instances":[[6.8,2.8,4.8,1.4]]}`)
	require.Equal(t, http.StatusOK, code, "a service that is ready is reached in every way: %s", body)
	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "")
	require.EqualValues(t, 1, r.until("serving")["ready"])
	require.NoError(t, r.end())
}

func TestACacheThatCannotBeWrittenNamesTheFlag(t *testing.T) {
	dir := t.TempDir()
	service(t, dir+"/iris.yaml", "iris", "sklearn", "s3://kserve-samples/iris", "")
	// A file where the folder should be stops root too.
	require.NoError(t, os.WriteFile(dir+"/taken", nil, 0o600))
	r := start(t, Options{Files: []string{dir + "/iris.yaml"}, CacheDir: dir + "/taken/cache"})
	require.Nil(t, r.until("serving"))
	require.Contains(t, r.rows["default/iris"]["detail"], "--cache-dir names another folder")
	require.Equal(t, exit.Failed, exit.Code(r.end()))

	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	err := Run(t.Context(), Options{Files: []string{dir}}, output.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	require.Equal(t, exit.Usage, exit.Code(err))
	require.ErrorContains(t, err, "name one with --cache-dir")
}

func TestGraphsThatCallEachOtherByURLEndAndSayWhy(t *testing.T) {
	port := freeport.Number(t)
	graph := func(name, target string) string {
		return fmt.Sprintf("---\napiVersion: serving.kserve.io/v1alpha1\nkind: InferenceGraph\nmetadata: {name: %s}\n"+
			"spec: {nodes: {root: {routerType: Sequence, steps: [%s]}}}\n", name, target)
	}
	url := func(name string) string {
		return fmt.Sprintf("{serviceUrl: \"http://127.0.0.1:%d/serving/default/%s\"}", port, name)
	}
	file := filepath.Join(t.TempDir(), "graphs.yaml")
	service(t, file, "absent", "sklearn", "s3://kserve-samples/nothing",
		graph("ping", url("pong"))+graph("pong", url("ping"))+graph("lame", "{serviceName: absent}"))
	r := start(t, Options{Files: []string{file}, Port: port})
	require.NotNil(t, r.until("serving"), r.stderr.String())
	row := `{"instances":[[6.8,2.8,4.8,1.4]]}`
	code, body := post(t, r.url+"/serving/default/ping", "", row)
	require.Equal(t, http.StatusLoopDetected, code, body)
	require.Contains(t, body, "the request has come through 16 graphs")
	_, body = post(t, r.url+"/serving/default/lame", "", row)
	require.Contains(t, body, "absent.default is not served here now")
	require.Equal(t, exit.Failed, exit.Code(r.end()))
}

func TestTheSameNameInTwoNamespacesIsTwoServices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "iris.yaml")
	other := strings.ReplaceAll(string(read(t, samplesDir+"/sklearn-iris.yaml")), "name: sklearn-iris", "name: iris\n  namespace: other")
	other = strings.ReplaceAll(other, "s3://kserve-samples/iris", "s3://kserve-samples/iris-other")
	require.Contains(t, other, "namespace: other\n")
	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "---\n"+other)
	r := start(t, Options{Files: []string{file}, Watch: true})
	serving := r.until("serving")
	require.EqualValues(t, 2, serving["ready"], r.rows)
	row := `{"instances":[[6.8,2.8,4.8,1.4]]}`
	answers := func(url, host, want string) {
		t.Helper()
		_, body := post(t, url, host, row)
		require.JSONEq(t, want, body)
	}
	const one, zero = `{"predictions":[1]}`, `{"predictions":[0]}`
	answers(r.url+"/v1/models/iris:predict", "", one)
	answers(r.url+"/v1/models/iris:predict", "iris.default.example.com", one)
	answers(r.url+"/v1/models/iris:predict", "iris.other.example.com", zero)
	answers(r.url+"/v1/models/iris:predict", "iris.other.svc.cluster.local", zero)
	answers(r.url+"/serving/other/iris/v1/models/iris:predict", "", zero)
	require.Equal(t, r.url+"/serving/other/iris/v1/models/iris:predict", r.rows["other/iris"]["url"])
	require.Contains(t, fmt.Sprint(r.rows["other/iris"]["notes"]), "its model is called iris like that of inferenceservice/iris")

	// Once the first is gone the name is free, and the other one takes it.
	require.NoError(t, os.WriteFile(file, []byte(other), 0o600))
	require.EqualValues(t, 1, r.until("serving")["ready"])
	answers(r.url+"/v1/models/iris:predict", "", zero)
	answers(r.url+"/v1/models/iris:predict", "iris.other.example.com", zero)

	// The same when a service moves to another namespace: dropping the old one must not take the new one's model away.
	service(t, file, "iris", "sklearn", "s3://kserve-samples/iris", "")
	require.EqualValues(t, 1, r.until("serving")["ready"])
	answers(r.url+"/v1/models/iris:predict", "", one)
	require.NoError(t, r.end())
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

func TestACachedModelServesWhileItsSourceIsAway(t *testing.T) {
	source := httptest.NewServer(http.FileServer(http.Dir(samplesDir + "/models/iris")))
	dir, cache := t.TempDir(), t.TempDir()
	service(t, dir+"/iris.yaml", "iris", "sklearn", source.URL+"/model.joblib", "")
	o := Options{Files: []string{dir}, CacheDir: cache}
	first := start(t, o)
	require.NotNil(t, first.until("serving"), first.stderr.String())
	require.NoError(t, first.end())
	source.Close()

	again := start(t, o)
	require.NotNil(t, again.until("serving"), again.stderr.String())
	_, body := post(t, again.url+"/v1/models/iris:predict", "", `{"instances":[[6.8,2.8,4.8,1.4]]}`)
	require.JSONEq(t, `{"predictions":[1]}`, body)
	require.Contains(t, fmt.Sprint(again.rows["default/iris"]["notes"]), "the source cannot be reached now")
	require.NoError(t, again.end())
}

func TestRefusalsOfTheWholeRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/secret.yaml", []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"), 0o600))
	service(t, dir+"/absent.yaml", "absent", "sklearn", "file:///nonexistent/model", "")
	cases := map[string]struct {
		o    Options
		code int
		say  string
	}{
		"a busy port":                   {Options{Files: []string{samplesDir + "/sklearn-iris.yaml"}, Port: port, GRPCPort: -1}, exit.Busy, fmt.Sprint(port)},
		"nothing to serve":              {Options{Files: []string{dir + "/secret.yaml"}}, exit.Invalid, "nothing to serve"},
		"no such file":                  {Options{Files: []string{dir + "/none.yaml"}}, exit.Invalid, ""},
		"the only service cannot serve": {Options{Files: []string{dir + "/absent.yaml"}}, exit.Failed, "1 of 1 could not be served"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := start(t, c.o)
			require.Nil(t, r.until("serving"))
			err := <-r.ended
			require.Equal(t, c.code, exit.Code(err), fmt.Sprint(err))
			require.Contains(t, exit.Message(err), c.say)
		})
	}
}

func TestWhatCannotBeFetchedIsNotSaidToBe(t *testing.T) {
	for uri, want := range map[string]string{
		"gs://bucket/model": "fetch gs://bucket/model: not built in yet: gs (gs://bucket/model); this program fetches file, http, pvc, s3",
		"hf://me/model":     "fetch hf://me/model: not built in yet: hf",
		"pvc://claim/model": "name the folder that stands for it here with --claim claim=FOLDER",
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		service(t, file, "a", "sklearn", uri, "")
		r := start(t, Options{Files: []string{file}})
		for r.until("status") != nil {
			require.NotEqual(t, "Fetching", r.rows["default/a"]["phase"], uri)
		}
		require.Equal(t, exit.Failed, exit.Code(<-r.ended))
		require.Equal(t, "Failed", r.rows["default/a"]["phase"])
		require.Contains(t, r.rows["default/a"]["detail"], want)
	}
}

func TestAFileThatIsNoModelIsCalledByItsName(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"notes.txt":    "no model file in file://" + dir + "/notes.txt: expected one file that ends in .joblib",
		"model.joblib": "load the model of file://" + dir + "/model.joblib: load model a: model.joblib as sklearn: ",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("hello"), 0o600))
		file := filepath.Join(t.TempDir(), "a.yaml")
		service(t, file, "a", "sklearn", "file://"+filepath.Join(dir, name), "")
		r := start(t, Options{Files: []string{file}})
		require.Nil(t, r.until("serving"))
		require.Equal(t, exit.Failed, exit.Code(<-r.ended))
		require.Contains(t, r.rows["default/a"]["detail"], want)
	}
}

func TestFlagsThatContradict(t *testing.T) {
	for name, o := range map[string]Options{
		"no file":              {Port: 1},
		"one port for both":    {Files: []string{"x"}, Port: 8080, GRPCPort: 8080},
		"a port out of range":  {Files: []string{"x"}, Port: 70000},
		"watching stdin":       {Files: []string{"-"}, Port: 1, Watch: true},
		"events as YAML":       {Files: []string{"x"}, Port: 1, Output: output.YAML},
		"a gRPC port below -1": {Files: []string{"x"}, Port: 1, GRPCPort: -2},
	} {
		require.Equal(t, exit.Usage, exit.Code(o.validate()), name)
	}
}
