// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/route"
)

// pathPrefix is where each service and graph is reached without its host name, as /serving/<namespace>/<name>/….
const pathPrefix = "/serving/"

// routes is where requests go. It is replaced whole, never changed.
type routes struct {
	hosts map[string]http.Handler
	paths map[string]http.Handler // by "<namespace>/<name>"
}

// ServeHTTP routes by Host as a cluster's ingress does, then by the path prefix; every other request is for the model server.
func (e *executor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if table := e.routes.Load(); table != nil {
		if h, ok := table.hosts[hostOf(r.Host)]; ok {
			h.ServeHTTP(w, r)
			return
		}
		if h, prefix, ok := table.byPath(r.URL.Path); ok {
			http.StripPrefix(prefix, h).ServeHTTP(w, r)
			return
		}
	}
	e.models.handler(0).ServeHTTP(w, r)
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = host
	}
	return strings.ToLower(strings.TrimSuffix(hostport, "."))
}

func (t *routes) byPath(path string) (h http.Handler, prefix string, ok bool) {
	rest, found := strings.CutPrefix(path, pathPrefix)
	if !found {
		return nil, "", false
	}
	namespace, rest, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "/")
	h, ok = t.paths[namespace+"/"+name]
	return h, pathPrefix + namespace + "/" + name, ok
}

// reach adds the ways to one service to the table; others may still be fetched for long. The caller holds mu.
func (e *executor) reach(w *work) {
	table := &routes{hosts: map[string]http.Handler{}, paths: map[string]http.Handler{}}
	if old := e.routes.Load(); old != nil {
		maps.Copy(table.hosts, old.hosts)
		maps.Copy(table.paths, old.paths)
	}
	table.add(w, e.models.handler(w.server))
	e.routes.Store(table)
}

func (t *routes) add(w *work, server http.Handler) {
	h := only(w.model, server)
	for _, host := range w.hosts {
		t.hosts[strings.ToLower(host)] = h
	}
	t.paths[w.service.Object.Namespace+"/"+w.service.Object.Name] = h
}

// route compiles the table of routes from what is served now.
func (e *executor) route(world *offline.World) {
	table := &routes{hosts: map[string]http.Handler{}, paths: map[string]http.Handler{}}
	e.mu.Lock()
	served := make(map[string]*work, len(e.served))
	for _, w := range e.served {
		served[w.service.Object.Namespace+"/"+w.service.Object.Name] = w
	}
	e.mu.Unlock()
	for _, w := range served {
		table.add(w, e.models.handler(w.server))
	}
	wanted := map[string]bool{}
	for _, g := range world.Graphs {
		wanted[g.Object.ID()] = true
		e.graph(world, g, served, table)
	}
	e.routes.Store(table)
	maps.DeleteFunc(e.graphs, func(id string, _ graphWays) bool { return !wanted[id] })
	e.board.mu.Lock()
	for id, row := range e.board.rows {
		if row.Kind == "InferenceGraph" && !wanted[id] {
			delete(e.board.rows, id)
		}
	}
	e.board.mu.Unlock()
	e.board.wake()
}

