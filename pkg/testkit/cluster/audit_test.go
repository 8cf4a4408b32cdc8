// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const controllerAudit = `"user":{"username":"system:serviceaccount:kserve:kserve-controller-manager"}`

func audited(t *testing.T, lines string) *Cluster {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o600))
	return &Cluster{audit: &auditLog{path: path}}
}

func TestARequestThatTheRolesForbidIsAFailure(t *testing.T) {
	c := audited(t, `{"stage":"ResponseComplete","verb":"list","requestURI":"/api/v1/secrets",`+controllerAudit+`,"objectRef":{"resource":"secrets"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"forbid"}}
`)
	require.ErrorContains(t, c.MustAllow(), "kserve-controller-manager: list secrets")
}

func TestARequestThatAdmissionRefusesIsNone(t *testing.T) {
	c := audited(t, `{"stage":"ResponseComplete","verb":"create","requestURI":"/api/v1/namespaces/a/services",`+controllerAudit+`,"objectRef":{"resource":"services","namespace":"a"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"allow"}}
`)
	require.NoError(t, c.MustAllow())
	requests, err := c.Requests(ControllerAccount)
	require.NoError(t, err)
	require.Len(t, requests, 1)
	require.True(t, requests[0].Writes())
}

func TestOfAWatchTheStartCounts(t *testing.T) {
	watch := func(stage string) string {
		return `{"stage":"` + stage + `","verb":"watch","requestURI":"/apis/apps/v1/deployments?sendInitialEvents=true&watch=true",` + controllerAudit +
			`,"objectRef":{"resource":"deployments","apiGroup":"apps"},"responseStatus":{"code":200}}` + "\n"
	}
	c := audited(t, watch("ResponseStarted")+watch("ResponseComplete"))
	requests, err := c.Requests()
	require.NoError(t, err)
	require.Len(t, requests, 1)
	for _, verb := range []string{"watch", "list"} {
		require.True(t, grant{group: "apps", resource: "deployments", verb: verb}.covers(requests[0]), verb)
	}
	require.False(t, grant{group: "apps", resource: "deployments", verb: "get"}.covers(requests[0]))
}

func TestAnApplyThatMadeSomethingNeedsCreateToo(t *testing.T) {
	made, changed := Request{Verb: "patch", Resource: "services", Code: 201}, Request{Verb: "patch", Resource: "services", Code: 200}
	g := grant{resource: "services", verb: "create"}
	require.True(t, g.covers(made))
	require.False(t, g.covers(changed))
	require.True(t, grant{resource: "services", verb: "patch"}.covers(changed))
}

func TestHalfALineIsReadLater(t *testing.T) {
	line := `{"stage":"ResponseComplete","verb":"delete","requestURI":"/x",` + controllerAudit + `,"objectRef":{"resource":"services"}}`
	c := audited(t, line[:20])
	requests, err := c.Requests()
	require.NoError(t, err)
	require.Empty(t, requests)
	require.NoError(t, os.WriteFile(c.audit.path, []byte(line+"\n"), 0o600))
	requests, err = c.Requests()
	require.NoError(t, err)
	require.Len(t, requests, 1)
}

func TestResourceVersionsAreNumbers(t *testing.T) {
	require.True(t, older("", "1"))
	require.True(t, older("9", "10"))
	require.False(t, older("10", "10"))
	require.False(t, older("11", "10"))
}
