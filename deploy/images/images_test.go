// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/deploy/images"
)

const source = `package main

import "os"

func main() { os.Stdout.WriteString("here") }
`

// program builds a small static program for Linux.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600))
	out := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", out, filepath.Join(dir, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOWORK=off")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	return out
}

// Places in the header of a 64-bit program.
const (
	machine       = 18
	firstProgType = 64
)

// changed is a copy of the program with one number of its header changed.
func changed(t *testing.T, binary string, at int, to byte) string {
	t.Helper()
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	content[at] = to
	out := filepath.Join(t.TempDir(), "changed")
	require.NoError(t, os.WriteFile(out, content, 0o600))
	return out
}

func options(binary string) images.Options {
	return images.Options{Name: "agent", Binary: binary, Title: "an agent", Version: "v1.2.3", Revision: "abcdef"}
}

// read opens a layout as a stranger would.
func read(t *testing.T, dir string) (v1.Descriptor, v1.Image) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	image, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	require.NoError(t, validate.Image(image))
	return manifest.Manifests[0], image
}

type entry struct {
	*tar.Header
	content []byte
}

func files(t *testing.T, image v1.Image) map[string]entry {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	all := map[string]entry{}
	for archive := tar.NewReader(flat); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		all["/"+strings.Trim(h.Name, "/")] = entry{h, content}
	}
}

func TestALayoutIsWhatAKubeletNeeds(t *testing.T) {
	binary := program(t)
	image, err := images.Build(options(binary))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "images", "agent")
	written, err := images.Write(dir, "kserve-go/agent:latest", image)
	require.NoError(t, err)
	descriptor, image := read(t, dir)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.EqualValues(t, 0o444, info.Mode().Perm()&0o444, "%s: others read it too", path)
		return nil
	}))

	require.Equal(t, written.Digest, descriptor.Digest.String())
	require.Equal(t, "kserve-go/agent:latest", descriptor.Annotations["org.opencontainers.image.ref.name"])
	require.Equal(t, "kserve-go/agent:latest", descriptor.Annotations["io.containerd.image.name"])
	require.Equal(t, "amd64", descriptor.Platform.Architecture)

	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "65532:65532", config.Config.User, "a number: a kubelet takes no name for runAsNonRoot")
	require.Equal(t, []string{"/usr/local/bin/agent"}, config.Config.Entrypoint)
	require.Equal(t, "v1.2.3", config.Config.Labels["org.opencontainers.image.version"])
	require.Equal(t, "abcdef", config.Config.Labels["org.opencontainers.image.revision"])
	require.Equal(t, "an agent", config.Config.Labels["org.opencontainers.image.title"])
	require.Equal(t, "Apache-2.0", config.Config.Labels["org.opencontainers.image.licenses"])
	require.NotEmpty(t, config.Config.Labels["org.opencontainers.image.source"])

	all := files(t, image)
	want, err := os.ReadFile(binary)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, all["/usr/local/bin/agent"].content))
	parsed, err := elf.NewFile(bytes.NewReader(all["/usr/local/bin/agent"].content))
	require.NoError(t, err)
	for _, p := range parsed.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "the entrypoint runs with nothing else in the image")
	}
	require.EqualValues(t, 0o1777, all["/tmp"].Mode)
	require.Equal(t, 65532, all[config.Config.WorkingDir].Uid)
	require.Contains(t, string(all["/etc/passwd"].content), "nonroot:x:65532:65532:")

	roots := x509.NewCertPool()
	require.Contains(t, config.Config.Env, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt")
	require.True(t, roots.AppendCertsFromPEM(all["/etc/ssl/certs/ca-certificates.crt"].content))
	require.Greater(t, bytes.Count(all["/etc/ssl/certs/ca-certificates.crt"].content, []byte("BEGIN CERTIFICATE")), 80)

	var executable []string
	for name, f := range all {
		if f.Typeflag == tar.TypeReg && f.Mode&0o111 != 0 {
			executable = append(executable, name)
		}
		require.Zero(t, f.Mode&0o6000, "%s changes who runs it", name)
	}
	require.Equal(t, []string{"/usr/local/bin/agent"}, executable, "no shell, no package manager, nothing but the program")
}

func TestTheSameProgramHasTheSameDigest(t *testing.T) {
	binary := program(t)
	digest := func(o images.Options) v1.Hash {
		image, err := images.Build(o)
		require.NoError(t, err)
		d, err := image.Digest()
		require.NoError(t, err)
		return d
	}
	first := digest(options(binary))
	copied := filepath.Join(t.TempDir(), "other")
	content, err := os.ReadFile(binary)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(copied, content, 0o600))
	require.Equal(t, first, digest(options(copied)), "neither the place nor the time nor the mode of the file counts")
	require.NoError(t, os.WriteFile(copied, append(content, 0), 0o600))
	require.NotEqual(t, first, digest(options(copied)))
}

func TestAnImageIsForTheMachineOfItsProgram(t *testing.T) {
	image, err := images.Build(options(changed(t, program(t), machine, byte(elf.EM_AARCH64))))
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "linux/arm64", config.Platform().String())
}

func TestWritingAgainReplacesAllOfTheLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agent")
	o := options(program(t))
	image, err := images.Build(o)
	require.NoError(t, err)
	_, err = images.Write(dir, "kserve-go/agent:latest", image)
	require.NoError(t, err)
	o.Version = "v2"
	image, err = images.Build(o)
	require.NoError(t, err)
	_, err = images.Write(dir, "kserve-go/agent:latest", image)
	require.NoError(t, err)
	_, image = read(t, dir)
	manifest, err := image.Manifest()
	require.NoError(t, err)
	blobs, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	require.NoError(t, err)
	require.Len(t, blobs, 2+len(manifest.Layers), "manifest, config and layers of the new image, nothing of the old")
	beside, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Len(t, beside, 1, "no half-written folder is left")
}

func TestWhatCannotRunAloneIsRefused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(text, []byte("#!/bin/sh\necho this is a script, which needs a shell\n"), 0o600))
	binary := program(t)
	for name, c := range map[string]struct{ binary, says string }{
		"a script":                           {text, "bad magic number"},
		"a program that is not there":        {text + "-not", "no such file"},
		"a program with a dynamic linker":    {changed(t, binary, firstProgType, byte(elf.PT_INTERP)), "CGO_ENABLED=0"},
		"a program for a machine without us": {changed(t, binary, machine, byte(elf.EM_MIPS)), "EM_MIPS"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := images.Build(options(c.binary))
			require.ErrorContains(t, err, c.says)
		})
	}
}
