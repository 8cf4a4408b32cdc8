// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/binary"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
)

const (
	// imagePrefix is the first part of the names of our own images in what is installed.
	imagePrefix = "kserve-go"
	imageTag    = "latest"
)

// needed are the images without which nothing can be served.
func needed() []string {
	return []string{"controller", "webhook", "storage-initializer", "model-server"}
}

// loaded is an image that the cluster has.
type loaded struct {
	Ref    string `json:"ref"`
	Digest string `json:"digest"`
	dir    string
}

// imagesDir is the folder of image layouts: the named one, the one beside this program, or the one of this checkout.
func imagesDir(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	var tried []string
	isDir := func(dir string) bool {
		tried = append(tried, dir)
		fi, err := os.Stat(dir)
		return err == nil && fi.IsDir()
	}
	if self, err := os.Executable(); err == nil {
		if dir := filepath.Join(filepath.Dir(self), "images"); isDir(dir) {
			return dir, nil
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the images: %w", err)
	}
	if root, ok := binary.Checkout(here); ok {
		if dir := filepath.Join(root, "bin", "images"); isDir(dir) {
			return dir, nil
		}
		return "", fmt.Errorf("no images in %s: run `make images` there, or name a folder of OCI image layouts with --images", filepath.Join(root, "bin", "images"))
	}
	return "", fmt.Errorf("no images (looked for %s): name a folder of OCI image layouts with --images; `make images` in a checkout of kserve-go makes it",
		strings.Join(tried, ", "))
}

// layouts are the images of a folder: each of its folders is an OCI image layout, which has the name of the folder, and the one that it says itself.
func layouts(dir string) ([]loaded, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the images: %w", err)
	}
	var found []loaded
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		layout := filepath.Join(dir, e.Name())
		digest, itself, err := layoutDigest(layout)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ref := imagePrefix + "/" + e.Name() + ":" + imageTag
		found = append(found, loaded{Ref: ref, Digest: digest, dir: layout})
		if itself != "" && itself != ref {
			found = append(found, loaded{Ref: itself, Digest: digest, dir: layout})
		}
	}
	for _, name := range needed() {
		if !slices.ContainsFunc(found, func(l loaded) bool { return filepath.Base(l.dir) == name }) {
			return nil, fmt.Errorf("%s has no image layout of %s; it needs those of %s (`make images` makes them)", dir, name, strings.Join(needed(), ", "))
		}
	}
	return found, nil
}

// layoutDigest names the content of a layout, and says which name the layout gives it; empty where it gives none.
func layoutDigest(dir string) (digest, name string, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return "", "", fmt.Errorf("read image layout: %w", err)
	}
	var index struct {
		Manifests []struct {
			Digest      string            `json:"digest"`
			Annotations map[string]string `json:"annotations"`
		} `json:"manifests"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return "", "", fmt.Errorf("read image layout %s: %w", dir, err)
	}
	if len(index.Manifests) == 0 || index.Manifests[0].Digest == "" {
		return "", "", fmt.Errorf("image layout %s holds no image", dir)
	}
	first := index.Manifests[0]
	if name = first.Annotations["org.opencontainers.image.ref.name"]; !strings.Contains(name, "/") {
		name = "" // a tag only, as some tools write it
	}
	return first.Digest, name, nil
}

// loadAll makes the images those of the cluster.
func loadAll(ctx context.Context, program string, p *record.Place, images []loaded) error {
	for _, i := range images {
		var said bytes.Buffer
		cmd := exec.CommandContext(ctx, program, "load", "--name="+p.Name, "--state="+p.Root, i.Ref, i.dir) //nolint:gosec // the cluster's own program
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("load image %s: %w: %s", i.Ref, err, bytes.TrimSpace(said.Bytes()))
		}
	}
	return nil
}

// digestOf is the digest of a loaded image, by its name in a pod.
func digestOf(images []loaded, ref string) (string, bool) {
	for _, i := range images {
		if i.Ref == ref {
			return i.Digest, true
		}
	}
	return "", false
}

// sameFile says whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
