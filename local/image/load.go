// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/kserve-go/kserve-go/local/place"
)

// layoutsFolder is beside the map: what was loaded is kept there until the state is thrown away or another image takes its name.
const layoutsFolder = "layouts"

// Load makes what dir holds (an OCI layout, or a folder with an image's files) the image ref of a map, and makes the map when it is
// missing. A layout is copied beside the map, or linked where the file system can: the original may go.
func Load(file, ref, dir string) error {
	if ref == "" || strings.ContainsFunc(ref, unicode.IsSpace) {
		return fmt.Errorf("image name %q: want one as pods write it, as example.com/server:v1", ref)
	}
	e, err := fromFolder(dir, ref)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	unlock, err := lock(file + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if e.Layout != "" {
		if e.Layout, err = keep(e.Layout, ref, filepath.Dir(file)); err != nil {
			return fmt.Errorf("load image %q: %w", ref, err)
		}
	}
	old, err := add(file, ref, e)
	if err != nil {
		return err
	}
	if filepath.Dir(old) == layoutsFolder && old != e.Layout {
		if err := os.RemoveAll(filepath.Join(filepath.Dir(file), old)); err != nil {
			return fmt.Errorf("remove the image that had the name: %w", err)
		}
	}
	return nil
}

// add writes the entry and returns the layout that nobody names any more.
func add(file, ref string, e Entry) (old string, err error) {
	m, err := rawMap(file)
	if errors.Is(err, fs.ErrNotExist) {
		m, err = map[string]Entry{}, nil
	}
	if err != nil {
		return "", err
	}
	old = m[ref].Layout
	m[ref] = e
	for _, other := range m {
		if other.Layout == old {
			old = ""
		}
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode image map: %w", err)
	}
	return old, place.WriteFile(file, b, 0o600)
}

// lock lets one process change the map at a time.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of image map: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock image map: %w", err), f.Close())
	}
	return func() { f.Close() }, nil
}

// fromFolder tells an OCI layout from a folder with an image's files.
func fromFolder(dir, ref string) (Entry, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Entry{}, fmt.Errorf("resolve %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err == nil {
		_, err := openLayout(dir, ref)
		return Entry{Layout: dir}, err
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return Entry{}, fmt.Errorf("open image: %w", err)
	}
	if !fi.IsDir() {
		return Entry{}, fmt.Errorf("%s is neither an OCI layout nor a folder with an image's files", dir)
	}
	return Entry{RootFS: dir}, nil
}

// keep copies the image for this machine out of a layout and returns its folder relative to home.
func keep(dir, ref, home string) (string, error) {
	img, err := openLayout(dir, ref)
	if err != nil {
		return "", err
	}
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("read digest: %w", err)
	}
	kept := filepath.Join(layoutsFolder, digest.Hex)
	to := filepath.Join(home, kept)
	if _, err := os.Stat(to); err == nil {
		return kept, nil
	}
	tmp := to + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", fmt.Errorf("remove half-copied image: %w", err)
	}
	if err := copyImage(img, dir, tmp); err != nil {
		return "", errors.Join(err, os.RemoveAll(tmp))
	}
	if err := os.Rename(tmp, to); err != nil {
		return "", fmt.Errorf("finish copy: %w", err)
	}
	return kept, nil
}

func copyImage(img v1.Image, from, to string) error {
	path, err := layout.Write(to, empty.Index)
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	self, err := partial.Descriptor(img)
	if err != nil {
		return fmt.Errorf("describe image: %w", err)
	}
	blobs := []v1.Hash{self.Digest, manifest.Config.Digest}
	for _, l := range manifest.Layers {
		blobs = append(blobs, l.Digest)
	}
	for _, h := range blobs {
		if err := copyBlob(filepath.Join(from, "blobs", h.Algorithm, h.Hex), filepath.Join(to, "blobs", h.Algorithm, h.Hex), h); err != nil {
			return fmt.Errorf("copy blob %s: %w", h, err)
		}
	}
	if err := path.AppendDescriptor(*self); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// copyBlob keeps a file that is named after its content, which a copy that was interrupted does not have: kept under that name, it would
// stand in the way of the right one.
func copyBlob(from, to string, want v1.Hash) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	var out io.WriteCloser = discard{io.Discard}
	if os.Link(from, to) != nil {
		if out, err = os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600); err != nil {
			return err
		}
	}
	content, _, err := v1.SHA256(io.TeeReader(in, out))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if content != want {
		return fmt.Errorf("its content is %s", content)
	}
	return nil
}

// discard is where what is linked needs not be written.
type discard struct{ io.Writer }

// Close does nothing.
func (discard) Close() error { return nil }

// Describe says in words what a name stands for now.
func Describe(file, ref string) (string, error) {
	m, err := readMap(file)
	if err != nil {
		return "", err
	}
	e := m[ref]
	if e.Layout == "" {
		return "the folder " + e.RootFS, nil
	}
	return "sha256:" + strings.TrimSuffix(filepath.Base(e.Layout), "/"), nil
}
