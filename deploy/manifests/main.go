// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manifests writes all that an installation applies into one file, and the CustomResourceDefinitions into another for those who
// want to wait for them: go run ./deploy/manifests -out dist.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
)

func main() {
	var o deploy.Options
	out := flag.String("out", "dist", "folder that gets kserve-go.yaml and kserve-go-crds.yaml")
	flag.StringVar(&o.Folder, "folder", deploy.Base, "kustomization to write: "+deploy.Base+", "+deploy.CertManager+", "+deploy.Local+" or "+deploy.LocalGateway)
	flag.StringVar(&o.ImagePrefix, "prefix", "kserve-go", "first part of the names of our own images")
	flag.StringVar(&o.ImageTag, "tag", "latest", "tag of our own images")
	flag.Parse()
	if err := run(o, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o deploy.Options, dir string) error {
	objects, err := deploy.Objects(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	var kinds []*unstructured.Unstructured
	for _, u := range objects {
		if u.GetKind() == "CustomResourceDefinition" {
			kinds = append(kinds, u)
		}
	}
	for name, objects := range map[string][]*unstructured.Unstructured{"kserve-go.yaml": objects, "kserve-go-crds.yaml": kinds} {
		if err := write(filepath.Join(dir, name), objects); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d objects, images %s/…:%s\n", filepath.Join(dir, "kserve-go.yaml"), len(objects), o.ImagePrefix, o.ImageTag)
	fmt.Printf("%s: %d of them, to be applied first\n", filepath.Join(dir, "kserve-go-crds.yaml"), len(kinds))
	return nil
}

func write(name string, objects []*unstructured.Unstructured) error {
	var out bytes.Buffer
	out.WriteString("# Copyright 2026 The kserve-go Authors.\n# SPDX-License-Identifier: Apache-2.0\n")
	for _, u := range objects {
		doc, err := yaml.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(doc)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write manifests: %w", err)
	}
	return nil
}
