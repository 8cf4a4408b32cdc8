// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// model answers the double of each row of one FP64 column, and keeps what it was asked.
type model struct {
	mu    sync.Mutex
	asked [][]float64
	held  atomic.Int64  // references
	hold  chan struct{} // each prediction takes one, when it is not nil
	ended atomic.Int64  // predictions whose context ended
	whole bool          // the answer is one number for all rows
}

func (m *model) Nameless() bool { return true }
func (m *model) Retain()        { m.held.Add(1) }
func (m *model) Release()       { m.held.Add(-1) }

var errBad = errors.New("a bad row")

func (m *model) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	values, _ := in.Inputs[0].AppendFloat64s(nil)
	m.mu.Lock()
	m.asked = append(m.asked, values)
	m.mu.Unlock()
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			m.ended.Add(1)
			return ctx.Err()
		}
	}
	for _, v := range values {
		switch v {
		case -1:
			return errBad
		case -2:
			panic("a fault")
		}
	}
	n := len(values)
	if m.whole {
		n = 1
	}
	answer := tensor.View[float64](out.Add("y", tensor.FP64, int64(n)))
	for i := range n {
		answer[i] = 2 * values[i]
	}
	return nil
}

func column(v ...float64) *tensor.Request {
	return &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, v, int64(len(v)), 1)}}
}

// patience is more than any test takes.
const patience = time.Hour

// asking is one request that runs.
type asking struct {
	done chan struct{}
	got  []float64
	err  error
	p    any // what it panicked with
}

func ask(ctx context.Context, b *Batcher[*model], m *model, r *tensor.Request) *asking {
	a := &asking{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		defer func() { a.p = recover() }()
		var out tensor.Response
		if _, a.err = b.Predict(ctx, m, Ask{Request: r, Answer: &out, Patience: patience}); a.err == nil {
			a.got = tensor.View[float64](out.Outputs[0])
		}
	}()
	synctest.Wait()
	return a
}

// busy is a batcher whose one worker is held by a request of the row 0 until m.hold gives.
func busy(t *testing.T, o Options) (*Batcher[*model], *model, *asking) {
	t.Helper()
	m := &model{hold: make(chan struct{})}
	b := New[*model](o, nil)
	return b, m, ask(t.Context(), b, m, column(0))
}

func TestRequestsAreJoinedWhileTheModelIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, first := busy(t, Options{Rows: 4})
		others := []*asking{
			ask(t.Context(), b, m, column(1)),
			ask(t.Context(), b, m, column(2, 3)),
			ask(t.Context(), b, m, column(4, 5)), // no room any more
			ask(t.Context(), b, m, column(6)),
			ask(t.Context(), b, m, column(7, 8, 9, 10, 11)), // more than a batch: alone
		}
		require.Equal(t, 5, b.Waiting())
		close(m.hold)
		synctest.Wait()
		<-first.done
		require.Equal(t, [][]float64{{0}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9, 10, 11}}, m.asked)
		for i, want := range [][]float64{{2}, {4, 6}, {8, 10}, {12}, {14, 16, 18, 20, 22}} {
			<-others[i].done
			require.NoError(t, others[i].err)
			require.Equal(t, want, others[i].got)
		}
		require.Zero(t, b.Waiting())
		require.Zero(t, m.held.Load(), "the model is let go of")
	})
}

func TestAnIdleModelAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := New[*model](Options{Rows: 4}, nil)
		began := time.Now()
		for i := range 3 {
			a := ask(t.Context(), b, m, column(float64(i)))
			<-a.done
			require.Equal(t, []float64{2 * float64(i)}, a.got)
		}
		require.Zero(t, time.Since(began))
	})
}

func TestADelayWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := New[*model](Options{Rows: 3, Delay: time.Second}, nil)
		began := time.Now()
		a, c := ask(t.Context(), b, m, column(1)), ask(t.Context(), b, m, column(2))
		<-a.done
		<-c.done
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, [][]float64{{1, 2}}, m.asked)
		a, c = ask(t.Context(), b, m, column(3)), ask(t.Context(), b, m, column(4, 5))
		<-a.done
		<-c.done
		require.Equal(t, time.Second, time.Since(began), "a full batch does not wait")
	})
}

func TestABadRequestHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := busy(t, Options{Rows: 8})
		fine, bad, explodes := ask(t.Context(), b, m, column(1)), ask(t.Context(), b, m, column(-1)), ask(t.Context(), b, m, column(-2))
		close(m.hold)
		<-fine.done
		<-bad.done
		<-explodes.done
		require.Equal(t, []float64{2}, fine.got)
		require.ErrorIs(t, bad.err, errBad)
		require.Equal(t, "a fault", explodes.p)
		require.Zero(t, m.held.Load())

		// The worker's place was given back.
		after := ask(t.Context(), b, m, column(5))
		<-after.done
		require.Equal(t, []float64{10}, after.got)
	})
}

func TestAnAnswerThatCannotBeTakenApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := busy(t, Options{Rows: 8})
		m.whole = true
		a, c := ask(t.Context(), b, m, column(1)), ask(t.Context(), b, m, column(2))
		close(m.hold)
		<-a.done
		<-c.done
		require.Equal(t, []float64{2}, a.got)
		require.Equal(t, []float64{4}, c.got)
		require.Len(t, m.asked, 4)
		require.Equal(t, m, b.single, "it is not tried again")
	})
}

func TestWhatNobodyWaitsForIsNotComputed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := busy(t, Options{Rows: 8})
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gone, leave := context.WithCancel(t.Context())
		a, c, stays := ask(late, b, m, column(1)), ask(gone, b, m, column(2)), ask(t.Context(), b, m, column(3))
		leave()
		<-c.done
		require.ErrorIs(t, c.err, context.Canceled)
		<-a.done
		require.ErrorIs(t, a.err, context.DeadlineExceeded)
		require.Equal(t, 1, b.Waiting())
		close(m.hold)
		<-stays.done
		require.Equal(t, [][]float64{{0}, {3}}, m.asked)

		require.Zero(t, m.held.Load())
	})
}

func TestABatchThatNobodyWantsAnyMoreEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, first := busy(t, Options{Rows: 8})
		gone, leave := context.WithCancel(t.Context())
		a, c := ask(gone, b, m, column(1)), ask(gone, b, m, column(2))
		m.hold <- struct{}{}
		<-first.done
		synctest.Wait()
		require.Equal(t, [][]float64{{0}, {1, 2}}, m.asked)
		leave()
		<-a.done
		<-c.done
		require.ErrorIs(t, a.err, context.Canceled)
		require.ErrorIs(t, c.err, context.Canceled)
		require.Equal(t, int64(1), m.ended.Load())

		// One that stays gets its answer, though the request that began the prediction left.
		first = ask(t.Context(), b, m, column(0))
		gone, leave = context.WithCancel(t.Context())
		a, c = ask(gone, b, m, column(3)), ask(t.Context(), b, m, column(4))
		other := ask(gone, b, m, column(5))
		m.hold <- struct{}{}
		<-first.done
		synctest.Wait()
		leave()
		<-other.done
		require.ErrorIs(t, other.err, context.Canceled, "it does not wait for the end")
		m.hold <- struct{}{}
		<-a.done
		<-c.done
		require.ErrorIs(t, a.err, context.Canceled)
		require.Equal(t, []float64{8}, c.got)
		require.Zero(t, m.held.Load())
	})
}

// A request waits no longer than it may, and one that would be late does not wait for others.
func TestTheWaitHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, first := busy(t, Options{Rows: 8})
		began := time.Now()
		var out tensor.Response
		waited, err := b.Predict(t.Context(), m, Ask{Request: column(1), Answer: &out, Patience: time.Second})
		require.ErrorIs(t, err, ErrBusy)
		require.Equal(t, time.Second, waited)
		require.Equal(t, time.Second, time.Since(began))
		require.Zero(t, b.Waiting())
		close(m.hold)
		<-first.done
		require.Equal(t, [][]float64{{0}}, m.asked)

		b.Set(Options{Rows: 8, Delay: time.Minute})
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		patient := ask(t.Context(), b, m, column(1))
		hurried := ask(soon, b, m, column(2))
		<-patient.done
		<-hurried.done
		require.NoError(t, hurried.err)
		require.Equal(t, []float64{4}, hurried.got)
		require.Zero(t, time.Since(began))
		require.Equal(t, [][]float64{{0}, {1, 2}}, m.asked, "who waits already comes along")
		require.Zero(t, m.held.Load())
	})
}

