// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry sets up logs and metrics the same way for every binary, with no globals: what it makes is passed on as values.
//
// Called by: every cmd, data/serve, data/route, data/sidecar.
// Next: data/httpserver, which serves the metrics handler.
package telemetry

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// LogOptions are the choices of a logger.
type LogOptions struct {
	// Level is debug, info, warn or error, in any case; Python's names warning and critical are known too. Empty means info.
	Level string
	// Format is json, console, or auto: console when the file is a terminal. Empty means auto.
	Format string

	level *zap.AtomicLevel // of all loggers made after Follow
}

// Follow makes the level of the loggers that are made from now on one that SetLevel changes.
func (o *LogOptions) Follow() {
	level := zap.NewAtomicLevel()
	o.level = &level
}

// SetLevel changes the level of the loggers made after Follow; an empty name is Level.
func (o *LogOptions) SetLevel(name string) error {
	level, err := parseLevel(cmp.Or(name, o.Level))
	if err == nil && o.level != nil {
		o.level.SetLevel(level)
	}
	return err
}

// BindFlags adds --log_level and --log_format.
func (o *LogOptions) BindFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Level, "log_level", o.Level, "lowest level to log: debug, info, warn or error")
	fs.StringVar(&o.Format, "log_format", o.Format, "json, console, or auto: console on a terminal")
}

// NewLogger makes a logger that writes each line to file at once.
func NewLogger(o LogOptions, file *os.File) (*zap.Logger, error) {
	return newLogger(o, file, zapcore.Lock(file))
}

// NewBufferedLogger makes a logger for lines that each request writes: they reach file together, a fifth of a second late at most.
// stop writes what is left.
func NewBufferedLogger(o LogOptions, file *os.File) (log *zap.Logger, stop func(), err error) {
	buffer := &zapcore.BufferedWriteSyncer{WS: zapcore.Lock(file), Size: 64 << 10, FlushInterval: 200 * time.Millisecond}
	log, err = newLogger(o, file, buffer)
	return log, func() { _ = buffer.Stop() }, err
}

func newLogger(o LogOptions, file *os.File, to zapcore.WriteSyncer) (*zap.Logger, error) {
	level, err := parseLevel(o.Level)
	if err != nil {
		return nil, err
	}
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.TimeKey = "time"
	config.MessageKey = "message"
	var encoder zapcore.Encoder
	switch o.Format {
	case "json":
		encoder = zapcore.NewJSONEncoder(config)
	case "console", "auto", "":
		if o.Format != "console" && !term.IsTerminal(int(file.Fd())) {
			encoder = zapcore.NewJSONEncoder(config)
			break
		}
		config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		config.CallerKey = zapcore.OmitKey
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return nil, fmt.Errorf("log format %q: expected json, console or auto", o.Format)
	}
	var enabled zapcore.LevelEnabler = level
	if o.level != nil {
		o.level.SetLevel(level)
		enabled = o.level
	}
	core := zapcore.NewCore(encoder, harmless{to}, enabled)
	return zap.New(core, zap.AddStacktrace(zapcore.DPanicLevel)), nil
}

// harmless escapes the control characters that zap's encoders leave in clients' texts, DEL and U+0080 to U+009F: some terminals obey them.
type harmless struct{ zapcore.WriteSyncer }

// Write implements zapcore.WriteSyncer.
func (w harmless) Write(line []byte) (int, error) {
	if bytes.IndexByte(line, 0x7f) < 0 && bytes.IndexByte(line, 0xc2) < 0 {
		return w.WriteSyncer.Write(line)
	}
	plain := make([]byte, 0, len(line)+64)
	for _, r := range string(line) {
		if r >= 0x7f && r <= 0x9f {
			plain = fmt.Appendf(plain, `\u%04x`, r)
		} else {
			plain = utf8.AppendRune(plain, r)
		}
	}
	if _, err := w.WriteSyncer.Write(plain); err != nil {
		return 0, err
	}
	return len(line), nil
}

func parseLevel(name string) (zapcore.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return zapcore.DebugLevel, nil
	case "", "info":
		return zapcore.InfoLevel, nil
	case "warn", "warning":
		return zapcore.WarnLevel, nil
	case "error", "critical", "fatal":
		return zapcore.ErrorLevel, nil
	default:
		return 0, fmt.Errorf("log level %q: expected debug, info, warn or error", name)
	}
}
