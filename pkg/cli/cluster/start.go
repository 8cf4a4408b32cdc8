// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
)

const (
	// startLimit is how long a cluster may take to be ready on a machine that is busy with other things.
	startLimit = 3 * time.Minute
	// look is how often the output of the starting cluster is looked at.
	look = 50 * time.Millisecond
	// endLimit is how long a cluster that was given up on may take to end.
	endLimit = 90 * time.Second
)

// starter starts a cluster that outlives this program.
type starter struct {
	place   *record.Place
	program string
	args    []string
	say     *steps
	// began is called once, when the cluster has cleared its folder and works in it.
	began func()
	// output takes what the cluster prints. It gets its name when the cluster has the folder: of two starts at once only one may.
	output *os.File
}

// errOther says that another process has taken the cluster's folder.
var errOther = errors.New("the cluster did not start: another process starts it")

// start returns when the cluster can be used. A cluster that does not come up, or for which ctx ends, is stopped again.
func (s *starter) start(ctx context.Context) (*record.Record, error) {
	if err := os.MkdirAll(s.place.Root, 0o700); err != nil {
		return nil, s.place.Unusable(err)
	}
	// A file, not a pipe: it must take what the cluster says long after this program has ended.
	out, err := os.CreateTemp(s.place.Root, filepath.Base(s.place.Output())+".*")
	if err != nil {
		return nil, s.place.Unusable(err)
	}
	defer out.Close()
	s.output = out
	cmd := exec.Command(s.program, append([]string{"up", "--name=" + s.place.Name, "--state=" + s.place.Root}, s.args...)...) //nolint:noctx,gosec // it outlives ctx; the cluster's own program
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the end of the terminal is not its end
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the cluster: %w", err), os.Remove(out.Name()))
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		close(ended)
	}()
	r, err := s.follow(ctx, ended)
	if err != nil {
		stop(cmd.Process, ended)
		if s.output != nil {
			_ = os.Remove(out.Name()) // the error says what was in it
		}
		return nil, err
	}
	return r, nil
}

// begin is called when the cluster says that it works in its folder.
func (s *starter) begin() error {
	if s.output == nil {
		return nil
	}
	// Whoever throws the state away meanwhile throws the output away too, after it has stopped the cluster.
	if err := os.Rename(s.output.Name(), s.place.Output()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the cluster's output: %w", err)
	}
	s.output = nil
	if s.began != nil {
		s.began()
	}
	return nil
}

// stop returns when a cluster that was given up on has ended.
func stop(p *os.Process, ended <-chan error) {
	_ = p.Signal(syscall.SIGTERM) // it may have ended by itself
	late := time.NewTimer(endLimit)
	defer late.Stop()
	select {
	case <-ended: //nolint:errcheck // how it ended is not asked any more
	case <-late.C:
		_ = p.Kill() // it had its time
		<-ended      //nolint:errcheck // as above
	}
}

var progressLine = regexp.MustCompile(`^ *\d+\.\d+s (.*)$`)

// follow passes the cluster's progress on until its ready line.
func (s *starter) follow(ctx context.Context, ended chan error) (*record.Record, error) {
	f, err := os.Open(s.output.Name())
	if err != nil {
		return nil, fmt.Errorf("read the cluster's output: %w", err)
	}
	defer f.Close()
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	var rest []byte
	said, step := "", "nothing" // last
	for {
		var over error
		select {
		case over = <-ended:
			if over == nil {
				over = errors.New("exit status 0")
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("interrupted while the cluster started (%w): it is stopped again, and kserve local up%s starts it anew", ctx.Err(), s.place.Flags())
		case <-limit.C:
			return nil, fmt.Errorf("start the cluster: not ready after %s; the last it did: %s; the last it said: %s; its log is %s", startLimit, step, cmp.Or(said, "nothing"), s.place.Log())
		case <-ticks.C:
		}
		fresh, err := io.ReadAll(f)
		if err != nil {
			return nil, fmt.Errorf("read the cluster's output: %w", err)
		}
		rest = append(rest, fresh...)
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			rest = after
			text := string(line)
			if raw, ok := strings.CutPrefix(text, "ready "); ok {
				if err := s.begin(); err != nil {
					return nil, err
				}
				r := &record.Record{}
				if err := json.Unmarshal([]byte(raw), r); err != nil {
					return nil, fmt.Errorf("read the cluster's ready line: %w", err)
				}
				return r, nil
			}
			m := progressLine.FindStringSubmatch(text)
			if m == nil {
				said = cmp.Or(strings.TrimSpace(text), said)
				continue
			}
			if err := s.begin(); err != nil {
				return nil, err
			}
			step = m[1]
			s.say.done("%s", step)
		}
		if over != nil {
			if pid, err := s.place.Owner(); err == nil && pid != 0 {
				return nil, errOther
			}
			if said == "" && isFull(s.place.Root) {
				return nil, fmt.Errorf("the cluster did not start: the file system of %s is full: free some, or choose another folder with --state", s.place.Root)
			}
			return nil, fmt.Errorf("the cluster did not start: %s", cmp.Or(strings.TrimPrefix(said, "kserve-cluster: "),
				fmt.Sprintf("its process ended (%v) and did not say why; the last it did: %s", over, step)))
		}
	}
}

// isFull says whether a folder has no room for one more block: what a program prints to a file there is lost.
func isFull(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) == nil && s.Bavail == 0
}
