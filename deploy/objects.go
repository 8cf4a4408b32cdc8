// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Folders with a kustomization that installs everything.
const (
	Base         = "base"
	Local        = "overlays/local"
	LocalGateway = "overlays/local-gateway"
	CertManager  = "overlays/cert-manager"
)

const (
	kustomizationFile = "kustomization.yaml"
	ownGroup          = "serving.kserve.io"
)

// Options choose what is installed. The zero value is the base with the images that `make images` makes.
type Options struct {
	// Folder is one of those above; empty is Base.
	Folder string
	// ImagePrefix and ImageTag take the places of kserve-go and latest in the names of our own images, in settings and runtimes too.
	ImagePrefix, ImageTag string
	// MinimalKinds installs our kinds with no more of their schemas than our own fields and rules: smaller by far, but of everything else,
	// and of names that are not known, the API server then says nothing.
	MinimalKinds bool
}

// Objects are what a kustomization installs, in the order to apply them: the namespace, the kinds, permissions, settings and our own
// objects, the processes, and last the webhooks, which from then on refuse what no process is there to admit. An object of a kind
// that was just made is accepted once its CustomResourceDefinition is established.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	s := source{files: files, images: o}
	objects, err := s.folder(cmp.Or(o.Folder, Base))
	if err != nil {
		return nil, err
	}
	if o.MinimalKinds {
		if err := s.minimal(objects); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	return objects, nil
}

// minimal puts the small form of each kind into its place.
func (s *source) minimal(objects []*unstructured.Unstructured) error {
	for i, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group") // the file's name shows what is missing
		if group != ownGroup {
			continue // others' kinds are small as they are installed
		}
		plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
		small, err := s.file(path.Join("crd", "minimal", group+"_"+plural+".yaml"))
		if err != nil {
			return err
		}
		if len(small) != 1 || small[0].GetName() != o.GetName() {
			return fmt.Errorf("the minimal form of kind %s is not one object of that name", o.GetName())
		}
		objects[i] = small[0]
	}
	return nil
}

// rank orders kinds so that each object finds what it refers to.
func rank(u *unstructured.Unstructured) int {
	order := map[string]int{
		"Namespace": 0, "CustomResourceDefinition": 1, "ServiceAccount": 2, "ClusterRole": 3, "Role": 3, "ClusterRoleBinding": 4, "RoleBinding": 4,
		"ConfigMap": 5, "Secret": 5, "Service": 7, "PodDisruptionBudget": 8, "MutatingWebhookConfiguration": 10, "ValidatingWebhookConfiguration": 10,
	}
	if n, ok := order[u.GetKind()]; ok {
		return n
	}
	if u.GroupVersionKind().Group == ownGroup {
		return 6
	}
	return 9
}

// kustomization is the part of the file that Objects knows; any other field is an error, so that nobody installs less than was written.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
	Patches    []struct {
		Path string `json:"path"`
	} `json:"patches"`
}

// source is where kustomizations are read.
type source struct {
	files  fs.FS
	images Options
}

func (s *source) folder(dir string) ([]*unstructured.Unstructured, error) {
	raw, err := fs.ReadFile(s.files, path.Join(dir, kustomizationFile))
	if err != nil {
		return nil, fmt.Errorf("read kustomization: %w", err)
	}
	var k kustomization
	if err := yaml.UnmarshalStrict(raw, &k); err != nil {
		return nil, fmt.Errorf("read kustomization of %s: %w", dir, err)
	}
	var all []*unstructured.Unstructured
	for _, r := range k.Resources {
		name := path.Join(dir, r)
		read := s.file
		if info, err := fs.Stat(s.files, name); err == nil && info.IsDir() {
			read = s.folder
		}
		objects, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, p := range k.Patches {
		name := path.Join(dir, p.Path)
		patches, err := s.file(name)
		if err != nil {
			return nil, err
		}
		for _, patch := range patches {
			if all, err = patched(all, patch); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return all, nil
}

func (s *source) file(name string) ([]*unstructured.Unstructured, error) {
	raw, err := fs.ReadFile(s.files, name)
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	objects, err := s.decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return objects, nil
}

var ourImage = regexp.MustCompile(`\bkserve-go/([a-z][a-z-]*):latest\b`)

// decode reads YAML documents; our own images are renamed wherever they are named.
func (s *source) decode(raw []byte) ([]*unstructured.Unstructured, error) {
	name := cmp.Or(s.images.ImagePrefix, "kserve-go") + "/${1}:" + cmp.Or(s.images.ImageTag, "latest")
	raw = ourImage.ReplaceAll(raw, []byte(name))
	var all []*unstructured.Unstructured
	for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read document: %w", err)
		}
		content, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return nil, fmt.Errorf("read document: %w", err)
		}
		if string(content) == "null" { // comments alone
			continue
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(content); err != nil {
			return nil, fmt.Errorf("read object: %w", err)
		}
		all = append(all, u)
	}
}
