// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const goMod = "module github.com/kserve-go/kserve-go/local\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/api v0.99.1\n\tk8s.io/kubernetes v1.99.1\n)\n"

// checkout is a small one whose cluster binary builds in no time.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	// Nothing is downloaded: no package of it is needed.
	write(t, root, "local/go.mod", "module github.com/kserve-go/kserve-go/local\n\ngo 1.26.0\n\n// k8s.io/kubernetes\nexclude (\n\tk8s.io/kubernetes v1.99.1\n)\n")
	write(t, root, "local/main.go", "package main\n\nfunc main() { println(\"one\") }\n")
	return root
}

func write(t *testing.T, root, name, content string) string {
	t.Helper()
	path := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func program(t *testing.T, path string, used time.Time) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.Chtimes(path, used, used))
	return path
}

func TestTheHashIsOfAllThatTheBuildReads(t *testing.T) {
	cases := map[string]struct {
		file, content string
		mode          os.FileMode
		counts        bool
	}{
		"a source":                {"local/node/node.go", "package node\n", 0o644, true},
		"the module":              {"local/go.mod", goMod + "// more\n", 0o644, true},
		"its sums":                {"local/go.sum", "x\n", 0o644, true},
		"an embedded file":        {"local/node/list.json", "{}", 0o644, true},
		"a test":                  {"local/node/node_test.go", "package node\n", 0o644, false},
		"a test's data":           {"local/node/testdata/a.json", "{}", 0o644, false},
		"a text":                  {"local/README.md", "hello", 0o644, false},
		"an editor's file":        {"local/.main.go.swp", "x", 0o644, false},
		"a program built there":   {"local/kserve-cluster", "x", 0o755, false},
		"another module's source": {"pkg/a.go", "package pkg\n", 0o644, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := checkout(t)
			before, err := Read(t.Context(), root)
			require.NoError(t, err)
			same, err := Read(t.Context(), root)
			require.NoError(t, err)
			require.Equal(t, before.Hash, same.Hash)
			require.NoError(t, os.Chmod(write(t, root, c.file, c.content), c.mode))
			after, err := Read(t.Context(), root)
			require.NoError(t, err)
			require.Equal(t, c.counts, before.Hash != after.Hash)
		})
	}
}

func TestTheLinkerStampsTheVersionOfKubernetes(t *testing.T) {
	flags, err := linkFlags(goMod)
	require.NoError(t, err)
	require.Equal(t, "-s -w -X k8s.io/component-base/version.gitVersion=v1.99.1 -X k8s.io/component-base/version.gitMajor=1 "+
		"-X k8s.io/component-base/version.gitMinor=99 -X k8s.io/client-go/pkg/version.gitVersion=v1.99.1", flags)
	_, err = linkFlags("module x\n")
	require.ErrorContains(t, err, "k8s.io/kubernetes")
}

func TestABinaryIsBuiltOnceAndFound(t *testing.T) {
	root, cache := checkout(t), t.TempDir()
	where := Where{Start: filepath.Join(root, "local"), Cache: cache}
	_, err := Find(t.Context(), where)
	require.ErrorIs(t, err, ErrNone)
	require.ErrorContains(t, err, "make local-cluster")

	var said [2]bytes.Buffer
	var paths [2]string
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() { paths[i], _ = Build(t.Context(), root, cache, &said[i]) })
	}
	wg.Wait()
	require.Equal(t, paths[0], paths[1])
	require.NoError(t, executable(paths[0]))
	require.Equal(t, 1, strings.Count(said[0].String()+said[1].String(), "building "), "two builds at once")
	leftovers, err := filepath.Glob(filepath.Join(cache, "*", "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, leftovers)

	found, err := Find(t.Context(), where)
	require.NoError(t, err)
	require.Equal(t, paths[0], found)
	var again bytes.Buffer
	_, err = Build(t.Context(), root, cache, &again)
	require.NoError(t, err)
	require.Empty(t, again.String(), "the second run builds nothing")

	write(t, root, "local/more.go", "package main\n")
	_, err = Find(t.Context(), where)
	require.ErrorIs(t, err, ErrNone, "a binary of other sources is not taken")
}

func TestABuildThatFailsSaysWhy(t *testing.T) {
	root, cache := checkout(t), t.TempDir()
	write(t, root, "local/main.go", "package main\n\nfunc main() { nothing() }\n")
	_, err := Build(t.Context(), root, cache, &bytes.Buffer{})
	require.ErrorContains(t, err, "undefined: nothing")
	all, err := filepath.Glob(filepath.Join(cache, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(cache, "build.lock")}, all)
}

func TestWhereABinaryIsLookedFor(t *testing.T) {
	now := time.Now()
	dir, cache, outside := t.TempDir(), t.TempDir(), t.TempDir()
	kserve := program(t, filepath.Join(dir, "kserve"), now)
	where := Where{Executable: kserve, Start: outside, Cache: cache}

	_, err := Find(t.Context(), where)
	require.ErrorIs(t, err, ErrNone)
	require.ErrorContains(t, err, filepath.Join(dir, Name))
	require.ErrorContains(t, err, "--cluster-binary")

	program(t, filepath.Join(cache, "old", Name), now.Add(-time.Hour))
	newest := program(t, filepath.Join(cache, "new", Name), now)
	found, err := Find(t.Context(), where)
	require.NoError(t, err)
	require.Equal(t, newest, found, "outside a checkout: the one used last")

	beside := program(t, filepath.Join(dir, Name), now)
	found, err = Find(t.Context(), where)
	require.NoError(t, err)
	require.Equal(t, beside, found, "beside kserve comes before the cache")

	where.Explicit = program(t, filepath.Join(outside, "mine"), now)
	found, err = Find(t.Context(), where)
	require.NoError(t, err)
	require.Equal(t, where.Explicit, found)
	where.Explicit = filepath.Join(outside, "none")
	_, err = Find(t.Context(), where)
	require.ErrorIs(t, err, os.ErrNotExist, "what was named is not replaced by another")
	where.Explicit = write(t, outside, "text", "x")
	_, err = Find(t.Context(), where)
	require.ErrorContains(t, err, "is no program")
}

func TestOldBinariesAreThrownAway(t *testing.T) {
	cache, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{"a": time.Minute, "b": time.Hour, "c": 2 * time.Hour, "d": 3 * time.Hour, "e": 4 * time.Hour} {
		program(t, filepath.Join(cache, name, Name), now.Add(-age))
	}
	require.NoError(t, clean(cache, filepath.Join(cache, "e", Name), now))
	left, err := entries(cache)
	require.NoError(t, err)
	var names []string
	for _, e := range left {
		names = append(names, filepath.Base(filepath.Dir(e.path)))
	}
	require.Equal(t, []string{"a", "b", "e"}, names)

	for _, name := range []string{"f", "g", "h"} {
		program(t, filepath.Join(cache, name, Name), now.Add(-time.Second))
	}
	require.NoError(t, clean(cache, "", now))
	left, err = entries(cache)
	require.NoError(t, err)
	require.Len(t, left, 4, "one that was used in the last minutes may be about to start")
}

func TestPackagesAreCountedInWhatTheBuildSays(t *testing.T) {
	var n atomic.Int64
	rest := follow(strings.NewReader("k8s.io/api/core/v1\n# example.com/a\n./a.go:3:1: undefined: x\nnet/http\n"), &n)
	require.EqualValues(t, 2, n.Load())
	require.Equal(t, "# example.com/a\n./a.go:3:1: undefined: x\n", string(rest))
}
