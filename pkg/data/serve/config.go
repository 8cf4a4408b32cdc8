// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// configured is one model of the list: the entry that KServe's multi-model serving writes, and settings of our own beside it.
type configured struct {
	handoff.ModelEntry
	Settings json.RawMessage `json:"settings"`

	place repository.Source
	own   modelSettings
}

// modelList is what a list of models says.
type modelList struct {
	models []*configured
	// bad are the entries that cannot be served as they are, with the reasons; they harm no other. nameless are those whose name cannot be read.
	bad      map[string]error
	nameless []error
}

func parseConfig(text []byte, o *Options) (*modelList, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("expected a list of models: %w", err)
	}
	if entries == nil {
		return nil, errors.New("expected a list of models, got null")
	}
	list := &modelList{bad: map[string]error{}}
	seen := map[string]bool{}
	for i, entry := range entries {
		name, err := nameOf(entry)
		switch {
		case err != nil:
			list.nameless = append(list.nameless, fmt.Errorf("entry %d: %w", i, err))
			continue
		case seen[name]:
			list.bad[name] = errors.New("it is listed twice")
			continue
		}
		seen[name] = true
		c := &configured{}
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(json.Unmarshal(entry, c), &wrong) {
			err = fmt.Errorf("%s: wrong type: %s", strings.TrimPrefix(wrong.Field, "ModelEntry."), wrong.Value)
		} else {
			err = c.resolve(o)
		}
		if err != nil {
			list.bad[name] = err
			continue
		}
		list.models = append(list.models, c)
	}
	list.models = slices.DeleteFunc(list.models, func(c *configured) bool { return list.bad[c.Name] != nil })
	return list, nil
}

// nameOf is the name of an entry, whatever else is wrong with it.
func nameOf(entry []byte) (string, error) {
	var head struct {
		Name string `json:"modelName"`
	}
	if json.Unmarshal(entry, &head) != nil {
		return "", fmt.Errorf("expected an object with a modelName, got %.40s", entry)
	}
	if name := head.Name; name == "" || strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." {
		return "", fmt.Errorf("modelName %.80q: expected text without slashes", name)
	}
	return head.Name, nil
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
	case isURI && scheme == "file" && filepath.IsAbs(path):
		c.place.Path = path
	case isURI && scheme == "file":
		return fmt.Errorf("modelSpec.storageUri: %.80q: expected an absolute path behind file://", c.Spec.StorageURI)
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
		return readSettings(c.Settings, &c.own, &c.own)
	}
	return nil
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
		{"Ki", 1 << 10},
		{"Mi", 1 << 20},
		{"Gi", 1 << 30},
		{"Ti", 1 << 40},
		{"Pi", 1 << 50},
		{"k", 1e3},
		{"M", 1e6},
		{"G", 1e9},
		{"T", 1e12},
		{"P", 1e15},
		{"m", 1e-3},
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

// modelConfig keeps the models those of a list.
type modelConfig struct {
	applied map[string]*configured
	order   []string
	refused map[string]bool
	faults  atomic.Int32 // entries that are not served as they are
}

// applyConfig begins to bring the models up to date: new and changed ones serve as they were until they have been loaded. An error leaves
// everything as it was.
func (s *Server) applyConfig(ctx context.Context, text []byte) error {
	list, err := parseConfig(text, &s.opts)
	if err != nil {
		return err
	}
	c := s.config
	for _, err := range list.nameless {
		s.log.Error("an entry of the list of models is left out", zap.Error(err))
	}
	next, refused := map[string]*configured{}, map[string]bool{}
	for name, reason := range list.bad {
		s.log.Error("model is not served", zap.String("model", name), zap.NamedError("reason", reason))
		s.models.Refuse(name, reason)
		refused[name] = true
		if old := c.applied[name]; old != nil { // it serves on as it was
			next[name] = old
		}
	}
	c.order = c.order[:0]
	for _, m := range list.models {
		next[m.Name] = m
		c.order = append(c.order, m.Name)
		old := c.applied[m.Name]
		if old == nil || !reflect.DeepEqual(old.own, m.own) {
			s.metrics.limit(m.Name, &m.own)
		}
		if old == nil || old.Spec != m.Spec || c.refused[m.Name] {
			s.models.Place(m.place)
			s.models.Settle(ctx, m.Name)
		}
	}
	for _, before := range []iter.Seq[string]{maps.Keys(c.applied), maps.Keys(c.refused)} {
		for name := range before {
			if next[name] == nil && !refused[name] {
				s.metrics.limit(name, nil)
				s.models.Forget(name)
				s.models.Settle(ctx, name)
			}
		}
	}
	c.applied, c.refused = next, refused
	c.faults.Store(int32(len(list.bad) + len(list.nameless)))
	return nil
}

// startConfig loads the models of the list for the first time. A list that cannot be read is the error; models that cannot be loaded are not.
func (s *Server) startConfig(ctx context.Context) error {
	s.config = &modelConfig{}
	s.metrics.list.Store(s.config)
	if s.opts.ModelDir != "" {
		s.models.UseRoot(s.opts.ModelDir)
	}
	w := &watched{what: "list of models", file: s.opts.ModelConfig, apply: s.applyConfig, state: &s.metrics.config}
	if err := w.look(ctx); err != nil {
		return err
	}
	s.watched = append(s.watched, w)
	s.models.Wait()
	s.models.Arrange(s.config.order)
	s.log.Info("serving the models of a list", zap.String("file", s.opts.ModelConfig), zap.Int("models", len(s.config.applied)))
	return nil
}
