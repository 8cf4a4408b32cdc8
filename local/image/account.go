// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Account is the user and group that the image asks for: numbers, or names that its own /etc/passwd knows.
func (i *Image) Account() (uid, gid int64, err error) {
	if i.User == "" {
		return 0, 0, nil
	}
	user, group, hasGroup := strings.Cut(i.User, ":")
	uid, err = strconv.ParseInt(user, 10, 64)
	if err != nil {
		if uid, gid, err = i.lookUp("passwd", user); err != nil {
			return 0, 0, err
		}
	}
	if hasGroup {
		if gid, err = strconv.ParseInt(group, 10, 64); err != nil {
			gid, _, err = i.lookUp("group", group)
		}
	}
	return uid, gid, err
}

// Home is the home folder that the image's /etc/passwd gives the user.
func (i *Image) Home(uid int64) string {
	home := "/"
	if uid == 0 {
		home = "/root"
	}
	i.lines("passwd", func(f []string) {
		if len(f) > 5 && f[2] == strconv.FormatInt(uid, 10) && f[5] != "" {
			home = f[5]
		}
	})
	return home
}

// Groups are those that the image's /etc/group makes the user a member of.
func (i *Image) Groups(uid int64) []int64 {
	var name string
	i.lines("passwd", func(f []string) {
		if len(f) > 2 && f[2] == strconv.FormatInt(uid, 10) {
			name = f[0]
		}
	})
	var out []int64
	i.lines("group", func(f []string) {
		if name == "" || len(f) < 4 || !slices.Contains(strings.Split(f[3], ","), name) {
			return
		}
		if gid, err := strconv.ParseInt(f[2], 10, 64); err == nil {
			out = append(out, gid)
		}
	})
	return out
}

// lines calls f with the fields of each line of a file that the image may not have.
func (i *Image) lines(file string, f func([]string)) {
	b, err := i.etc(file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		f(strings.Split(strings.TrimSpace(line), ":"))
	}
}

// etc reads a file of the image's /etc; a link in it leads to a file of the image and not of the machine.
func (i *Image) etc(file string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Join("/", i.RootFS))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read, or written through files of their own
	return root.ReadFile(filepath.Join("etc", file))
}

// lookUp finds a name in a file of lines name:x:number:number.
func (i *Image) lookUp(file, name string) (first, second int64, err error) {
	b, err := i.etc(file)
	if err != nil {
		return 0, 0, fmt.Errorf("image user %q: %w", i.User, err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 3 || f[0] != name {
			continue
		}
		if first, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return 0, 0, fmt.Errorf("image user %q: %w", i.User, err)
		}
		if len(f) > 3 {
			second, _ = strconv.ParseInt(f[3], 10, 64) // a group's fourth field is a list of names
		}
		return first, second, nil
	}
	return 0, 0, fmt.Errorf("image user %q: its /etc/%s does not know %q", i.User, file, name)
}
