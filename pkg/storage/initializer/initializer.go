// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package initializer is the storage initializer: it fetches each source of its command line into the directory beside it, in order,
// and leaves a report for the pod's status.
//
// Called by: cmd/storage-initializer.
// Next: storage, through storage/builtin.
package initializer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/builtin"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
)

// Options are the flags and arguments.
type Options struct {
	// Pairs are source, target, source, target …
	Pairs []string
	// Getenv is where the providers' settings come from; os.Getenv when nil.
	Getenv func(string) string

	AllowSchemes, AllowHosts, AllowAddresses []string
	Parallel                                 int
	Stall                                    time.Duration
	Retries                                  int
	ProgressEvery                            time.Duration
	TerminationLog                           string
	MaxUnpacked                              int64
	Progress                                 func(storage.Progress)
}

// Usage is the first part of the help.
const Usage = `storage-initializer fetches models into directories before a model server starts.

Usage: storage-initializer [flags] SOURCE DIRECTORY [SOURCE DIRECTORY …]

Sources: s3://bucket/path, http(s)://host/file, pvc://claim/path, file:///path, a path.
A source that is one tar, tar.gz, tar.bz2 or zip file is unpacked. A killed fetch goes on where it stopped when it is run again.
A directory that already holds the source's version is left alone.

Flags:
`

// Notes is the last part of the help.
const Notes = `
Environment (S3): AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL or S3_ENDPOINT
  with S3_USE_HTTPS, AWS_DEFAULT_REGION or AWS_REGION, AWS_CA_BUNDLE, AWS_EC2_METADATA_DISABLED,
  S3_VERIFY_SSL, S3_USER_VIRTUAL_BUCKET, S3_USE_ACCELERATE, awsAnonymousCredential, S3_CONNECT_TIMEOUT, S3_READ_TIMEOUT,
  S3_MAX_ATTEMPTS, S3_MAX_FILE_CONCURRENCY; STORAGE_CONFIG and STORAGE_OVERRIDE_CONFIG (JSON of type s3) win over them.
Environment (http): <host>-headers, a JSON object of headers for that host alone; HTTPS_PROXY, HTTP_PROXY, NO_PROXY.
Environment (all): STORAGE_ALLOW_PATTERNS, STORAGE_IGNORE_PATTERNS, CA_BUNDLE_CONFIGMAP_NAME, CA_BUNDLE_VOLUME_MOUNT_POINT,
  STORAGE_ALLOW_SCHEMES, STORAGE_ALLOW_HOSTS, STORAGE_ALLOW_ADDRESSES, TERMINATION_LOG.

Report: at its end, the last fetch's outcome goes as JSON into the termination log, if that file exists.

Exit codes: 0 all sources are in place; 1 a fetch failed (what came so far is kept for the next run), or the arguments are wrong;
  2 wrong flags or settings.
`

// NewOptions returns the defaults, with the environment's limits.
func NewOptions(getenv func(string) string) Options {
	o := Options{
		Getenv: getenv, ProgressEvery: 10 * time.Second, TerminationLog: handoff.TerminationLog,
		AllowSchemes: list(getenv(handoff.EnvStorageAllowSchemes)), AllowHosts: list(getenv(handoff.EnvStorageAllowHosts)),
		AllowAddresses: list(getenv(handoff.EnvStorageAllowAddresses)),
	}
	if name := getenv(handoff.EnvTerminationLog); name != "" {
		o.TerminationLog = name
	}
	return o
}

