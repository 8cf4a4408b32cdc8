// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volume reads models from the file system: plain paths, file:// and mounted pvc:// volumes.
//
// Called by: storage, through its Provider interface; storage/builtin makes it.
// Next: the file system.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// Options say where claims are mounted.
type Options struct {
	// ClaimsDir is where pods mount claims: a claim is ClaimsDir/<name>, or ClaimsDir itself.
	ClaimsDir string
	// Claims maps a claim's name to the directory that stands for it; it wins over ClaimsDir.
	Claims map[string]string
	// MaxFiles bounds a listing; zero means 1,000,000.
	MaxFiles int
}

// Provider lists and opens files.
type Provider struct{ o Options }

// New returns a provider; it does no I/O.
func New(o Options) *Provider {
	if o.MaxFiles <= 0 {
		o.MaxFiles = 1_000_000
	}
	return &Provider{o}
}

// Locate returns the path that the reference names, and the directory that symbolic links must not leave ("" for no such rule).
func (p *Provider) Locate(ref modelref.Ref) (name, root string, err error) {
	switch ref.Store {
	case modelref.File:
		name = ref.Path
		if name == "" {
			return "", "", provider.Errorf(provider.Invalid, "%q names no path", ref.URI)
		}
		if rel, ok := strings.CutPrefix(name, p.o.ClaimsDir+"/"); ok && p.o.ClaimsDir != "" {
			first, _, _ := strings.Cut(rel, "/")
			root = filepath.Join(p.o.ClaimsDir, first)
		}
		return name, root, nil
	case modelref.PVC:
		if ref.Authority == "" {
			return "", "", provider.Errorf(provider.Invalid, "%q names no claim; the form is pvc://claim/path", ref.URI)
		}
		if !filepath.IsLocal(ref.Authority) || ref.Path != "" && !filepath.IsLocal(ref.Path) {
			return "", "", provider.Errorf(provider.Invalid, "%q leaves the claim", ref.URI)
		}
		root = p.o.Claims[ref.Authority]
		if root == "" && p.o.ClaimsDir != "" {
			root = filepath.Join(p.o.ClaimsDir, ref.Authority)
			if _, err := os.Stat(root); err != nil {
				root = p.o.ClaimsDir
			}
		}
		if root == "" {
			return "", "", provider.Errorf(provider.NotFound, "claim %q is not mounted here", ref.Authority)
		}
		return filepath.Join(root, ref.Path), root, nil
	default:
		return "", "", provider.Errorf(provider.Invalid, "%q is neither a path nor a claim", ref.URI)
	}
}

// List walks the file or folder. Symbolic links are followed: to anywhere for plain paths, within the claim for claims.
func (p *Provider) List(ctx context.Context, ref modelref.Ref) (provider.Listing, error) {
	name, root, err := p.Locate(ref)
	if err != nil {
		return provider.Listing{}, err
	}
	w := walk{ctx: ctx, max: p.o.MaxFiles, base: filepath.Clean(name)}
	if root != "" {
		if w.root, err = filepath.EvalSymlinks(root); err != nil {
			return provider.Listing{}, classify(ref, err)
		}
	}
	info, err := w.stat(name)
	if plain, ok := unescaped(name); err != nil && ok && root == "" { // what is outside a claim is not looked at
		return provider.Listing{}, provider.Errorf(provider.NotFound, "nothing at %s: a path is taken as it is written; write %s", ref.URI, plain)
	}
	if err != nil {
		return provider.Listing{}, classify(ref, err)
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return provider.Listing{}, provider.Errorf(provider.Invalid, "%s is neither a file nor a folder (%s)", ref.URI, info.Mode().Type())
		}
		return provider.Listing{Objects: []provider.Object{object(filepath.Base(name), name, info)}, Single: true}, nil
	}
	if err := w.dir(name, nil); err != nil {
		return provider.Listing{}, classify(ref, err)
	}
	if len(w.objects) == 0 {
		return provider.Listing{}, provider.Errorf(provider.NotFound, "%s is a folder without any file", ref.URI)
	}
	return provider.Listing{Objects: w.objects}, nil
}

// Open opens a file at an offset, unless it changed since it was listed.
func (p *Provider) Open(_ context.Context, obj provider.Object, off, n int64) (io.ReadCloser, error) {
	f, err := os.Open(obj.Key)
	if err != nil {
		return nil, classify(modelref.Ref{URI: obj.Key}, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("stat %s: %w", obj.Key, err)
	}
	if v := version(info); v != obj.Version {
		_ = f.Close()
		return nil, provider.Errorf(provider.Changed, "%s changed while it was read", obj.Key)
	}
	if n < 0 {
		n = info.Size() - off
	}
	return &section{SectionReader: io.NewSectionReader(f, off, n), Closer: f}, nil
}

type section struct {
	*io.SectionReader
	io.Closer
}

type walk struct {
	ctx     context.Context //nolint:containedctx // lives for one List call
	base    string
	root    string
	max     int
	objects []provider.Object
}

// stat follows links and refuses those that leave the root.
func (w *walk) stat(name string) (fs.FileInfo, error) {
	if w.root != "" {
		target, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(w.root, target); err != nil || !filepath.IsLocal(rel) {
			return nil, provider.Errorf(provider.Refused, "%s links to %s, outside its volume", name, target)
		}
	}
	return os.Stat(name)
}

// dir adds every file below name. up holds the folders on the way down, so that a link to one of them ends the walk.
func (w *walk) dir(name string, up []fs.FileInfo) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	self, err := w.stat(name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(up, func(i fs.FileInfo) bool { return os.SameFile(i, self) }) {
		return provider.Errorf(provider.Invalid, "%s links to a folder above itself", name)
	}
	up = append(slices.Clip(up), self)
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		child := filepath.Join(name, e.Name())
		info, err := w.stat(child)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			if err := w.dir(child, up); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if len(w.objects) >= w.max {
				return provider.Errorf(provider.Invalid, "%s holds more than %d files", w.base, w.max)
			}
			rel, err := filepath.Rel(w.base, child)
			if err != nil {
				return err
			}
			w.objects = append(w.objects, object(filepath.ToSlash(rel), child, info))
		default:
			return provider.Errorf(provider.Invalid, "%s is neither a file nor a folder (%s)", child, info.Mode().Type())
		}
	}
	return nil
}

func object(rel, key string, info fs.FileInfo) provider.Object {
	return provider.Object{Path: rel, Key: key, Size: info.Size(), Version: version(info), Ranges: true}
}

func version(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// unescaped is the existing path that a name with URL escapes was probably meant to be.
func unescaped(name string) (string, bool) {
	plain, err := url.PathUnescape(name)
	if err != nil || plain == name {
		return "", false
	}
	_, err = os.Stat(plain)
	return plain, err == nil
}

func classify(ref modelref.Ref, err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return provider.Errorf(provider.NotFound, "nothing at %s", ref.URI)
	case errors.Is(err, fs.ErrPermission):
		return provider.Errorf(provider.Denied, "read %s: %w", ref.URI, err)
	}
	return fmt.Errorf("read %s: %w", ref.URI, err)
}
