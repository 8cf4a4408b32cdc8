// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/deploy/samples"
	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/builtin"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
	"github.com/kserve-go/kserve-go/pkg/storage/sampleserver"
)

// fetcher brings models into the cache, which all runs on this machine share.
type fetcher struct {
	cache  string
	claims map[string]string
	log    *zap.Logger

	life    context.Context //nolint:containedctx // of the run: the sample server outlives the change that first asked for it
	samples sync.Once
	base    string // of the sample server
	err     error
}

// fetch brings the sources of w and returns the model directory.
func (f *fetcher) fetch(ctx context.Context, w *work, progress func(storage.Progress)) (string, error) {
	if len(w.sources) == 1 && w.sources[0].Path == "" {
		return f.one(ctx, w, w.sources[0].URI, "", progress)
	}
	// Several sources make one directory of their own.
	var key strings.Builder
	for _, s := range w.sources {
		key.WriteString(s.URI + "\x00" + s.Path + "\x00")
	}
	root := filepath.Join(f.cache, "joined-"+digest(key.String()))
	for _, s := range w.sources {
		if _, err := f.one(ctx, w, s.URI, filepath.Join(root, filepath.FromSlash(s.Path)), progress); err != nil {
			return "", err
		}
	}
	return root, nil
}

// check says why a source of w cannot be fetched here whatever it holds. No row says that it is fetched then.
func (f *fetcher) check(w *work) error {
	for _, s := range w.sources {
		if rest, ok := strings.CutPrefix(s.URI, "pvc://"); ok {
			if claim, _, _ := strings.Cut(rest, "/"); f.claims[claim] == "" {
				return fmt.Errorf("fetch %s: the claim %s is in a cluster; name the folder that stands for it here with --claim %s=FOLDER", s.URI, claim, claim)
			}
		}
		options, err := f.options(w.env)
		if err == nil {
			err = storage.New(options).Check(s.URI)
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", modelref.Redact(s.URI), err)
		}
	}
	return nil
}

// options are those of the storage engine in the environment of a pod.
func (f *fetcher) options(env map[string]string) (storage.Options, error) {
	return builtin.New(builtin.Options{
		Getenv: func(name string) string {
			if v, ok := env[name]; ok {
				return v
			}
			return os.Getenv(name)
		},
		Policy: netguard.Policy{AllowLoopback: true},
		Claims: f.claims,
		Log:    f.log,
	})
}

func (f *fetcher) one(ctx context.Context, w *work, uri, dir string, progress func(storage.Progress)) (string, error) {
	env, err := f.environment(w.env, uri)
	if err != nil {
		return "", err
	}
	options, err := f.options(env)
	if err != nil {
		return "", err
	}
	options.Progress = progress
	if dir == "" {
		if local, ok := storage.New(options).Locate(ctx, uri); ok {
			return local, nil
		}
		dir = filepath.Join(f.cache, digest(uri+"\x00"+env[handoff.EnvAWSEndpointURL]+env[handoff.EnvS3Endpoint]))
		if f.isSample(uri) {
			dir = filepath.Join(f.cache, digest(uri))
		}
	}
	had := complete(dir)
	if had {
		options.Retries = 1 // there is a copy to fall back on: do not wait long for a source that is away
	}
	result, err := storage.New(options).Fetch(ctx, uri, dir)
	if err != nil {
		// A model that was complete once serves while its source is away.
		if had && provider.KindOf(err) == provider.Unavailable && ctx.Err() == nil {
			w.notes = append(w.notes, fmt.Sprintf("the source cannot be reached now (%v); serving the copy that was fetched before", err))
			return dir, nil
		}
		var file *fs.PathError
		if errors.As(err, &file) && (strings.HasPrefix(dir, file.Path) || strings.HasPrefix(file.Path, f.cache)) {
			err = fmt.Errorf("%w; --cache-dir names another folder for models", err)
		}
		return "", err
	}
	return result.Dir, nil
}

// complete tells a directory that was published: the engine makes it visible only then.
func complete(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:10])
}

func (f *fetcher) isSample(uri string) bool {
	return uri == "s3://"+samples.Bucket || strings.HasPrefix(uri, "s3://"+samples.Bucket+"/")
}

// environment is the pod's, and for a sample the address of the sample server, unless another endpoint is named.
func (f *fetcher) environment(pod map[string]string, uri string) (map[string]string, error) {
	env := clone(pod)
	if !f.isSample(uri) || env[handoff.EnvAWSEndpointURL] != "" || os.Getenv(handoff.EnvAWSEndpointURL) != "" {
		return env, nil
	}
	f.samples.Do(func() {
		server := sampleserver.New(map[string]fs.FS{samples.Bucket: samples.Models()})
		f.base, _, f.err = server.Start(f.life, "127.0.0.1:0")
	})
	if f.err != nil {
		return nil, fmt.Errorf("start the server of the sample models: %w", f.err)
	}
	env[handoff.EnvAWSEndpointURL] = f.base
	env[handoff.EnvAWSAnonymous] = "true"
	env[handoff.EnvS3UseHTTPS] = "0"
	return env, nil
}

// describe is the text of a source without its secrets.
func describe(sources []plan.Source, redact func(string) string) string {
	all := make([]string, len(sources))
	for i, s := range sources {
		all[i] = redact(s.URI)
	}
	return strings.Join(all, ", ")
}
