// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// build makes the new root and moves into it. Only the new root is written to: mount points are made on a tmpfs or an overlay of one
// and never inside a folder of the machine, which unfold replaces where one is to be.
func (r *Root) build() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	root, err := r.base()
	if err != nil {
		return err
	}
	for _, step := range []func(string) error{r.kernelFiles, r.mounts, r.enter} {
		if err := step(root); err != nil {
			return err
		}
	}
	return nil
}

// base mounts a tmpfs for what the container writes, and over it the image.
func (r *Root) base() (string, error) {
	if err := os.MkdirAll(r.Scratch, 0o755); err != nil {
		return "", fmt.Errorf("make root: %w", err)
	}
	if err := unix.Mount("tmpfs", r.Scratch, "tmpfs", 0, "mode=755"); err != nil {
		return "", fmt.Errorf("mount root: %w", err)
	}
	root, upper, work := filepath.Join(r.Scratch, "root"), filepath.Join(r.Scratch, "upper"), filepath.Join(r.Scratch, "work")
	for _, d := range []string{root, upper, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", fmt.Errorf("make root: %w", err)
		}
	}
	if r.Image == "" {
		return root, r.hostFiles(root)
	}
	options := "lowerdir=" + escapeOverlay(r.Image) + ",upperdir=" + upper + ",workdir=" + work
	if r.Rootless {
		options += ",userxattr"
	}
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		// Old kernels and nested containers have no overlay for us: the image's entries are bound instead, read-only.
		if berr := r.bindEntries(r.Image, root); berr != nil {
			return "", errors.Join(fmt.Errorf("mount image: %w", err), berr)
		}
	}
	return root, nil
}

