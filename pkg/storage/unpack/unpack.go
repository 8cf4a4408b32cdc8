// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unpack reads tar and zip archives that nobody vouches for: what would land outside the target, links that leave it, device
// files and bombs are refused. It writes through a Sink and touches no file system itself.
//
// Called by: storage, which gives it a sink on disk.
// Next: archive/tar and archive/zip of the standard library.
package unpack

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Format is an archive format.
type Format uint8

// The formats. Tar covers every compression of it.
const (
	None Format = iota
	Tar
	Zip
)

// FormatOf tells the format from a file's name.
func FormatOf(name string) Format {
	name = strings.ToLower(name)
	for _, ext := range []string{".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar.zst"} {
		if strings.HasSuffix(name, ext) {
			return Tar
		}
	}
	if strings.HasSuffix(name, ".zip") {
		return Zip
	}
	return None
}

// Limits bound what an archive may become. Zero fields take the defaults.
type Limits struct {
	// Files counts every entry: 200,000.
	Files int
	// Bytes is the sum of all files: 2 TiB.
	Bytes int64
	// Ratio is unpacked over packed bytes, looked at once Floor bytes came out: 300, and 256 MiB.
	Ratio int64
	Floor int64
	// Depth is the number of segments of a path: 64.
	Depth int
}

func (l Limits) withDefaults() Limits {
	if l.Files <= 0 {
		l.Files = 200_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 2 << 40
	}
	if l.Ratio <= 0 {
		l.Ratio = 300
	}
	if l.Floor <= 0 {
		l.Floor = 256 << 20
	}
	if l.Depth <= 0 {
		l.Depth = 64
	}
	return l
}

// Stats say what came out.
type Stats struct {
	Files int
	Bytes int64
}

// Sink takes entries. Names are clean, relative and stay inside; a parent folder may not have been announced. A file may come twice: the later wins.
type Sink interface {
	Dir(name string) error
	File(name string, executable bool, content io.Reader) error
	Symlink(name, target string) error
	Hardlink(name, existing string) error
}

// The ways in which an archive is refused.
var (
	// ErrFormat means that the bytes are not an archive of the expected kind, or a damaged one.
	ErrFormat = errors.New("not a valid archive")
	// ErrUnsafe means that an entry would leave the target or is no file.
	ErrUnsafe = errors.New("unsafe archive")
	// ErrLimit means that a limit was hit.
	ErrLimit = errors.New("archive over the limit")
)

// maxName is the longest path, as on Linux.
const maxName = 4095

// unpacker holds what both formats share.
type unpacker struct {
	sink    Sink
	lim     Limits
	stats   Stats
	entries int
	// packed tells how many bytes were read so far.
	packed func() int64
	// kinds remembers what each name is.
	kinds map[string]kind
}

type kind uint8

const (
	kindFile kind = iota + 1
	kindDir
	kindLink
)

func newUnpacker(sink Sink, lim Limits, packed func() int64) *unpacker {
	return &unpacker{sink: sink, lim: lim.withDefaults(), packed: packed, kinds: map[string]kind{}}
}

// place checks an entry's name, claims it for a kind, and returns it clean; "" means the target itself.
func (u *unpacker) place(raw string, k kind) (string, error) {
	if u.entries++; u.entries > u.lim.Files {
		return "", fmt.Errorf("%w: more than %d entries", ErrLimit, u.lim.Files)
	}
	name, err := u.clean(raw)
	if err != nil || name == "" {
		return "", err
	}
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		switch u.kinds[d] {
		case kindLink:
			return "", fmt.Errorf("%w: entry %q goes through the link %q", ErrUnsafe, raw, d)
		case kindFile:
			return "", fmt.Errorf("%w: entry %q is below the file %q", ErrUnsafe, raw, d)
		case kindDir:
		default:
			u.kinds[d] = kindDir
			continue
		}
		break
	}
	if old := u.kinds[name]; old != 0 && (old != k || k == kindLink) {
		return "", fmt.Errorf("%w: entry %q comes twice as different things", ErrUnsafe, raw)
	}
	u.kinds[name] = k
	return name, nil
}

