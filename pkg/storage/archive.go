// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
	"runtime"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/unpack"
)

// archiveOf says whether all there is to fetch is one archive. The name decides; a name without an extension leaves it to the content type.
// What the bytes really are is checked before anything is written. Formats that are archives inside but files to their
// libraries (.npz, .keras, .pt) have names of their own and stay files.
func archiveOf(objects []provider.Object) unpack.Format {
	if len(objects) != 1 {
		return unpack.None
	}
	o := objects[0]
	if f := unpack.FormatOf(o.Path); f != unpack.None {
		return f
	}
	if path.Ext(o.Path) != "" {
		return unpack.None
	}
	media, _, _ := mime.ParseMediaType(o.ContentType)
	switch media {
	case "application/zip", "application/x-zip-compressed", "application/zip-compressed":
		return unpack.Zip
	case "application/x-tar", "application/x-gtar", "application/x-gzip", "application/gzip":
		return unpack.Tar
	}
	return unpack.None
}

// archive stages the content of an archive. A tar is unpacked as it comes; a zip has its index at the end, so it is fetched like any
// big file first, unpacked and dropped.
func (r *run) archive(ctx context.Context, obj provider.Object, format unpack.Format) ([]recordFile, error) {
	if err := os.RemoveAll(r.place.tree()); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.place.tree(), 0o755); err != nil {
		return nil, err
	}
	limits := r.f.o.Unpack
	if have, ok := free(r.place.work); ok && (limits.Bytes <= 0 || limits.Bytes > have) {
		limits.Bytes = max(have, 1)
	}
	disk, err := newDisk(r.place.tree())
	if err != nil {
		return nil, err
	}
	defer disk.close()
	var stats unpack.Stats
	if format == unpack.Zip {
		stats, err = r.zip(ctx, obj, disk, limits)
	} else {
		stats, err = r.tar(ctx, obj, disk, limits)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", obj.Path, errors.Join(err, r.dropHalf(err)))
	}
	if stats.Files == 0 {
		none := provider.Errorf(provider.NotFound, "no model found at %s: the archive holds no file", r.source)
		return nil, errors.Join(none, r.place.discard())
	}
	r.log.Info("unpacked", zap.String("archive", obj.Path), zap.Int("files", stats.Files), zap.String("size", size(stats.Bytes)))
	return disk.files, disk.sync()
}

// dropHalf frees what a failed unpacking left: another try starts it anew, and a bomb should not stay on the disk. An archive that
// came whole and is bad goes too.
func (r *run) dropHalf(cause error) error {
	if errors.Is(cause, unpack.ErrFormat) || errors.Is(cause, unpack.ErrUnsafe) || errors.Is(cause, unpack.ErrLimit) {
		return r.place.discard()
	}
	return os.RemoveAll(r.place.tree())
}

func (r *run) tar(ctx context.Context, obj provider.Object, disk *disk, limits unpack.Limits) (unpack.Stats, error) {
	r.stats.begin(obj.Size, 0, 1, 0)
	src := &stream{r: r, ctx: ctx, obj: obj}
	defer src.close()
	return unpack.FromTar(src, disk, limits)
}

func (r *run) zip(ctx context.Context, obj provider.Object, disk *disk, limits unpack.Limits) (unpack.Stats, error) {
	t, err := r.newTransfer(r.place.spool(), []provider.Object{obj})
	if err != nil {
		return unpack.Stats{}, err
	}
	defer t.close()
	if err := t.run(ctx); err != nil {
		return unpack.Stats{}, err
	}
	r.stats.phase(PhaseUnpacking)
	f, err := t.root.Open(obj.Path)
	if err != nil {
		return unpack.Stats{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unpack.Stats{}, err
	}
	return unpack.FromZip(cancellable{ctx, f}, info.Size(), disk, limits)
}

// cancellable ends an unpacking when its context does.
type cancellable struct {
	ctx context.Context //nolint:containedctx // lives for one unpacking
	io.ReaderAt
}

func (c cancellable) ReadAt(p []byte, off int64) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.ReaderAt.ReadAt(p, off)
}

