// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// maxWords is what the kubelet keeps of a termination message.
const maxWords = 4096

// LastWords leaves the error that ends the process where the kubelet looks for it, so that it is in the pod's status and from there in the
// service's. Elsewhere there is no such file, and nothing is made.
func LastWords(err error) {
	name := handoff.TerminationLog
	if other := os.Getenv(handoff.EnvTerminationLog); other != "" {
		name = other
	}
	f, oerr := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if oerr != nil {
		return
	}
	words := err.Error()
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "")
	}
	_, _ = f.WriteString(words) // there is nobody left to tell
	_ = f.Close()
}
