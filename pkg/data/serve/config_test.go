// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// configMap is a directory as a kubelet mounts a ConfigMap: the file is a link into ..data, which is a link that changes.
type configMap struct {
	dir  string
	turn int
}

func (c *configMap) set(t *testing.T, text string) {
	t.Helper()
	c.turn++
	data := fmt.Sprintf("..%d", c.turn)
	require.NoError(t, os.MkdirAll(filepath.Join(c.dir, data), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, data, "models.json"), []byte(text), 0o600))
	require.NoError(t, os.Symlink(data, filepath.Join(c.dir, "..tmp")))
	require.NoError(t, os.Rename(filepath.Join(c.dir, "..tmp"), filepath.Join(c.dir, "..data")))
	if c.turn == 1 {
		require.NoError(t, os.Symlink(filepath.Join("..data", "models.json"), c.file()))
	} else {
		require.NoError(t, os.RemoveAll(filepath.Join(c.dir, fmt.Sprintf("..%d", c.turn-1))))
	}
}

func (c *configMap) file() string { return filepath.Join(c.dir, "models.json") }

func entry(name, uri, more string) string {
	return fmt.Sprintf(`{"modelName":%q,"modelSpec":{"storageUri":%q,"framework":"sums","memory":"1Mi"}%s}`, name, uri, more)
}

func index(s *serve.Server) map[string]repository.Entry {
	all := map[string]repository.Entry{}
	for _, e := range s.Models() {
		e.Bytes = 0
		all[e.Name] = e
	}
	return all
}

func TestModelsFollowAList(t *testing.T) {
	root := tree(t, map[string]string{"fetched/m.sum": "sum", "not-listed/m.sum": "sum", "bad/m.sum": "corrupt"})
	elsewhere := tree(t, map[string]string{"one/m.sum": "sum", "two/m.sum": "sum"})
	config := &configMap{dir: t.TempDir()}
	config.set(t, "["+strings.Join([]string{
		entry("fetched", "s3://bucket/model", ""), entry("local", "file://"+elsewhere+"/one", ""), entry("bad", "gs://bucket/bad", ""),
		entry("odd", "relative", ""), entry("set", elsewhere+"/two", `,"settings":{"maxRunnning":1}`),
	}, ",")+"]")
	core, logged := observer.New(zap.ErrorLevel)
	e := &sums{}
	p := run(t, serve.Options{Engines: []engine.Engine{e}, ModelDir: root, ModelConfig: config.file(), Poll: time.Millisecond, Log: zap.New(core)})
	require.Eventually(t, p.Ready, waitFor, tick)
	all := index(p.Server)
	require.Equal(t, map[string]repository.Entry{
		"fetched": {Name: "fetched", State: repository.Ready},
		"local":   {Name: "local", State: repository.Ready},
		"bad":     {Name: "bad", State: repository.Unavailable, Reason: "bad/m.sum as sums: byte 0: expected a word that is known"},
		"odd":     {Name: "odd", State: repository.Unavailable, Reason: `modelSpec.storageUri: "relative": expected a URI or an absolute path`},
		"set":     {Name: "set", State: repository.Unavailable, Reason: `settings: json: unknown field "maxRunnning"`},
	}, all)
	require.Equal(t, 3, logged.Len())
	require.Equal(t, `{"predictions":[3.0,7.0]}`, asked(p.url+"/v1/models/fetched:predict", v1Body))

	// One is removed, one moves, one is new, one gets settings, and one gets good files.
	opened := e.opened.Load()
	config.set(t, "["+strings.Join([]string{
		entry("fetched", "s3://bucket/model", `,"settings":{"maxBatchSize":8,"maxBatchDelay":"1ms","queueTimeout":"1s","maxQueue":5}`),
		entry("local", "file://"+elsewhere+"/two", ""), entry("new", elsewhere+"/one", ""), entry("bad", "gs://bucket/bad", ""),
	}, ",")+"]")
	require.NoError(t, os.WriteFile(filepath.Join(root, "bad", "m.sum"), []byte("sum"), 0o600))
	ready := func(names ...string) func() bool {
		return func() bool {
			all := index(p.Server)
			for _, name := range names {
				if all[name] != (repository.Entry{Name: name, State: repository.Ready}) {
					return false
				}
			}
			return len(all) == len(names)
		}
	}
	require.Eventually(t, ready("fetched", "local", "new", "bad"), waitFor, tick)
	require.Equal(t, opened+3, e.opened.Load(), "settings load nothing again")
	_, text := do(t, http.MethodGet, p.url+"/metrics", "")
	require.Contains(t, text, `kserve_batch_rows_count{model_name="fetched"} 0`)
	require.NotContains(t, text, `kserve_batch_rows_count{model_name="local"}`)
	require.Contains(t, text, `kserve_model_config_valid 1`)
	require.Contains(t, text, `kserve_model_loads_total{model_name="bad",result="failed"} 1`)
	require.Contains(t, text, `kserve_model_loads_total{model_name="local",result="loaded"} 2`)

	// A list that cannot be read changes nothing, and is told once.
	before := logged.Len()
	config.set(t, `{"not": "a list"}`)
	require.Eventually(t, func() bool {
		_, text := do(t, http.MethodGet, p.url+"/metrics", "")
		return strings.Contains(text, "kserve_model_config_valid 0")
	}, waitFor, tick)
	require.True(t, ready("fetched", "local", "new", "bad")())
	config.set(t, "[]")
	require.Eventually(t, ready(), waitFor, tick)
	require.Equal(t, before+1, logged.Len())
	require.Eventually(t, func() bool { return e.closed.Load() == e.opened.Load() }, waitFor, tick)
	require.True(t, p.Ready())
}

