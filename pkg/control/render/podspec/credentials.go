// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// accountCredentials gives a container the credentials of the pod's service account, or of the one secret that the pod names.
func accountCredentials(pod *corev1.PodSpec, c *corev1.Container, annotations map[string]string, st *settings.Settings, around *plan.Surroundings) error {
	name := pod.ServiceAccountName
	if name == "" {
		name = "default"
	}
	return credentialsOf(name, pod, c, annotations[st.Credentials.StorageSecretAnnotation], credentialInputs{st, around})
}

type credentialInputs struct {
	st     *settings.Settings
	around *plan.Surroundings
}

func credentialsOf(account string, pod *corev1.PodSpec, c *corev1.Container, secret string, in credentialInputs) error {
	sa, ok := in.around.ServiceAccounts[account]
	if !ok {
		return nil
	}
	if _, role := sa.Annotations[serving.AnnotationEKSRoleARN]; role || plan.HasS3Settings(sa.Annotations) {
		s3Env(c, s3Secret{}, sa.Annotations, in.st)
	}
	list := []string{secret}
	if secret == "" {
		list = nil
		for _, ref := range sa.Secrets {
			list = append(list, ref.Name)
		}
	}
	for _, name := range list {
		s, ok := in.around.Secrets[name]
		if !ok {
			return fmt.Errorf("secret %q, named by service account %q or by the pod, does not exist", name, account)
		}
		secretCredentials(pod, c, &s, sa.Annotations, in.st)
	}
	return nil
}

// secretCredentials tells by its keys what a secret is for; the first match decides. What it leaves open the service account may say.
func secretCredentials(pod *corev1.PodSpec, c *corev1.Container, s *corev1.Secret, account map[string]string, st *settings.Settings) {
	has := func(key string) bool { _, ok := s.Data[key]; return ok }
	switch gcs := st.Credentials.GCS.CredentialFile; {
	case has(st.Credentials.S3.SecretAccessKeyName):
		s3Env(c, s3Secret{s.Name, s.Annotations, s.Data}, account, st)
	case has(gcs):
		mountSecret(pod, c, handoff.GCSVolume, s.Name, handoff.GCSCredentialDir)
		putEnv(c, corev1.EnvVar{Name: handoff.EnvGCSCredentials, Value: handoff.GCSCredentialDir + gcs})
	case has(handoff.EnvAzClientID) || has(handoff.EnvAzureClientID) || has(handoff.EnvAzureAccessToken):
		azureEnv(c, s)
	case has(handoff.EnvAzureAccessKey):
		putEnv(c, fromSecret(handoff.EnvAzureAccessKey, s.Name, handoff.EnvAzureAccessKey))
	case has("https-host"):
		if has("headers") {
			putEnv(c, corev1.EnvVar{Name: string(s.Data["https-host"]) + handoff.EnvHTTPHeadersSuffix, Value: string(s.Data["headers"])})
		}
	case has("HDFS_NAMENODE"):
		mountSecret(pod, c, handoff.HDFSVolume, s.Name, handoff.HDFSCredentialDir)
	case has(handoff.EnvHFToken):
		putEnv(c, fromSecret(handoff.EnvHFToken, s.Name, handoff.EnvHFToken))
	case has(handoff.EnvModelScopeToken):
		putEnv(c, fromSecret(handoff.EnvModelScopeToken, s.Name, handoff.EnvModelScopeToken))
	}
}

func mountSecret(pod *corev1.PodSpec, c *corev1.Container, volume, secret, at string) {
	addVolume(pod, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}})
	addMount(c, corev1.VolumeMount{Name: volume, MountPath: at, ReadOnly: true})
}

func fromSecret(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}}}
}

// azureEnv passes on what the secret has; the first four have an older spelling that wins.
func azureEnv(c *corev1.Container, s *corev1.Secret) {
	for i, name := range []string{
		handoff.EnvAzureSubscriptionID, handoff.EnvAzureTenantID, handoff.EnvAzureClientID, handoff.EnvAzureClientSecret,
		handoff.EnvAzureAccessKey, handoff.EnvAzureAccessToken, handoff.EnvAzureAccessExpires, handoff.EnvAzureAccountName, handoff.EnvAzureServiceURL,
	} {
		old := strings.Replace(name, "AZURE_", "AZ_", 1)
		_, hasOld := s.Data[old]
		_, hasNew := s.Data[name]
		switch {
		case i < 4 && hasOld:
			putEnv(c, fromSecret(name, s.Name, old))
		case hasNew:
			putEnv(c, fromSecret(name, s.Name, name))
		}
	}
}

// s3Secret is what a secret says about an S3 store.
type s3Secret struct {
	name        string
	annotations map[string]string
	data        map[string][]byte
}

