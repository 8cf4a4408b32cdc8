// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// What a group may do with files that are its own: read those that hold objects of the API, read and write others.
const (
	groupReads  fs.FileMode = 0o440
	groupWrites fs.FileMode = 0o660
)

// fsGroup is the group that the pod wants its volumes to belong to, or nil.
func fsGroup(pod *corev1.Pod) *int64 {
	if sc := pod.Spec.SecurityContext; sc != nil {
		return sc.FSGroup
	}
	return nil
}

// mapped says whether the cluster has that group: an ordinary user's may have one only, which every program then is in.
func mapped(group int64) bool {
	f, err := os.Open("/proc/self/gid_map")
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var inside, outside, count int64
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &count); err == nil && group >= inside && group < inside+count {
			return true
		}
	}
	return false
}

// own gives all of a folder to the group, as a kubelet does.
func own(dir string, group *int64, mode fs.FileMode) error {
	if group == nil || !mapped(*group) {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Lchown(path, -1, int(*group)); err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil || fi.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		want := fi.Mode() | mode
		if d.IsDir() {
			want |= fs.ModeSetgid | 0o110
		}
		return os.Chmod(path, want)
	})
	if err != nil {
		return fmt.Errorf("give volume to group %d: %w", *group, err)
	}
	return nil
}

// ownOnce does so when the pod starts, unless it wants it only where the folder itself is not the group's.
func (s *Set) ownOnce(dir string, pod *corev1.Pod) error {
	group := fsGroup(pod)
	if group == nil || s.owned[dir] {
		return nil
	}
	if p := pod.Spec.SecurityContext.FSGroupChangePolicy; p != nil && *p == corev1.FSGroupChangeOnRootMismatch && ownedBy(dir, *group) {
		return nil
	}
	if err := own(dir, group, groupWrites); err != nil {
		return err
	}
	s.owned[dir] = true
	return nil
}

func ownedBy(dir string, group int64) bool {
	fi, err := os.Stat(dir)
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int64(st.Gid) == group && fi.Mode()&fs.ModeSetgid != 0 && fi.Mode()&groupWrites == groupWrites
}
