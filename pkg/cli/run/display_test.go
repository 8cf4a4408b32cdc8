// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

func TestLinesTellChangesOnce(t *testing.T) {
	var out bytes.Buffer
	b := newBoard()
	d := newDisplay(b, &out, output.Table)
	row := func(change func(*Row)) { b.set("a", change); d.update() }
	row(func(r *Row) { *r = Row{Kind: "InferenceService", Name: "ns/a", Phase: Planned} })
	row(func(r *Row) { r.Phase, r.Detail, r.Total = Fetching, "s3://b/m", -1 })
	for done := int64(0); done <= 1000; done += 10 {
		row(func(r *Row) { r.Done, r.Total = done*1000, 1000_000 })
	}
	row(func(r *Row) { r.Phase, r.Detail = Loading, "" })
	row(func(r *Row) {
		r.Phase, r.URL, r.Model, r.Notes = Ready, "http://x", "sklearn", []string{"no batcher"}
	})
	row(func(*Row) {})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, "InferenceService ns/a: planned", lines[0])
	require.Equal(t, "InferenceService ns/a: fetching s3://b/m", lines[1])
	require.Equal(t, "InferenceService ns/a: fetching 10% of 1.0 MB", lines[2])
	require.Len(t, lines, 2+10+1+2, "a line for each tenth: %s", out.String())
	require.Equal(t, "InferenceService ns/a: ready at http://x (sklearn)", lines[13])
	require.Equal(t, "InferenceService ns/a: note: no batcher", lines[14])
}

func TestTableIsDrawnInPlaceAndFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	b := newBoard()
	d := newDisplay(b, &out, output.Table)
	d.show = d.table
	b.set("a", func(r *Row) {
		*r = Row{Kind: "InferenceService", Name: "ns/a", Phase: Fetching, Done: 500, Total: 1000}
	})
	d.update()
	require.Contains(t, out.String(), "[##########..........] 50% of 1.0 kB")
	out.Reset()
	d.update()
	require.Empty(t, out.String(), "nothing changed, nothing is drawn")
	b.set("a", func(r *Row) { r.Phase, r.Detail = Failed, "no such bucket" })
	d.update()
	require.True(t, strings.HasPrefix(out.String(), "\x1b[2A\x1b[J"), "the two lines before are replaced: %q", out.String())
	require.Contains(t, out.String(), "no such bucket")
	require.Equal(t, []string{"ns/a: failed: no such bucket"}, remarks(b.snapshot(), 0))

	out.Reset()
	b.disturbed.Store(true)
	b.set("a", func(r *Row) {
		r.Phase, r.Detail, r.URL, r.Model = Ready, "", "http://localhost:8080/v1/models/a:predict", "sklearn"
	})
	d.update()
	require.True(t, strings.HasPrefix(out.String(), "\x1b[2m") || strings.HasPrefix(out.String(), "NAME"),
		"after a log line the table is drawn below it, not over it: %q", out.String())
	require.Empty(t, remarks(b.snapshot(), 200))
	require.Equal(t, []string{"ns/a: ready at http://localhost:8080/v1/models/a:predict (sklearn)"}, remarks(b.snapshot(), 40),
		"a URL that a narrow table cuts is told whole")

	require.Equal(t, "éééé…", cut("éééééééé", 6))
	require.Equal(t, "short", cut("short", 80))
}