func list(text string) []string {
	var out []string
	for v := range strings.SplitSeq(text, ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// BindFlags declares the flags.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.AllowSchemes, "allow-scheme", o.AllowSchemes, "the only schemes to fetch from; all when empty")
	fs.StringSliceVar(&o.AllowHosts, "allow-host", o.AllowHosts, "the only hosts to fetch from, a name or .suffix; all when empty")
	fs.StringSliceVar(&o.AllowAddresses, "allow-address", o.AllowAddresses,
		"addresses or networks to allow although they are loopback, link-local, metadata or the API server's")
	fs.IntVar(&o.Parallel, "parallel", o.Parallel, "ranges and files to read at once; 0 means 16, or S3_MAX_FILE_CONCURRENCY")
	fs.DurationVar(&o.Stall, "stall", o.Stall, "end an attempt that brings no byte for so long; 0 means 30s, or S3_READ_TIMEOUT")
	fs.IntVar(&o.Retries, "retries", o.Retries, "attempts in a row that may bring nothing; 0 means 6, or S3_MAX_ATTEMPTS")
	fs.DurationVar(&o.ProgressEvery, "progress-every", o.ProgressEvery, "time between progress lines in the log")
	fs.StringVar(&o.TerminationLog, "termination-log", o.TerminationLog, "existing file to write the JSON report to; empty for none")
	fs.Int64Var(&o.MaxUnpacked, "max-unpacked", o.MaxUnpacked, "bytes that an archive may become; 0 means what the disk holds")
}

// Validate says what is wrong with the arguments.
func (o *Options) Validate() error {
	if len(o.Pairs) == 0 || len(o.Pairs)%2 != 0 {
		return fmt.Errorf("%d arguments: each source needs a directory after it", len(o.Pairs))
	}
	for i, a := range o.Pairs {
		if strings.TrimSpace(a) == "" {
			return fmt.Errorf("argument %d is empty", i+1)
		}
	}
	if o.ProgressEvery <= 0 || o.Parallel < 0 || o.Stall < 0 || o.Retries < 0 || o.MaxUnpacked < 0 {
		return errors.New("a number or duration is negative, or --progress-every is zero")
	}
	_, err := o.addresses()
	return err
}

func (o *Options) addresses() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range o.AllowAddresses {
		if addr, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("allowed address %q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}

// Initializer runs the fetches of one command line.
type Initializer struct {
	o       Options
	log     *zap.Logger
	fetcher *storage.Fetcher
}

// New prepares the fetches; it does no I/O on the network.
func New(o Options, log *zap.Logger) (*Initializer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	allow, err := o.addresses()
	if err != nil {
		return nil, err
	}
	so, err := builtin.New(builtin.Options{
		Getenv:    o.Getenv,
		Policy:    netguard.Policy{Schemes: o.AllowSchemes, Hosts: o.AllowHosts, Allow: allow},
		ClaimsDir: handoff.PVCDir, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if o.Parallel > 0 {
		so.Parallel = o.Parallel
	}
	if o.Stall > 0 {
		so.Stall = o.Stall
	}
	if o.Retries > 0 {
		so.Retries = o.Retries
	}
	so.Unpack.Bytes = o.MaxUnpacked
	so.Progress = storage.Tee(storage.Lines(log, o.ProgressEvery), o.Progress)
	return &Initializer{o: o, log: log, fetcher: storage.New(so)}, nil
}

// Run fetches pair by pair and ends with the first failure.
func (i *Initializer) Run(ctx context.Context) error {
	for _, p := range pairs(i.o.Pairs) {
		if err := i.one(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func pairs(args []string) [][2]string {
	var out [][2]string
	for i := 0; i+1 < len(args); i += 2 {
		out = append(out, [2]string{args[i], args[i+1]})
	}
	return out
}

func (i *Initializer) one(ctx context.Context, p [2]string) error {
	if src := filepath.Clean(p[0]); strings.HasPrefix(src+"/", handoff.ModelDir+"/") {
		// The model is where the server looks already: the agent brings it.
		i.log.Info("nothing to fetch: the source is the model directory itself", zap.String("source", src))
		return i.end(p, storage.Result{Source: p[0], Dir: p[1], UpToDate: true}, nil)
	}
	res, err := i.fetcher.Fetch(ctx, p[0], p[1])
	return i.end(p, res, err)
}

// end writes the report and gives the error the words that people search logs for.
func (i *Initializer) end(p [2]string, res storage.Result, err error) error {
	report := storage.Report(p[0], p[1], res, err)
	if i.o.TerminationLog != "" {
		if werr := storage.WriteReport(i.o.TerminationLog, report); werr != nil && !errors.Is(werr, os.ErrNotExist) {
			i.log.Warn("the report cannot be written", zap.Error(werr))
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("Storage initialization failed: %w", err) //nolint:staticcheck // the words that logs are searched for
}
