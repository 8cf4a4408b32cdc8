// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

// PVCDir is where a pod that copies a model out of a claim has it mounted.
const PVCDir = "/mnt/pvc"

// TerminationLog is the file whose content the kubelet puts into a container's status when it ends.
const TerminationLog = "/dev/termination-log"

// The operator's limits on what a fetch may reach, as comma-separated lists.
const (
	// EnvStorageAllowSchemes are the only schemes allowed, when set.
	EnvStorageAllowSchemes = "STORAGE_ALLOW_SCHEMES"
	// EnvStorageAllowHosts are the only hosts allowed, when set: names, or ".suffix" for all below.
	EnvStorageAllowHosts = "STORAGE_ALLOW_HOSTS"
	// EnvStorageAllowAddresses are addresses or networks that may be reached although they are loopback, link-local or the like.
	EnvStorageAllowAddresses = "STORAGE_ALLOW_ADDRESSES"
	// EnvTerminationLog replaces TerminationLog.
	EnvTerminationLog = "TERMINATION_LOG"
)

// FetchReport is what the storage initializer writes into TerminationLog, as JSON of at most 4 KiB.
type FetchReport struct {
	// Outcome is FetchDone or FetchFailed.
	Outcome string `json:"outcome"`
	Source  string `json:"source,omitempty"`
	Target  string `json:"target,omitempty"`
	// Kind is the kind of failure: "not found", "denied", "unauthenticated", "unavailable", "changed", "invalid", "refused", "other".
	Kind string `json:"kind,omitempty"`
	// Message is the whole error.
	Message string `json:"message,omitempty"`
	// Retryable says that the same fetch may succeed later, without anybody's doing.
	Retryable bool  `json:"retryable,omitempty"`
	Files     int   `json:"files,omitempty"`
	Bytes     int64 `json:"bytes,omitempty"`
	// Fetched and Resumed are the bytes read this time, and those that an earlier try had left.
	Fetched int64 `json:"fetched,omitempty"`
	Resumed int64 `json:"resumed,omitempty"`
	Retries int   `json:"retries,omitempty"`
	// UpToDate says that the target held this version already.
	UpToDate bool    `json:"upToDate,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
}

// The outcomes of a FetchReport.
const (
	FetchDone   = "fetched"
	FetchFailed = "failed"
)
