// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// s3Variables maps the keys of a storage secret's entry to the variables they stand for.
//
//nolint:gochecknoglobals // a constant table
var s3Variables = map[string]string{
	"endpoint_url":      handoff.EnvAWSEndpointURL,
	"access_key_id":     handoff.EnvAWSAccessKeyID,
	"secret_access_key": handoff.EnvAWSSecretAccessKey,
	"region":            handoff.EnvAWSDefaultRegion,
	"ca_bundle":         handoff.EnvAWSCABundle,
	"verify_ssl":        handoff.EnvS3VerifySSL,
	"anonymous":         handoff.EnvAWSAnonymous,
}

// overlay applies STORAGE_CONFIG, and STORAGE_OVERRIDE_CONFIG over it, to the environment.
func overlay(getenv func(string) string) (func(string) string, error) {
	spec := map[string]string{}
	for _, name := range []string{handoff.EnvStorageConfig, handoff.EnvStorageOverrideConfig} {
		text := getenv(name)
		if text == "" {
			continue
		}
		var entry map[string]string
		if json.Unmarshal([]byte(text), &entry) != nil {
			// The text holds keys, so it is not shown.
			return nil, provider.Errorf(provider.Invalid, "%s is not a JSON object whose values are all strings", name)
		}
		maps.Copy(spec, entry)
	}
	if spec["type"] != "s3" {
		return getenv, nil
	}
	vars := map[string]string{}
	for key, name := range s3Variables {
		if v, ok := spec[key]; ok {
			vars[name] = v
		}
	}
	return func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return getenv(name)
	}, nil
}

// patterns reads a JSON array of strings, a JSON string, or a comma-separated list.
func patterns(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	var list []string
	switch {
	case text == "":
		return nil, nil
	case text[0] == '[':
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, fmt.Errorf("%q is not a JSON array of strings", text)
		}
	case text[0] == '"':
		var one string
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return nil, fmt.Errorf("%q is not a JSON string", text)
		}
		list = []string{one}
	default:
		list = strings.Split(text, ",")
	}
	out := list[:0]
	for _, p := range list {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out, nil
}
