// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import "fmt"

// Refused is returned for a well-formed file that names something outside the allow list.
type Refused struct { //nolint:errname // pickle.Refused says it
	// Name is the full name: "os.system", "my_company.models.ChurnModel".
	Name   string
	Offset int64
	Reason string
}

func (e *Refused) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.Name, e.Offset, e.Reason)
}

// Damaged is returned for a file that is no pickle, breaks off, contradicts itself or asks for too much.
type Damaged struct { //nolint:errname // pickle.Damaged says it
	Offset int64
	Reason string
	Cause  error
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns the cause.
func (e *Damaged) Unwrap() error { return e.Cause }
