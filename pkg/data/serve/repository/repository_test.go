// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// fake is an engine that opens anything with its endings, unless the file says "corrupt".
type fake struct {
	name    string
	endings []string
}

func (f fake) Name() string         { return f.name }
func (f fake) Extensions() []string { return f.endings }

func (f fake) Open(_ context.Context, file string, _ engine.Options) (engine.Model, error) {
	text, err := os.ReadFile(file)
	if err == nil && string(text) == "corrupt" {
		err = errors.New("corrupt")
	}
	return &fakeModel{class: f.name + " " + filepath.Base(file)}, err
}

type fakeModel struct {
	class  string
	mu     sync.Mutex
	closed int
}

func (m *fakeModel) Metadata() engine.Metadata { return engine.Metadata{Class: m.class} }
func (m *fakeModel) Predict(context.Context, *tensor.Request, *tensor.Response) error {
	return nil
}

func (m *fakeModel) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed++
	return nil
}

func (m *fakeModel) closes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

func engines() []engine.Engine {
	return []engine.Engine{
		fake{"sklearn", []string{".joblib", ".pkl", ".pickle"}},
		fake{"xgboost", []string{".bst", ".json", ".ubj"}},
		fake{"lightgbm", []string{".bst", ".txt"}},
	}
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestTheFormatIsFound(t *testing.T) {
	const booster, signature = `{"learner":{}}`, `{"inputs":[]}`
	cases := map[string]struct {
		files  map[string]string
		engine string
		path   string
		class  string
		err    string
	}{
		"by the ending":                           {files: map[string]string{"m.joblib": "x", "readme.md": ""}, class: "sklearn m.joblib"},
		"a .bst that is text of LightGBM":         {files: map[string]string{"m.bst": "tree\nversion=v4\n"}, class: "lightgbm m.bst"},
		"a .bst that is binary of XGBoost":        {files: map[string]string{"m.bst": "binf\x00\x00"}, class: "xgboost m.bst"},
		"a .bst that is JSON of XGBoost":          {files: map[string]string{"m.bst": booster}, class: "xgboost m.bst"},
		"a .bst as the caller says":               {files: map[string]string{"m.bst": "binf"}, engine: "lightgbm", class: "lightgbm m.bst"},
		"JSON beside a model is not a second one": {files: map[string]string{"m.pkl": "x", "signature.json": signature}, class: "sklearn m.pkl"},
		"JSON that is a model is one":             {files: map[string]string{"m.pkl": "x", "m.json": booster}, err: "More than one model file"},
		"only the files of the engine asked for":  {files: map[string]string{"m.pkl": "x", "m.json": booster}, engine: "xgboost", class: "xgboost m.json"},
		"endings are in lower case":               {files: map[string]string{"m.PKL": "x"}, err: "no model file in"},
		"a folder below is not looked into":       {files: map[string]string{"sub/m.pkl": "x"}, err: "no model file in"},
		"a path to the file itself":               {files: map[string]string{"m.pkl": "x", "n.pkl": "x"}, path: "n.pkl", class: "sklearn n.pkl"},
		"a file of any name, the engine given":    {files: map[string]string{"weights": "x"}, path: "weights", engine: "sklearn", class: "sklearn weights"},
		"a file of any name, no engine given":     {files: map[string]string{"weights": "x"}, path: "weights", err: "is of no known format"},
		"an engine that there is not":             {files: map[string]string{"m.pkl": "x"}, engine: "onnx", err: `no engine is called "onnx": this server has sklearn, xgboost, lightgbm`},
		"nothing there":                           {path: "absent", err: "no such directory: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Engines: engines()})
			err := r.Add(t.Context(), Source{Name: "m", Path: filepath.Join(write(t, c.files), c.path), Engine: c.engine})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.Equal(t, Unavailable, r.Index()[0].State)
				_, err = r.Acquire(t.Context(), "m", "")
				require.EqualError(t, err, "Model with name m is not ready.")
				return
			}
			require.NoError(t, err)
			m, err := r.Acquire(t.Context(), "m", "")
			require.NoError(t, err)
			require.Equal(t, c.class, m.Metadata().Class)
			m.Release()
		})
	}
}

func TestAModelLivesUntilItsLastUse(t *testing.T) {
	r := New(Options{})
	first, second := &fakeModel{class: "first"}, &fakeModel{class: "second"}
	require.NoError(t, r.Add(t.Context(), Source{Name: "m", Model: first}))
	held, err := r.Acquire(t.Context(), "m", "")
	require.NoError(t, err)
	require.NoError(t, r.Add(t.Context(), Source{Name: "m", Model: second}))
	now, err := r.Acquire(t.Context(), "m", "")
	require.NoError(t, err)
	require.Equal(t, "second", now.Metadata().Class)
	require.Zero(t, first.closes(), "a request still has it")
	held.Release()
	require.Equal(t, 1, first.closes())
	require.NoError(t, r.Remove("m"))
	require.Zero(t, second.closes())
	now.Release()
	require.Equal(t, 1, second.closes())
	require.EqualError(t, r.Remove("m"), "Model with name m does not exist.")
}

