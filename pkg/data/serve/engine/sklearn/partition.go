// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"cmp"
	"slices"
)

// selection orders the indexes of values until the k least stand first, as NumPy's argpartition does: which of several equal values
// come first decides which neighbours count, so its steps are followed one by one.
type selection struct {
	v  []float64
	at []int32
}

func (s selection) less(i, j int) bool { return s.v[s.at[i]] < s.v[s.at[j]] }
func (s selection) swap(i, j int)      { s.at[i], s.at[j] = s.at[j], s.at[i] }

// least puts the indexes of the k least values first, in no order but a fixed one.
func (s selection) least(k int) {
	for i := range s.at {
		s.at[i] = int32(i)
	}
	kth := k - 1
	if kth < 3 {
		for i := range k {
			least := i
			for j := i + 1; j < len(s.at); j++ {
				if s.less(j, least) {
					least = j
				}
			}
			s.swap(i, least)
		}
		return
	}
	low, high := 0, len(s.at)-1
	if kth == high {
		// The greatest goes last; of equal ones the last.
		greatest := low
		for j := low + 1; j <= high; j++ {
			if !s.less(j, greatest) {
				greatest = j
			}
		}
		s.swap(kth, greatest)
		return
	}
	for low+1 < high {
		s.pivot(low, low+(high-low)/2, high)
		up, down := s.split(low, high)
		s.swap(low, down)
		if down >= kth {
			high = down - 1
		}
		if down <= kth {
			low = up
		}
	}
	if high == low+1 && s.less(high, low) {
		s.swap(high, low)
	}
}

// first puts the indexes of the least values first, as many as h holds, and of equal values the first.
func (s selection) first(h nearest) {
	h.reset()
	for i, v := range s.v {
		h.push(v, int32(i))
	}
	copy(s.at, h.index)
	slices.SortFunc(s.at[:len(h.index)], func(i, j int32) int {
		if c := cmp.Compare(s.v[i], s.v[j]); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
}

// pivot puts the median of three at low, the least of them after it.
func (s selection) pivot(low, mid, high int) {
	if s.less(high, mid) {
		s.swap(high, mid)
	}
	if s.less(high, low) {
		s.swap(high, low)
	}
	if s.less(low, mid) {
		s.swap(low, mid)
	}
	s.swap(mid, low+1)
}

// split parts what is less than the pivot at low from what is greater. The pivot and its two neighbours bound the scans.
func (s selection) split(low, high int) (up, down int) {
	pivot := s.v[s.at[low]]
	up, down = low+1, high
	for {
		for up++; s.v[s.at[up]] < pivot; up++ {
		}
		for down--; pivot < s.v[s.at[down]]; down-- {
		}
		if down < up {
			return up, down
		}
		s.swap(up, down)
	}
}
