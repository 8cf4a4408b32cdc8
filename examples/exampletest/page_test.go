// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exampletest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every function and type that the page about the SDK shows stands in an example, or in the client's own tests.
func TestThePageShowsTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/go-sdk.md")
	require.NoError(t, err)
	files, err := filepath.Glob("../*/main.go")
	require.NoError(t, err)
	files = append(files, "../../pkg/data/client/example_test.go")
	code := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		code += string(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 5)
	for _, block := range blocks {
		for part := range strings.SplitSeq(block[1], "\n\n") {
			require.Contains(t, code, strings.TrimSpace(part))
		}
	}
}
