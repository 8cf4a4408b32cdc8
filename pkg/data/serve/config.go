// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// maxConfig bounds the list of models: a ConfigMap has less.
const maxConfig = 16 << 20

// configured is one model of the list: the entry that KServe's multi-model serving writes, and settings of our own beside it.
type configured struct {
	handoff.ModelEntry
	Settings json.RawMessage `json:"settings"`

	place  repository.Source
	limits *Limits
}

// configSettings are the settings of one model. What is left out is the server's.
type configSettings struct {
	MaxRunning    *int     `json:"maxRunning"`
	MaxQueue      *int     `json:"maxQueue"`
	QueueTimeout  *seconds `json:"queueTimeout"`
	MaxBatchSize  *int     `json:"maxBatchSize"`
	MaxBatchDelay *seconds `json:"maxBatchDelay"`
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

// parseConfig reads the list of models. bad are the entries that cannot be served, with the reasons; they harm no other.
func parseConfig(text []byte, o *Options) (models []*configured, bad map[string]error, err error) {
	var list []*configured
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, nil, fmt.Errorf("expected a list of models: %w", err)
	}
	bad = map[string]error{}
	seen := map[string]bool{}
	for i, c := range list {
		switch {
		case c == nil || c.Name == "" || strings.ContainsAny(c.Name, "/\\\x00") || c.Name == "." || c.Name == ".." || !utf8.ValidString(c.Name):
			name := ""
			if c != nil {
				name = c.Name
			}
			return nil, nil, fmt.Errorf("entry %d: modelName %.80q: expected text without slashes", i, name)
		case seen[c.Name]:
			bad[c.Name] = errors.New("it is listed twice")
			continue
		}
		seen[c.Name] = true
		if err := c.resolve(o); err != nil {
			bad[c.Name] = err
			continue
		}
		models = append(models, c)
	}
	return slices.DeleteFunc(models, func(c *configured) bool { return bad[c.Name] != nil }), bad, nil
}

// resolve finds out where the model is and what its settings are.
func (c *configured) resolve(o *Options) (err error) {
	c.place = repository.Source{Name: c.Name, Engine: c.Spec.Framework}
	if c.place.Memory, err = parseBytes(c.Spec.Memory); err != nil {
		return fmt.Errorf("modelSpec.memory: %w", err)
	}
	if f := c.Spec.Framework; f != "" {
		known := make([]string, len(o.Engines))
		for i, e := range o.Engines {
			known[i] = e.Name()
		}
		if !slices.Contains(known, f) {
			return fmt.Errorf("modelSpec.framework: %.40q: this server has %s", f, strings.Join(known, ", "))
		}
	}
	scheme, path, isURI := strings.Cut(c.Spec.StorageURI, "://")
	switch {
	case isURI && scheme == "file":
		c.place.Path = path
	case !isURI && filepath.IsAbs(c.Spec.StorageURI):
		c.place.Path = c.Spec.StorageURI
	case !isURI && c.Spec.StorageURI != "":
		return fmt.Errorf("modelSpec.storageUri: %.80q: expected a URI or an absolute path", c.Spec.StorageURI)
	case o.ModelDir == "":
		return errors.New("modelSpec.storageUri: without a model directory only local models can be served")
	default: // fetched by another, into a directory of the model's name
		c.place.Path = filepath.Join(o.ModelDir, c.Name)
	}
	if len(c.Settings) > 0 && string(c.Settings) != "null" {
		c.limits, err = readSettings(c.Settings, o.Limits)
	}
	return err
}