// The deadline passes while a joined prediction fails: the request is not computed again on its own.
func TestALateRequestIsNotComputedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, first := busy(t, Options{Rows: 8})
		late, cancel := context.WithCancel(t.Context())
		bad, a := ask(t.Context(), b, m, column(-1)), ask(late, b, m, column(1))
		m.hold <- struct{}{}
		<-first.done
		synctest.Wait() // the joined prediction runs
		cancel()
		synctest.Wait()
		<-a.done
		require.ErrorIs(t, a.err, context.Canceled)
		close(m.hold)
		<-bad.done
		require.ErrorIs(t, bad.err, errBad)
		require.Equal(t, [][]float64{{0}, {-1, 1}, {-1}}, m.asked)
	})
}

// Whoever came first is answered first, whatever kind of request it is: kinds that come often do not starve another.
func TestTheOldestGroupIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := busy(t, Options{Rows: 4})
		integer := func(v int64) *tensor.Request {
			return &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.Int64, []int64{v}, 1, 1)}}
		}
		for i := range 3 {
			ask(t.Context(), b, m, column(1+float64(i)))
		}
		ask(t.Context(), b, m, integer(100))
		ask(t.Context(), b, m, column(1, 1, 1, 1, 1)) // alone
		for i := range 6 {
			ask(t.Context(), b, m, column(11+float64(i)))
			ask(t.Context(), b, m, integer(101+int64(i)))
		}
		close(m.hold)
		synctest.Wait()
		require.Equal(t, [][]float64{
			{0}, {1, 2, 3, 11}, {100, 101, 102, 103}, {1, 1, 1, 1, 1}, {12, 13, 14, 15}, {104, 105, 106}, {16},
		}, m.asked)
	})
}

func TestOnlyRequestsOfOneKindAreJoined(t *testing.T) {
	base := func() *tensor.Request { return column(1) }
	kind := func(r *tensor.Request) string {
		k, ok := appendKind(nil, r, true)
		require.True(t, ok)
		return string(k)
	}
	for name, change := range map[string]func(r *tensor.Request){
		"the method":            func(r *tensor.Request) { r.Method = "predict_proba" },
		"the parameters":        func(r *tensor.Request) { r.Parameters = tensor.Parameters{"a": int64(1)} },
		"a parameter's type":    func(r *tensor.Request) { r.Parameters = tensor.Parameters{"a": 1.0} },
		"the outputs":           func(r *tensor.Request) { r.Outputs = []tensor.Output{{Name: "a"}} },
		"the type":              func(r *tensor.Request) { r.Inputs[0] = tensor.From("x", tensor.Int64, []int64{1}, 1, 1) },
		"the width":             func(r *tensor.Request) { r.Inputs[0] = tensor.From("x", tensor.FP64, []float64{1, 2}, 1, 2) },
		"the rank":              func(r *tensor.Request) { r.Inputs[0] = tensor.From("x", tensor.FP64, []float64{1}, 1) },
		"a frame":               func(r *tensor.Request) { r.Frame = true },
		"names that bind":       func(r *tensor.Request) { r.Frame, r.ByName = true, true },
		"an absent element":     func(r *tensor.Request) { r.Inputs[0].SetNull(0, tensor.NaN) },
		"an input's parameters": func(r *tensor.Request) { r.Inputs[0].Parameters = tensor.Parameters{"content_type": "np"} },
		"another input":         func(r *tensor.Request) { r.Inputs = append(r.Inputs, column(1).Inputs[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			r := base()
			change(r)
			require.NotEqual(t, kind(base()), kind(r))
		})
	}
	same := base()
	same.ID, same.Parameters = "other", tensor.Parameters{"binary_data_output": true}
	same.Inputs[0].Name = "instances"
	require.Equal(t, kind(base()), kind(same))
	words, objects := base(), base()
	words.Inputs[0], objects.Inputs[0] = tensor.FromStrings("x", []string{"a"}, 1), tensor.FromStrings("x", []string{"a"}, 1)
	words.Text = true
	require.NotEqual(t, kind(words), kind(objects))
	named, _ := appendKind(nil, same, false)
	other, _ := appendKind(nil, base(), false)
	require.NotEqual(t, named, other, "a model that reads the name")

	strange := base()
	strange.Parameters = tensor.Parameters{"a": []string{"b"}}
	_, ok := appendKind(nil, strange, true)
	require.False(t, ok)
	for rows, r := range map[int]*tensor.Request{
		1: base(),
		0: {Inputs: []*tensor.Tensor{column(1).Inputs[0], column(1, 2).Inputs[0]}},
	} {
		require.Equal(t, rows, Rows(r))
	}
	require.Zero(t, Rows(&tensor.Request{}))
	require.Zero(t, Rows(&tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{1})}}), "a scalar")
}

func TestSettingsChangeWhileRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := busy(t, Options{Rows: 2})
		a := ask(t.Context(), b, m, column(1, 2, 3))
		b.Set(Options{Rows: 8, Workers: 2})
		synctest.Wait()
		require.Zero(t, b.Waiting(), "there is a second worker now")
		b.Set(Options{})
		require.False(t, b.On())
		close(m.hold)
		<-a.done
		require.Equal(t, []float64{2, 4, 6}, a.got)
	})
}

// Callers come, wait, go away and fail at random: each gets its own answer or its own error.
func TestManyAtOnce(t *testing.T) {
	m := &model{}
	var joined atomic.Int64
	b := New[*model](Options{Rows: 16, Workers: 2}, func(requests, _ int) {
		if requests > 1 {
			joined.Add(1)
		}
	})
	var callers sync.WaitGroup
	for c := range 32 {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			var out tensor.Response
			for i := range 400 {
				v := make([]float64, 1+random.IntN(5))
				for j := range v {
					v[j] = float64(c*1000 + i)
				}
				bad := random.IntN(50) == 0
				if bad {
					v[0] = -1
				}
				ctx, cancel := context.WithCancel(context.Background())
				if random.IntN(10) == 0 {
					time.AfterFunc(time.Duration(random.IntN(100))*time.Microsecond, cancel)
				}
				out.Reset()
				_, err := b.Predict(ctx, m, Ask{Request: column(v...), Answer: &out, Patience: patience})
				switch {
				case ctx.Err() != nil:
				case bad && !errors.Is(err, errBad), !bad && err != nil:
					t.Errorf("error %v", err)
				case bad:
				default:
					want := make([]float64, len(v))
					for j := range v {
						want[j] = 2 * v[j]
					}
					if got := fmt.Sprint(tensor.View[float64](out.Outputs[0])); got != fmt.Sprint(want) {
						t.Errorf("got %s, want %v", got, want)
					}
				}
				cancel()
			}
		})
	}
	callers.Wait()
	require.Positive(t, joined.Load())
	require.Zero(t, b.Waiting())
	require.Zero(t, m.held.Load())
	require.Zero(t, b.running)
	require.Empty(t, b.open)
}

type quick struct{}

func (*quick) Nameless() bool { return true }
func (*quick) Retain()        {}
func (*quick) Release()       {}
func (*quick) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	copy(out.Add("y", tensor.FP64, int64(in.Inputs[0].Rows())).Raw(), in.Inputs[0].Raw())
	return nil
}

func BenchmarkIdle(b *testing.B) {
	batcher, m := New[*quick](Options{Rows: 32}, nil), &quick{}
	r, out := column(1), tensor.Response{}
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if _, err := batcher.Predict(context.Background(), m, Ask{Request: r, Answer: &out, Patience: patience}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBusy(b *testing.B) {
	batcher, m := New[*quick](Options{Rows: 32}, nil), &quick{}
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r, out := column(1), tensor.Response{}
		for pb.Next() {
			out.Reset()
			if _, err := batcher.Predict(context.Background(), m, Ask{Request: r, Answer: &out, Patience: patience}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
