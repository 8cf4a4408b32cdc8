// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

const (
	sources    = "local"
	modulePath = "github.com/kserve-go/kserve-go/local"
	// hashLength is how much of a hash names a folder.
	hashLength = 20
)

// Sources are what a cluster binary is built from.
type Sources struct {
	// Dir is the folder of the module.
	Dir string
	// LinkFlags are the linker's.
	LinkFlags string
	// Hash names all that the build reads.
	Hash string
}

// Read hashes the sources of the checkout at root: files, Go version and flags.
func Read(ctx context.Context, root string) (*Sources, error) {
	s := &Sources{Dir: filepath.Join(root, sources)}
	mod, err := os.ReadFile(filepath.Join(s.Dir, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read the cluster's module: %w", err)
	}
	if s.LinkFlags, err = linkFlags(string(mod)); err != nil {
		return nil, err
	}
	version, err := s.goVersion(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, text := range []string{version, runtime.GOOS, runtime.GOARCH, s.LinkFlags} {
		fmt.Fprintf(sum, "%s\n", text)
	}
	if err := hashFiles(sum, s.Dir); err != nil {
		return nil, err
	}
	s.Hash = hex.EncodeToString(sum.Sum(nil))[:hashLength]
	return s, nil
}

func (s *Sources) path(cache string) string { return filepath.Join(cache, s.Hash, Name) }

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`)

// linkFlags stamp the version of Kubernetes, without which clients cannot parse what the API server calls itself.
func linkFlags(mod string) (string, error) {
	m := kubernetesVersion.FindStringSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("the cluster's go.mod requires no k8s.io/kubernetes")
	}
	const base, client = "k8s.io/component-base/version.", "k8s.io/client-go/pkg/version."
	return fmt.Sprintf("-s -w -X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s -X %sgitVersion=%s", base, m[1], base, m[2], base, m[3], client, m[1]), nil
}

// goCommand runs in the module alone: in the workspace its dependencies would be those of all modules.
func (s *Sources) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are ours
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd
}

func (s *Sources) goVersion(ctx context.Context) (string, error) {
	out, err := s.goCommand(ctx, "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("ask the go command for its version: %w (in a checkout the cluster binary is found by it; --cluster-binary names one)", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// hashFiles adds every file that the build may read, in the order of their paths: no tests, their data, texts for people, hidden files,
// or programs that somebody built into the tree.
func hashFiles(sum hash.Hash, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("hash the cluster's sources: %w", err)
		}
		name := d.Name()
		if d.IsDir() {
			if path != dir && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return fmt.Errorf("hash the cluster's sources: %w", err)
		}
		if !fi.Mode().IsRegular() || fi.Mode()&0o111 != 0 || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".md") {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return fmt.Errorf("hash the cluster's sources: %w", err)
		}
		f, err := os.Open(path) //nolint:gosec // a link there is the checkout's own
		if err != nil {
			return fmt.Errorf("hash the cluster's sources: %w", err)
		}
		defer f.Close()
		content := sha256.New()
		if _, err := io.Copy(content, f); err != nil {
			return fmt.Errorf("hash %s: %w", rel, err)
		}
		fmt.Fprintf(sum, "%s %x\n", filepath.ToSlash(rel), content.Sum(nil))
		return nil
	})
}
