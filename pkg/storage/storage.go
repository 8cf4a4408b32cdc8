// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage fetches a model URI into a directory: list, plan, ranged parts, verify, sync, publish. A killed fetch resumes where it
// stopped, memory stays the same whatever the model's size, and a target is either complete or not visible.
//
// Called by: storage/initializer and pkg/cli, with the options that storage/builtin puts together.
// Next: storage/provider, one package per scheme; storage/unpack for archives.
package storage

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/unpack"
)

// Provider lists and opens the objects of one or several schemes. The engine does everything else: retries, parts, checks, disk.
// Both methods must be safe for concurrent use, honour ctx, and return a *provider.Error where they know what went wrong.
type Provider interface {
	// List returns every file that the reference names, or an error of kind NotFound when there is none.
	List(ctx context.Context, ref modelref.Ref) (provider.Listing, error)
	// Open reads n bytes from off; n < 0 means to the end. It fails with kind Changed when the object is no longer of the listed
	// version. The caller closes the reader; a reader that ends early is a failure that the engine sees by itself.
	Open(ctx context.Context, obj provider.Object, off, n int64) (io.ReadCloser, error)
}

// Options configure a Fetcher. Zero fields take the defaults named beside them.
type Options struct {
	// Providers by the kind of place that a URI means.
	Providers map[modelref.Store]Provider
	// CheckScheme, when set, may refuse a scheme by the operator's policy.
	CheckScheme func(scheme string) error
	// Log gets one line per decision and per retry; nil is silent.
	Log *zap.Logger
	// Parallel is how many ranges and files are read at once: 16.
	Parallel int
	// PartSize is the longest range: 16 MiB. A bigger file is read in parallel ranges.
	PartSize int64
	// Stall ends an attempt that got no byte for so long: 30 s. There is no limit on the total.
	Stall time.Duration
	// Retries bounds consecutive attempts that bring nothing: 6.
	Retries int
	// BackoffMin and BackoffMax bound the wait between attempts: 250 ms and 20 s. A source's Retry-After is honoured up to MaxRetryAfter.
	BackoffMin, BackoffMax time.Duration
	// MaxRetryAfter is the longest wait that a source may ask for: 2 min.
	MaxRetryAfter time.Duration
	// Allow and Ignore are shell patterns over relative paths ("*" crosses slashes); a source that is one file ignores them.
	Allow, Ignore []string
	// MaxFiles bounds a listing: 500,000.
	MaxFiles int
	// Unpack bounds what an archive may become.
	Unpack unpack.Limits
	// Progress is called at most every ProgressEvery (200 ms), and once more at the end; one fetch at a time calls it from one
	// goroutine, concurrent fetches each from their own.
	Progress      func(Progress)
	ProgressEvery time.Duration
}

// Fetcher fetches. It is safe for concurrent use, also for one target: the second waits for the first and finds the work done.
type Fetcher struct {
	o Options
	// mounted says that a directory is the root of a mount; only tests replace it.
	mounted func(dir string) bool
}

// New returns a Fetcher; it does no I/O.
func New(o Options) *Fetcher {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	o.Parallel = defaulted(o.Parallel, 16)
	o.PartSize = max(defaulted(o.PartSize, 16<<20), 64<<10)
	o.Stall = defaulted(o.Stall, 30*time.Second)
	o.Retries = defaulted(o.Retries, 6)
	o.BackoffMin = defaulted(o.BackoffMin, 250*time.Millisecond)
	o.BackoffMax = max(defaulted(o.BackoffMax, 20*time.Second), o.BackoffMin)
	o.MaxRetryAfter = defaulted(o.MaxRetryAfter, 2*time.Minute)
	o.MaxFiles = defaulted(o.MaxFiles, 500_000)
	o.ProgressEvery = defaulted(o.ProgressEvery, 200*time.Millisecond)
	return &Fetcher{o: o, mounted: isMount}
}

