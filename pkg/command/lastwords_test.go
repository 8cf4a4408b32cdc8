// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

func TestLastWordsGoWhereTheKubeletLooks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	t.Setenv(handoff.EnvTerminationLog, name)
	LastWords(errors.New("the model is damaged"))
	require.NoFileExists(t, name, "where nobody looks, nothing is made")
	require.NoError(t, os.WriteFile(name, []byte("what was there before, longer than the words"), 0o600))
	LastWords(errors.New("the model is damaged"))
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "the model is damaged", string(raw))
	LastWords(errors.New(strings.Repeat("ä", 3000)))
	raw, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("ä", 2048), string(raw))
}
