// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths in bytes. A status is read by many and written often; the rest is in logs.
const (
	maxMessage = 500  // of a condition
	maxDetail  = 260  // of what others said inside a message, so that advice after it is not cut off
	maxFailure = 1000 // of modelStatus.lastFailureInfo.message
	maxInput   = 8192 // of a text that is looked at, at all
)

// bounded makes a text one line of valid characters, and cuts it where it is too long.
func bounded(s string, limit int) string {
	s = oneLine(s)
	if len(s) <= limit {
		return s
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.TrimRight(s[:cut], " ,;:") + "…"
}

// oneLine joins lines, and drops what a terminal would obey.
func oneLine(s string) string {
	if len(s) > maxInput {
		s = s[:maxInput]
	}
	clean := utf8.ValidString(s) && !strings.Contains(s, "  ") && strings.TrimSpace(s) == s &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && (unicode.IsSpace(r) || !unicode.IsPrint(r)) })
	if clean {
		return s
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

// tail is the end of a log: its last lines that say something, as one line.
func tail(s string, lines int) string {
	if len(s) > maxInput {
		s = s[len(s)-maxInput:]
	}
	var last []string
	all := strings.Split(s, "\n")
	for i := len(all) - 1; i >= 0 && len(last) < lines; i-- {
		if line := oneLine(all[i]); line != "" {
			last = append([]string{line}, last...)
		}
	}
	joined := strings.Join(last, " / ")
	if len(joined) <= maxDetail || len(last) == 0 {
		return joined
	}
	return bounded(last[len(last)-1], maxDetail)
}

// ending is the end of a text that is too long: of a log it is what tells.
func ending(s string, limit int) string {
	s = oneLine(s)
	if len(s) <= limit {
		return s
	}
	cut := len(s) - limit + len("…")
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return "…" + s[cut:]
}

// sentence ends a text with one full stop.
func sentence(s string) string {
	s = strings.TrimRight(oneLine(s), " ,;:")
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// sameButFigures says that two texts differ only in what changes from try to try: long numbers, hexadecimal ids, times.
func sameButFigures(a, b string) bool {
	return a == b || len(a) > 0 && len(b) > 0 && maskFigures(a) == maskFigures(b)
}

// maskFigures puts # for every word part of digits and hexadecimal letters that is long, or is a time of a day or a span.
func maskFigures(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		j, digits := i, 0
		for j < len(s) && isHex(s[j]) {
			if s[j] >= '0' && s[j] <= '9' {
				digits++
			}
			j++
		}
		switch run := j - i; {
		case run == 0:
			b.WriteByte(s[i])
			i++
		case digits > 0 && (run >= 8 || digits >= 5) || digits == run && (beside(s, i-1, ':') || beside(s, j, ':')) && run == 2:
			b.WriteByte('#')
			i = j
		default:
			b.WriteString(s[i:j])
			i = j
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func beside(s string, i int, c byte) bool { return i >= 0 && i < len(s) && s[i] == c }