func TestAListThatCannotBeReadIsAFaultOfTheStart(t *testing.T) {
	for text, want := range map[string]string{
		"{":    "unexpected end of JSON input",
		"null": "expected a list of models, got null",
		"{}":   "cannot unmarshal object",
		"[] 5": "after top-level value",
	} {
		file := filepath.Join(t.TempDir(), "models.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.ErrorContains(t, serve.New(serve.Options{ModelConfig: file}).Start(t.Context()), want)
	}
	require.ErrorIs(t, serve.New(serve.Options{ModelConfig: "absent"}).Start(t.Context()), os.ErrNotExist)
	pipe := filepath.Join(t.TempDir(), "models.json")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.ErrorContains(t, serve.New(serve.Options{ModelConfig: pipe}).Start(t.Context()), "expected a regular file, got a named pipe")
}

// Entries whose form is wrong are told, and harm no other, whatever is wrong with them.
func TestAFaultInOneEntryHarmsNoOther(t *testing.T) {
	root := tree(t, map[string]string{"m/m.sum": "sum"})
	file := filepath.Join(t.TempDir(), "models.json")
	good := entry("good", root+"/m", "")
	require.NoError(t, os.WriteFile(file, []byte(`[5, null, {"modelName":"a/b"}, {"modelName":".."}, {"modelName":{}}, `+good+`,
		{"modelName":"typed","modelSpec":"x"}, {"modelName":"set","modelSpec":{"storageUri":"/m"},"settings":{"maxQueue":0}}, `+
		entry("twice", root+"/m", "")+","+entry("twice", root+"/m", "")+`]`), 0o600))
	core, logged := observer.New(zap.ErrorLevel)
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelConfig: file, Poll: time.Millisecond, Log: zap.New(core)})
	require.Eventually(t, p.Ready, waitFor, tick)
	require.Equal(t, map[string]repository.Entry{
		"good":  {Name: "good", State: repository.Ready},
		"typed": {Name: "typed", State: repository.Unavailable, Reason: "modelSpec: wrong type: string"},
		"set":   {Name: "set", State: repository.Unavailable, Reason: "settings.maxQueue: 0: expected 1 or more"},
		"twice": {Name: "twice", State: repository.Unavailable, Reason: "it is listed twice"},
	}, index(p.Server))
	var told []string
	for _, l := range logged.All() {
		if err, ok := l.ContextMap()["error"].(string); ok {
			told = append(told, err)
		}
	}
	require.Equal(t, []string{
		"entry 0: expected an object with a modelName, got 5", `entry 1: modelName "": expected text without slashes`,
		`entry 2: modelName "a/b": expected text without slashes`, `entry 3: modelName "..": expected text without slashes`,
		`entry 4: expected an object with a modelName, got {"modelName":{}}`,
	}, told)
	text := metrics(t, p)
	require.Contains(t, text, "kserve_model_config_valid 1")
	require.Contains(t, text, "kserve_model_config_faults 8")

	// What is mended is served, and what was refused and is gone is forgotten.
	require.NoError(t, os.WriteFile(file, []byte("["+good+","+entry("twice", root+"/m", "")+"]"), 0o600))
	require.Eventually(t, func() bool {
		all := index(p.Server)
		return len(all) == 2 && all["twice"] == repository.Entry{Name: "twice", State: repository.Ready}
	}, waitFor, tick)
	require.Contains(t, metrics(t, p), "kserve_model_config_faults 0")
}

