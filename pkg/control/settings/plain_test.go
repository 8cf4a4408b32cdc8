// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// FuzzPlain holds the short way against the templates that it stands for.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		"", "a", "{{.Name}}", "{{ .Name }}-{{ .Namespace }}.x", "{{.Name", "{{", "}}", "{{.Name}}}}", "{{- .Name -}} x", "{{ .Name}}{{.Namespace }}", "{{\t.Name}}",
		"{{.Name}}{{/* no */}}", "{{\"}}\"}}", "{{{.Name}}}", "{{.Labels.a}}", "{{ }}", "{{.Name\n}}", "{{.Name}} {{-  .Name}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		place := settings.Place{Name: "n{{.Namespace}}", Namespace: "s"}
		short, ok := settings.Plain(text, map[string]string{".Name": place.Name, ".Namespace": place.Namespace})
		if !ok {
			return
		}
		read, err := template.New("").Parse(text)
		require.NoError(t, err)
		var long strings.Builder
		require.NoError(t, read.Execute(&long, place))
		require.Equal(t, long.String(), short)
	})
}
