// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

func irisFromS3(s *space) {
	g := golden(s.T, "sklearn-iris")
	s.apply(model("iris", "s3://models/iris"))
	v := s.ready("iris")
	s.await("iris", "its model is Loaded", seconds, func(v *isvc) bool {
		m := v.Status.ModelStatus
		return m.TransitionStatus == servingv1beta1.UpToDate && m.ModelRevisionStates != nil && m.ModelRevisionStates.ActiveModelState == servingv1beta1.Loaded &&
			m.ModelCopies != nil && m.ModelCopies.TotalCopies == 1
	})
	require.Equal(s, "http://iris-predictor."+s.ns+".svc.cluster.local", v.Status.Address.URL)
	for _, w := range []way{s.throughService("iris"), s.throughGateway(v)} {
		s.answers(w, "iris", g)
		got, err := w.askV2(s.Context(), w.client(false), "iris", g)
		require.NoError(s, err, "V2 through the %s", w.name)
		require.NoError(s, g.Compare(got), "V2 through the %s", w.name)
	}
	body, err := json.Marshal(v1Body(g))
	require.NoError(s, err)
	require.JSONEq(s, `{"predictions": [1, 1, 0, 2, 2]}`, s.inPod(v.Status.Address.URL+"/v1/models/iris:predict", string(body)), "from a pod")
	require.JSONEq(s, `{"predictions": [1, 1, 0, 2, 2]}`, s.predict("iris", "--url", "http://"+bare(s.record.Gateway), "--host", bare(v.Status.URL), "-d", string(body)), "kserve predict")
}

// A port named h2c makes the Service's port 80 lead to gRPC.
func irisFromWeb(s *space) {
	g := golden(s.T, "sklearn-iris")
	s.apply(model("iris", storeWeb+"/models/iris/model.joblib", `      ports: [{name: h2c, containerPort: 8081, protocol: TCP}]`))
	v := s.ready("iris")
	for _, w := range []way{s.throughService("iris"), s.throughGateway(v)} {
		got, err := w.askGRPC(s.Context(), "iris", g)
		require.NoError(s, err, "gRPC through the %s", w.name)
		require.NoError(s, g.Compare(got), "gRPC through the %s", w.name)
	}
	body, err := json.Marshal(v1Body(g))
	require.NoError(s, err)
	out := s.predict("iris", "-p", "grpc", "--grpc-address", s.door(s.T, s.throughService("iris").address), "-d", string(body))
	require.Contains(s, strings.Join(strings.Fields(out), ""), `"int64_contents":["1","1","0","2","2"]`)
}

// allSamples applies what the README shows, in the namespace that it uses.
func allSamples(s *space) {
	files, err := filepath.Glob(filepath.Join(root, "deploy/samples/*.yaml"))
	require.NoError(s, err)
	names := map[string]bool{}
	home := &space{T: s.T, world: s.world, ns: "default"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(s, err)
		if strings.Contains(string(text), "kind: InferenceGraph") {
			continue // the controller does not run graphs yet
		}
		home.apply(string(text))
		names[strings.TrimSuffix(filepath.Base(file), ".yaml")] = true
	}
	require.GreaterOrEqual(s, len(names), 5)
	for name := range names {
		v := home.ready(name)
		home.answers(home.throughGateway(v), name, golden(s.T, name))
		home.answers(home.throughService(name), name, golden(s.T, name))
	}
	out, err := s.kubectl(s.Context(), "", "delete", "inferenceservices", "--all", "-n", home.ns)
	require.NoError(s, err, "%s", out)
}
