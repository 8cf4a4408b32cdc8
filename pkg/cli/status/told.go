// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// told is what a screen says already: a kubelet's sentence comes back in conditions, pods and events, each time in other words around it.
type told struct{ text string }

func (t *told) add(text string) { t.text += plainly(text) + "\n" }

// before says whether a text is on the screen already: the whole, perhaps without a word such as "predictor:" before it, or the last half of a long
// one. What a sentence quotes comes last, and what is cut off on the screen has not been told.
func (t *told) before(text string) bool {
	words := strings.Fields(text)
	if len(words) > 1 && strings.HasSuffix(words[0], ":") {
		words = words[1:]
	}
	if len(words) >= longText {
		words = words[len(words)/2:]
	}
	return len(words) > 0 && strings.Contains(t.text, strings.Join(words, " "))
}

// longText is how many words a text has of which half is enough: in short ones the first word may be what counts, as in "Liveness probe failed: …".
const longText = 14

// state is that of a pod; of one whose explanation was told, the reason alone.
func (t *told) state(state string) string {
	reason, why, explained := strings.Cut(state, ": ")
	if explained && t.before(why) {
		return reason
	}
	t.add(why)
	return output.Clip(state, widthOfWhy)
}

func plainly(text string) string { return strings.Join(strings.Fields(text), " ") }
