// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crds takes the kinds of other projects that tests install out of those projects' Go modules, so that what we render meets the
// schemas and rules that a cluster has.
//
// Called by: people, from the root of the repository, when a version changes: go run ./test/crds.
// Next: test/data/crds, which pkg/testkit/cluster installs.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	into    = "test/data/crds"
	heading = `Kinds of other projects that a cluster may have, for tests on an API server: taken out of the projects' Go modules by ` + "`go run ./test/crds`" + `, which also
writes this page. All are Apache-2.0. Schemas, defaults and validation rules are the projects'; descriptions and printer columns are left out.

| File | Module | Version | File in the module |
|---|---|---|---|
`
)

// source is where a definition comes from.
type source struct {
	module, version, path string
	// name is the definition's, into the file.
	name, into string
	// only is the one version that is kept; empty keeps all.
	only string
}

func sources() []source {
	const (
		gateway = "sigs.k8s.io/gateway-api"
		crds    = "config/crd/"
	)
	return []source{
		// The Gateway API is the version that the product is built with.
		{gateway, "", crds + "standard/gateway.networking.k8s.io_gateways.yaml", "gateways.gateway.networking.k8s.io", "gateway-gateways.yaml", ""},
		{gateway, "", crds + "standard/gateway.networking.k8s.io_httproutes.yaml", "httproutes.gateway.networking.k8s.io", "gateway-httproutes.yaml", ""},
		{"github.com/kedacore/keda/v2", "v2.21.0", crds + "bases/keda.sh_scaledobjects.yaml", "scaledobjects.keda.sh", "keda-scaledobjects.yaml", ""},
		{"istio.io/api", "v1.32.0", "kubernetes/customresourcedefinitions.gen.yaml", "virtualservices.networking.istio.io", "istio-virtualservices.yaml", ""},
		{"knative.dev/serving", "v0.48.1", "config/core/300-resources/service.yaml", "services.serving.knative.dev", "knative-services.yaml", ""},
		{
			"github.com/open-telemetry/opentelemetry-operator", "v0.142.0", crds + "bases/opentelemetry.io_opentelemetrycollectors.yaml",
			"opentelemetrycollectors.opentelemetry.io", "opentelemetry-collectors.yaml", "v1beta1",
		},
		{"sigs.k8s.io/lws", "v0.8.0", crds + "bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml", "leaderworkersets.leaderworkerset.x-k8s.io", "lws-leaderworkersets.yaml", ""},
		{
			"sigs.k8s.io/gateway-api-inference-extension", "v1.5.0", crds + "bases/inference.networking.k8s.io_inferencepools.yaml",
			"inferencepools.inference.networking.k8s.io", "inference-inferencepools.yaml", "",
		},
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run() error {
	var page strings.Builder
	page.WriteString(heading)
	for _, s := range sources() {
		if err := take(&s); err != nil {
			return fmt.Errorf("%s of %s: %w", s.name, s.module, err)
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | `%s` |\n", s.into, s.module, s.version, s.path)
	}
	return os.WriteFile(filepath.Join(into, "README.md"), []byte(page.String()), 0o644)
}

// take writes one definition.
func take(s *source) error {
	if s.version == "" {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", s.module).Output()
		if err != nil {
			return fmt.Errorf("ask for its version: %w", err)
		}
		s.version = strings.TrimSpace(string(out))
	}
	out, err := exec.Command("go", "mod", "download", "-json", s.module+"@"+s.version).Output()
	if err != nil {
		return fmt.Errorf("download it: %w\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, filepath.FromSlash(s.path)))
	if err != nil {
		return err
	}
	for part := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
		var o map[string]any
		if err := yaml.Unmarshal(part, &o); err != nil {
			return err
		}
		metadata, _ := o["metadata"].(map[string]any)
		if metadata["name"] != s.name {
			continue
		}
		slim(o, metadata, s.only)
		body, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		body = append(fmt.Appendf(nil, "# From %s %s, Apache-2.0; descriptions and printer columns left out.\n", s.module, s.version), body...)
		return os.WriteFile(filepath.Join(into, s.into), body, 0o644)
	}
	return fmt.Errorf("%s does not define it", s.path)
}

// slim leaves out what is for readers, and what needs a webhook.
func slim(o, metadata map[string]any, only string) {
	annotations := map[string]any{}
	if all, ok := metadata["annotations"].(map[string]any); ok && all["api-approved.kubernetes.io"] != nil {
		annotations["api-approved.kubernetes.io"] = all["api-approved.kubernetes.io"]
	}
	o["metadata"] = map[string]any{"name": metadata["name"], "annotations": annotations}
	delete(o, "status")
	spec, _ := o["spec"].(map[string]any)
	delete(spec, "conversion")
	versions, _ := spec["versions"].([]any)
	kept := make([]any, 0, len(versions))
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || only != "" && version["name"] != only {
			continue
		}
		delete(version, "additionalPrinterColumns")
		delete(version, "deprecationWarning")
		undescribed(version["schema"])
		kept = append(kept, version)
	}
	spec["versions"] = kept
}

// undescribed drops descriptions from a schema; a property of that name is no description.
func undescribed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for _, inner := range v {
			undescribed(inner)
		}
	case []any:
		for _, inner := range v {
			undescribed(inner)
		}
	}
}