func metrics(t *testing.T, p *process) string {
	t.Helper()
	_, text := do(t, http.MethodGet, p.url+"/metrics", "")
	return text
}

// A list beside which others write without an end is read all the same.
func TestABusyDirectoryHoldsNothingUp(t *testing.T) {
	root := tree(t, map[string]string{"m/m.sum": "sum"})
	dir := t.TempDir()
	file := filepath.Join(dir, "models.json")
	require.NoError(t, os.WriteFile(file, []byte("[]"), 0o600))
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelConfig: file, Poll: time.Hour})
	require.Eventually(t, p.Ready, waitFor, tick)
	var stop atomic.Bool
	var writers sync.WaitGroup
	for _, name := range []string{"other", "models.json"} { // the list itself, too: the same again and again
		writers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				text := "[" + entry("m", root+"/m", "") + "]"
				if err := os.WriteFile(filepath.Join(dir, "."+name), []byte(text), 0o600); err != nil {
					t.Errorf("write: %v", err)
				}
				if err := os.Rename(filepath.Join(dir, "."+name), filepath.Join(dir, name)); err != nil {
					t.Errorf("rename: %v", err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	require.Eventually(t, func() bool { return index(p.Server)["m"].State == repository.Ready }, waitFor, tick)
	stop.Store(true)
	writers.Wait()
}

// Models are moved by their list, as fast as can be, while clients ask: each is answered.
func TestAListThatChangesLosesNoRequest(t *testing.T) {
	e := &sums{}
	dirs := tree(t, map[string]string{"one/m.sum": "sum", "two/m.sum": "sum"})
	config := &configMap{dir: t.TempDir()}
	config.set(t, "["+entry("m", dirs+"/one", "")+"]")
	p := run(t, serve.Options{Engines: []engine.Engine{e}, ModelConfig: config.file(), Poll: time.Millisecond})
	require.Eventually(t, p.Ready, waitFor, tick)
	var stop atomic.Bool
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for !stop.Load() {
				if text := asked(p.url+"/v1/models/m:predict", v1Body); text != `{"predictions":[3.0,7.0]}` {
					t.Errorf("answered %s", text)
					return
				}
			}
		})
	}
	for i := range 20 {
		opened := e.opened.Load()
		config.set(t, "["+entry("m", dirs+"/"+[]string{"two", "one"}[i%2], "")+"]")
		require.Eventually(t, func() bool { return e.opened.Load() > opened }, waitFor, tick)
	}
	stop.Store(true)
	clients.Wait()
	p.stop()
	require.NoError(t, <-p.done)
	require.Equal(t, e.opened.Load(), e.closed.Load())
}

func TestADirectoryIsFollowed(t *testing.T) {
	root := tree(t, map[string]string{"a/m.sum": "sum"})
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: root, FollowDir: true, Poll: time.Millisecond})
	require.Eventually(t, p.Ready, waitFor, tick)
	require.NoError(t, os.Mkdir(filepath.Join(root, "b"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(root, "b", "m.sum"), []byte("sum"), 0o600))
	require.Eventually(t, func() bool { return asked(p.url+"/v1/models/b:predict", v1Body) == `{"predictions":[3.0,7.0]}` }, waitFor, tick)
	require.NoError(t, os.RemoveAll(filepath.Join(root, "a")))
	require.Eventually(t, func() bool { return len(p.Models()) == 1 }, waitFor, tick)
}

