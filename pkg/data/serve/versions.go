// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// latest stands for the newest version that can serve, in the place of a version's name.
const latest = "latest"

// pin is the version that is meant by a caller's word; empty is the newest that can serve, or the model itself where it has no versions.
// A version may be named latest.
func (s *Server) pin(name, version string) string {
	if version != latest || slices.Contains(s.models.Versions(name), latest) {
		return version
	}
	return ""
}

// index answers what the repository holds: everything, or what is ready where the body asks for that.
func (s *Server) index(w http.ResponseWriter, r *http.Request) int {
	body, err := s.bodies.Read(w, r, nil)
	if err != nil {
		return s.refuse(w, nil, err)
	}
	defer s.bodies.Release(body)
	var asked struct {
		Ready bool `json:"ready"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &asked); err != nil {
			return s.refuse(w, nil, protocol.Wrap(err, protocol.Invalid, `the body must be a JSON object, whose "ready" is true or false`))
		}
	}
	return writeJSON(w, http.StatusOK, v2.AppendIndex(nil, s.indexEntries(asked.Ready)))
}

// indexEntries are the models that the server has, and, unless only ready ones are asked for, those that it could load.
func (s *Server) indexEntries(ready bool) []v2.IndexEntry {
	var entries []v2.IndexEntry
	has := map[string]bool{}
	for _, e := range s.models.Index() {
		has[e.Name] = true
		if !ready || e.State == repository.Ready {
			entries = append(entries, v2.IndexEntry{Name: e.Name, Version: e.Version, State: string(e.State), Reason: e.Reason})
		}
	}
	if ready {
		return entries
	}
	names, _ := s.models.RootNames() // without a directory of models there are no others
	for _, name := range names {
		if !has[name] {
			entries = append(entries, v2.IndexEntry{Name: name, State: string(repository.Unavailable), Reason: "not loaded"})
		}
	}
	return entries
}

// RepositoryIndex implements the inference service.
func (g *service) RepositoryIndex(_ context.Context, in *inferencev2.RepositoryIndexRequest) (*inferencev2.RepositoryIndexResponse, error) {
	out := &inferencev2.RepositoryIndexResponse{}
	for _, e := range g.server.indexEntries(in.GetReady()) {
		out.Models = append(out.Models, &inferencev2.RepositoryIndexResponse_ModelIndex{
			Name: e.Name, Version: e.Version, State: e.State, Reason: e.Reason,
		})
	}
	return out, nil
}
