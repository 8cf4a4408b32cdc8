// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// What one damaged file may cost. The limits are far above what real files of these sizes take, for a busy machine.
const (
	mutantBytes = 512 << 20
	mutantTime  = 20 * time.Second
)

// TestDamagedModelsAreRefusedOrHarmless changes real model files at random, opens them, and sends what opens all kinds of inputs.
// MUTATE_SECONDS lengthens it; MUTATE_SEED repeats a run from its start; MUTATE_MATCH picks cases.
func TestDamagedModelsAreRefusedOrHarmless(t *testing.T) {
	duration, seed := 8*time.Second, uint64(1)
	if s := os.Getenv("MUTATE_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		duration = time.Duration(n) * time.Second
	}
	if s := os.Getenv("MUTATE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	m := &mutator{dir: t.TempDir(), engines: Engines(), seen: map[string]bool{}}
	m.collect(t, os.Getenv("MUTATE_MATCH"))
	require.NotEmpty(t, m.originals)
	end := time.Now().Add(duration)
	opened, tried := 0, 0
	for ; time.Now().Before(end); seed++ {
		tried++
		if m.round(t, seed) {
			opened++
		}
	}
	t.Logf("%d damaged files, %d of them opened; the next seed is %d", tried, opened, seed)
	require.NotZero(t, opened)
	require.Less(t, opened, tried)
}

type original struct {
	name, format, ending string
	data                 []byte
}

type mutator struct {
	dir       string
	engines   map[string]engine.Engine
	originals []original
	seen      map[string]bool
}

// collect reads every recorded model that is small enough to be changed often.
func (m *mutator) collect(t *testing.T, match string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "data", "models", "*", "case.json"))
	require.NoError(t, err)
	for _, path := range paths {
		if !strings.Contains(path, match) {
			continue
		}
		c, err := readCase(path)
		require.NoError(t, err)
		e := m.engines[c.Format]
		if e == nil {
			continue
		}
		for _, f := range c.Files {
			data, err := os.ReadFile(filepath.Join(c.dir, "model", f))
			require.NoError(t, err)
			if len(data) < 100<<10 && slices.Contains(e.Extensions(), filepath.Ext(f)) {
				m.originals = append(m.originals, original{c.Name, c.Format, filepath.Ext(f), plain(data)})
			}
		}
	}
}

// plain is the contents of a compressed file: a changed byte of the compression itself is nearly always caught by its checksum.
func plain(data []byte) []byte {
	var r io.Reader
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		r, err = gzip.NewReader(bytes.NewReader(data))
	case bytes.HasPrefix(data, []byte("BZh")):
		r = bzip2.NewReader(bytes.NewReader(data))
	case len(data) > 1 && data[0] == 0x78:
		r, err = zlib.NewReader(bytes.NewReader(data))
	default:
		return data
	}
	if err != nil {
		return data
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return data
	}
	return all
}

// round makes, opens and asks one file; it reports whether it opened.
func (m *mutator) round(t *testing.T, seed uint64) bool {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	o := m.originals[r.IntN(len(m.originals))]
	data := o.data
	for range 1 + r.IntN(3) {
		data = m.change(r, o, data)
	}
	file := filepath.Join(m.dir, "model"+o.ending)
	require.NoError(t, os.WriteFile(file, data, 0o600))
	what := fmt.Sprintf("seed %d, %s", seed, o.name)
	fail := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if at := firstFrame(text); !m.seen[at] { // one report for each place
			m.seen[at] = true
			t.Errorf("%s: %s", what, text)
		}
	}
	// A loop without an end is found by the clock; the file is kept for who looks into it.
	clock := time.AfterFunc(mutantTime, func() { panic(what + ": takes too long") })
	defer clock.Stop()
	before := allocated()
	defer func() {
		if spent := allocated() - before; spent > mutantBytes {
			fail("allocates %d bytes for a file of %d", spent, len(data))
		}
		if p := recover(); p != nil {
			fail("panic: %v\n%s", p, debug.Stack())
		}
	}()
	start := time.Now()
	model, err := m.engines[o.format].Open(t.Context(), file, engine.Options{})
	if took := time.Since(start); took > 3*time.Second {
		t.Logf("%s: opening takes %v", what, took)
	}
	if err != nil {
		var bad *engine.BadModel
		var unsupported *engine.Unsupported
		if !errors.As(err, &bad) && !errors.As(err, &unsupported) {
			fail("refused with %T: %v", err, err)
		}
		return false
	}
	askEverything(t.Context(), model, fail)
	if took := time.Since(start); took > 5*time.Second {
		t.Logf("%s: all requests take %v", what, took)
	}
	require.NoError(t, model.Close())
	return true
}

