// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/version"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitCut    = 3
)

const notes = `
Dashes and underscores in flag names are the same. Unknown arguments are ignored with a warning, as pods written for other
model servers rely on. Environment: PREDICT_PROBA=true answers class probabilities; KSERVE_LOGLEVEL is --log_level's default;
KSERVE_TLS_CERT_FILE and KSERVE_TLS_KEY_FILE are those of --ssl_certfile and --ssl_keyfile.

Exit codes: 0 ended by SIGINT or SIGTERM with every request answered; 1 the model or a port could not be opened, or serving failed;
2 wrong flags; 3 ended by a signal, but requests still ran after --drain_timeout and were cut off.
`

// flags are the command line. Fields of accepted hold flags that other model servers have and that have no effect here.
type flags struct {
	command *Command

	modelDir, modelName, framework string
	httpPort, grpcPort, threads    int
	enableGRPC, docs, trace        strbool
	keepAlive                      int
	maxReceive, maxSend            int
	schemaErrors, maxMessage       int
	log                            telemetry.LogOptions
	predictor                      predictorFlags
	server                         Options
	edge                           edge
	managed                        managed

	modelNameGiven bool
	ignored        []string // unknown arguments
	idle           []string // flags given that have no effect
}

// BindFlags adds every flag.
func (o *flags) BindFlags(fs *pflag.FlagSet) {
	o.enableGRPC, o.trace = true, true
	fs.StringVar(&o.modelDir, handoff.FlagModelDir, "", "directory of the model, or of a directory for each model (required)")
	fs.StringVar(&o.modelName, handoff.FlagModelName, handoff.DefaultModelName, "name of the model in URLs")
	fs.StringVar(&o.framework, handoff.FlagFramework, "", "engine to open models with; empty: each file decides")
	fs.IntVar(&o.httpPort, handoff.FlagHTTPPort, handoff.HTTPPort, "port for REST")
	fs.IntVar(&o.grpcPort, handoff.FlagGRPCPort, handoff.GRPCPort, "port for gRPC")
	fs.Var(&o.enableGRPC, handoff.FlagEnableGRPC, "serve gRPC")
	fs.IntVar(&o.threads, handoff.FlagNThread, 1, "cores that one prediction may use")
	fs.Var(&o.docs, handoff.FlagEnableDocsURL, "serve a page about the API at /docs")
	fs.Var(&o.trace, handoff.FlagEnableLatencyLogging, "log the time of each step of each prediction")
	fs.IntVar(&o.keepAlive, underscored(handoff.FlagTimeoutKeepAlive), handoff.DefaultKeepAliveSeconds, "seconds after which an idle connection is closed")
	fs.IntVar(&o.maxReceive, handoff.FlagGRPCMaxReceiveMessageLength, handoff.DefaultGRPCMessageLength, "largest gRPC message received, in bytes; -1: what gRPC can carry")
	fs.IntVar(&o.maxSend, handoff.FlagGRPCMaxSendMessageLength, handoff.DefaultGRPCMessageLength, "largest gRPC message sent, in bytes; -1: what gRPC can carry")
	fs.Int64Var(&o.server.MaxBody, "max_body_bytes", httpserver.DefaultMaxBody, "largest request body, after decompression")
	fs.IntVar(&o.maxMessage, "max_message_bytes", 0, "one limit for REST bodies and for gRPC messages both ways, in the place of the three of their own; 0: theirs")
	fs.Int64Var(&o.server.MaxBodies, "max_bodies_bytes", httpserver.DefaultMaxHeld, "memory of all request bodies at once, beyond which those above 1 MiB are answered 429, and beyond twice as much others too")
	fs.IntVar(&o.schemaErrors, "v2_schema_errors", 422, `status of V2 bodies of the wrong form: 422 with "detail", or 400 with "error" as everything else`)
	fs.DurationVar(&o.server.BodyStall, "body_stall", httpserver.DefaultStall, "give a request up when less than 64 KiB of its body come in this time")
	fs.IntVar(&o.server.Running, "max_running", 0, "predictions of one model that run at once; 0: 8 for each core, at least 64")
	fs.IntVar(&o.server.Queue, "max_queue", 1024, "predictions of one model that may wait; more are answered 429")
	fs.DurationVar(&o.server.QueueTimeout, "queue_timeout", 30*time.Second, "longest wait in that queue")
	o.server.Server.DrainDelay = time.Second
	o.server.Server.BindFlags(fs)
	o.edge.bindFlags(fs)
	o.predictor.bindFlags(fs)
	o.managed.bindFlags(fs)
	o.log.BindFlags(fs)

	fs.Int(handoff.FlagWorkers, 1, "accepted, without effect: one process uses every core")
	fs.Int(handoff.FlagMaxThreads, 4, "accepted, without effect")
	fs.Int(handoff.FlagMaxAsyncioWorkers, 0, "accepted, without effect")
	fs.Var(new(strbool), handoff.FlagConfigureLogging, "accepted, without effect")
	fs.String(handoff.FlagLogConfigFile, "", "accepted, without effect: see --log_level and --log_format")
	fs.String(underscored(handoff.FlagEventLoop), "auto", "accepted, without effect")
	fs.String(handoff.FlagProtocol, "v1", "accepted, without effect: every protocol is served")
}

