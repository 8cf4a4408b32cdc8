// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/record"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// clusterLog prints what the cluster's processes wrote: first their output, which says how they started and why they ended, then the log
// of the parts of Kubernetes. It needs no running cluster.
func clusterLog(ctx context.Context, t *Target, follow bool, tail int, streams output.Streams) error {
	p, err := t.place()
	if err != nil {
		return err
	}
	var text []byte
	for _, name := range []string{p.Output(), p.Log()} {
		b, err := end(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the log: %w", err)
		}
		text = append(text, b...)
	}
	if len(text) == 0 {
		return exit.Errorf(exit.Failed, "%w: %q has no log in %s", errNoLog, p.Name, p.Dir())
	}
	if _, err := streams.Out.Write(lastLines(text, tail)); err != nil || !follow {
		return err
	}
	f, err := record.Open(p.Log())
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	for sleep(ctx, 5*pause) {
		if _, err := io.Copy(streams.Out, f); err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		if pid, err := p.Owner(); err != nil || pid == 0 {
			fmt.Fprintf(streams.Err, "cluster %q ended %s\n", p.Name, time.Now().Format(time.TimeOnly))
			return err
		}
	}
	return nil
}

// maxLog bounds what is shown of a log, in bytes: a cluster that ran for weeks has written more than anybody reads.
const maxLog = 64 << 20

// end is the end of a log, from the beginning of a line.
func end(name string) ([]byte, error) {
	f, err := record.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(fi.Size()-maxLog, 0)
	text, err := io.ReadAll(io.NewSectionReader(f, from, maxLog))
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, err
}

// lastLines is the end of a text; all of it for a negative number.
func lastLines(text []byte, n int) []byte {
	if n < 0 {
		return text
	}
	end := bytes.TrimSuffix(text, []byte("\n"))
	for i := len(end); n > 0; n-- {
		if i = bytes.LastIndexByte(end[:i], '\n'); i < 0 {
			return text
		}
		if n == 1 {
			return text[i+1:]
		}
	}
	return nil
}
