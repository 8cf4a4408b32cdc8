// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func TestWhereTheCredentialsOfPodTemplatesAre(t *testing.T) {
	st := settings.Defaults()
	st.Credentials.StorageSpecSecret, st.Credentials.StorageSecretAnnotation = "spec", "theirs/secret"
	for sentence, c := range map[string]struct {
		service           string
		accounts, secrets []string
	}{
		"a model with one source is nothing of the template": {service: "{predictor: {serviceAccountName: a, model: {storageUri: s3://b/m}}}"},
		"several sources are fetched with the account of the predictor": {
			"{predictor: {serviceAccountName: a, storageUris: [{uri: s3://b/m}]}}", []string{"a"}, []string{"of-service", "spec"},
		},
		"who names no account has the default one": {"{predictor: {storageUris: [{uri: s3://b/m}]}}", []string{"default"}, []string{"of-service", "spec"}},
		"a component may name a secret":            {`{predictor: {annotations: {theirs/secret: own}, storageUris: [{uri: s3://b/m}]}}`, []string{"default"}, []string{"of-service", "own", "spec"}},
		"a canary has the account of the stable predictor": {
			"{predictor: {serviceAccountName: a, model: {storageUri: s3://b/m}}, canary: [{predictor: {name: c, storageUris: [{uri: s3://b/n}]}}]}",
			[]string{"a"},
			[]string{"of-service", "spec"},
		},
		"a canary has the sources of the stable predictor, and an account of its own": {
			"{predictor: {serviceAccountName: a, storageUris: [{uri: s3://b/m}]}, canary: [{predictor: {name: c, serviceAccountName: b}}]}",
			[]string{"a", "b"},
			[]string{"of-service", "spec"},
		},
		"transformer and explainer have theirs": {
			"{predictor: {model: {storageUri: s3://b/m}}, transformer: {serviceAccountName: t, storageUris: [{uri: s3://b/m}]}, explainer: {serviceAccountName: e, storageUris: [{uri: s3://b/m}]}}",
			[]string{"e", "t"},
			[]string{"of-service", "spec"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			svc := &servingv1beta1.InferenceService{}
			svc.Annotations = map[string]string{"theirs/secret": "of-service"}
			require.NoError(t, yaml.UnmarshalStrict([]byte(c.service), &svc.Spec))
			got := resolve.CredentialsOf(svc, st)
			require.Equal(t, c.accounts, got.ServiceAccounts)
			require.Equal(t, c.secrets, got.Secrets)
		})
	}
}
