// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// Canary is what a canary predictor may have.
type Canary struct {
	Name  string // spec.canary[].predictor.name
	Index int    // in spec.canary
	// Percent of the requests, and Shadow, of copies of requests, that it asks for.
	Percent int32
	Shadow  int32 `json:",omitempty"`
	// Ready says that it can serve.
	Ready bool
	// Weight and Copies are what of that is in force: nothing before it is ready, and no more than its measurements allow.
	Weight int32
	Copies int32 `json:",omitempty"`
}

// Unplanned is a canary predictor that cannot be made as it is written. What an earlier entry of its name made stays.
type Unplanned struct {
	Canary

	// Workload that it has, or would have; empty where it has no name of its own.
	Workload string
	Why      *Blocked
}

// Track is a canary predictor, planned or not.
type Track struct {
	*Canary

	Workload string
}

// Tracks are all canary predictors in the order of spec.canary.
func (p *Plan) Tracks() []Track {
	var all []Track
	for i := range p.Components {
		if c := &p.Components[i]; c.Canary != nil {
			all = append(all, Track{c.Canary, c.Name})
		}
	}
	for i := range p.Unplanned {
		all = append(all, Track{&p.Unplanned[i].Canary, p.Unplanned[i].Workload})
	}
	slices.SortFunc(all, func(a, b Track) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

// Keeps says that an object belongs to a canary that cannot be planned now, so that it stays as it is.
func (p *Plan) Keeps(name string) bool {
	return slices.ContainsFunc(p.Unplanned, func(u Unplanned) bool { return u.Workload == name }) &&
		!slices.ContainsFunc(p.Components, func(c Component) bool { return c.Name == name })
}

// Drop takes a canary predictor out of what is to be made, and says whether there was one of the workload's name.
func (p *Plan) Drop(workload string, why *Blocked) bool {
	i := slices.IndexFunc(p.Components, func(c Component) bool { return c.Canary != nil && c.Name == workload })
	if i < 0 {
		return false
	}
	p.Unplanned = append(p.Unplanned, Unplanned{Canary: *p.Components[i].Canary, Workload: workload, Why: why})
	p.Components = slices.Delete(p.Components, i, i+1)
	return true
}
