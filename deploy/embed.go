// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy carries the shipped manifests inside the binaries that need them where there is no cluster to ask, and inside the one that
// installs them.
//
// Called by: pkg/cli, deploy/manifests, tests.
// Next: pkg/control/settings (the operator's ConfigMap), pkg/control/resolve (the runtimes).
package deploy

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed base config crd/*.yaml crd/minimal overlays runtimes/*.yaml
var files embed.FS

// Config is the shipped ConfigMap inferenceservice-config, as YAML.
func Config() []byte { return read("config/inferenceservice-config.yaml") }

// StorageContainer is the shipped ClusterStorageContainer, as YAML.
func StorageContainer() []byte { return read("config/storagecontainer.yaml") }

// Runtimes are the shipped ClusterServingRuntimes, one YAML document each, sorted by name.
func Runtimes() [][]byte {
	entries, err := files.ReadDir("runtimes")
	if err != nil {
		panic(fmt.Sprintf("deploy: the folder of runtimes is embedded: %v", err)) // impossible: the directive above names it
	}
	docs := make([][]byte, 0, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "kserve-") {
			docs = append(docs, read(path.Join("runtimes", e.Name())))
		}
	}
	return docs
}

func read(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("deploy: %s is embedded: %v", name, err)) // impossible: the directive above names it
	}
	return b
}
