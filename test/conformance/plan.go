// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"path"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

const (
	customFolder  = "kserve-custom"
	startupFolder = "kserve-startup"
)

// stage is exchanges that go on one server, in order.
type stage struct {
	args      []string // of the server, besides those of its folder
	adds      bool     // models are added to the server's directory first
	exchanges []exchange.Exchange
}

type plan struct {
	stages []stage
	notRun []NotRun
}

// wanted reports whether a group is asked for, and whether it is by its own name.
func (r *Runner) wanted(folder, group string) (ok, named bool) {
	for _, g := range strings.Split(r.options.Groups, ",") {
		if g == folder+"/"+group {
			return true, true
		}
		ok = ok || g == "" || g == folder
	}
	return ok, false
}

func (r *Runner) wantedFolders(folders []string) []string {
	var out []string
	for _, folder := range folders {
		for _, g := range strings.Split(r.options.Groups, ",") {
			if name, _, _ := strings.Cut(g, "/"); g == "" || name == folder {
				out = append(out, folder)
				break
			}
		}
	}
	return out
}

// plan says in which order the exchanges of a folder are played, and which cannot be.
func (r *Runner) plan(folder string) (plan, error) {
	groups, err := exchange.Groups(r.options.Dir, folder)
	if err != nil {
		return plan{}, err
	}
	s := setups[folder]
	var p plan
	var first, late []exchange.Exchange
	control, pages := stage{adds: len(s.prefix) > 0}, stage{args: []string{"--enable_docs_url=true"}}
	for _, group := range groups {
		all, err := exchange.Read(r.options.Dir, folder, group)
		if err != nil {
			return plan{}, err
		}
		if err := r.second(all); err != nil {
			return plan{}, err
		}
		if ok, _ := r.wanted(folder, group); !ok {
			p.skip(folder, group, all, notWanted)
			continue
		}
		if why := r.cannot(folder, group); why != "" {
			p.skip(folder, group, all, why)
			continue
		}
		for i := range all {
			e := all[i]
			adapt(&e)
			switch why := r.cannotPlay(&e); {
			case !strings.Contains(path.Join(folder, group, e.Name), r.options.Only):
				p.skip(folder, group, all[i:i+1], notWanted)
			case why != "":
				p.skip(folder, group, all[i:i+1], why)
			case group == "docs":
				pages.exchanges = append(pages.exchanges, e)
			case slices.Contains(s.control, group):
				control.exchanges = append(control.exchanges, e)
			case e.Name == "metrics-before-traffic":
				first = slices.Insert(first, 0, e)
			case group == "metrics":
				late = append(late, e)
			default:
				first = append(first, e)
			}
		}
	}
	slices.SortStableFunc(control.exchanges, func(a, b exchange.Exchange) int {
		return slices.Index(s.control, a.Group) - slices.Index(s.control, b.Group)
	})
	if len(s.prefix) > 0 && len(late) > 0 {
		// The metrics of a repository tell of the models of its sequences.
		if len(control.exchanges) > 0 {
			control.exchanges = append(control.exchanges, late...)
		} else {
			p.skip(folder, late[0].Group, late, "tells of what the sequences of repository control did: name them, too")
		}
		late = nil
	}
	for _, st := range []stage{{exchanges: append(first, late...)}, control, pages} {
		if len(st.exchanges) > 0 {
			p.stages = append(p.stages, st)
		}
	}
	return p, nil
}

// notWanted is the cause of what is out of scope: the caller asked for other exchanges.
const notWanted = "not asked for"

// skip notes exchanges that are not played; those of one group for one cause are one line.
func (p *plan) skip(folder, group string, all []exchange.Exchange, why string) {
	what := folder + "/" + group
	if n := len(p.notRun); n > 0 && p.notRun[n-1].What == what && p.notRun[n-1].Why == why {
		p.notRun[n-1].Count += len(all)
		return
	}
	p.notRun = append(p.notRun, NotRun{What: what, Count: len(all), Why: why})
}

// cannot says why a group is not played; empty when it is.
func (r *Runner) cannot(folder, group string) string {
	s := setups[folder]
	_, named := r.wanted(folder, group)
	sequence := slices.Contains(s.control, group)
	switch {
	case r.options.URL == "":
		if folder == customFolder && r.options.Server != "" {
			return "the models of this folder are written in code: start a server with them and give its URL"
		}
		return ""
	case folder == startupFolder:
		return "starts a program: give its path with -server"
	case sequence && !named:
		return "changes which models the server has: name the group to play it"
	case sequence && len(s.prefix) > 0 && r.options.ModelRoot == "":
		return "adds models to the server's directory: give that directory as model root"
	case group == "docs" && !named:
		return "for a server with --enable_docs_url: name the group to play it"
	}
	return ""
}

// cannotPlay says why one exchange is not played.
func (r *Runner) cannotPlay(e *exchange.Exchange) string {
	if r.options.URL != "" && e.Call != nil && r.options.GRPC == "" {
		return "no gRPC address was given"
	}
	return ""
}

// beyond says what is better where the recording has no fault: an integer that the recorded server could not print is answered exactly,
// and the repository is listed over gRPC, too.
var beyond = map[string]exchange.Better{
	"kserve-custom/v1-results/bigint":             {Status: []int{200}, Body: `{"predictions":[18446744073709551616]}`},
	"kserve-sklearn/grpc-server/repository-index": {Code: []string{"OK", "UNIMPLEMENTED"}},
}

// adapt puts in what is beyond the recording.
func adapt(e *exchange.Exchange) {
	if better, ok := beyond[path.Join(e.Folder, e.Group, e.Name)]; ok {
		e.Fault, e.Better = "beyond", better
	}
}