func TestABadReplacementLeavesTheOldModel(t *testing.T) {
	dir := write(t, map[string]string{"m.pkl": "fine"})
	r := New(Options{Engines: engines()})
	require.NoError(t, r.Add(t.Context(), Source{Name: "m", Path: dir}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.pkl"), []byte("corrupt"), 0o600))
	require.ErrorContains(t, r.Add(t.Context(), Source{Name: "m", Path: dir}), "corrupt")
	entry, err := r.Status("m", "")
	require.NoError(t, err)
	require.Equal(t, Ready, entry.State)
	require.Contains(t, entry.Reason, "corrupt")
	m, err := r.Acquire(t.Context(), "m", "")
	require.NoError(t, err)
	m.Release()
}

func TestVersionsAreOrderedByTheirNumber(t *testing.T) {
	versions := []string{"v2", "10", "007", "9", "", "v10"}
	slices.SortFunc(versions, compareVersions)
	require.Equal(t, []string{"007", "9", "10", "", "v10", "v2"}, versions)
}

func TestLinksOfAMountedVolumeAreFollowed(t *testing.T) {
	dir := write(t, map[string]string{"..2026/m.pkl": "x"})
	require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
	require.NoError(t, os.Symlink(filepath.Join("..data", "m.pkl"), filepath.Join(dir, "m.pkl")))
	r := New(Options{Engines: engines()})
	require.NoError(t, r.Add(t.Context(), Source{Name: "m", Path: dir}))
}

func TestNamesThatNoURLCanHold(t *testing.T) {
	for _, name := range []string{"", "a/b", "\x00", "\xff"} {
		require.ErrorContains(t, New(Options{}).Add(t.Context(), Source{Name: name, Model: &fakeModel{}}), "expected text without slashes")
	}
}

func TestALoadThatNobodyWaitsForIsNotDone(t *testing.T) {
	r := New(Options{Engines: engines(), Root: write(t, map[string]string{"m/m.pkl": "x"})})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.Reload(ctx, "m"), context.Canceled)
	require.Empty(t, r.Index())
	require.NoError(t, r.Reload(t.Context(), "m"))
}

func TestUseAndReplacementAtOnce(t *testing.T) {
	r := New(Options{})
	var made []*fakeModel
	add := func() {
		m := &fakeModel{}
		made = append(made, m)
		require.NoError(t, r.Add(t.Context(), Source{Name: "m", Model: m}))
	}
	add()
	stop := make(chan struct{})
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				m, err := r.Acquire(t.Context(), "m", "")
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if m.Model.(*fakeModel).closes() > 0 {
					t.Error("lent a closed model")
				}
				m.Release()
			}
		})
	}
	for range 2000 {
		add()
	}
	close(stop)
	users.Wait()
	r.Close()
	for _, m := range made {
		require.Equal(t, 1, m.closes())
	}
}

func BenchmarkAcquire(b *testing.B) {
	r := New(Options{})
	if err := r.Add(b.Context(), Source{Name: "m", Model: &fakeModel{}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m, err := r.Acquire(b.Context(), "m", "")
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
}

func TestLoadingAgainForgetsVersionsWhoseDirectoriesAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		first, then map[string]string
		want        []string
	}{
		"a version":                    {first: map[string]string{"m/1/a.pkl": "x", "m/2/a.pkl": "x"}, then: map[string]string{"m/1/a.pkl": "x"}, want: []string{"1"}},
		"a model that gets versions":   {first: map[string]string{"m/a.pkl": "x"}, then: map[string]string{"m/1/a.pkl": "x"}, want: []string{"1"}},
		"a model that loses them":      {first: map[string]string{"m/1/a.pkl": "x"}, then: map[string]string{"m/a.pkl": "x"}, want: []string{""}},
		"none when nothing new loaded": {first: map[string]string{"m/1/a.pkl": "x"}, then: map[string]string{"m/2/a.pkl": "corrupt"}, want: []string{"1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Engines: engines(), Root: write(t, c.first)})
			require.NoError(t, r.Reload(t.Context(), "m"))
			before, err := r.Acquire(t.Context(), "m", "")
			require.NoError(t, err)
			r.UseRoot(write(t, c.then))
			_ = r.Reload(t.Context(), "m")
			var versions []string
			for _, e := range r.Index() {
				versions = append(versions, e.Version)
			}
			require.Equal(t, c.want, versions)
			model := before.Model.(*fakeModel)
			require.Zero(t, model.closes(), "a request has it still")
			before.Release()
			kept := slices.Contains(c.want, before.Version) && len(c.want) > 1
			require.Equal(t, kept, model.closes() == 0)
		})
	}
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	pipe, nowhere := filepath.Join(dir, "pipe.pkl"), filepath.Join(dir, "nowhere.pkl")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink("missing", nowhere))
	r := New(Options{Engines: []engine.Engine{fake{"sklearn", []string{".pkl"}}}})
	defer r.Close()

	err := r.Add(t.Context(), Source{Name: "m", Path: dir})
	var missing *NoFile
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{"nowhere.pkl, a link that leads nowhere", "pipe.pkl, a named pipe"}, missing.Others)

	require.ErrorContains(t, r.Add(t.Context(), Source{Name: "m", Path: pipe}), "is a named pipe", "it is not opened, which would wait for a writer")
}
