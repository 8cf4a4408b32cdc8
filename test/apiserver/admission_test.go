// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// heard keeps the warnings of an API server.
type heard struct {
	mu   sync.Mutex
	text []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, text)
}

func (h *heard) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	h.HandleWarningHeader(code, agent, text)
}

// TestWarningsReachThePersonWhoApplies holds that what is accepted and does nothing is told by the API server itself.
func TestWarningsReachThePersonWhoApplies(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	h := &heard{}
	config := rest.CopyConfig(c.Admin)
	config.WarningHandlerWithContext = h
	speaking, err := client.New(config, client.Options{})
	require.NoError(t, err)
	o := document(t, ns, service("foo", "canaryTrafficPercent: 20, model: {modelFormat: {name: sklearn}, storageUri: 's3://b/m'}"))
	o.SetAnnotations(map[string]string{"serving.kserve.io/autoscaler-class": "none", "serving.kserve.io/deploymentMode": "Standard"})
	require.NoError(t, speaking.Create(t.Context(), o, client.DryRunAll))
	all := strings.Join(h.text, "\n")
	require.Contains(t, all, "spec.predictor.canaryTrafficPercent: has no effect in Standard mode")
	require.Contains(t, all, `did you mean "serving.kserve.io/autoscalerClass"?`)
}

// TestTheSchemaJudgesWithoutAWebhook holds that an API server without any webhook of ours refuses what a schema can tell, and accepts the rest.
func TestTheSchemaJudgesWithoutAWebhook(t *testing.T) { //nolint:paralleltest // the other tests need the webhooks
	c := cluster.Shared(t)
	ns := c.Namespace(t)
	const model = "model: {modelFormat: {name: sklearn}, storageUri: 's3://b/m'}"
	cases := map[string]struct{ fields, says string }{
		"a right service":         {model + ", minReplicas: 1, maxReplicas: 3", ""},
		"an older field":          {"sklearn: {storageUri: 's3://b/m'}", ""},
		"a container":             {"containers: [{name: kserve-container, image: i}]", ""},
		"nothing":                 {"", "exactly one of model"},
		"two models":              {model + ", sklearn: {}", "exactly one of model"},
		"replicas out of order":   {model + ", minReplicas: 3, maxReplicas: 2", "must not be greater than maxReplicas"},
		"a share beyond hundred":  {model + ", canaryTrafficPercent: 101", "less than or equal to 100"},
		"two sources":             {model + ", storageUris: [{uri: 's3://a/b'}]", "cannot be used together"},
		"a protocol nobody knows": {"model: {modelFormat: {name: sklearn}, protocolVersion: v9}", "grpc-v2"},
		"a path that climbs":      {"model: {modelFormat: {name: sklearn}}, storageUris: [{uri: 's3://a/b', mountPath: /mnt/../etc}]", "mountPath"},
		"no node at all":          {"model: {modelFormat: {name: sklearn}, storageUri: 'pvc://a'}, workerSpec: {pipelineParallelSize: 0}", "greater than or equal to 1"},
	}
	err := c.WithoutWebhooks(t.Context(), func() error {
		for name, test := range cases {
			err := c.Client.Create(t.Context(), document(t, ns, service("a", test.fields)), client.DryRunAll)
			switch {
			case test.says == "" && err != nil:
				return fmt.Errorf("%s: to be accepted: %w", name, err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				return fmt.Errorf("%s: to be refused with %q: %w", name, test.says, err)
			}
		}
		return nil
	})
	require.NoError(t, err)
}
