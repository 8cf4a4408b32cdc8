// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rulebook holds docs/admission-rules.md to the tests of the rules: each section of the page is what a table of tests makes the
// rules say. `go test -p 1 ./serving/v1... -update`, in pkg/apis, writes it anew.
//
// Called by: the tests of apis/serving/{v1beta1,v1alpha1}.
// Next: docs/admission-rules.md.
package rulebook

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

var update = flag.Bool("update", false, "write docs/admission-rules.md anew") //nolint:gochecknoglobals // a test flag has to be known before tests run

// page lies four folders above the tests.
const page = "../../../../docs/admission-rules.md"

// Row is a line of a section: the path of a field, what is right, and what is said where it is not.
type Row struct{ Field, Rule, Says string }

// Refusal is the row of a rule whose refusal is among the faults.
func Refusal(t *testing.T, rule, at string, faults field.ErrorList) Row {
	t.Helper()
	for _, fault := range faults {
		if fault.Field == at {
			Sound(t, fault)
			return Row{at, rule, fault.ErrorBody()}
		}
	}
	t.Fatalf("%s: no refusal of %s among %v", rule, at, faults)
	return Row{}
}

// Sound holds a refusal to what every one has: a path, a value where there is one, the rule, and what to do.
func Sound(t *testing.T, fault *field.Error) {
	t.Helper()
	if fault.Field == "" {
		t.Errorf("%v: names no field", fault)
	}
	switch fault.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeTooMany:
		return // the text of the type itself names value and choice
	case field.ErrorTypeInvalid:
		if fault.BadValue == nil {
			t.Errorf("%v: names no value", fault)
		}
	default:
	}
	if !ruleAndFix.MatchString(fault.Detail) {
		t.Errorf("%v: says a rule and not what to do", fault)
	}
}

// Warning is the row of something odd.
func Warning(rule string, warning serving.Warning) Row {
	return Row{warning.Field, rule, warning.Detail}
}

// ruleAndFix is a rule, and after it what to do.
var ruleAndFix = regexp.MustCompile("[;,:] .+")

var longWord = regexp.MustCompile(`([a-z])[a-z]{24,}`)

// Section holds one section of the page to its rows.
func Section(t *testing.T, title string, rows []Row) {
	t.Helper()
	slices.SortFunc(rows, func(a, b Row) int {
		return strings.Compare(a.Field+"\x00"+a.Rule, b.Field+"\x00"+b.Rule)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "| Field | What is right | What is said where it is not |\n|---|---|---|\n")
	for _, row := range rows {
		says := longWord.ReplaceAllString(row.Says, "$1…")
		at := "`" + row.Field + "`"
		if row.Field == "" {
			at = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", at, row.Rule, strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(says))
	}
	begin, end := "<!-- "+title+" -->\n", "<!-- end of "+title+" -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, hasBegin := strings.Cut(string(text), begin)
	now, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s lacks the line %q or %q", page, begin, end)
	}
	switch {
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case b.String() != now:
		t.Errorf("%s does not say what the rules say: run go test -p 1 ./serving/v1... -update in pkg/apis and read the difference", page)
	}
}
