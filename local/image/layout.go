// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// unpacked makes the files of a layout ready, once per content.
func (s *Store) unpacked(name string, e Entry) (*Image, error) {
	img, err := openLayout(e.Layout, name)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", name, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, fmt.Errorf("image %q: read digest: %w", name, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image %q: read config: %w", name, err)
	}
	root := filepath.Join(s.cache, digest.Hex)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		if err := unpack(img, root); err != nil {
			return nil, fmt.Errorf("image %q: %w", name, err)
		}
	}
	c := config.Config
	out := Entry{
		RootFS: root, Layout: e.Layout, Entrypoint: c.Entrypoint, Cmd: c.Cmd, WorkingDir: c.WorkingDir, User: c.User, StopSignal: c.StopSignal,
		Env: append(append([]string{}, c.Env...), e.Env...),
	}
	if len(e.Entrypoint) > 0 {
		out.Entrypoint, out.Cmd = e.Entrypoint, e.Cmd
	}
	return &Image{Entry: out, ID: digest.String()}, nil
}

// refName is the annotation by which a layout with several images names them.
const refName = "org.opencontainers.image.ref.name"

// openLayout takes the image for this machine: the one that is annotated with ref, else the first of this architecture.
func openLayout(dir, ref string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("open OCI layout %s: %w", dir, err)
	}
	return pick(index, dir, ref, 0)
}

func pick(index v1.ImageIndex, dir, ref string, depth int) (v1.Image, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read index of %s: %w", dir, err)
	}
	// The annotated one first; the order is kept otherwise.
	all := slices.Clone(m.Manifests)
	slices.SortStableFunc(all, func(a, b v1.Descriptor) int { return annotated(b, ref) - annotated(a, ref) })
	var seen []string
	for _, d := range all {
		if d.Platform != nil {
			seen = append(seen, d.Platform.String())
			if d.Platform.Architecture != runtime.GOARCH || d.Platform.OS != "linux" {
				continue
			}
		}
		if d.MediaType.IsIndex() && depth < 2 {
			nested, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, fmt.Errorf("read nested index of %s: %w", dir, err)
			}
			return pick(nested, dir, ref, depth+1)
		}
		if d.MediaType.IsImage() {
			img, err := index.Image(d.Digest)
			if err != nil {
				return nil, fmt.Errorf("read image of %s: %w", dir, err)
			}
			return img, nil
		}
	}
	return nil, fmt.Errorf("OCI layout %s has no image for linux/%s, only %q", dir, runtime.GOARCH, seen)
}

func annotated(d v1.Descriptor, ref string) int {
	if slices.Contains(keys(ref), d.Annotations[refName]) {
		return 1
	}
	return 0
}

// unpack writes the flattened layers beside root and renames: a half-written image is never seen.
func unpack(img v1.Image, root string) error {
	tmp := root + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("remove half-unpacked image: %w", err)
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return fmt.Errorf("make image folder: %w", err)
	}
	layers := mutate.Extract(img)
	defer layers.Close()
	if err := untar(layers, tmp); err != nil {
		return errors.Join(fmt.Errorf("unpack image: %w", err), os.RemoveAll(tmp))
	}
	if err := os.Rename(tmp, root); err != nil {
		return fmt.Errorf("finish unpacking: %w", err)
	}
	return nil
}

// untar writes below dir only: os.Root refuses every path and link that leads out of it.
func untar(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open image folder: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read, or written through files of their own
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read layer: %w", err)
		}
		name := strings.Trim(filepath.Clean("/"+h.Name), "/")
		if name == "" {
			continue
		}
		if err := unpackOne(root, t, h, name); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func unpackOne(root *os.Root, r io.Reader, h *tar.Header, name string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, r); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(strings.Trim(filepath.Clean("/"+h.Linkname), "/"), name)
	default:
		return nil // devices and pipes: /dev is made for each container
	}
	if os.Geteuid() == 0 && (h.Uid != 0 || h.Gid != 0) {
		// In a user namespace only root is mapped; the files are then root's, and every program is root there.
		_ = root.Chown(name, h.Uid, h.Gid)
	}
	return root.Chmod(name, mode.Perm()|mode&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky))
}
