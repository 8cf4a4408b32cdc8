// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

type doc = map[string]any

// example is one file.
type example struct {
	Settings map[string]any `json:"settings"`
	Shipped  *bool          `json:"shipped"`
	Stored   []doc          `json:"stored"`
	Input    []doc          `json:"input"`
	Update   []doc          `json:"update"`
	Ready    *bool          `json:"ready"`
	Observed []doc          `json:"observed"`
	Release  string         `json:"release"`
	expected
}

// expected is what an example says about the outcome.
type expected struct {
	Refused   []string       `json:"refused"`
	Warnings  *[]string      `json:"warnings"`
	Defaulted []doc          `json:"defaulted"`
	Blocked   *stop          `json:"blocked"`
	Waiting   *stop          `json:"waiting"`
	Explained []string       `json:"explained"`
	Objects   []doc          `json:"objects"`
	Only      *[]string      `json:"only"`
	Absent    []string       `json:"absent"`
	Pods      []doc          `json:"pods"`
	Status    []doc          `json:"status"`
	Events    []string       `json:"events"`
	Exact     map[string]any `json:"exact"`
}

// stop is why nothing could be planned.
type stop struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// read reads an example; what it does not know is an error.
func read(raw []byte) (*example, error) {
	var e example
	if err := yaml.UnmarshalStrict(raw, &e); err != nil {
		return nil, fmt.Errorf("read the example: %w", err)
	}
	x := &e.expected
	says := len(x.Refused) + len(x.Defaulted) + len(x.Explained) + len(x.Objects) + len(x.Absent) + len(x.Pods) + len(x.Status) + len(x.Events) + len(x.Exact)
	if says == 0 && x.Warnings == nil && x.Blocked == nil && x.Waiting == nil && x.Only == nil {
		return nil, errors.New("the example expects nothing: say what comes of the input")
	}
	if len(e.Input) == 0 {
		return nil, errors.New("the example has no input")
	}
	return &e, nil
}

// shippedConfig is the ConfigMap of an installation, in Standard mode.
func shippedConfig() (map[string]string, error) {
	var cm corev1.ConfigMap
	if err := yaml.Unmarshal(deploy.Config(), &cm); err != nil {
		return nil, fmt.Errorf("read the shipped ConfigMap: %w", err)
	}
	return cm.Data, layOver(cm.Data, map[string]any{"deploy": doc{"defaultDeploymentMode": "Standard"}})
}

func (e *example) settings() (*settings.Settings, error) {
	data, err := shippedConfig()
	if err != nil {
		return nil, err
	}
	if err := layOver(data, e.Settings); err != nil {
		return nil, err
	}
	st, err := settings.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	return st, nil
}

// layOver changes fields of the documents of a ConfigMap.
func layOver(data map[string]string, over map[string]any) error {
	for key, value := range over {
		fields, isObject := value.(doc)
		switch {
		case value == nil:
			delete(data, key)
			continue
		case !isObject:
			return fmt.Errorf("settings.%s must be an object or null, is %v", key, value)
		}
		base := doc{}
		if old, ok := data[key]; ok {
			if err := json.Unmarshal([]byte(old), &base); err != nil {
				return fmt.Errorf("read settings.%s: %w", key, err)
			}
		}
		maps.Copy(base, fields)
		maps.DeleteFunc(base, func(_ string, v any) bool { return v == nil })
		raw, err := json.Marshal(base)
		if err != nil {
			return fmt.Errorf("write settings.%s: %w", key, err)
		}
		data[key] = string(raw)
	}
	return nil
}
