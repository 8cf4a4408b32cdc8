// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// modelSettings are the settings of one model, or of all. What is left out is the server's.
type modelSettings struct {
	MaxRunning    *int     `json:"maxRunning"`
	MaxQueue      *int     `json:"maxQueue"`
	QueueTimeout  *seconds `json:"queueTimeout"`
	MaxBatchSize  *int     `json:"maxBatchSize"`
	MaxBatchDelay *seconds `json:"maxBatchDelay"`
}

// serverSettings are what a file may change of a server that runs.
type serverSettings struct {
	modelSettings
	MaxModelMemory *string `json:"maxModelMemory"`
	LogLevel       *string `json:"logLevel"`
}

// seconds is a time such as "30s" or "5ms".
type seconds time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(text []byte) error {
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("expected a time such as \"30s\", got %.40s", text)
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		return fmt.Errorf("expected a time such as \"30s\", got %.40q", word)
	}
	*s = seconds(d)
	return nil
}

// readSettings reads a JSON object into settings, of which common is a part.
func readSettings(text []byte, into any, common *modelSettings) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a misspelt setting would be without effect
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	if d.More() {
		return errors.New("settings: expected one JSON object, got more behind it")
	}
	for _, n := range []struct {
		name  string
		value *int
		least int
	}{
		{"maxRunning", common.MaxRunning, 1}, {"maxQueue", common.MaxQueue, 1}, {"maxBatchSize", common.MaxBatchSize, 0},
	} {
		if n.value != nil && *n.value < n.least {
			return fmt.Errorf("settings.%s: %d: expected %d or more", n.name, *n.value, n.least)
		}
	}
	return nil
}

// over is limits with the settings in their place.
func (s *modelSettings) over(limits Limits) Limits {
	if s == nil {
		return limits
	}
	for _, n := range []struct{ from, to *int }{
		{s.MaxRunning, &limits.Running}, {s.MaxQueue, &limits.Queue}, {s.MaxBatchSize, &limits.MaxBatchSize},
	} {
		if n.from != nil {
			*n.to = *n.from
		}
	}
	for _, d := range []struct {
		from *seconds
		to   *time.Duration
	}{
		{s.QueueTimeout, &limits.QueueTimeout}, {s.MaxBatchDelay, &limits.MaxBatchDelay},
	} {
		if d.from != nil {
			*d.to = time.Duration(*d.from)
		}
	}
	return limits
}

// applySettings puts settings into force in the place of the flags'. An error leaves everything as it was.
func (s *Server) applySettings(_ context.Context, text []byte) error {
	var set serverSettings
	if err := readSettings(text, &set, &set.modelSettings); err != nil {
		return err
	}
	memory := s.opts.MaxMemory
	if set.MaxModelMemory != nil {
		var err error
		if memory, err = parseBytes(*set.MaxModelMemory); err != nil {
			return fmt.Errorf("settings.maxModelMemory: %w", err)
		}
	}
	if s.opts.SetLogLevel != nil {
		level := ""
		if set.LogLevel != nil {
			level = *set.LogLevel
		}
		if err := s.opts.SetLogLevel(level); err != nil {
			return fmt.Errorf("settings.logLevel: %w", err)
		}
	}
	s.models.UseMemory(memory)
	s.metrics.useLimits(set.over(s.opts.Limits))
	s.log.Info("settings are in force", zap.String("file", s.opts.Settings), zap.ByteString("settings", text))
	return nil
}

// startSettings reads the settings for the first time. Those that cannot be read are a fault of the start.
func (s *Server) startSettings(ctx context.Context) error {
	w := &watched{what: "settings file", file: s.opts.Settings, apply: s.applySettings, state: &s.metrics.settings}
	if err := w.look(ctx); err != nil {
		return err
	}
	s.watched = append(s.watched, w)
	return nil
}
