// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a started server.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the program has
	ready time.Duration // from its start to its first answer that it is ready
}

func start(ctx context.Context, readyURL, program string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	if out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		cmd.Stdout, cmd.Stderr = out, out // a file, as in production: no goroutine of ours copies the log
		defer out.Close()
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	const limit = 90 * time.Second // a Python server on a busy machine
	for time.Since(began) < limit && ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, readyURL, http.NoBody)
		if err != nil {
			p.stop()
			return nil, fmt.Errorf("ask whether it is ready: %w", err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				p.ready = time.Since(began)
				return p, nil
			}
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("%s %s ended before it was ready: %s", program, strings.Join(args, " "), cmd.ProcessState)
		case <-time.After(time.Millisecond):
		}
	}
	p.stop()
	return nil, fmt.Errorf("%s %s is not ready after %s", program, strings.Join(args, " "), time.Since(began).Round(time.Millisecond))
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
}

// cpu is the time that the process has computed, from Linux's own count of clock ticks.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's CPU time: %w", err)
	}
	// The second field is the program's name, in brackets, and may hold blanks.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system, tick = 11, 12, 10 * time.Millisecond
	var ticks int
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, fmt.Errorf("read the server's CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// rss is the resident memory in MB, 0 where it is not known.
func (p *process) rss() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib)
	return kib * 1024 / 1e6
}

func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		ports = append(ports, port)
	}
	return ports, nil
}
