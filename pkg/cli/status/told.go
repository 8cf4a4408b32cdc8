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

// before says whether a text was told: half of it, in one piece, is on the screen.
func (t *told) before(text string) bool {
	words := strings.Fields(text)
	half := (len(words) + 1) / 2
	if half < fewestWords {
		return len(words) > 0 && strings.Contains(t.text, plainly(text))
	}
	for i := range len(words) - half + 1 {
		if strings.Contains(t.text, strings.Join(words[i:i+half], " ")) {
			return true
		}
	}
	return false
}

// fewestWords in one piece make it certain that a text is a repetition; a shorter one has to be there whole.
const fewestWords = 5

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
