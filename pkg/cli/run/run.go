// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run serves the InferenceServices and InferenceGraphs of some files in this process, with no cluster: planned by the
// controller's code, fetched by the storage engine, answered by the model server, on the URLs that a cluster has.
//
// Called by: cli.
// Next: cli/offline, which plans; storage, which fetches; data/serve, which answers; data/route, for graphs.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are what the flags set.
type Options struct {
	Files        []string
	Address      string
	Port         int
	GRPCPort     int
	Watch        bool
	CacheDir     string
	Claims       map[string]string
	DrainTimeout time.Duration
	Output       output.Format
	Log          telemetry.LogOptions
}

// BindFlags declares the flags.
func (o *Options) BindFlags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&o.Files, "filename", "f", nil, `YAML or JSON file, folder of such files, or "-" for stdin; may be repeated; names without -f are files too`)
	flags.StringVar(&o.Address, "address", "localhost", "address to listen on; 0.0.0.0 is every interface")
	flags.IntVar(&o.Port, "port", 8080, "port of V1 and V2 over HTTP; 0 takes a free one")
	flags.IntVar(&o.GRPCPort, "grpc-port", 8081, "port of V2 over gRPC; 0 takes a free one, -1 serves none")
	flags.BoolVarP(&o.Watch, "watch", "w", false, "plan again when a file changes, load a model on this machine again when it does; no request is lost")
	flags.StringVar(&o.CacheDir, "cache-dir", "", "where fetched models are kept (default: the user's cache directory)")
	flags.StringToStringVar(&o.Claims, "claim", nil, "folder that stands for a PersistentVolumeClaim, as name=folder; may be repeated")
	flags.DurationVar(&o.DrainTimeout, "drain-timeout", 30*time.Second, "how long running requests may take after ctrl-c")
	o.Output = output.Table
	flags.VarP(&o.Output, "output", "o", "table shows the status, json writes one event a line")
	o.Log.BindFlags(flags)
	if f := flags.Lookup("log_level"); f != nil {
		f.DefValue, o.Log.Level = "warn", "warn"
	}
}

