// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	storeID     = "test-key"
	storeSecret = "test-secret"
	storeS3     = "store.store.svc.cluster.local:9000"
	storeWeb    = "http://store.store.svc.cluster.local:8080"
)

// The store is a pod: an initializer refuses to fetch from the loopback of its own pod, and the host is nowhere else.
const storeObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: store}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: store, namespace: store}
spec:
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: store
        image: test/store:latest
        command: [/store, serve]
        env: [{name: STORE_ACCESS_KEY, value: ` + storeID + `}, {name: STORE_SECRET_KEY, value: ` + storeSecret + `}]
        readinessProbe: {tcpSocket: {port: 8080}}
---
apiVersion: v1
kind: Service
metadata: {name: store, namespace: store}
spec:
  selector: {app: store}
  ports: [{name: s3, port: 9000}, {name: http, port: 8080}]
`

// startStore makes an image of the store program and the models, and runs it.
func (w *world) startStore(t *testing.T) {
	t.Helper()
	files := filepath.Join(w.run, "store-image")
	if _, err := os.Stat(files); err == nil {
		return // it runs since an earlier run
	}
	copyTree(t, filepath.Join(root, "deploy/samples/models"), filepath.Join(files, "data/models"))
	copyTree(t, filepath.Join(root, "deploy/samples/models/iris"), filepath.Join(files, "data/slow/iris"))
	damaged := filepath.Join(files, "data/models/damaged")
	require.NoError(t, os.MkdirAll(damaged, 0o755))
	whole, err := os.ReadFile(filepath.Join(root, "deploy/samples/models/iris/model.joblib"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(damaged, "model.joblib"), whole[:len(whole)/2], 0o644))
	copyFile(t, program("store"), filepath.Join(files, "store"), 0o755)

	out, err := w.local(t.Context(), "load", "test/store:latest", files)
	require.NoError(t, err, "%s", out)
	out, err = w.kubectl(t.Context(), storeObjects, "apply", "-f", "-")
	require.NoError(t, err, "%s", out)
	out, err = w.kubectl(t.Context(), "", "rollout", "status", "-n", "store", "deployment/store", "--timeout=60s")
	require.NoError(t, err, "%s", out)
	tell("the object store serves")
}

// storeKeys tells the services of a namespace, through the account that they run as, where the store is and what to sign with.
func (s *space) storeKeys(id, secret string) string {
	return `
apiVersion: v1
kind: Secret
metadata:
  name: store-keys
  annotations: {serving.kserve.io/s3-endpoint: "` + storeS3 + `", serving.kserve.io/s3-usehttps: "0", serving.kserve.io/s3-region: us-east-1}
stringData: {AWS_ACCESS_KEY_ID: "` + id + `", AWS_SECRET_ACCESS_KEY: "` + secret + `"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default}
secrets: [{name: store-keys}]
`
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, mode))
}