// stream reads an object from start to end, and goes on in the middle after a broken connection when the source allows it.
type stream struct {
	r   *run
	ctx context.Context //nolint:containedctx // lives for one unpacking
	obj provider.Object
	at  int64

	body   io.ReadCloser
	cancel context.CancelCauseFunc
	timer  *time.Timer
	end    bool
}

func (s *stream) Read(p []byte) (n int, err error) {
	if s.end || len(p) == 0 {
		return 0, io.EOF
	}
	err = s.r.retry(s.ctx, s.obj.Path, func(context.Context) (bool, error) {
		n, err = s.read(p) //nolint:contextcheck // the body is of the stream's context: the next Read goes on with it
		return n > 0, err
	})
	s.at += int64(n)
	s.r.stats.done.Add(int64(n))
	s.r.stats.fetched.Add(int64(n))
	if err == nil && s.end && n == 0 {
		return 0, io.EOF
	}
	return n, err
}

// read is one attempt; a body stays open from one call of Read to the next, under a watchdog of its own.
func (s *stream) read(p []byte) (int, error) {
	if s.body == nil {
		if s.at > 0 && (!s.obj.Ranges || s.obj.Version == "") {
			return 0, provider.Errorf(provider.Other, "the connection broke after %s, and the source cannot go on in the middle", size(s.at))
		}
		ctx, cancel := context.WithCancelCause(s.ctx)
		s.cancel = cancel
		s.timer = time.AfterFunc(s.r.f.o.Stall, func() { cancel(errStalled) })
		body, err := s.r.p.Open(ctx, s.obj, s.at, -1)
		if err != nil {
			s.close()
			return 0, s.cause(ctx, err)
		}
		s.body = body
	}
	s.timer.Reset(s.r.f.o.Stall)
	n, err := s.body.Read(p)
	// Between two reads the unpacker writes to disk, which is no fault of the source.
	s.timer.Stop()
	switch {
	case n > 0 || err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && (s.obj.Size < 0 || s.at >= s.obj.Size):
		s.end = true
		return 0, nil
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	s.close()
	return 0, readError(err)
}

func (s *stream) cause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return s.r.stalled()
	}
	return err
}

func (s *stream) close() {
	if s.body != nil {
		_ = s.body.Close()
		s.body = nil
	}
	if s.timer != nil {
		s.timer.Stop()
		s.cancel(nil)
		s.timer = nil
	}
}

// disk is where an archive's entries land. Every path goes through an os.Root, which the kernel keeps below the tree.
type disk struct {
	root  *os.Root
	buf   []byte
	files []recordFile
	at    map[string]int
}

func newDisk(dir string) (*disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &disk{root: root, buf: make([]byte, bufferSize), at: map[string]int{}}, nil
}

func (d *disk) close() { _ = d.root.Close() }

// Dir makes a folder.
func (d *disk) Dir(name string) error { return d.root.MkdirAll(name, 0o755) }

// File writes one file.
func (d *disk) File(name string, executable bool, content io.Reader) error {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	// The plain writer hides the file's ReadFrom, which would bring a buffer of its own.
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, content, d.buf)
	if err == nil && runtime.GOOS != "linux" {
		err = f.Sync()
	}
	d.add(name, n)
	return errors.Join(err, f.Close())
}

// Symlink makes a link whose target the unpacker has checked.
func (d *disk) Symlink(name, target string) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	d.add(name, -1)
	return d.root.Symlink(target, name)
}

// Hardlink gives an unpacked file a second name.
func (d *disk) Hardlink(name, existing string) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if i, ok := d.at[existing]; ok {
		d.add(name, d.files[i].Size)
	}
	return d.root.Link(existing, name)
}

func (d *disk) add(name string, n int64) {
	if i, ok := d.at[name]; ok {
		d.files[i].Size = n
		return
	}
	d.at[name] = len(d.files)
	d.files = append(d.files, recordFile{name, n})
}

func (d *disk) sync() error {
	top, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	return syncAll(top)
}