func defaulted[T int | int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Result says what a fetch did.
type Result struct {
	// Source is the URI without its secrets, Dir the published directory.
	Source, Dir string
	// Files and Bytes are what the source holds; for an archive, what came out of it.
	Files int
	Bytes int64
	// Fetched is how many bytes were read from the source this time; Resumed how many an earlier, interrupted fetch had left.
	Fetched, Resumed int64
	// Retries counts attempts that failed and were made again.
	Retries int
	// UpToDate says that the target already held this version.
	UpToDate bool
	Elapsed  time.Duration
}

// maxRounds is how often a fetch starts over because its source changed under it.
const maxRounds = 3

// Fetch brings what uri names into dir. A folder's tree lands in dir as it is, a file under its own name, a single archive unpacked.
// When it returns nil, dir is complete and on disk. When it fails or is killed, what it had is kept beside dir for the next call.
func (f *Fetcher) Fetch(ctx context.Context, uri, dir string) (res Result, err error) {
	ref, p, err := f.provider(uri)
	if err != nil {
		return Result{}, err
	}
	r := &run{f: f, p: p, ref: ref, source: ref.String(), stats: newStats(ref.String(), dir)}
	r.log = f.o.Log.With(zap.String("source", r.source), zap.String("target", dir))
	stop := r.stats.report(f.o.Progress, f.o.ProgressEvery)
	defer func() { stop(err) }()
	r.stats.phase(PhaseWaiting)
	if r.place, err = f.openPlace(ctx, dir, r.log); err != nil {
		return Result{}, fmt.Errorf("prepare %s: %w", dir, err)
	}
	defer r.place.close()
	for round := 1; ; round++ {
		res, err = r.once(ctx)
		if err == nil || provider.KindOf(err) != provider.Changed || round == maxRounds {
			break
		}
		r.log.Warn("source changed while it was read: listing it again", zap.Int("round", round), zap.Error(err))
	}
	if err != nil {
		return Result{}, fmt.Errorf("fetch %s: %w", r.source, err)
	}
	return res, nil
}

// Locate returns the directory that uri names when it is a local one that can be used in place, without a copy.
func (f *Fetcher) Locate(ctx context.Context, uri string) (string, bool) {
	ref, p, err := f.provider(uri)
	if err != nil {
		return "", false
	}
	local, ok := p.(interface {
		Locate(ref modelref.Ref) (name, root string, err error)
	})
	if !ok {
		return "", false
	}
	name, _, err := local.Locate(ref)
	if err != nil {
		return "", false
	}
	list, err := p.List(ctx, ref)
	return name, err == nil && !list.Single
}

// Check says why a URI cannot be fetched wherever it may lead: it is none, or nobody here fetches its kind of place. Nothing is asked.
func (f *Fetcher) Check(uri string) error {
	_, _, err := f.provider(uri)
	return err
}

// provider finds who serves the URI's kind of place.
func (f *Fetcher) provider(uri string) (modelref.Ref, Provider, error) {
	ref, err := modelref.Parse(uri)
	if err != nil {
		return ref, nil, provider.Errorf(provider.Invalid, "%w", err)
	}
	if f.o.CheckScheme != nil && ref.Scheme != "" {
		if err := f.o.CheckScheme(ref.Scheme); err != nil {
			return ref, nil, fmt.Errorf("fetch %s: %w", ref, err)
		}
	}
	if p := f.o.Providers[ref.Store]; p != nil {
		return ref, p, nil
	}
	if ref.Store == modelref.Other {
		return ref, nil, provider.Errorf(provider.Invalid, "scheme %q of %s is not known; the known ones are %s", ref.Scheme, ref,
			strings.Join(modelref.Schemes(), ", "))
	}
	var have []string
	for s := range f.o.Providers {
		have = append(have, string(s))
	}
	slices.Sort(have)
	return ref, nil, provider.Errorf(provider.Invalid, "not built in yet: %s (%s); this program fetches %s", ref.Store, ref, strings.Join(have, ", "))
}
