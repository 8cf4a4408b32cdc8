// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"

	yaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// tree is a document as written, for telling the line of a field.
type tree struct {
	root   *yaml.Node
	before int // lines of the file before this document
}

func newTree(text []byte, before int) *tree {
	var doc yaml.Node
	t := &tree{before: before}
	if err := yaml.Unmarshal(text, &doc); err == nil && len(doc.Content) == 1 {
		t.root = doc.Content[0]
	}
	return t
}

// line is where the deepest existing part of path stands; fallback when not even the first is there.
func (t *tree) line(path string, fallback int) int {
	if t == nil || t.root == nil {
		return fallback
	}
	at, line := t.root, t.root.Line+t.before
	for _, key := range SplitPath(path) {
		for at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		next, where := child(at, key)
		if next == nil {
			break
		}
		at, line = next, where+t.before
	}
	return line
}

func child(n *yaml.Node, key string) (value *yaml.Node, line int) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1], n.Content[i].Line
			}
		}
	}
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i].Line
		}
	}
	return nil, 0
}

// SplitPath splits a field path as Kubernetes prints them: a.b[0].c and a.b[some.key/x].
func SplitPath(path string) []string { return spelling.SplitPath(path) }