func readSettings(text []byte, limits Limits) (*Limits, error) {
	var s configSettings
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a misspelt setting would be without effect
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	for _, n := range []struct {
		name  string
		from  *int
		to    *int
		least int
	}{
		{"maxRunning", s.MaxRunning, &limits.Running, 1}, {"maxQueue", s.MaxQueue, &limits.Queue, 1}, {"maxBatchSize", s.MaxBatchSize, &limits.MaxBatchSize, 0},
	} {
		if n.from == nil {
			continue
		}
		if *n.from < n.least {
			return nil, fmt.Errorf("settings.%s: %d: expected %d or more", n.name, *n.from, n.least)
		}
		*n.to = *n.from
	}
	if s.QueueTimeout != nil {
		limits.QueueTimeout = time.Duration(*s.QueueTimeout)
	}
	if s.MaxBatchDelay != nil {
		limits.MaxBatchDelay = time.Duration(*s.MaxBatchDelay)
	}
	return &limits, nil
}

// parseBytes reads a quantity of memory as Kubernetes writes it: 1Gi, 500M, 1.5e9.
func parseBytes(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	number, factor := text, 1.0
	for _, unit := range []struct {
		suffix string
		factor float64
	}{
		{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50},
		{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"m", 1e-3},
	} {
		if head, ok := strings.CutSuffix(text, unit.suffix); ok {
			number, factor = head, unit.factor
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= factor; err != nil || !(v >= 0 && v < 1<<62) {
		return 0, fmt.Errorf("%.40q: expected an amount of memory such as 512Mi", text)
	}
	return int64(v), nil
}

// modelConfig keeps the models those of a file.
type modelConfig struct {
	file    string
	text    []byte // as it was applied last
	applied map[string]*configured
	refused map[string]bool
	valid   bool
}

// apply reads the file and brings the models up to date: those that are gone first, then new and changed ones, which serve as they were
// until they have been loaded. An error leaves everything as it was.
func (s *Server) applyConfig(ctx context.Context, c *modelConfig) error {
	text, err := readBounded(c.file)
	if err == nil && c.valid && bytes.Equal(text, c.text) {
		return nil
	}
	var models []*configured
	var bad map[string]error
	if err == nil {
		models, bad, err = parseConfig(text, &s.opts)
	}
	c.valid = err == nil
	s.metrics.config.Store(map[bool]int32{true: 1, false: -1}[c.valid])
	if err != nil {
		return fmt.Errorf("list of models %s: %w", c.file, err)
	}
	c.text = text
	next := map[string]*configured{}
	for _, m := range models {
		next[m.Name] = m
	}
	for name, reason := range bad {
		s.log.Error("model is not served", zap.String("model", name), zap.NamedError("reason", reason))
		s.models.Refuse(name, reason)
		if old := c.applied[name]; old != nil { // it serves on as it was
			next[name] = old
		}
	}
	for name := range c.applied {
		if next[name] == nil {
			s.forgetConfigured(name)
		}
	}
	for name := range c.refused {
		if next[name] == nil && bad[name] == nil {
			s.forgetConfigured(name)
		}
	}
	s.loadConfigured(ctx, models, c)
	c.applied, c.refused = next, map[string]bool{}
	for name := range bad {
		c.refused[name] = true
	}
	return nil
}

func (s *Server) forgetConfigured(name string) {
	s.models.Forget(name)
	_ = s.Remove(name) // the repository API may have done so
	s.metrics.limit(name, nil)
}

// loadConfigured loads what is new or has changed, a few at a time.
func (s *Server) loadConfigured(ctx context.Context, models []*configured, before *modelConfig) {
	var all sync.WaitGroup
	for _, m := range models {
		old := before.applied[m.Name]
		if old == nil || !reflect.DeepEqual(old.limits, m.limits) {
			s.metrics.limit(m.Name, m.limits)
		}
		if old != nil && old.Spec == m.Spec && !before.refused[m.Name] {
			continue
		}
		s.models.Place(m.place)
		all.Go(func() {
			if err := s.models.AddFromRoot(ctx, m.Name); err != nil {
				s.log.Error("model is not served", zap.String("model", m.Name), zap.Error(err))
			}
		})
	}
	all.Wait()
	s.tellHealth()
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("it has more than %d bytes", maxConfig)
	}
	return text, err
}
