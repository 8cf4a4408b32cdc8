// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kservego_test holds the checks on the shape of the repository: layers, package comments and the pages that tell them.
//
// Called by: make test.
// Next: docs/architecture.md, whose table is the rule.
package kservego_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/kserve-go/kserve-go/"

// pkg is one folder of Go code under pkg/, with what its non-test files import and say.
type pkg struct {
	imports map[string]bool
	doc     string
	main    bool // a program, which says "Command …" and is called by no package
}

func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	found := map[string]*pkg{}
	err := filepath.WalkDir("pkg", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		p := found[dir]
		if p == nil {
			p = &pkg{imports: map[string]bool{}}
			found[dir] = p
		}
		p.main = p.main || file.Name.Name == "main"
		if file.Doc != nil && strings.HasPrefix(file.Doc.Text(), "Package ") {
			p.doc = file.Doc.Text()
		}
		for _, imp := range file.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			p.imports[name] = true
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// layers reads the table of docs/architecture.md: | `package` | layer | … A row ending in /… stands for the children too.
func layers(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	table := map[string]int{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(pkg/[^`]+)` \\| (\\d) \\|").FindAllStringSubmatch(string(page), -1) {
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		table[m[1]] = n
	}
	require.NotEmpty(t, table, "docs/architecture.md has no table of packages and layers")
	return table
}

func layerOf(table map[string]int, dir string) (int, bool) {
	if n, ok := table[dir]; ok {
		return n, true
	}
	for up := dir; up != "pkg" && up != "."; up = filepath.ToSlash(filepath.Dir(up)) {
		if n, ok := table[up+"/…"]; ok {
			return n, true
		}
	}
	return 0, false
}

func plane(dir string) string {
	for _, p := range []string{"control", "storage", "data"} {
		if dir == "pkg/"+p || strings.HasPrefix(dir, "pkg/"+p+"/") {
			return p
		}
	}
	return ""
}

func TestImportsGoDownAndPlanesStayApart(t *testing.T) {
	table := layers(t)
	for dir, p := range packages(t) {
		own, ok := layerOf(table, dir)
		if !ok {
			t.Errorf("%s has no row in docs/architecture.md", dir)
			continue
		}
		for imp := range p.imports {
			target, isOurs := strings.CutPrefix(imp, modulePath)
			if !isOurs || !strings.HasPrefix(target, "pkg/") {
				continue
			}
			if n, ok := layerOf(table, target); ok && n > own {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports go down", dir, own, target, n)
			}
			if a, b := plane(dir), plane(target); a != "" && b != "" && a != b {
				t.Errorf("%s imports %s: planes meet only in pkg/apis/handoff", dir, target)
			}
			if strings.HasPrefix(target, "pkg/testkit") && !strings.HasPrefix(dir, "pkg/testkit") {
				t.Errorf("%s imports %s outside tests", dir, target)
			}
		}
	}
}

func TestEveryPackageSaysWhatCallsItAndWhatIsNext(t *testing.T) {
	for dir, p := range packages(t) {
		if p.main {
			continue
		}
		for _, part := range []string{"Package ", "\nCalled by: ", "\nNext: "} {
			if !strings.Contains(p.doc, part) {
				t.Errorf("%s: package comment lacks %q", dir, strings.TrimSpace(part))
			}
		}
	}
}

// TestPackageCommentsNameWhatExists keeps the walk from package to package free of dead ends: a path in the lines "Called by" and "Next" is there.
func TestPackageCommentsNameWhatExists(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^(?:Called by|Next): (?:.*\n?)+`)
	path := regexp.MustCompile(`(?:^|[ (])((?:pkg/)?(?:apis|cli|control|data|serving|storage)/[\w/{},]*[\w}]|(?:cmd|test|deploy|docs)/[\w/.-]*\w)`)
	for dir, p := range packages(t) {
		for _, m := range path.FindAllStringSubmatch(lines.FindString(p.doc), -1) {
			for _, name := range alternatives(m[1]) {
				_, err := os.Stat(name)
				if _, inPkg := os.Stat(filepath.Join("pkg", name)); err != nil && inPkg != nil {
					t.Errorf("%s: its package comment names %s, which does not exist", dir, name)
				}
			}
		}
	}
}

// alternatives writes a/{b,c} out: a/b and a/c.
func alternatives(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{name}
	}
	var all []string
	for part := range strings.SplitSeq(inner, ",") {
		all = append(all, before+part+after)
	}
	return all
}

func TestPackageNamesSaySomething(t *testing.T) {
	banned := []string{"utils", "util", "common", "helpers", "helper", "constants", "types", "misc", "shared", "base"}
	for dir := range packages(t) {
		if slices.Contains(banned, filepath.Base(dir)) {
			t.Errorf("%s: the name says nothing about what the package does", dir)
		}
	}
}

func TestJourneyTellsEveryPackageThatExists(t *testing.T) {
	page, err := os.ReadFile("docs/journey.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(page), "\n"), 150, "the journey is told in 150 lines")
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^#+ .*").FindAllString(string(page), -1) {
		for _, path := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m, -1) {
			dir := strings.TrimSuffix(path[1], "/…")
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("docs/journey.md tells %s, which does not exist", path[1])
			}
			told[path[1]] = true
		}
	}
	for dir := range packages(t) {
		covered := told[dir]
		for up := dir; up != "pkg" && !covered; up = filepath.ToSlash(filepath.Dir(up)) {
			covered = told[up+"/…"]
		}
		if !covered {
			t.Errorf("docs/journey.md does not tell %s", dir)
		}
	}
}

func TestMainsAreThin(t *testing.T) {
	mains, err := filepath.Glob("cmd/*/main.go")
	require.NoError(t, err)
	require.Len(t, mains, 7)
	for _, path := range mains {
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		if n := strings.Count(string(src), "\n"); n > 46 {
			t.Errorf("%s has %d lines; a main is flags, one Run and an exit code: 40 lines or so", path, n)
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(filepath.Join(dir, "deps_test.go")); err != nil {
			t.Errorf("%s has no deps_test.go: what it may link is not tested", dir)
		}
	}
}
