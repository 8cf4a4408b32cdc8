// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package models runs a folder of recorded model files through the engines and compares every answer with the library's own.
//
// Called by: test/models/cmd, and its own test over test/data/models.
// Next: data/serve/engine.
package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Options say what to run.
type Options struct {
	// Dir holds a folder for each case; its contents are the list of cases.
	Dir string
	// Match leaves out cases whose name does not contain it.
	Match string
	// Engines are the engines by the format that a case names.
	Engines map[string]engine.Engine
	// Out receives a line for each failure and the summary.
	Out io.Writer
}

// Summary counts calls. Passed are predictions that are equal; refusals and what is out of scope are counted apart.
type Summary struct {
	Equal, Refused, Failed int
	OutOfScope             map[string]int
}

// loadLimit bounds the time that refusing a file may take. It is well above what it takes, for a busy machine.
const loadLimit = 5 * time.Second

// Run runs every case under the folder.
func Run(ctx context.Context, o Options) (*Summary, error) {
	cases, err := filepath.Glob(filepath.Join(o.Dir, "*", "case.json"))
	if err != nil {
		return nil, fmt.Errorf("list cases: %w", err)
	}
	bad, err := filepath.Glob(filepath.Join(o.Dir, "bad", "*", "case.json"))
	if err != nil {
		return nil, fmt.Errorf("list bad cases: %w", err)
	}
	if len(cases)+len(bad) == 0 {
		return nil, fmt.Errorf("no case in %s: a case is a folder with a case.json", o.Dir)
	}
	r := &runner{Options: o, summary: &Summary{OutOfScope: map[string]int{}}}
	for _, path := range append(cases, bad...) {
		if !strings.Contains(path, o.Match) {
			continue
		}
		c, err := readCase(path)
		if err != nil {
			return nil, err
		}
		if c.Expect == "refused" {
			r.refused(ctx, c)
		} else {
			r.served(ctx, c)
		}
	}
	r.print()
	return r.summary, nil
}

type runner struct {
	Options
	summary *Summary
}

func (r *runner) print() {
	s := r.summary
	outOfScope := 0
	for _, what := range slices.Sorted(maps.Keys(s.OutOfScope)) {
		outOfScope += s.OutOfScope[what]
		fmt.Fprintf(r.Out, "not in scope: %s (%d calls)\n", what, s.OutOfScope[what])
	}
	fmt.Fprintf(r.Out, "predictions equal: %d · refused as recorded: %d · not in scope: %d\n", s.Equal, s.Refused, outOfScope)
	fmt.Fprintf(r.Out, "%d passed, %d failed\n", s.Equal, s.Failed)
}

func (r *runner) fail(c *testCase, format string, args ...any) {
	r.summary.Failed++
	fmt.Fprintf(r.Out, "FAIL %s: %s\n", c.Name, fmt.Sprintf(format, args...))
}

// open opens the model's file. A panic is a failure like another.
func (r *runner) open(ctx context.Context, c *testCase) (m engine.Model, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	e := r.Engines[c.Format]
	file := c.Files[0]
	for _, f := range c.Files {
		if slices.Contains(e.Extensions(), filepath.Ext(f)) {
			file = f
			break
		}
	}
	return e.Open(ctx, filepath.Join(c.dir, "model", file), engine.Options{})
}

// refused checks a file that must not load.
func (r *runner) refused(ctx context.Context, c *testCase) {
	if r.Engines[c.Format] == nil {
		r.summary.OutOfScope["format "+c.Format]++
		return
	}
	start := time.Now()
	m, err := r.open(ctx, c)
	took := time.Since(start)
	if err == nil {
		r.fail(c, "the file was opened and must be refused: %s", c.Why)
		if m != nil {
			_ = m.Close()
		}
		return
	}
	var unsupported *engine.Unsupported
	var damaged *engine.BadModel
	name := strings.TrimPrefix(c.Message, "must name ")
	_, ran := os.Stat("should-not-exist")
	switch {
	case !errors.As(err, &unsupported) && !errors.As(err, &damaged):
		r.fail(c, "refused with %T: %v", err, err)
	case !strings.Contains(err.Error(), name):
		r.fail(c, "the message must name %s: %v", name, err)
	case took > loadLimit:
		r.fail(c, "refused after %v", took)
	case ran == nil:
		r.fail(c, "the file ran something")
	default:
		r.summary.Refused++
	}
}

// served checks every call of a model.
func (r *runner) served(ctx context.Context, c *testCase) {
	if r.Engines[c.Format] == nil {
		r.summary.OutOfScope["format "+c.Format] += len(c.Calls)
		return
	}
	outside := c.outside()
	m, err := r.open(ctx, c)
	if err != nil {
		var unsupported *engine.Unsupported
		switch {
		case errors.As(err, &unsupported) && outside != "":
			r.summary.OutOfScope[outside] += len(c.Calls)
		case errors.As(err, &unsupported) && c.Optional != nil:
			r.summary.Refused++
		default:
			r.fail(c, "open: %v", err)
		}
		return
	}
	defer m.Close() //nolint:errcheck // nothing is written
	for i := range c.Calls {
		if err := r.call(ctx, m, c, &c.Calls[i]); err != nil {
			r.fail(c, "%s: %v", &c.Calls[i], err)
		}
	}
}

// call sends one set and compares the answer.
func (r *runner) call(ctx context.Context, m engine.Model, c *testCase, call *call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	request, err := c.request(call)
	if err != nil {
		return err
	}
	var out tensor.Response
	err = m.Predict(ctx, request, &out)
	if call.Raises != "" {
		if err == nil {
			return fmt.Errorf("answered, and the library raises %s", call.Raises)
		}
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code.HTTPStatus() < 400 || e.Code.HTTPStatus() >= 500 && e.Code != protocol.Unsupported {
			return fmt.Errorf("not the caller's mistake: %w", err)
		}
		r.summary.Refused++
		return nil
	}
	if err != nil {
		return err
	}
	if err := call.compare(&out); err != nil {
		return err
	}
	r.summary.Equal++
	return nil
}
