// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyPoll    = 25 * time.Millisecond
	readyTimeout = time.Minute
	processStop  = 15 * time.Second
	logTail      = 4000
)

// Process is the controller or the webhook, as a process of this machine.
type Process struct {
	Name string
	// Metrics and Health are host:port.
	Metrics, Health string

	path string
	args []string
	log  string
	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start runs the process and waits until it says that it is ready.
func (p *Process) Start(ctx context.Context) error {
	if err := p.Launch(); err != nil { //nolint:contextcheck // the process outlives the call that starts it
		return err
	}
	return p.WaitReady(ctx)
}

// Launch runs the process and does not wait.
func (p *Process) Launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", p.Name, err)
	}
	cmd := exec.CommandContext(context.Background(), p.path, p.args...) //nolint:gosec // a binary that this package built
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Env = append(os.Environ(), "POD_NAMESPACE="+System)
	dieWithParent(cmd)
	done, started := make(chan struct{}), make(chan error, 1)
	go func() {
		// The kernel ties the child to the thread that starts it, so that thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer file.Close()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.cmd, p.done, p.err = cmd, done, nil
	return nil
}

// WaitReady waits until /readyz answers 200.
func (p *Process) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		last := answers(ctx, "http://"+p.Health+"/readyz")
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready:\n%s", p.Name, p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("wait until %s is ready: %w\n%s", p.Name, last, p.Tail())
		}
	}
}

func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var body bytes.Buffer
		_, _ = body.ReadFrom(http.MaxBytesReader(nil, resp.Body, 4096))
		return fmt.Errorf("%s answers %s: %s", url, resp.Status, body.String())
	}
	return nil
}

// Stop asks the process to end, waits for it, and says how it ended if not well.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

// Signal sends the process a signal and does not wait.
func (p *Process) Signal(signal syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return fmt.Errorf("%s is not running", p.Name)
	}
	return p.cmd.Process.Signal(signal)
}

// Ended waits until the process has ended by itself.
func (p *Process) Ended(ctx context.Context) error {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("%s has not ended: %w", p.Name, ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = nil
	return nil
}

// Kill ends the process at once, as a crash would.
func (p *Process) Kill() error {
	if err := p.end(syscall.SIGKILL); err != nil && !strings.Contains(err.Error(), "signal: killed") {
		return err
	}
	return nil
}

func (p *Process) end(signal syscall.Signal) error {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.cmd = nil
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(signal)
	select {
	case <-done:
	case <-time.After(processStop):
		_ = cmd.Process.Kill()
		<-done
		return fmt.Errorf("%s did not end within %s of SIGTERM and was killed", p.Name, processStop)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return fmt.Errorf("%s ended badly: %w\n%s", p.Name, p.err, p.Tail())
	}
	return nil
}

// Restart stops the process and starts it again with the same flags.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Tail is the end of the process's log.
func (p *Process) Tail() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if len(b) > logTail {
		b = b[len(b)-logTail:]
	}
	return string(b)
}

// WaitLogged waits until a line of the log holds all the texts.
func (p *Process) WaitLogged(ctx context.Context, texts ...string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return poll(ctx, func(context.Context) error {
		b, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(b) {
			if !slices.ContainsFunc(texts, func(t string) bool { return !bytes.Contains(line, []byte(t)) }) {
				return nil
			}
		}
		return fmt.Errorf("%s has not logged %q", p.Name, texts)
	})
}

// PID is that of the running process, 0 when there is none.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// CPU is the processor time the process has used so far.
func (p *Process) CPU() (time.Duration, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID()), "stat"))
	if err != nil {
		return 0, fmt.Errorf("read processor time of %s: %w", p.Name, err)
	}
	// The name of the program is in parentheses and may hold anything.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const user, system, ticksPerSecond = 11, 12, 100
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time of %s: %w", p.Name, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// RSS is the resident memory of the process in bytes.
func (p *Process) RSS() (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID()), "status"))
	if err != nil {
		return 0, fmt.Errorf("read memory of %s: %w", p.Name, err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("read memory of %s: no VmRSS", p.Name)
}

// freePort is one that nobody had a moment ago.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// lockedBuffer is written by one goroutine and printed by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
