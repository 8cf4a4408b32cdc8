// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// NoFile is the error of a directory that holds no model file.
type NoFile struct { //nolint:errname // it reads better where it is used
	Dir string
	// Endings are those that were looked for.
	Endings []string
	// Others are what has such an ending and is no file, with the reason.
	Others []string
}

func (e *NoFile) Error() string {
	text := fmt.Sprintf("no model file in %s: expected one file that ends in %s", e.Dir, strings.Join(e.Endings, ", "))
	if len(e.Others) > 0 {
		text += "; found " + strings.Join(e.Others, ", ")
	}
	return text
}

// NoFileIn is the error that dir would give if it were a model directory without a model file.
func (r *Repository) NoFileIn(dir string) *NoFile {
	_, others, _ := modelFiles(dir, r.opts.Engines)
	return &NoFile{Dir: dir, Endings: endings(r.opts.Engines), Others: others}
}

// open finds the model file of src and opens it.
func (r *Repository) open(ctx context.Context, src Source) (model engine.Model, engineName string, err error) {
	if src.Model != nil {
		return src.Model, "go", nil
	}
	file, e, err := r.find(src)
	if err != nil {
		return nil, "", err
	}
	model, err = r.guarded(ctx, e, file, src.Options)
	if err != nil {
		return nil, "", fmt.Errorf("%s as %s: %w", file, e.Name(), err)
	}
	return model, e.Name(), nil
}

// guarded keeps a reader's own fault with one file from ending the server and its other models.
func (r *Repository) guarded(ctx context.Context, e engine.Engine, file string, o engine.Options) (model engine.Model, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.opts.Log.Error("reading a model panicked", zap.String("file", file), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			model, err = nil, &engine.BadModel{Reason: fmt.Sprintf("the reader stopped on it: %v", p)}
		}
	}()
	return e.Open(ctx, file, o)
}

// find is the one model file of src, and the engine that it belongs to.
func (r *Repository) find(src Source) (file string, e engine.Engine, err error) {
	engines := r.opts.Engines
	if src.Engine != "" {
		i := slices.IndexFunc(engines, func(e engine.Engine) bool { return e.Name() == src.Engine })
		if i < 0 {
			return "", nil, fmt.Errorf("no engine is called %q: this server has %s", src.Engine, strings.Join(r.EngineNames(), ", "))
		}
		engines = engines[i : i+1]
	}
	info, err := os.Stat(src.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("no such directory: %s", src.Path)
	}
	if err != nil {
		return "", nil, fmt.Errorf("look at the model: %w", err)
	}
	var files, others []string
	if info.IsDir() {
		if files, others, err = modelFiles(src.Path, engines); err != nil {
			return "", nil, err
		}
	} else if !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s is %s: expected a model file, or a directory with one", src.Path, engine.KindOf(info.Mode()))
	} else {
		files = []string{src.Path}
	}
	if len(files) > 1 && src.Engine == "" {
		files = slices.DeleteFunc(files, isOtherJSON)
	}
	switch len(files) {
	case 0:
		return "", nil, &NoFile{Dir: src.Path, Endings: endings(engines), Others: others}
	case 1:
		e, err = choose(files[0], engines, !info.IsDir() && src.Engine != "")
		return files[0], e, err
	default:
		names := make([]string, len(files))
		for i, f := range files {
			names[i] = filepath.Base(f)
		}
		return "", nil, fmt.Errorf("More than one model file is detected, Only one is allowed within model_dir: %s in %s", //nolint:staticcheck // clients and operators look for this text
			strings.Join(names, ", "), src.Path)
	}
}

// modelFiles are the regular files directly in dir that end as one of engines' files do; others are what ends so and is none, with the
// reason.
func modelFiles(dir string, engines []engine.Engine) (files, others []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list the model directory: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !slices.Contains(endings(engines), filepath.Ext(entry.Name())) {
			continue
		}
		// Stat follows links: volumes of Kubernetes are made of them.
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular():
			files = append(files, path)
		case err == nil:
			others = append(others, entry.Name()+", "+engine.KindOf(info.Mode()))
		case entry.Type()&fs.ModeSymlink != 0:
			others = append(others, entry.Name()+", a link that leads nowhere")
		default:
			others = append(others, entry.Name()+", which cannot be looked at")
		}
	}
	return files, others, nil
}