// only hides the models of other services, as in a cluster, where they are behind other hosts.
func only(model string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, prefix := range []string{"/v1/models/", "/v2/models/"} {
			rest, ok := strings.CutPrefix(r.URL.Path, prefix)
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(rest, "/")
			name, _, _ = strings.Cut(name, ":")
			if name != model && name != "" {
				answerError(w, protocol.Errorf(protocol.NotFound, "Model with name %s does not exist.", name))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func answerError(w http.ResponseWriter, err *protocol.Error) {
	answer(w, err.Code.HTTPStatus(), err.Message)
}

func answer(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if text, err := json.Marshal(map[string]string{"error": message}); err == nil {
		_, _ = w.Write(text)
	}
}

// graph adds one InferenceGraph to the table and to the board.
func (e *executor) graph(world *offline.World, g offline.Graph, served map[string]*work, table *routes) {
	id, key := g.Object.ID(), g.Object.Namespace+"/"+g.Object.Name
	e.board.set(id, func(r *Row) { *r = Row{Kind: "InferenceGraph", Name: key, Phase: Planned, Runtime: "router"} })
	ways, err := e.ways(world, g)
	before, known := e.graphs[id]
	switch {
	case errors.Is(err, errStopped):
		delete(e.graphs, id)
		e.fail(id, err, false)
		return
	case err != nil:
		if known {
			before.add(key, table)
		}
		e.fail(id, err, known)
		return
	}
	e.graphs[id] = ways
	ways.add(key, table)
	if missing := unserved(g, served); len(missing) > 0 {
		e.fail(id, fmt.Errorf("calls %s, which is not served now; see its own row", strings.Join(missing, ", ")), false)
		return
	}
	e.board.set(id, func(r *Row) {
		r.Phase, r.URL, r.Host = Ready, e.base()+pathPrefix+key, ways.host
		r.Model = fmt.Sprintf("%d nodes", len(g.Value.Spec.Nodes))
		if len(g.Value.Spec.Nodes) == 1 {
			r.Model = "1 node"
		}
	})
}

// graphWays are the handler of a graph and the names that lead to it.
type graphWays struct {
	handler http.Handler
	host    string // that of its URL
	hosts   []string
}

func (w graphWays) add(key string, table *routes) {
	for _, host := range w.hosts {
		table.hosts[host] = w.handler
	}
	table.paths[key] = w.handler
}

// ways plans and compiles a graph.
func (e *executor) ways(world *offline.World, g offline.Graph) (graphWays, error) {
	p, err := world.PlanGraph(g)
	if err != nil {
		return graphWays{}, err
	}
	if p.Stopped {
		return graphWays{}, errStopped
	}
	handler, err := e.compile(p)
	if err != nil {
		return graphWays{}, err
	}
	// A graph's plan has addresses, no hosts of its own.
	w := graphWays{handler: handler}
	for _, address := range []string{p.Route.Address, p.Route.URL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			w.host = hostOf(u.Host)
			w.hosts = append(w.hosts, w.host)
		}
	}
	for _, name := range hosts(world, p, &p.Components[0]) {
		w.hosts = append(w.hosts, strings.ToLower(name))
	}
	return w, nil
}

// unserved are the services that a graph's steps name and that do not answer now.
func unserved(g offline.Graph, served map[string]*work) []string {
	var missing []string
	for _, node := range g.Value.Spec.Nodes {
		for _, s := range node.Steps {
			if s.ServiceName != "" && s.ServiceURL == "" && served[g.Object.Namespace+"/"+s.ServiceName] == nil {
				missing = append(missing, s.ServiceName)
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// compile makes the handler of a graph from what its router would be told.
func (e *executor) compile(p *plan.Plan) (http.Handler, error) {
	router := p.Components[0].Front()
	var form handoff.Graph
	for i, arg := range router.Args {
		if arg == handoff.Flag(handoff.FlagGraphJSON) && i+1 < len(router.Args) {
			if err := json.Unmarshal([]byte(router.Args[i+1]), &form); err != nil {
				return nil, fmt.Errorf("read the graph: %w", err)
			}
		}
	}
	graph, err := route.Compile(form)
	if err != nil {
		return nil, err
	}
	options := route.HandlerOptions{Transport: e.transport, Log: e.log.With(zap.String("graph", p.Owner.Name))}
	for _, v := range router.Env {
		if v.Name == handoff.EnvPropagateHeaders {
			if options.Propagate, err = route.ParsePropagate(v.Value); err != nil {
				return nil, err
			}
		}
	}
	if t := form.Timeouts; t != nil && t.ServiceClient != nil {
		options.StepTimeout = time.Duration(*t.ServiceClient) * time.Second
	}
	return bounded(route.NewHandler(graph, options)), nil
}
