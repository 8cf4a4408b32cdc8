// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"reflect"
	"strings"

	sigsjson "sigs.k8s.io/json"

	"github.com/kserve-go/kserve-go/pkg/apis/mistyped"
	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// maxMistypes bounds how many wrong types of one document are told: each costs one more decoding.
const maxMistypes = 20

// decodeStrict fills o.Value and returns a fault for each unknown field and each value of a wrong type. What is wrong is left out of the value,
// which stays nil where even the rest cannot be read.
func (o *Object) decodeStrict(raw []byte, fresh func() any) []Fault {
	var faults []Fault
	value := fresh()
	for range maxMistypes {
		path, message := quantity.Unbounded(raw, reflect.TypeOf(value))
		if message == "" {
			strict, err := sigsjson.UnmarshalStrict(raw, value)
			if err == nil {
				for _, e := range strict {
					faults = append(faults, o.strictFault(e, value))
				}
				o.Value = value
				break
			}
			path, message = mistyped.Find(raw, err, func(raw []byte) error {
				_, err := sigsjson.UnmarshalStrict(raw, fresh())
				return err
			})
		}
		faults = append(faults, o.Fault(path, message))
		// Look for further faults in what is left without the wrong value.
		rest, removed := mistyped.Without(raw, SplitPath(path))
		if path == "" || !removed {
			break
		}
		raw, value = rest, fresh()
	}
	return faults
}

// strictFault turns "unknown field \"spec.x\"" into a fault with a suggestion.
func (o *Object) strictFault(err error, value any) Fault {
	text := err.Error()
	what, quoted, ok := strings.Cut(text, ` "`)
	if !ok {
		return o.Fault("", text)
	}
	path := strings.TrimSuffix(quoted, `"`)
	if strings.HasPrefix(what, "duplicate") {
		return o.Fault(path, "given twice; keep one of the two")
	}
	return o.Fault(path, "unknown field"+spelling.Field(reflect.TypeOf(value), SplitPath(path)))
}
