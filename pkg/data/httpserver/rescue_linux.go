// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// handshake is how long a client that has sent its SYN gets to finish connecting.
const handshake = 10 * time.Millisecond

// rescue closes l and returns the connections that waited in the kernel's queue. New handshakes are ignored first, so that their clients
// try again and find the port closed; those under way end in the queue; then the queue is taken.
func rescue(l acceptor) ([]net.Conn, error) {
	fd := -1
	if raw, err := l.SyscallConn(); err == nil {
		_ = raw.Control(func(own uintptr) {
			// A descriptor of our own keeps the socket open while l, and whoever waits in its Accept, let go of it.
			if fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0); err != nil {
				fd = -1
			}
		})
	}
	if fd < 0 {
		return nil, l.Close()
	}
	_, isTCP := l.(*net.TCPListener)
	if isTCP {
		ignoreNew(fd)
	}
	err := l.Close()
	conns := take(fd, nil)
	if isTCP {
		time.Sleep(handshake)
		conns = take(fd, conns)
	}
	_ = unix.Close(fd)
	return conns, err
}

// ignoreNew drops segments without ACK, which at a listening socket are the SYNs. Where the kernel does not allow it, a client that connects
// in the last microseconds may be reset.
func ignoreNew(fd int) {
	const flags, ack = 13, 0x10
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: ack, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	_ = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

// take accepts without waiting.
func take(fd int, conns []net.Conn) []net.Conn {
	for {
		nfd, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED) {
			continue
		}
		if err != nil {
			return conns
		}
		// The accepted socket inherits the filter.
		_ = unix.SetsockoptInt(nfd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
		file := os.NewFile(uintptr(nfd), "")
		conn, err := net.FileConn(file)
		_ = file.Close()
		if err == nil {
			conns = append(conns, conn)
		}
	}
}