func endings(engines []engine.Engine) []string {
	var all []string
	for _, e := range engines {
		for _, ending := range e.Extensions() {
			if !slices.Contains(all, ending) {
				all = append(all, ending)
			}
		}
	}
	return all
}

// choose is the engine that file belongs to, by its name's ending, and by its first bytes where several engines share the ending.
func choose(file string, engines []engine.Engine, asked bool) (engine.Engine, error) {
	if asked {
		return engines[0], nil
	}
	ending := filepath.Ext(file)
	var fit []engine.Engine
	for _, e := range engines {
		if slices.Contains(e.Extensions(), ending) {
			fit = append(fit, e)
		}
	}
	switch len(fit) {
	case 0:
		return nil, fmt.Errorf("%s is of no known format: expected a file that ends in %s", file, strings.Join(endings(engines), ", "))
	case 1:
		return fit[0], nil
	}
	name := sniff(head(file))
	for _, e := range fit {
		if e.Name() == name {
			return e, nil
		}
	}
	return fit[0], nil
}

// sniff guesses the framework of a model file from its first bytes.
func sniff(head []byte) string {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(trimmed, []byte("tree")):
		return "lightgbm"
	case bytes.HasPrefix(head, []byte{0x80}):
		return "sklearn"
	default:
		return "xgboost"
	}
}

func head(file string) []byte {
	f, _, err := engine.OpenFile(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	buffer := make([]byte, 4096)
	n, _ := io.ReadFull(f, buffer)
	return buffer[:n]
}

// isOtherJSON reports whether file is JSON that is no model: metadata, settings and signatures lie beside models.
func isOtherJSON(file string) bool {
	return filepath.Ext(file) == ".json" && !bytes.Contains(head(file), []byte(`"learner"`))
}

// EngineNames are the names of the engines.
func (r *Repository) EngineNames() []string {
	names := make([]string, len(r.opts.Engines))
	for i, e := range r.opts.Engines {
		names[i] = e.Name()
	}
	return names
}

// HasModelFile reports whether dir itself holds a model file of the named engine, or of any when engineName is empty.
// The error is that of a directory that cannot be read.
func (r *Repository) HasModelFile(dir, engineName string) (bool, error) {
	engines := slices.DeleteFunc(slices.Clone(r.opts.Engines), func(e engine.Engine) bool { return engineName != "" && e.Name() != engineName })
	files, _, err := modelFiles(dir, engines)
	return len(files) > 0, err
}

// Stray adds to the error of opening dir as one model why its files were taken for one, where there are directories that may have been
// meant to be the models.
func (r *Repository) Stray(err error, dir string) error {
	if err == nil {
		return nil
	}
	files, _, listErr := modelFiles(dir, r.opts.Engines)
	beside, namesErr := directories(dir)
	if listErr != nil || namesErr != nil || len(files) == 0 || len(beside) == 0 {
		return err
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	const most = 5
	more := ""
	if len(beside) > most {
		beside, more = beside[:most], ", …"
	}
	return fmt.Errorf("%w; %s directly in %s is taken for the one model because of its ending: move it away to serve the directories beside it (%s%s)",
		err, strings.Join(files, ", "), dir, strings.Join(beside, ", "), more)
}

// RootNames are the model directories under the root.
func (r *Repository) RootNames() ([]string, error) { return directories(*r.root.Load()) }

func directories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the model repository: %w", err)
	}
	var names []string
	for _, entry := range entries {
		// Names with a dot in front are not models: volumes of Kubernetes keep ..data and the like beside the links.
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil && info.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// sources are what a name's directory holds: one model, or, in folders whose names are numbers, its versions.
func (r *Repository) sources(name string) ([]Source, error) {
	one, _ := r.place(name)
	dir := one.Path
	if has, err := r.HasModelFile(dir, one.Engine); err != nil || has {
		return []Source{one}, nil //nolint:nilerr // find has its own words for a directory that cannot be read
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the model directory: %w", err)
	}
	var versions []Source
	for _, entry := range entries {
		if entry.IsDir() && isNumber(entry.Name()) {
			version := one
			version.Version, version.Path = entry.Name(), filepath.Join(dir, entry.Name())
			versions = append(versions, version)
		}
	}
	if len(versions) == 0 {
		return []Source{one}, nil
	}
	return versions, nil
}

func isNumber(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
