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

// pin is the version that is meant by a caller's word; empty is the newest that can serve. A version may be named latest.
func (s *Server) pin(name, version string) string {
	if version != latest {
		return version
	}
	if versions := s.models.Versions(name); len(versions) == 0 || slices.Contains(versions, latest) {
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

func (s *Server) indexEntries(ready bool) []v2.IndexEntry {
	var entries []v2.IndexEntry
	for _, e := range s.models.Index() {
		if !ready || e.State == repository.Ready {
			entries = append(entries, v2.IndexEntry{Name: e.Name, Version: e.Version, State: string(e.State), Reason: e.Reason})
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
