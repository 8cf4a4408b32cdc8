// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"

	"github.com/kserve-go/kserve-go/local/place"
)

// auditPolicy notes who asked for what and how it was answered, and no contents. Health checks are left out: nobody learns from them.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, nonResourceURLs: ["/healthz*", "/livez*", "/readyz*"]}
- {level: Metadata}
`

// audit writes the policy and returns the API server's flags.
func audit(o Options) ([]string, error) {
	if o.AuditLog == "" {
		return nil, nil
	}
	// The API server would tell its own log only.
	f, err := os.OpenFile(o.AuditLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	policy := o.Place.Path("audit-policy.yaml")
	if err := place.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	return []string{"--audit-log-path=" + o.AuditLog, "--audit-policy-file=" + policy}, nil
}