// The one model of a directory is followed, too: it is replaced when its files change, and a server that began with a bad one gets ready.
func TestOneModelIsFollowed(t *testing.T) {
	dir := tree(t, map[string]string{"m.sum": "corrupt"})
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: dir, ModelName: "m", FollowDir: true, Poll: time.Millisecond})
	require.Eventually(t, func() bool { return index(p.Server)["m"].State == repository.Unavailable }, waitFor, tick)
	require.False(t, p.Ready())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.sum"), []byte("sum"), 0o600))
	require.Eventually(t, p.Ready, waitFor, tick)
	require.Equal(t, `{"predictions":[3.0,7.0]}`, asked(p.url+"/v1/models/m:predict", v1Body))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.sum"), []byte("fail"), 0o600))
	require.Eventually(t, func() bool { return strings.Contains(asked(p.url+"/v1/models/m:predict", v1Body), "error") }, waitFor, tick)
}

// Models that are fetched by the agent of KServe's multi-model serving: it writes their files and a mark into directories and calls load,
// and removes the directory before it calls unload.
func TestTheAgentBringsModels(t *testing.T) {
	dir := tree(t, map[string]string{"half/m.sum": "corrupt", "half/SUCCESS.77": "{}"})
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: dir, ModelName: "service", ModelExpected: true, ModelsLater: true})
	require.Eventually(t, p.Ready, waitFor, tick)
	for name, text := range map[string]string{"one": "sum", "two": "corrupt"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "m.sum"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "SUCCESS.0a1b"), []byte(`{"storageUri":"s3://b/m","framework":"sums","memory":"1Gi"}`), 0o600))
	}
	load := func(name, what string) int {
		resp, _ := do(t, http.MethodPost, p.url+"/v2/repository/models/"+name+"/"+what, "{}", "Content-Type", "application/json")
		return resp.StatusCode
	}
	require.Equal(t, 200, load("one", "load"))
	require.Equal(t, 503, load("two", "load"))
	require.Equal(t, `{"predictions":[3.0,7.0]}`, asked(p.url+"/v1/models/one:predict", v1Body))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "one")))
	require.Equal(t, `{"predictions":[3.0,7.0]}`, asked(p.url+"/v1/models/one:predict", v1Body))
	require.Equal(t, 200, load("one", "unload"))
	require.Equal(t, 404, load("one", "unload"))
	require.True(t, p.Ready())
}

// More models than fit: each answers, over every wire, and the index and the metrics tell which are in memory.
func TestMoreModelsThanFit(t *testing.T) {
	files := map[string]string{}
	const models = 8
	for i := range models {
		files[fmt.Sprintf("m%d/m.sum", i)] = "sum"
	}
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: tree(t, files), MaxMemory: 400})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	var all sync.WaitGroup
	for c := range 4 {
		all.Go(func() {
			for i := range 40 {
				name := fmt.Sprintf("m%d", (i*(c+1))%models)
				if text := asked(p.url+"/v1/models/"+name+":predict", v1Body); text != `{"predictions":[3.0,7.0]}` {
					t.Errorf("V1: %s", text)
				}
				if _, err := client.ModelInfer(context.Background(), inferRequest(name)); err != nil {
					t.Errorf("gRPC: %v", err)
				}
			}
		})
	}
	all.Wait()
	inMemory, bytes := 0, int64(0)
	for _, e := range p.Models() {
		require.Equal(t, repository.Ready, e.State)
		bytes += e.Bytes
		if e.Bytes > 0 {
			inMemory++
			require.Empty(t, e.Reason)
		} else {
			require.Equal(t, "not in memory, to make room for others: it is loaded with the next request", e.Reason)
			resp, _ := do(t, http.MethodGet, p.url+"/v2/models/"+e.Name+"/ready", "")
			require.Equal(t, 200, resp.StatusCode, "a request would be answered")
		}
	}
	require.LessOrEqual(t, bytes, int64(400))
	require.Positive(t, inMemory)
	require.Less(t, inMemory, models)
	resp, err := http.Get(p.url + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	require.Contains(t, string(text), "kserve_model_memory_limit_bytes 400")
	require.Contains(t, string(text), `kserve_model_memory_bytes{model_name="m0",version=""}`)
	require.Contains(t, string(text), `kserve_model_evictions_total{model_name="m0"}`)
}
