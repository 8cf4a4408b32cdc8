// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Subjects of decisions.
const (
	SubjectMode     = "mode"
	SubjectRuntime  = "runtime"
	SubjectProtocol = "protocol"
	SubjectStorage  = "storage"
	SubjectURL      = "url"
	SubjectScale    = "scale"
	// SubjectCredentials is what a download is authorised by.
	SubjectCredentials = "credentials"
)

// Decision is one choice and its reason, in words for the person who wrote the YAML.
type Decision struct {
	Subject  string
	Role     serving.ComponentRole `json:",omitempty"` // empty: the whole service
	Workload string                `json:",omitempty"` // name of the component it is about
	Chosen   string
	Why      string
	Rejected []Rejection `json:",omitempty"`
}

// Rejection is a candidate that was not chosen.
type Rejection struct {
	Name string
	Why  string
	// Unrelated candidates are for something else altogether: a runtime that does not know the model's format.
	Unrelated bool `json:",omitempty"`
}

// Blocked says that the user (or the operator) has to change something first. Trying again does not help.
type Blocked struct { //nolint:errname // the plain word is what the rest of the project says
	// Reason is one of the API's documented reasons.
	Reason string
	// Role of the component that cannot be made; empty: the whole service.
	Role serving.ComponentRole
	// Message says what is wrong and what would fix it.
	Message string
	// Object is the name of the one object that is in the way; empty where there is none.
	Object string `json:",omitempty"`
	// Decisions taken before. The last one has nothing chosen where all candidates were rejected.
	Decisions []Decision
}

func (b *Blocked) Error() string { return b.Reason + ": " + b.Message }

// Waiting says that something else has to happen first, and when to look again.
type Waiting struct { //nolint:errname // as Blocked
	Reason  string
	Message string
	After   time.Duration
	// Object is the name of the one object that is waited for; empty where there is none.
	Object string `json:",omitempty"`
}

func (w *Waiting) Error() string { return w.Reason + ": " + w.Message }
