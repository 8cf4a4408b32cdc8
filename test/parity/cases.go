// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// recorded is one case: what is applied, in which settings, and what came of it.
type recorded struct {
	name     string
	files    []string // input.yaml, then the steps
	settings map[string]string
	config   string // the text of config.json; cases with equal texts may run together
	ready    bool
	expected Outcome
	diff     Difference
	inputs   []doc
	scope    string // the rule that puts it out of scope
}

// load reads every case of a folder that holds cases/ and, optionally, differences.yaml.
func load(dir string) ([]*recorded, error) {
	diffs := struct {
		Cases map[string]Difference `json:"cases"`
	}{}
	raw, err := os.ReadFile(filepath.Join(dir, "differences.yaml"))
	switch {
	case err == nil:
		if err := yaml.Unmarshal(raw, &diffs); err != nil {
			return nil, fmt.Errorf("read differences.yaml: %w", err)
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "cases"))
	if err != nil {
		return nil, err
	}
	var cases []*recorded
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		c, err := loadCase(filepath.Join(dir, "cases", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		c.diff = diffs.Cases[c.name]
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s holds no cases", filepath.Join(dir, "cases"))
	}
	return cases, nil
}

func loadCase(folder string) (*recorded, error) {
	c := &recorded{name: filepath.Base(folder), settings: reference(), ready: true}
	raw, err := os.ReadFile(filepath.Join(folder, "expected.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(plainTexts(string(raw)), &c.expected); err != nil {
		return nil, fmt.Errorf("read expected.yaml: %w", err)
	}
	raw, err = os.ReadFile(filepath.Join(folder, "config.json"))
	switch {
	case err == nil:
		c.config = string(raw)
		if err := override(c.settings, raw); err != nil {
			return nil, fmt.Errorf("read config.json: %w", err)
		}
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	raw, err = os.ReadFile(filepath.Join(folder, "options.json"))
	switch {
	case err == nil:
		options := struct{ Ready *bool }{}
		if err := json.Unmarshal(raw, &options); err != nil {
			return nil, fmt.Errorf("read options.json: %w", err)
		}
		c.ready = options.Ready == nil || *options.Ready
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	steps, err := filepath.Glob(filepath.Join(folder, "steps", "*.yaml"))
	if err != nil {
		return nil, err
	}
	slices.Sort(steps)
	c.files = append([]string{filepath.Join(folder, "input.yaml")}, steps...)
	for _, file := range c.files {
		docs, err := documents(file, c.namespace())
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			c.inputs = append(c.inputs, d.doc)
		}
	}
	c.scope = scopeOf(c.settings, c.inputs)
	return c, nil
}

// namespace of the case; outcomes say NS. Its name shows in hosts, so it must be short.
func (c *recorded) namespace() string {
	return strings.TrimRight(("p-" + c.name)[:min(len(c.name)+2, 40)], "-")
}

// documents reads the inputs of one file.
func documents(file, namespace string) ([]input, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []input
	for part := range strings.SplitSeq("\n"+string(raw), "\n---") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		d := input{raw: plainTexts(strings.ReplaceAll(part, "$NS", namespace))}
		if err := yaml.Unmarshal(d.raw, &d.doc); err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
		}
		if len(d.doc) > 0 {
			list = append(list, d)
		}
	}
	return list, nil
}