func (u *unpacker) clean(raw string) (string, error) {
	switch {
	case len(raw) > maxName:
		return "", fmt.Errorf("%w: a name of %d bytes", ErrLimit, len(raw))
	case strings.ContainsRune(raw, 0):
		return "", fmt.Errorf("%w: entry %q has a zero byte in its name", ErrUnsafe, raw)
	case strings.HasPrefix(raw, "/"):
		return "", fmt.Errorf("%w: entry %q has an absolute path", ErrUnsafe, raw)
	}
	depth := 0
	for seg := range strings.SplitSeq(raw, "/") {
		switch {
		case seg == "..":
			return "", fmt.Errorf("%w: entry %q leaves the target", ErrUnsafe, raw)
		case len(seg) > 255:
			return "", fmt.Errorf("%w: a name of %d bytes", ErrLimit, len(seg))
		case seg != "" && seg != ".":
			depth++
		}
	}
	if depth > u.lim.Depth {
		return "", fmt.Errorf("%w: entry %q is more than %d folders deep", ErrLimit, raw, u.lim.Depth)
	}
	if depth == 0 {
		return "", nil
	}
	return path.Clean(raw), nil
}

func (u *unpacker) dir(raw string) error {
	name, err := u.place(raw, kindDir)
	if err != nil || name == "" {
		return err
	}
	return u.sink.Dir(name)
}

func (u *unpacker) file(raw string, executable bool, size int64, content io.Reader) error {
	name, err := u.place(raw, kindFile)
	if err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("%w: a file without a name", ErrUnsafe)
	}
	if size > u.lim.Bytes-u.stats.Bytes {
		return u.overBytes()
	}
	u.stats.Files++
	return u.sink.File(name, executable, &bounded{u: u, r: content})
}

// symlink allows a relative target that stays inside, whatever it passes on the way.
func (u *unpacker) symlink(raw, target string) error {
	name, err := u.place(raw, kindLink)
	if err != nil {
		return err
	}
	resolved := path.Join(path.Dir(name), target)
	if name == "" || target == "" || len(target) > maxName || strings.HasPrefix(target, "/") || strings.ContainsRune(target, 0) ||
		resolved == ".." || strings.HasPrefix(resolved, "../") || u.throughLink(path.Dir(name), target) {
		return fmt.Errorf("%w: link %q to %q leaves the target", ErrUnsafe, raw, target)
	}
	return u.sink.Symlink(name, target)
}

// throughLink says that the target's path passes another link: where that leads cannot be told from the text.
func (u *unpacker) throughLink(from, target string) bool {
	at := from
	segs := strings.Split(target, "/")
	for i, seg := range segs {
		at = path.Join(at, seg)
		if at == ".." || strings.HasPrefix(at, "../") {
			return true
		}
		if i < len(segs)-1 && u.kinds[at] == kindLink {
			return true
		}
	}
	return false
}

func (u *unpacker) hardlink(raw, target string) error {
	existing, err := u.clean(target)
	if err != nil {
		return err
	}
	if u.kinds[existing] != kindFile {
		return fmt.Errorf("%w: hard link %q to %q, which is no file of the archive", ErrUnsafe, raw, target)
	}
	name, err := u.place(raw, kindFile)
	if err != nil {
		return err
	}
	if name == "" || name == existing {
		return fmt.Errorf("%w: hard link %q to itself", ErrUnsafe, raw)
	}
	u.stats.Files++
	return u.sink.Hardlink(name, existing)
}

func (u *unpacker) overBytes() error {
	return fmt.Errorf("%w: more than %d bytes", ErrLimit, u.lim.Bytes)
}

// grow counts unpacked bytes and stops a bomb.
func (u *unpacker) grow(n int) error {
	u.stats.Bytes += int64(n)
	if u.stats.Bytes > u.lim.Bytes {
		return u.overBytes()
	}
	if in := max(u.packed(), 1); u.stats.Bytes > u.lim.Floor && u.stats.Bytes/in > u.lim.Ratio {
		return fmt.Errorf("%w: %d bytes came out of %d, more than %d to 1", ErrLimit, u.stats.Bytes, in, u.lim.Ratio)
	}
	return nil
}

// bounded counts an entry's bytes as the sink reads them.
type bounded struct {
	u *unpacker
	r io.Reader
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
	}
	if gerr := b.u.grow(n); gerr != nil {
		return 0, gerr
	}
	return n, err
}