// withoutEffect are the flags that are accepted only.
func withoutEffect() []string {
	return []string{
		handoff.FlagWorkers, handoff.FlagMaxThreads, handoff.FlagMaxAsyncioWorkers, handoff.FlagConfigureLogging,
		handoff.FlagLogConfigFile, underscored(handoff.FlagEventLoop), handoff.FlagProtocol,
	}
}

func underscored(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// parse reads the command line. done says that nothing is left to do but to exit with code.
func (c Command) parse(args []string) (o *flags, done bool, code int) {
	o = &flags{command: &c}
	fs := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(underscored(name))
	})
	fs.ParseErrorsAllowlist.UnknownFlags = true
	o.log.Level = c.Getenv(handoff.EnvLogLevel)
	o.server.Proba = strings.EqualFold(c.Getenv(handoff.EnvPredictProba), "true")
	o.server.Events = EventOptions{
		Type: c.Getenv(handoff.EnvCEType), Source: c.Getenv(handoff.EnvCESource), Merge: strings.EqualFold(c.Getenv(handoff.EnvCEMerge), "true"),
	}
	o.edge.fromEnvironment(c.Getenv)
	o.BindFlags(fs)
	if c.Bind != nil {
		c.Bind(fs)
	}
	showVersion := fs.Bool("version", false, "print the version and exit")
	fs.Usage = func() {}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(c.Stdout, c.About, "\n", command.Plain(fs.FlagUsages()), notes)
		return o, true, 0
	case err != nil:
		return o, true, c.wrong(err)
	case *showVersion:
		fmt.Fprintln(c.Stdout, version.String())
		return o, true, 0
	}
	if o.edge.tls.CertFile != "" && !fs.Changed(handoff.FlagHTTPPort) {
		o.httpPort = handoff.HTTPSPort
	}
	o.modelNameGiven = fs.Changed(handoff.FlagModelName)
	o.server.ModelsLater = strings.EqualFold(c.Getenv(handoff.EnvMultiModel), "true")
	o.ignored = unknown(fs, args)
	idle := withoutEffect()
	if c.Models == nil {
		idle = append(idle, predictorFlagNames()...)
	}
	for _, name := range idle {
		if fs.Changed(name) {
			o.idle = append(o.idle, "--"+name)
		}
	}
	if err := o.validate(); err != nil {
		return o, true, c.wrong(err)
	}
	return o, false, 0
}

func (c Command) wrong(err error) int {
	fmt.Fprintf(c.Stderr, "%s: %v\nsee %[1]s --help\n", c.Name, err)
	return exitUsage
}

func (o *flags) validate() error {
	var names []string
	for _, e := range o.command.Engines {
		names = append(names, e.Name())
	}
	switch {
	case o.modelDir == "" && o.command.Models == nil && o.managed.config == "":
		return errors.New("the following arguments are required: --" + handoff.FlagModelDir)
	case o.framework != "" && !slices.Contains(names, o.framework):
		return fmt.Errorf("argument --%s: invalid choice: %q (choose from %s)", handoff.FlagFramework, o.framework, strings.Join(names, ", "))
	case o.httpPort < 0 || o.httpPort > 65535:
		return fmt.Errorf("argument --%s: %d is no port", handoff.FlagHTTPPort, o.httpPort)
	case o.grpcPort < 0 || o.grpcPort > 65535:
		return fmt.Errorf("argument --%s: %d is no port", handoff.FlagGRPCPort, o.grpcPort)
	case o.schemaErrors != http.StatusUnprocessableEntity && o.schemaErrors != http.StatusBadRequest:
		return fmt.Errorf("argument --v2_schema_errors: %d: expected 422 or 400", o.schemaErrors)
	case o.threads < 0:
		return fmt.Errorf("argument --%s: %d: expected a number of cores", handoff.FlagNThread, o.threads)
	case o.keepAlive < 0:
		return fmt.Errorf("argument --%s: %d: expected a number of seconds", underscored(handoff.FlagTimeoutKeepAlive), o.keepAlive)
	case o.modelName == "" || strings.Contains(o.modelName, "/"):
		return fmt.Errorf("argument --%s: %q: expected a name without slashes", handoff.FlagModelName, o.modelName)
	}
	if err := errors.Join(o.edge.validate(), o.managed.validate()); err != nil {
		return err
	}
	if err := o.predictor.validate(); err != nil {
		return err
	}
	return o.validateLimits()
}