func firstFrame(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "/pkg/data/") {
			place, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			return place
		}
	}
	return text
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// interesting are integers at which bounds lie.
var interesting = []int64{0, 1, 2, -1, 7, 255, 256, 0x7fff, 0x7fffffff, -0x80000000, 1 << 31, 1 << 40, 1 << 62, math.MaxInt64, math.MinInt64}

var numbers = regexp.MustCompile(`-?[0-9][0-9.eE+-]*`)

// words replace a number in a text.
var words = []string{"-1", "0", "1", "2", "3", "255", "1e308", "nan", "NaN", "-inf", "Infinity", "2147483647", "-2147483648", "9223372036854775807", "1e999999", "1000000", "", "x", "[]", "{}", "null", `"a"`}

// change makes one change.
func (m *mutator) change(r *rand.Rand, o original, data []byte) []byte {
	if len(data) < 16 {
		return data
	}
	data = slices.Clone(data)
	at := r.IntN(len(data))
	n := min(1+r.IntN(1<<r.IntN(9)), len(data)-at)
	text := data[0] == '{' && data[1] != 'L' || o.format == "lightgbm"
	switch k := r.IntN(12); {
	case k == 0:
		return data[:at]
	case k == 1:
		return slices.Delete(data, at, at+n)
	case k == 2:
		return slices.Insert(data, at, data[at:at+n]...)
	case k == 3:
		to := r.IntN(len(data))
		copy(data[to:], slices.Clone(data[at:at+n]))
	case text && k < 9:
		// One of the numbers after a random place.
		if loc := numbers.FindIndex(data[at:]); loc != nil {
			return slices.Replace(data, at+loc[0], at+loc[1], []byte(words[r.IntN(len(words))])...)
		}
	case text:
		lines := bytes.Split(data, []byte("\n"))
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		if k == 9 {
			lines[i], lines[j] = lines[j], lines[i]
		} else {
			lines[i] = lines[j]
		}
		return bytes.Join(lines, []byte("\n"))
	case k < 7:
		return change8(r, data, at)
	case k < 10 && o.format == "sklearn":
		changeOpcode(r, data, at)
	default:
		data[at] ^= 1 << r.IntN(8)
	}
	return data
}

// change8 overwrites one fixed-width number.
func change8(r *rand.Rand, data []byte, at int) []byte {
	v := uint64(interesting[r.IntN(len(interesting))])
	var b [8]byte
	switch r.IntN(4) {
	case 0:
		binary.LittleEndian.PutUint64(b[:], v)
	case 1:
		binary.BigEndian.PutUint64(b[:], v)
	case 2:
		binary.LittleEndian.PutUint64(b[:], math.Float64bits([]float64{math.NaN(), math.Inf(1), -1, 1e300, 0, 0.5}[r.IntN(6)]))
	default:
		binary.LittleEndian.PutUint32(b[:], uint32(v))
		copy(data[at:], b[:4])
		return data
	}
	copy(data[at:], b[:])
	return data
}

// changeOpcode changes the operand of the next opcode of a pickle that has one worth it: what a memo refers to, a small number, a name.
func changeOpcode(r *rand.Rand, data []byte, at int) {
	i := bytes.IndexAny(data[at:], "hKMJ")
	if i < 0 || at+i+2 > len(data) {
		return
	}
	i += at
	switch data[i] {
	case 'M', 'J':
		data[i+1] = byte(interesting[r.IntN(len(interesting))])
	case 'h':
		// Another value in its place: of another kind, or the one that is being built.
		data[i+1] = byte(int(data[i+1]) + r.IntN(21) - 10)
	default:
		data[i+1] = byte(r.IntN(4))
	}
}

// askEverything sends every kind of input for every method.
func askEverything(ctx context.Context, m engine.Model, fail func(format string, args ...any)) {
	meta := m.Metadata()
	for what, in := range everyInput(&meta) {
		if e, ok := m.(engine.Explainer); ok {
			var own *protocol.Error
			if err := e.Explain(ctx, in, &tensor.Response{}); err != nil && !errors.As(err, &own) {
				fail("explanation of %s: %T %v", what, err, err)
			}
		}
		for _, method := range append(slices.Clone(meta.Methods), "", "no_such_method") {
			in.Method = method
			var out tensor.Response
			err := m.Predict(ctx, in, &out)
			if err == nil {
				for _, o := range out.Outputs {
					if n, ok := tensor.Elements(o.Shape); !ok || n != o.Len() {
						fail("%s of %s: an answer of shape %v with %d elements", method, what, o.Shape, o.Len())
					}
				}
				continue
			}
			var e *protocol.Error
			if !errors.As(err, &e) || !slices.Contains([]protocol.Code{protocol.Invalid, protocol.Unsupported, protocol.TooLarge}, e.Code) {
				fail("%s of %s: %T %v", method, what, err, err)
			}
		}
	}
}

