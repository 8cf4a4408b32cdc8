// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilityNames are in the kernel's order.
//
//nolint:gochecknoglobals // a constant list
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
	NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
	WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// usual is what container runtimes leave a container.
const usual = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FSETID | 1<<unix.CAP_FOWNER | 1<<unix.CAP_MKNOD |
	1<<unix.CAP_NET_RAW | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETFCAP | 1<<unix.CAP_SETPCAP |
	1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_KILL | 1<<unix.CAP_AUDIT_WRITE

// Capabilities is the usual set, with names added and dropped; ALL is every one.
func Capabilities(add, drop []string) (uint64, error) {
	set := uint64(usual)
	for _, list := range []struct {
		names []string
		with  func(uint64)
	}{{drop, func(bits uint64) { set &^= bits }}, {add, func(bits uint64) { set |= bits }}} {
		for _, name := range list.names {
			bits, err := capability(name)
			if err != nil {
				return 0, err
			}
			list.with(bits)
		}
	}
	// What is added by name wins over "drop ALL", and what is dropped by name over "add ALL".
	for _, name := range drop {
		if bits, err := capability(name); err == nil && !strings.EqualFold(name, "ALL") && !contains(add, name) {
			set &^= bits
		}
	}
	return set, nil
}

func contains(all []string, name string) bool {
	for _, a := range all {
		if strings.EqualFold(strings.TrimPrefix(strings.ToUpper(a), "CAP_"), strings.TrimPrefix(strings.ToUpper(name), "CAP_")) {
			return true
		}
	}
	return false
}

func capability(name string) (uint64, error) {
	short := strings.TrimPrefix(strings.ToUpper(name), "CAP_")
	if short == "ALL" {
		return 1<<len(capabilityNames) - 1, nil
	}
	for i, n := range capabilityNames {
		if n == short {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown capability %q", name)
}

// bound takes every capability that is not in the set away for good: what root is then allowed is this set, and what programs can gain.
func bound(set uint64) error {
	for c := range 64 {
		if set&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // beyond the kernel's last one
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}