// Command is `kserve run`.
func Command(streams output.Streams) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "run -f FILE...",
		Short: "Serve the InferenceServices and InferenceGraphs of some files, with no cluster",
		Long: `Plan each InferenceService as the controller would, fetch its model, load it and serve it over V1 REST, V2 REST and V2 gRPC.

All services share the ports. Each is reached by its model's name in the URL, by its host name in the Host header as behind a
cluster's ingress, and under /serving/<namespace>/<name>. An InferenceGraph is reached by its host name and under that path.

A service that cannot be served does not stop the others: its row says why, and the exit code is 1 in the end.
Ctrl-c (or SIGTERM) lets running requests finish; a second one ends at once.

Models under s3://` + "kserve-samples" + `/ come from this program itself, unless AWS_ENDPOINT_URL names another server.`,
		Example: `  kserve run -f deploy/samples/sklearn-iris.yaml
  kserve run -f deploy/samples/ --port 9000 --watch
  cat isvc.yaml | kserve run -f -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files = append(o.Files, args...)
			if err := o.validate(); err != nil {
				return err
			}
			return Run(cmd.Context(), o, streams)
		},
	}
	o.BindFlags(cmd.Flags())
	return cmd
}

func (o *Options) validate() error {
	switch {
	case len(o.Files) == 0:
		return exit.Errorf(exit.Usage, `no file: give YAML or JSON files or folders with -f, or "-" to read stdin`)
	case o.Port < 0 || o.Port > 65535:
		return exit.Errorf(exit.Usage, "--port %d is no port", o.Port)
	case o.GRPCPort < -1 || o.GRPCPort > 65535:
		return exit.Errorf(exit.Usage, "--grpc-port %d is no port", o.GRPCPort)
	case o.Port != 0 && o.Port == o.GRPCPort:
		return exit.Errorf(exit.Usage, "--port and --grpc-port are both %d; gRPC needs a port of its own", o.Port)
	case o.DrainTimeout < 0:
		return exit.Errorf(exit.Usage, "--drain-timeout %s is negative; 0 cuts running requests off at once", o.DrainTimeout)
	case o.Output == output.YAML:
		return exit.Errorf(exit.Usage, "--output yaml has no form for events; use json")
	}
	for _, f := range o.Files {
		if f == "-" && o.Watch {
			return exit.Errorf(exit.Usage, "--watch needs files: stdin can be read once only")
		}
	}
	return nil
}

// session is one `kserve run`.
type session struct {
	o       Options
	streams output.Streams
	log     *zap.Logger
	server  *httpserver.Server
	exec    *executor
	board   *board
	faulty  bool // the files hold faults
}

// Run serves until ctx ends and drains.
func Run(ctx context.Context, o Options, streams output.Streams) error {
	s, err := newSession(o, streams)
	if err != nil {
		return err
	}
	defer func() { _ = s.log.Sync() }()
	world, err := s.read(nil)
	if err != nil {
		return err
	}
	if err := s.server.Listen(ctx); err != nil {
		if errors.Is(err, httpserver.ErrPortTaken) {
			return exit.Errorf(exit.Busy, "%w", err)
		}
		return exit.Errorf(exit.Failed, "%w", err)
	}
	where := "listening on " + s.base() + " (V1, V2)"
	if s.o.GRPCPort >= 0 {
		where += " and " + s.grpcAddress() + " (gRPC)"
	}
	s.say("listening", where, map[string]any{"url": s.base(), "grpc": s.grpcAddress()})
	return s.serve(ctx, world)
}

func newSession(o Options, streams output.Streams) (*session, error) {
	if o.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			// Not the folder for temporary files: anybody could put a model there before us.
			return nil, exit.Errorf(exit.Usage, "there is no folder to keep models in (%w); name one with --cache-dir", err)
		}
		o.CacheDir = filepath.Join(dir, "kserve-go", "models")
	}
	log, err := telemetry.NewLogger(o.Log, os.Stderr)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%w", err)
	}
	b := newBoard()
	log = log.WithOptions(zap.Hooks(func(zapcore.Entry) error {
		b.disturbed.Store(true)
		return nil
	}))
	s := &session{o: o, streams: streams, log: log, board: b}
	models := newModelServers(func() *serve.Server {
		return serve.New(serve.Options{Engines: engines(), Log: log, Docs: true})
	})
	s.exec = &executor{
		models:  models,
		fetcher: &fetcher{cache: o.CacheDir, claims: o.Claims, log: log},
		board:   s.board,
		base:    s.base,
		log:     log,
		served:  map[string]*work{},
		graphs:  map[string]graphWays{},
		local:   map[string]local{},
	}
	s.exec.transport = s.exec.loopback(func() string { return s.server.HTTPAddr().String() })
	options := httpserver.Options{
		HTTP:         httpserver.Endpoint{Addr: net.JoinHostPort(o.Address, strconv.Itoa(o.Port)), Flag: "--port"},
		DrainTimeout: max(o.DrainTimeout, time.Nanosecond), // there, 0 means the default
	}
	if o.GRPCPort >= 0 {
		options.GRPC = httpserver.Endpoint{Addr: net.JoinHostPort(o.Address, strconv.Itoa(o.GRPCPort)), Flag: "--grpc-port"}
	}
	s.server = httpserver.New(options, s.exec, models.main().GRPC(), log)
	s.server.OnDrain(models.drain)
	s.server.OnDrain(func() {
		s.board.say(func() { s.say("draining", "stopping; running requests may finish", map[string]any{}) })
	})
	return s, nil
}

// read loads the files. Objects with faults are told and left out, or stay what they are in the world before; nothing left is an error.
func (s *session) read(before *offline.World) (*offline.World, error) {
	s.board.disturbed.Store(true)
	world, faults := offline.Load(s.streams.In, s.o.Files)
	paint := output.NewPaint(s.streams.Err)
	for _, f := range faults {
		fmt.Fprintln(s.streams.Err, paint.Bad("fault: ")+f.String())
	}
	s.faulty = len(faults) > 0
	world = world.Without(faults).Keeping(before, faults)
	if s.faulty && before != nil {
		fmt.Fprintln(s.streams.Err, "kserve: what has faults is not applied; what ran before goes on")
	}
	if len(world.Services)+len(world.Graphs) > 0 {
		for _, w := range world.Warnings() {
			fmt.Fprintln(s.streams.Err, paint.Busy("warning: ")+w.Object.ID()+": "+output.Text(w.String()))
		}
		return world, nil
	}
	if s.faulty {
		return nil, exit.Silent(exit.Invalid)
	}
	return nil, exit.Errorf(exit.Invalid, "the files hold no InferenceService and no InferenceGraph; there is nothing to serve")
}

// serve runs until ctx ends, or until it is clear that nothing can be served.
func (s *session) serve(parent context.Context, world *offline.World) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	show := newDisplay(s.board, s.streams.Out, s.o.Output)
	show.start(context.WithoutCancel(ctx))
	worker := make(chan struct{})
	go func() {
		defer close(worker)
		s.work(ctx, world, cancel)
	}()
	err := s.server.Run(ctx)
	cancel()
	<-worker
	show.stop()
	s.exec.models.close()
	if err != nil {
		return exit.Errorf(exit.Failed, "%w", err)
	}
	rows := s.board.snapshot()
	bad := 0
	for _, r := range rows {
		if r.bad() && r.Phase != Invalid {
			bad++
		}
	}
	switch {
	case bad > 0:
		return exit.Errorf(exit.Failed, "%d of %d could not be served as the files say; see above", bad, len(rows))
	case s.faulty:
		return exit.Errorf(exit.Invalid, "the files hold faults; see above")
	default:
		return nil
	}
}

// work brings the files to life, and again after each change. A change ends what the state before it is still being fetched for.
func (s *session) work(ctx context.Context, world *offline.World, giveUp func()) {
	s.exec.fetcher.life = ctx
	changes, models := make(chan struct{}, 1), make(chan struct{}, 1)
	if s.o.Watch {
		go s.exec.watchModels(ctx, func() { wake(models) })
		files, err := newWatch(s.o.Files)
		if err != nil {
			s.log.Error("no change of the files will be seen", zap.Error(err))
		} else {
			defer files.close()
			go files.run(ctx, func() { wake(changes) })
		}
	}
	for world != nil {
		applying, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.exec.apply(applying, world)
		}()
		next := s.await(ctx, world, events{done, changes, models}, giveUp)
		cancel()
		<-done
		world = next
	}
}

// events are what a session waits for.
type events struct {
	done            <-chan struct{} // what was to be brought to life is
	changes, models <-chan struct{} // of the files that were named, and of the models on this machine
}

// wake has whoever reads c look once more; where one call is waiting already, that will do.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// await returns the next world to bring to life; nil at the end of the run.
func (s *session) await(ctx context.Context, world *offline.World, on events, giveUp func()) *offline.World {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-on.done:
			on.done = nil
			if ctx.Err() == nil && !s.applied(ctx) {
				giveUp()
				return nil
			}
		case <-on.models:
			return world // the files of a model changed: the services are the same
		case <-on.changes:
			next, err := s.read(world)
			if err == nil {
				return next
			}
			if text := exit.Message(err); text != "" {
				fmt.Fprintln(s.streams.Err, "kserve: "+output.Text(text))
			}
			fmt.Fprintln(s.streams.Err, "kserve: the change is not applied; what ran before goes on")
		}
	}
}

// applied tells how it went; false when nothing is served and nothing will be.
func (s *session) applied(ctx context.Context) bool {
	if err := s.exec.models.main().Start(ctx); err != nil {
		s.log.Error("start the model server", zap.Error(err)) // it has no models of its own to fail on
	}
	t := count(s.board.snapshot())
	if t.ready == 0 && t.failed > 0 && !s.o.Watch {
		return false
	}
	s.ready(t)
	return true
}

func (s *session) ready(t tally) {
	rows := s.board.snapshot()
	text, fields := t.sentence(len(rows)), map[string]any{"ready": t.ready, "before": t.before, "failed": t.failed}
	if again := s.exec.loadedAgain(); len(again) > 0 {
		text += "; loaded again: " + strings.Join(again, ", ")
		fields["reloaded"] = again
	}
	if output.IsTerminal(s.streams.Out) {
		width, _ := output.Size(s.streams.Out)
		text = strings.Join(append(remarks(rows, width), text), "\n")
	}
	s.board.say(func() {
		s.say("serving", text, fields)
	})
}

// say tells one event of the whole session: a JSON line for programs, a plain line where there is no live table.
func (s *session) say(event, text string, fields map[string]any) {
	if s.o.Output == output.JSON {
		fields["event"] = event
		if line, err := json.Marshal(fields); err == nil {
			_, _ = s.streams.Out.Write(append(line, '\n'))
		}
		return
	}
	fmt.Fprintln(s.streams.Out, text)
}

// base is the URL of the HTTP port.
func (s *session) base() string { return "http://" + reachable(s.server.HTTPAddr()) }

func (s *session) grpcAddress() string {
	if s.server.GRPCAddr() == nil {
		return ""
	}
	return reachable(s.server.GRPCAddr())
}

// reachable is an address as a client on this machine writes it.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return addr.String()
	}
	if tcp.IP.IsUnspecified() || (tcp.IP.IsLoopback() && tcp.IP.To4() != nil) {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return tcp.String()
}