// validateLimits refuses limits under which no request could be answered.
func (o *flags) validateLimits() error {
	for _, l := range []struct {
		flag         string
		value, least int64
	}{
		{"max_body_bytes", o.server.MaxBody, 1},
		{"max_bodies_bytes", o.server.MaxBodies, 1},
		{"max_message_bytes", int64(o.maxMessage), 0},
		{"max_header_bytes", int64(o.server.Server.MaxHeaderBytes), 1},
		{"max_connections", int64(o.server.Server.MaxConnections), 1},
		{"max_running", int64(o.server.Running), 0},
		{"max_queue", int64(o.server.Queue), 1},
		{handoff.FlagGRPCMaxReceiveMessageLength, int64(o.maxReceive), -1},
		{handoff.FlagGRPCMaxSendMessageLength, int64(o.maxSend), -1},
	} {
		if l.value < l.least {
			return fmt.Errorf("argument --%s: %d: expected %d or more", l.flag, l.value, l.least)
		}
	}
	for _, l := range []struct {
		flag  string
		value time.Duration
	}{
		{"body_stall", o.server.BodyStall},
		{"queue_timeout", o.server.QueueTimeout},
		{"read_header_timeout", o.server.Server.ReadHeaderTimeout},
		{"write_stall", o.server.Server.WriteStall},
		{"drain_delay", o.server.Server.DrainDelay},
		{"drain_timeout", o.server.Server.DrainTimeout},
	} {
		if l.value < 0 {
			return fmt.Errorf("argument --%s: %s: expected no negative time", l.flag, l.value)
		}
	}
	return nil
}

// messageLength is a limit on gRPC messages; -1 is no limit of our own: the largest message that the protocol can carry.
func messageLength(n int) int {
	if n < 0 {
		return math.MaxInt32
	}
	return n
}

// unknown finds the arguments that no flag took.
func unknown(fs *pflag.FlagSet, args []string) []string {
	var found []string
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		name, _, hasValue := strings.Cut(name, "=")
		switch flag := fs.Lookup(name); {
		case !isFlag:
			found = append(found, args[i])
		case flag == nil:
			found = append(found, args[i])
		case !hasValue && flag.NoOptDefVal == "":
			i++ // the next argument is its value
		}
	}
	return found
}

func (o *flags) warn(log *zap.Logger) {
	if len(o.ignored) > 0 {
		log.Warn("unknown arguments are ignored", zap.Strings("arguments", o.ignored))
	}
	if len(o.idle) > 0 {
		log.Info("flags without effect in this server", zap.Strings("flags", o.idle))
	}
}

func (o *flags) options(log *zap.Logger) Options {
	s := o.server
	s.Engines = o.command.Engines
	s.ModelDir, s.ModelName, s.ModelExpected, s.Framework = o.modelDir, o.modelName, o.modelNameGiven, o.framework
	s.Threads, s.Docs = o.threads, bool(o.docs)
	s.MaxGRPCReceive, s.MaxGRPCSend = messageLength(o.maxReceive), messageLength(o.maxSend)
	if o.maxMessage > 0 {
		s.MaxBody, s.MaxGRPCReceive, s.MaxGRPCSend = int64(o.maxMessage), o.maxMessage, o.maxMessage
	}
	s.PlainSchemaErrors = o.schemaErrors == http.StatusBadRequest
	s.Server.HTTP = httpserver.Endpoint{Addr: ":" + strconv.Itoa(o.httpPort), Flag: "--" + handoff.FlagHTTPPort}
	if o.enableGRPC {
		s.Server.GRPC = httpserver.Endpoint{Addr: ":" + strconv.Itoa(o.grpcPort), Flag: "--" + handoff.FlagGRPCPort}
	}
	o.edge.apply(&s, bool(o.enableGRPC))
	o.managed.apply(&s)
	s.Server.IdleTimeout = time.Duration(o.keepAlive) * time.Second
	s.Log, s.Registry = log, telemetry.NewRegistry()
	s.SetLogLevel = o.log.SetLevel
	if own := o.command.Models; own != nil {
		start := Start{ModelName: o.modelName, ModelDir: o.modelDir, Predictor: o.predictor.client, Forward: o.predictor.forward, Log: log}
		s.ModelDir, s.ModelExpected = "", false
		if o.predictor.check {
			s.Dependency = o.predictor.client
		}
		s.Load = func(ctx context.Context) ([]Model, error) { return own(ctx, start) }
	}
	return s
}

// strbool is a flag that needs a value, in one of the spellings that people write truth in.
type strbool bool

// String implements pflag.Value.
func (b *strbool) String() string { return strconv.FormatBool(bool(*b)) }

// Type implements pflag.Value.
func (b *strbool) Type() string { return "bool" }

// Set implements pflag.Value.
func (b *strbool) Set(text string) error {
	switch strings.ToLower(text) {
	case "y", "yes", "t", "true", "on", "1":
		*b = true
	case "n", "no", "f", "false", "off", "0":
		*b = false
	default:
		return fmt.Errorf("%q: expected true or false", text)
	}
	return nil
}
