// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"github.com/stretchr/testify/require"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

const iris = "s3://models/iris"

// healed applies the mended object and sees that the service serves.
func (s *space) healed(name, yaml string) {
	s.Helper()
	s.apply(yaml)
	s.ready(name)
	s.answers(s.throughService(name), name, golden(s.T, "sklearn-iris"))
}

func modelNotThere(s *space) {
	s.apply(model("lost", "s3://models/no-such-folder"))
	s.tells("lost", trouble{
		message: []string{"s3://models/no-such-folder"}, state: servingv1beta1.FailedToLoad, reason: servingv1beta1.ModelLoadFailed, exit: 1,
	})
	s.healed("lost", model("lost", iris))
}

func wrongCredentials(s *space) {
	s.apply(s.storeKeys(storeID, "another-secret"))
	s.apply(model("locked", iris))
	s.tells("locked", trouble{message: []string{"s3://models/iris"}, state: servingv1beta1.FailedToLoad, reason: servingv1beta1.ModelLoadFailed, exit: 1})
	// The secret is mended, nothing else: the initializer's next attempt reads it.
	s.apply(s.storeKeys(storeID, storeSecret))
	s.healed("locked", model("locked", iris))
}

func damagedModel(s *space) {
	s.apply(model("damaged", "s3://models/damaged"))
	s.tells("damaged", trouble{message: []string{"model.joblib"}, state: servingv1beta1.FailedToLoad, reason: servingv1beta1.ModelLoadFailed})
	s.healed("damaged", model("damaged", iris))
}

func imageNotThere(s *space) {
	s.apply(model("pictureless", iris, `      image: registry.invalid/no/such:image`))
	s.tells("pictureless", trouble{message: []string{"registry.invalid/no/such:image"}, state: servingv1beta1.FailedToLoad})
	s.healed("pictureless", model("pictureless", iris))
}

// An initializer of 1Mi is killed while it fetches, drop by drop. Of the containers that can fetch a URI the first by name is taken.
func hungryInitializer(s *space) {
	s.apply(`
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterStorageContainer
metadata: {name: a-small-one}
spec:
  container:
    name: storage-initializer
    image: kserve-go/storage-initializer:latest
    resources: {requests: {memory: 1Mi, cpu: 10m}, limits: {memory: 1Mi, cpu: "1"}}
  supportedUriFormats: [{prefix: "s3://slow/"}]
`)
	s.apply(model("hungry", "s3://slow/iris"))
	s.tells("hungry", trouble{message: []string{"OOMKilled", "1Mi"}, state: servingv1beta1.FailedToLoad, exit: 137})
	s.healed("hungry", model("hungry", iris))
	_, err := s.kubectl(s.Context(), "", "delete", "clusterstoragecontainer", "a-small-one")
	require.NoError(s, err)
}

func noRoom(s *space) {
	s.apply(roomy("giant", "900", "900"))
	s.tells("giant", trouble{message: []string{"Insufficient cpu"}})
	s.healed("giant", roomy("giant", "50m", "1"))
}

func roomy(name, cpu, limit string) string {
	return `apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: ` + name + `
  annotations: {serving.kserve.io/deploymentMode: Standard}
spec:
  predictor:
    model:
      modelFormat: {name: sklearn}
      storageUri: ` + iris + `
      resources: {requests: {cpu: "` + cpu + `"}, limits: {cpu: "` + limit + `"}}
`
}

func refused(s *space) {
	s.refuses(model("1digit", iris), "1digit")
	s.refuses(model("scheme", "ftp://models/iris"), "ftp://models/iris")
	s.refuses(`apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: bounds}
spec:
  predictor:
    minReplicas: 3
    maxReplicas: 2
    model: {modelFormat: {name: sklearn}, storageUri: "`+iris+`"}
`, "eplicas")
}
