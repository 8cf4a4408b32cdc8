// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddressesHaveOneShapeInBothModes sets what the status of the same service says in Standard and in Knative mode side by side: no address
// of the one has a path of a protocol that the other's has not, so that a client needs to know nothing of the mode.
func TestAddressesHaveOneShapeInBothModes(t *testing.T) {
	const model = "model: {modelFormat: {name: sklearn}, storageUri: 's3://b/m'%s}"
	v1, v2 := fmt.Sprintf(model, ""), fmt.Sprintf(model, ", protocolVersion: v2")
	cases := map[string]struct{ settings, spec string }{
		"a model that speaks V1":       {"{}", "{predictor: {" + v1 + "}}"},
		"a model that speaks V2":       {"{}", "{predictor: {" + v2 + "}}"},
		"a model behind a transformer": {"{}", "{predictor: {" + v1 + "}, transformer: {containers: [{image: 't:1'}]}}"},
		"all components":               {"{}", "{predictor: {" + v2 + "}, transformer: {containers: [{image: 't:1'}]}, explainer: {containers: [{image: 'e:1'}]}}"},
		"an address with https":        {"{ingress: {urlScheme: https}}", "{predictor: {" + v1 + "}}"},
		"a server of one's own":        {"{}", "{predictor: {containers: [{image: 'i:1', ports: [{containerPort: 9000}]}]}}"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			standard, knative := addresses(t, "Standard", c.settings, c.spec), addresses(t, "Knative", c.settings, c.spec)
			require.Equal(t, standard, knative)
			require.Contains(t, standard, "address.url")
			require.Contains(t, standard, "url")
		})
	}
}

// addresses are the scheme and path of everything that a service in a mode says of where it is.
func addresses(t *testing.T, mode, settings, spec string) map[string]string {
	t.Helper()
	e, err := read([]byte("settings: " + settings + "\nwarnings: []\ninput:\n- {kind: InferenceService, metadata: {name: foo, annotations: {serving.kserve.io/deploymentMode: " + mode + "}}, spec: " + spec + "}\n"))
	require.NoError(t, err)
	got, err := run(e)
	require.NoError(t, err)
	require.Empty(t, got.refusals)
	require.Empty(t, got.stops)
	require.Len(t, got.status, 1)
	status, _ := got.status[0]["status"].(doc)
	require.Equal(t, mode, status["deploymentMode"])
	all := map[string]string{}
	add := func(where string, text any) {
		if text == nil {
			return
		}
		u, err := url.Parse(fmt.Sprint(text))
		require.NoError(t, err)
		require.NotEmpty(t, u.Host, where)
		all[where] = u.Scheme + " " + u.RequestURI()
	}
	add("url", status["url"])
	address, _ := status["address"].(doc)
	add("address.url", address["url"])
	components, _ := status["components"].(doc)
	for name, c := range components {
		component, _ := c.(doc)
		add("components."+name+".url", component["url"])
	}
	return all
}
