// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// redraw is the least time between two drawings of the table on a terminal.
const redraw = 80 * time.Millisecond

// display shows the board until stop is called: a live table on a terminal, a line for each change otherwise, an event for each
// change as JSON.
type display struct {
	board *board
	out   io.Writer
	paint output.Paint
	show  func([]Row)

	drawn int // lines of the table on the terminal
	shown string
	last  map[string]Row
	done  chan struct{}
	end   context.CancelFunc
}

func newDisplay(b *board, out io.Writer, format output.Format) *display {
	d := &display{board: b, out: out, paint: output.NewPaint(out), last: map[string]Row{}}
	switch {
	case format == output.JSON:
		d.show = d.events
	case output.IsTerminal(out):
		d.show = d.table
	default:
		d.show = d.lines
	}
	return d
}

func (d *display) start(ctx context.Context) {
	ctx, d.end = context.WithCancel(ctx)
	d.done = make(chan struct{})
	go func() {
		defer close(d.done)
		for {
			select {
			case <-d.board.changed:
				d.update()
			case <-ctx.Done():
				return
			}
			// Many changes in a short time are one drawing.
			select {
			case <-time.After(redraw):
			case <-ctx.Done():
				return
			}
		}
	}()
}

// stop shows the last state.
func (d *display) stop() {
	d.end()
	<-d.done
	d.update()
}

// update shows the rows and then what is to be said: what is said stands below the rows that it is about.
func (d *display) update() {
	says := d.board.said()
	if d.board.disturbed.Swap(false) {
		d.drawn = 0
	}
	d.show(d.board.snapshot())
	for _, say := range says {
		say()
		d.drawn = 0 // the next table is drawn below
	}
}

// remarks are what a table of this width has no room for: why rows went wrong, URLs that were cut, and notes.
func remarks(rows []Row, width int) []string {
	narrow := false
	for line := range strings.Lines(tableText(rows)) {
		narrow = narrow || cut(strings.TrimRight(line, "\n "), width) != strings.TrimRight(line, "\n ")
	}
	var all []string
	for _, r := range rows {
		if r.bad() || (narrow && r.Phase == Ready) {
			all = append(all, r.Name+": "+r.sentence())
		}
		for _, n := range r.Notes {
			all = append(all, r.Name+": note: "+n)
		}
	}
	return all
}

// events writes one JSON object a line for each row that changed.
func (d *display) events(rows []Row) {
	d.eachChange(rows, func(r Row) {
		if text, err := json.Marshal(struct {
			Event string `json:"event"`
			Row
		}{"status", r}); err == nil {
			_, _ = d.out.Write(append(text, '\n'))
		}
	})
}

// lines writes one line for each row whose phase or detail changed.
func (d *display) lines(rows []Row) {
	d.eachChange(rows, func(r Row) {
		fmt.Fprintf(d.out, "%s %s: %s\n", r.Kind, r.Name, r.sentence())
		for _, n := range r.Notes {
			fmt.Fprintf(d.out, "%s %s: note: %s\n", r.Kind, r.Name, n)
		}
	})
}

func (d *display) eachChange(rows []Row, say func(Row)) {
	for _, r := range rows {
		key, shown := r.Kind+"/"+r.Name, r
		before, known := d.last[key]
		// Bytes alone are worth a line only every tenth of the whole.
		if known && before.Phase == r.Phase && before.Detail == r.Detail && before.URL == r.URL && before.Before == r.Before && (r.Phase != Fetching || tenth(before) == tenth(r)) {
			continue
		}
		d.last[key] = shown
		say(r)
	}
}

func tenth(r Row) int64 {
	if r.Total <= 0 {
		return 0
	}
	return r.Done * 10 / r.Total
}

func (r Row) sentence() string {
	switch r.Phase {
	case Ready:
		return "ready at " + r.URL + r.size()
	case Fetching:
		if progress := r.progress(); progress != "" {
			return "fetching " + progress
		}
		return "fetching " + r.Detail
	case Failed, Refused, Stopped, Invalid:
		return strings.ToLower(string(r.Phase)) + ": " + r.Detail
	default:
		return strings.ToLower(string(r.Phase))
	}
}

func (r Row) size() string {
	if r.Model == "" {
		return ""
	}
	return " (" + r.Model + ")"
}

func (r Row) progress() string {
	if r.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%% of %s", r.Done*100/r.Total, bytesText(r.Total))
}

func bytesText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// tableText is the table as wide as it wants to be.
func tableText(rows []Row) string {
	var text bytes.Buffer
	cells := make([][]string, 0, len(rows))
	for _, r := range rows {
		what := r.URL
		switch {
		case r.Phase == Fetching:
			what = bar(r)
		case what == "" || r.Phase != Ready:
			what = r.Detail
		}
		cells = append(cells, []string{r.Name, string(r.Phase), r.Runtime, r.Model, what})
	}
	_ = output.Rows(&text, []string{"NAME", "PHASE", "RUNTIME", "MODEL", "URL"}, cells) // a buffer takes everything
	return text.String()
}

// table redraws the table in place. A table that is higher than the terminal cannot be: its upper lines have scrolled away.
func (d *display) table(rows []Row) {
	width, height := output.Size(d.out)
	if height > 0 && len(rows)+2 > height {
		d.drawn = 0
		d.lines(rows)
		return
	}
	text := tableText(rows)
	if text == d.shown {
		return
	}
	d.shown = text
	var screen bytes.Buffer
	if d.drawn > 0 {
		fmt.Fprintf(&screen, "\x1b[%dA\x1b[J", d.drawn)
	}
	d.drawn = 0
	for line := range strings.Lines(text) {
		line = cut(strings.TrimRight(line, "\n "), width)
		screen.WriteString(d.colour(line, rows, d.drawn-1))
		screen.WriteByte('\n')
		d.drawn++
	}
	_, _ = d.out.Write(screen.Bytes())
}

// colour paints the phase in a line of the table; the line has its final width already.
func (d *display) colour(line string, rows []Row, i int) string {
	if i < 0 || i >= len(rows) {
		return d.paint.Dim(line)
	}
	phase := string(rows[i].Phase)
	paint := d.paint.Busy
	switch {
	case rows[i].Phase == Ready:
		paint = d.paint.Good
	case rows[i].bad():
		paint = d.paint.Bad
	}
	before, after, ok := strings.Cut(line[min(len(rows[i].Name), len(line)):], phase)
	if !ok {
		return line
	}
	return line[:len(rows[i].Name)] + before + paint(phase) + after
}

// cut keeps a line inside the terminal, so that it is one line there too.
func cut(line string, width int) string {
	if width <= 1 || utf8.RuneCountInString(line) < width {
		return line
	}
	return string([]rune(line)[:width-2]) + "…"
}

func bar(r Row) string {
	if r.Total <= 0 {
		return r.Detail
	}
	const length = 20
	full := int(r.Done * length / r.Total)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", length-full) + "] " + r.progress()
}
