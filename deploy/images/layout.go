// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Written is an image in its folder.
type Written struct {
	Ref    string
	Digest string
	// Size is what a pull transfers: manifest, config and packed layers.
	Size int64
}

// Write puts an image into an OCI image layout and names it ref there. The folder is replaced whole: a reader sees the old image, none, or the new one, never a part.
func Write(dir, ref string, image v1.Image) (Written, error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return Written{}, fmt.Errorf("make folder of images: %w", err)
	}
	fresh, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+"-")
	if err != nil {
		return Written{}, fmt.Errorf("make folder of image: %w", err)
	}
	defer os.RemoveAll(fresh) //nolint:errcheck // after the rename there is nothing left to remove
	config, err := image.ConfigFile()
	if err != nil {
		return Written{}, fmt.Errorf("read config: %w", err)
	}
	to, err := layout.Write(fresh, empty.Index)
	if err != nil {
		return Written{}, fmt.Errorf("start layout: %w", err)
	}
	err = to.AppendImage(image, layout.WithPlatform(*config.Platform()), layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": ref, "io.containerd.image.name": ref,
	}))
	if err != nil {
		return Written{}, fmt.Errorf("write layout: %w", err)
	}
	if err := readable(fresh); err != nil {
		return Written{}, fmt.Errorf("let others read the image: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return Written{}, fmt.Errorf("remove earlier image: %w", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return Written{}, fmt.Errorf("finish layout: %w", err)
	}
	return describe(ref, image)
}

// readable lets others read all of a layout: images are built by one user and run by another.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}

func describe(ref string, image v1.Image) (Written, error) {
	digest, err := image.Digest()
	if err != nil {
		return Written{}, fmt.Errorf("read digest: %w", err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		return Written{}, fmt.Errorf("read manifest: %w", err)
	}
	size, err := image.Size()
	if err != nil {
		return Written{}, fmt.Errorf("read size: %w", err)
	}
	size += manifest.Config.Size
	for _, l := range manifest.Layers {
		size += l.Size
	}
	return Written{Ref: ref, Digest: digest.String(), Size: size}, nil
}