// everyInput are inputs that a decoder may hand over, those that fit and those that do not.
func everyInput(meta *engine.Metadata) map[string]*tensor.Request {
	width := int64(3)
	if len(meta.Inputs) > 0 && len(meta.Inputs[0].Shape) == 2 && meta.Inputs[0].Shape[1] > 0 {
		width = min(meta.Inputs[0].Shape[1], 1<<12)
	}
	fill := func(n int64, f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	some := func(i int) float64 { return float64(i%7)*1.5 - 2 }
	one := func(t ...*tensor.Tensor) *tensor.Request { return &tensor.Request{Inputs: t} }
	fp64 := func(f func(i int) float64, shape ...int64) *tensor.Tensor {
		n, _ := tensor.Elements(shape)
		return tensor.From("input-0", tensor.FP64, fill(int64(n), f), shape...)
	}
	constant := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	text := func(s string, n int64) []string { return slices.Repeat([]string{s}, int(n)) }
	columns := func(rows int, named bool) *tensor.Request {
		in := &tensor.Request{Frame: true}
		for i := range width {
			name := fmt.Sprintf("column %d", i)
			if named && int(i) < len(meta.Features) {
				name = meta.Features[i]
			}
			if i%2 == 0 {
				in.Inputs = append(in.Inputs, tensor.From(name, tensor.FP64, fill(int64(rows), some), int64(rows)))
			} else {
				in.Inputs = append(in.Inputs, tensor.FromStrings(name, text("1", int64(rows)), int64(rows)))
			}
		}
		return in
	}
	nulls := tensor.FromStrings("input-0", text("", 2*width), 2, width)
	for i := range nulls.Len() {
		nulls.SetNull(i, tensor.Null(1+i%2))
	}
	halves := make([]uint16, width)
	large := make([]int64, width)
	for i := range large {
		large[i], halves[i] = math.MaxInt64-int64(i%2)*math.MaxInt64*2, uint16(i*4919)
	}
	named := columns(2, true)
	byName := columns(2, false)
	byName.ByName = true
	texts := one(tensor.FromStrings("input-0", text("1", width), 1, width))
	texts.Text = true
	options := one(fp64(some, 2, width))
	options.Parameters = tensor.Parameters{"iteration_range": "5,-7", "output_margin": true, "pred_leaf": "x", "num_iteration": int64(math.MinInt64), "start_iteration": int64(math.MaxInt64), "raw_score": 2.5, "pred_contribs": true, "return_std": true}
	return map[string]*tensor.Request{
		"a matrix": one(fp64(some, 3, width)), "no rows": one(fp64(some, 0, width)), "no columns": one(fp64(some, 2, 0)),
		"a wide matrix": one(fp64(some, 1, width+1)), "a narrow matrix": one(fp64(some, 1, width-1)), "a vector": one(fp64(some, width)),
		"a scalar": one(fp64(some)), "three dimensions": one(fp64(some, 2, 1, width)),
		"NaN": one(fp64(constant(math.NaN()), 1, width)), "infinity": one(fp64(constant(math.Inf(-1)), 1, width)),
		"huge numbers": one(fp64(constant(1e308), 1, width)), "negative numbers": one(fp64(constant(-7), 1, width)),
		"words": one(tensor.FromStrings("input-0", text("Lima", width), 1, width)), "numbers in text": one(tensor.FromStrings("input-0", text("1", width), 1, width)),
		"text": texts, "no UTF-8": one(tensor.FromStrings("input-0", text("\xff\xfe\x00", width), 1, width)),
		"absent elements": one(nulls), "halves": one(tensor.From("input-0", tensor.FP16, halves, 1, width)), "large integers": one(tensor.From("input-0", tensor.Int64, large, 1, width)),
		"bools": one(tensor.From("input-0", tensor.Bool, make([]bool, width), 1, width)), "one column of words": one(tensor.FromStrings("input-0", []string{"a", "b"}, 2)),
		"nothing": one(), "two matrices": one(fp64(some, 1, width), fp64(some, 1, width)),
		"named columns": named, "other columns": columns(2, false), "columns by name": byName, "columns without rows": columns(0, true),
		"no columns at all": {Frame: true}, "parameters": options,
	}
}