func escapeOverlay(path string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`).Replace(path)
}

// bindEntries shows what is in a folder, read-only, in another one.
func (r *Root) bindEntries(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("read folder: %w", err)
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.Type()&fs.ModeSymlink == 0 {
			if err := r.bind(Mount{Source: source, Target: e.Name(), ReadOnly: true}, target); err != nil {
				return err
			}
			continue
		}
		link, err := os.Readlink(source)
		if err != nil {
			return fmt.Errorf("read link %s: %w", e.Name(), err)
		}
		if err := os.Symlink(link, target); err != nil {
			return fmt.Errorf("make link %s: %w", e.Name(), err)
		}
	}
	return nil
}

// hostFiles shows the machine's programs and libraries, and of its /etc only what programs need to run.
func (r *Root) hostFiles(root string) error {
	for _, name := range append(append([]string{}, r.HostDirs...), r.HostEtc...) {
		fi, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", name, err)
		}
		if fi.Mode()&fs.ModeSymlink != 0 && filepath.Dir(name) == "/" { // /bin -> usr/bin
			link, err := os.Readlink(name)
			if err != nil {
				return fmt.Errorf("read link %s: %w", name, err)
			}
			if err := os.Symlink(link, filepath.Join(root, name)); err != nil && !errors.Is(err, fs.ErrExist) { // named twice
				return fmt.Errorf("make link %s: %w", name, err)
			}
			continue
		}
		if err := r.place(root, Mount{Source: name, Target: name, ReadOnly: true}); err != nil {
			return err
		}
	}
	return nil
}

// kernelFiles mounts /proc, /sys and /dev. An image says itself whether it has a /tmp.
func (r *Root) kernelFiles(root string) error {
	for dir, mode := range map[string]os.FileMode{"proc": 0o555, "sys": 0o555, "dev": 0o755, "etc": 0o755, "tmp": 0o777 | fs.ModeSticky} {
		if dir == "tmp" && r.Image != "" {
			continue
		}
		path, err := inside(root, dir)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("make /%s: %w", dir, err)
		}
		if dir == "tmp" {
			if err := os.Chmod(path, mode); err != nil {
				return fmt.Errorf("make /%s: %w", dir, err)
			}
		}
	}
	const quiet = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", quiet, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("sysfs", filepath.Join(root, "sys"), "sysfs", quiet|unix.MS_RDONLY, ""); err != nil {
		if err := unix.Mount("/sys", filepath.Join(root, "sys"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount /sys: %w", err)
		}
	}
	dev := filepath.Join(root, "dev")
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := r.place(root, Mount{Source: "/dev/" + d, Target: "/dev/" + d}); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	for _, d := range []string{"shm", "pts"} {
		if err := os.Mkdir(filepath.Join(dev, d), 0o755); err != nil {
			return fmt.Errorf("make /dev/%s: %w", d, err)
		}
	}
	if err := unix.Mount("tmpfs", filepath.Join(dev, "shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=64m"); err != nil {
		return fmt.Errorf("mount /dev/shm: %w", err)
	}
	// Not every kernel gives terminals of its own to a user namespace; programs that open none do not notice.
	_ = unix.Mount("devpts", filepath.Join(dev, "pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	return nil
}

func (r *Root) mounts(root string) error {
	for _, m := range r.Mounts {
		if err := r.place(root, m); err != nil {
			return err
		}
	}
	return nil
}

// place mounts m at its target below root and makes the target when it is missing.
func (r *Root) place(root string, m Mount) error {
	target, err := inside(root, m.Target)
	if err != nil {
		return err
	}
	return r.bind(m, target)
}

// bind mounts m at target.
func (r *Root) bind(m Mount, target string) error {
	point := os.ModeDir
	if m.Source != "" {
		fi, err := os.Stat(m.Source)
		if err != nil {
			return fmt.Errorf("mount at %s: %w", m.Target, err)
		}
		point = fi.Mode() & os.ModeDir
	}
	err := makePoint(target, point)
	if errors.Is(err, unix.EROFS) {
		if err = r.unfold(target); err == nil {
			err = makePoint(target, point)
		}
	}
	if err != nil {
		return fmt.Errorf("make mount point %s: %w", m.Target, err)
	}
	if m.Source == "" {
		if err := unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, m.Options); err != nil {
			return fmt.Errorf("mount memory at %s: %w", m.Target, err)
		}
		return nil
	}
	if err := unix.Mount(m.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.Source, m.Target, err)
	}
	if m.ReadOnly {
		return readOnly(target, m.Target)
	}
	return nil
}

func makePoint(path string, kind os.FileMode) error {
	if kind.IsDir() {
		return os.MkdirAll(path, 0o755)
	}
	return touch(path)
}

// unfold makes room for a mount point where there is a folder that may only be read: a tmpfs takes its place, which has its entries, each
// of them bound.
func (r *Root) unfold(target string) error {
	dir := filepath.Dir(target)
	for {
		_, err := os.Lstat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		dir = filepath.Dir(dir)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount memory: %w", err)
	}
	r.unfolded = append(r.unfolded, dir)
	// The folder is covered now, and reached by its descriptor only.
	return r.bindEntries(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), dir)
}

// readOnly keeps the flags that the mount has: a user namespace may add flags, and never take away what it inherited.
func readOnly(path, shown string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fmt.Errorf("look at mount %s: %w", shown, err)
	}
	const kept = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME
	flags := uintptr(st.Flags)&kept | unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY
	if st.Flags&unix.ST_RELATIME != 0 {
		flags |= unix.MS_RELATIME
	}
	if err := unix.Mount("", path, "", flags, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", shown, err)
	}
	return nil
}

func touch(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// inside is the path of name below root with links followed as if root were "/": an image's /var/run -> /run must not lead out of it.
func inside(root, name string) (string, error) {
	const maxLinks = 40
	rest, at := strings.Split(filepath.Clean("/"+name), "/"), "/"
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		link, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			at = next // not a link, or not there yet
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", name)
		}
		if filepath.IsAbs(link) {
			at = "/"
		}
		rest = append(strings.Split(link, "/"), rest...)
	}
	return filepath.Join(root, at), nil
}

// enter makes root the only thing that is left.
func (r *Root) enter(root string) error {
	if r.ReadOnly {
		for _, dir := range r.unfolded {
			if err := readOnly(dir, dir); err != nil {
				return err
			}
		}
		if err := unix.Mount(root, root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("make root read-only: %w", err)
		}
		if err := readOnly(root, "/"); err != nil {
			return err
		}
	} else if err := unix.Mount(root, root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make root a mount: %w", err)
	}
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	// The old root is stacked on the new one and taken off again: no folder for it is needed in the image.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	return nil
}