// s3Env describes an S3 store: each value from the annotations of the secret, else from its data, else from the annotations of the
// service account, else from the operator.
func s3Env(c *corev1.Container, secret s3Secret, account map[string]string, st *settings.Settings) {
	conf := &st.Credentials.S3
	if secret.name != "" {
		putEnv(c, fromSecret(handoff.EnvAWSAccessKeyID, secret.name, conf.AccessKeyIDName))
		putEnv(c, fromSecret(handoff.EnvAWSSecretAccessKey, secret.name, conf.SecretAccessKeyName))
	}
	value := func(annotation, key, operator string) string {
		if v, ok := secret.annotations[annotation]; ok {
			return v
		}
		if v, ok := secret.data[key]; ok {
			return string(v)
		}
		if v, ok := account[annotation]; ok {
			return v
		}
		return operator
	}
	set := func(name, v string) {
		if v != "" {
			putEnv(c, corev1.EnvVar{Name: name, Value: v})
		}
	}
	if endpoint := value(serving.AnnotationS3Endpoint, handoff.EnvS3Endpoint, conf.Endpoint); endpoint != "" {
		https := value(serving.AnnotationS3UseHTTPS, handoff.EnvS3UseHTTPS, conf.UseHTTPS)
		full := endpoint
		switch {
		case strings.HasPrefix(endpoint, "https://"):
			https, endpoint = "1", strings.TrimPrefix(endpoint, "https://")
		case strings.HasPrefix(endpoint, "http://"):
			https, endpoint = "0", strings.TrimPrefix(endpoint, "http://")
		case https == "0":
			full = "http://" + endpoint
		default:
			full = "https://" + endpoint
		}
		set(handoff.EnvS3UseHTTPS, https)
		set(handoff.EnvS3Endpoint, endpoint)
		set(handoff.EnvAWSEndpointURL, full)
	}
	set(handoff.EnvS3VerifySSL, value(serving.AnnotationS3VerifySSL, handoff.EnvS3VerifySSL, conf.VerifySSL))
	set(handoff.EnvAWSAnonymous, value(serving.AnnotationS3UseAnonCredential, handoff.EnvAWSAnonymous, conf.UseAnonymous))
	set(handoff.EnvAWSDefaultRegion, value(serving.AnnotationS3Region, handoff.EnvAWSDefaultRegion, conf.Region))
	set(handoff.EnvS3VirtualBucket, value(serving.AnnotationS3UseVirtualBucket, handoff.EnvS3VirtualBucket, conf.UseVirtualBucket))
	set(handoff.EnvS3UseAccelerate, value(serving.AnnotationS3UseAccelerate, handoff.EnvS3UseAccelerate, conf.UseAccelerate))
	set(handoff.EnvAWSCABundle, value(serving.AnnotationS3CABundle, handoff.EnvAWSCABundle, conf.CABundle))
	set(handoff.EnvAWSCABundleConfig, value(serving.AnnotationS3CABundleConfigMap, handoff.EnvAWSCABundleConfig, conf.CABundleConfigMap))
}

// storageSpec is an entry of the storage configuration and what the service says over it.
type storageSpec struct {
	key        string
	parameters map[string]string
}

// specOf reads the storage spec that a pod template carries in its annotations.
func specOf(annotations map[string]string) *storageSpec {
	if annotations[serving.AnnotationInternalStorageSpec] != "true" {
		return nil
	}
	s := &storageSpec{key: annotations[serving.AnnotationInternalStorageSpecKey]}
	if text, ok := annotations[serving.AnnotationInternalStorageSpecParam]; ok {
		// The controller wrote the annotation; a text that is no object leaves the parameters empty.
		_ = json.Unmarshal([]byte(text), &s.parameters)
	}
	return s
}

// apply gives the container the credentials of the entry and returns the URI with scheme and bucket filled in.
func (s *storageSpec) apply(c *corev1.Container, uri string, annotations map[string]string, st *settings.Settings, around *plan.Surroundings) (string, error) {
	name := annotations[st.Credentials.StorageSecretAnnotation]
	if name == "" {
		name = st.Credentials.StorageSpecSecret
	}
	kind, given := s.parameters["type"]
	key := s.key
	if key == "" {
		key = "default"
		if given {
			key = "default_" + kind
		}
	}
	secret, exists := around.Secrets[name]
	entry, found := secret.Data[key]
	if s.key != "" && !found {
		what := "has no key " + fmt.Sprintf("%q", key)
		if !exists {
			what = "does not exist"
		}
		return "", fmt.Errorf("storage.key names the entry %q, but secret %q %s", key, name, what)
	}
	var values map[string]string
	bucket := s.parameters["bucket"]
	if found {
		if err := json.Unmarshal(entry, &values); err != nil {
			return "", fmt.Errorf("entry %q of secret %q is no JSON object of texts: %w", key, name, err)
		}
		c.Env = append(c.Env, fromSecret(handoff.EnvStorageConfig, name, key))
		if bundle := values["cabundle_configmap"]; bundle != "" {
			putEnv(c, corev1.EnvVar{Name: handoff.EnvAWSCABundleConfig, Value: bundle})
		}
		if bucket == "" {
			bucket = values["bucket"]
		}
		if !given {
			kind = values["type"]
			if kind != "s3" && kind != "hdfs" && kind != "webhdfs" {
				return "", fmt.Errorf("entry %q of secret %q has the type %q: it must be s3, hdfs or webhdfs, or storage.parameters.type must be set", key, name, kind)
			}
		}
	}
	if kind == "" {
		return "", fmt.Errorf("the storage has no type: set storage.parameters.type, or add the entry %q to secret %q", key, name)
	}
	if len(s.parameters) > 0 {
		raw, err := json.Marshal(s.parameters)
		if err != nil {
			return "", fmt.Errorf("write storage.parameters: %w", err)
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: handoff.EnvStorageOverrideConfig, Value: string(raw)})
	}
	rest, isPlaceholder := strings.CutPrefix(uri, plan.SchemePlaceholder+"://")
	if !isPlaceholder {
		return uri, nil
	}
	if kind != "s3" {
		return kind + "://" + rest, nil
	}
	if bucket == "" {
		return "", fmt.Errorf("the storage has no bucket: set storage.parameters.bucket, or bucket in the entry %q of secret %q", key, name)
	}
	return "s3://" + bucket + "/" + rest, nil
}
