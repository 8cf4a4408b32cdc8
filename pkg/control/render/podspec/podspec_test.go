// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render/podspec"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

type change func(*corev1.Pod, *podspec.Admission)

// inject admits a pod with one serving container, after the changes.
func inject(t *testing.T, changes ...change) (*corev1.Pod, error) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "foo-predictor", Labels: map[string]string{serving.LabelInferenceService: "foo", serving.LabelComponent: "predictor"}, Annotations: map[string]string{},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "kserve-container", Image: "registry.test/sk:1"}}
	a := podspec.Admission{Settings: settings.Defaults(), Namespace: "default", Around: &plan.Surroundings{
		ServiceAccounts: map[string]corev1.ServiceAccount{}, Secrets: map[string]corev1.Secret{},
	}}
	for _, c := range changes {
		c(pod, &a)
	}
	err := podspec.Inject(pod, a)
	if err == nil {
		again := pod.DeepCopy()
		require.NoError(t, podspec.Inject(again, a))
		require.Equal(t, pod, again, "admission twice is admission once")
	}
	return pod, err
}

func source(uri string) change {
	return func(pod *corev1.Pod, _ *podspec.Admission) {
		pod.Annotations[serving.AnnotationInternalSourceURI] = uri
	}
}

func annotate(key, value string) change {
	return func(pod *corev1.Pod, _ *podspec.Admission) { pod.Annotations[key] = value }
}

func label(key, value string) change {
	return func(pod *corev1.Pod, _ *podspec.Admission) { pod.Labels[key] = value }
}

func container(c corev1.Container) change {
	return func(pod *corev1.Pod, _ *podspec.Admission) { pod.Spec.Containers = append(pod.Spec.Containers, c) }
}

func operator(set func(*settings.Settings)) change {
	return func(_ *corev1.Pod, a *podspec.Admission) { set(a.Settings) }
}

// account gives the default service account secrets; the data of each is a list of key, value.
func account(secrets map[string][]string) change {
	return func(_ *corev1.Pod, a *podspec.Admission) {
		sa := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		for name, pairs := range secrets {
			s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
			for i := 0; i+1 < len(pairs); i += 2 {
				s.Data[pairs[i]] = []byte(pairs[i+1])
			}
			a.Around.Secrets[name] = s
			sa.Secrets = append(sa.Secrets, corev1.ObjectReference{Name: name})
		}
		a.Around.ServiceAccounts["default"] = sa
	}
}

func env(c *corev1.Container) map[string]string {
	values := map[string]string{}
	for _, e := range c.Env {
		values[e.Name] = e.Value
		if e.ValueFrom != nil {
			values[e.Name] = "secret " + e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
		}
	}
	return values
}

func TestPodsOfOthersPassUntouched(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{serving.AnnotationInternalSourceURI: "s3://b/m"}}}
	before := pod.DeepCopy()
	require.NoError(t, podspec.Inject(pod, podspec.Admission{Settings: settings.Defaults(), Around: &plan.Surroundings{}}))
	require.Equal(t, before, pod)
}

func TestClaimIsMounted(t *testing.T) {
	pod, err := inject(t, source("pvc://claim/a/b"), annotate(serving.AnnotationStorageReadOnly, "false"), container(corev1.Container{Name: "transformer-container"}))
	require.NoError(t, err)
	require.Empty(t, pod.Spec.InitContainers)
	for _, c := range pod.Spec.Containers {
		require.Equal(t, []corev1.VolumeMount{{Name: "kserve-pvc-source", MountPath: "/mnt/models", SubPath: "a/b"}}, c.VolumeMounts)
	}
	require.Equal(t, "claim", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
}

func TestLocalModelCache(t *testing.T) {
	cached := []change{
		label(serving.LabelLocalModel, "llama"), annotate(serving.AnnotationInternalLocalModelSourceURI, "hf://m/l"), annotate(serving.AnnotationInternalLocalModelPVC, "llama-gpu1"),
	}
	pod, err := inject(t, append(cached, source("hf://m/l/sub"))...)
	require.NoError(t, err)
	require.Equal(t, "models/66104b1c71a6ce1e/sub", pod.Spec.Containers[0].VolumeMounts[0].SubPath)
	require.Equal(t, "llama-gpu1", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	other, err := inject(t, append(cached, source("hf://m/lion"))...)
	require.NoError(t, err)
	require.Equal(t, []string{"hf://m/lion", "/mnt/models"}, other.Spec.InitContainers[0].Args)
	_, err = inject(t, label(serving.LabelLocalModel, "llama"), source("hf://m/l"))
	require.ErrorContains(t, err, serving.AnnotationInternalLocalModelPVC)
}

func TestWhatIsNotInjected(t *testing.T) {
	for name, changes := range map[string][]change{
		"a second initializer": {source("s3://b/m"), func(pod *corev1.Pod, _ *podspec.Admission) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "storage-initializer", Image: "own"}}
		}},
		"a model where the agent pulls models": {source("s3://b/m"), annotate(serving.AnnotationInternalAgent, "true")},
	} {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, changes...)
			require.NoError(t, err)
			for _, c := range pod.Spec.InitContainers {
				require.Equal(t, "own", c.Image)
			}
		})
	}
	_, err := inject(t, source("s3://b/m"), func(pod *corev1.Pod, _ *podspec.Admission) { pod.Spec.Containers[0].Name = "other" })
	require.ErrorContains(t, err, "neither a container named kserve-container nor one named worker-container")
}

func TestCredentialsBySecret(t *testing.T) {
	cases := map[string]struct {
		secret []string
		want   map[string]string
	}{
		"S3 keys and an endpoint with a scheme": {
			[]string{"AWS_SECRET_ACCESS_KEY", "x", "AWS_ACCESS_KEY_ID", "y", "S3_ENDPOINT", "https://minio:9000", "AWS_DEFAULT_REGION", "r", "awsAnonymousCredential", "true"},
			map[string]string{
				"AWS_ACCESS_KEY_ID": "secret s/AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY": "secret s/AWS_SECRET_ACCESS_KEY",
				"S3_USE_HTTPS": "1", "S3_ENDPOINT": "minio:9000", "AWS_ENDPOINT_URL": "https://minio:9000", "AWS_DEFAULT_REGION": "r", "awsAnonymousCredential": "true",
			},
		},
		"a Google key file": {[]string{"gcloud-application-credentials.json", "{}"}, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/var/secrets/gcloud-application-credentials.json"}},
		"Azure with old key names and no tenant": {
			[]string{"AZ_CLIENT_ID", "a", "AZ_CLIENT_SECRET", "b", "AZURE_ACCOUNT_NAME", "c"},
			map[string]string{"AZURE_CLIENT_ID": "secret s/AZ_CLIENT_ID", "AZURE_CLIENT_SECRET": "secret s/AZ_CLIENT_SECRET", "AZURE_ACCOUNT_NAME": "secret s/AZURE_ACCOUNT_NAME"},
		},
		"an Azure account key":   {[]string{"AZURE_STORAGE_ACCESS_KEY", "a"}, map[string]string{"AZURE_STORAGE_ACCESS_KEY": "secret s/AZURE_STORAGE_ACCESS_KEY"}},
		"headers of a web host":  {[]string{"https-host", "example.test", "headers", `{"a":"b"}`}, map[string]string{"example.test-headers": `{"a":"b"}`}},
		"a host without headers": {[]string{"https-host", "example.test"}, map[string]string{}},
		"a Hugging Face token":   {[]string{"HF_TOKEN", "t"}, map[string]string{"HF_TOKEN": "secret s/HF_TOKEN"}},
		"a ModelScope token":     {[]string{"MODELSCOPE_API_TOKEN", "t"}, map[string]string{"MODELSCOPE_API_TOKEN": "secret s/MODELSCOPE_API_TOKEN"}},
		"a secret for others":    {[]string{"password", "t"}, map[string]string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, source("s3://b/m"), account(map[string][]string{"s": c.secret}))
			require.NoError(t, err)
			got := env(&pod.Spec.InitContainers[0])
			for _, always := range []string{"HF_HUB_ENABLE_HF_TRANSFER", "HF_XET_HIGH_PERFORMANCE", "HF_XET_NUM_CONCURRENT_RANGE_GETS"} {
				require.NotEmpty(t, got[always])
				delete(got, always)
			}
			require.Equal(t, c.want, got)
		})
	}
	t.Run("an HDFS secret is mounted", func(t *testing.T) {
		pod, err := inject(t, source("hdfs://b/m"), account(map[string][]string{"s": {"HDFS_NAMENODE", "n"}}))
		require.NoError(t, err)
		require.Contains(t, pod.Spec.InitContainers[0].VolumeMounts, corev1.VolumeMount{Name: "hdfs-secrets", MountPath: "/var/secrets/kserve-hdfscreds", ReadOnly: true})
	})
	t.Run("a secret that the account lists and nobody made", func(t *testing.T) {
		_, err := inject(t, source("s3://b/m"), account(map[string][]string{"s": nil}), func(_ *corev1.Pod, a *podspec.Admission) { delete(a.Around.Secrets, "s") })
		require.ErrorContains(t, err, `secret "s", named by service account "default" or by the pod, does not exist`)
	})
	t.Run("the secret that the pod names is the only one", func(t *testing.T) {
		pod, err := inject(t, source("s3://b/m"), account(map[string][]string{"s": {"HF_TOKEN", "t"}, "only": {"MODELSCOPE_API_TOKEN", "t"}}), annotate(serving.AnnotationStorageSecretName, "only"))
		require.NoError(t, err)
		require.NotContains(t, env(&pod.Spec.InitContainers[0]), "HF_TOKEN")
		require.Contains(t, env(&pod.Spec.InitContainers[0]), "MODELSCOPE_API_TOKEN")
	})
	t.Run("an AWS role needs no keys", func(t *testing.T) {
		pod, err := inject(t, source("s3://b/m"), account(nil), func(_ *corev1.Pod, a *podspec.Admission) {
			sa := a.Around.ServiceAccounts["default"]
			sa.Annotations = map[string]string{serving.AnnotationEKSRoleARN: "arn", serving.AnnotationS3Region: "eu"}
			a.Around.ServiceAccounts["default"] = sa
		})
		require.NoError(t, err)
		require.Equal(t, "eu", env(&pod.Spec.InitContainers[0])["AWS_DEFAULT_REGION"])
		require.NotContains(t, env(&pod.Spec.InitContainers[0]), "AWS_ACCESS_KEY_ID")
	})
}

func TestStorageSpec(t *testing.T) {
	secret := func(pairs ...string) change {
		return func(_ *corev1.Pod, a *podspec.Admission) {
			s := corev1.Secret{Data: map[string][]byte{}}
			for i := 0; i+1 < len(pairs); i += 2 {
				s.Data[pairs[i]] = []byte(pairs[i+1])
			}
			a.Around.Secrets["storage-config"] = s
		}
	}
	spec := func(key, parameters string) change {
		return func(pod *corev1.Pod, _ *podspec.Admission) {
			pod.Annotations[serving.AnnotationInternalStorageSpec] = "true"
			if key != "" {
				pod.Annotations[serving.AnnotationInternalStorageSpecKey] = key
			}
			if parameters != "" {
				pod.Annotations[serving.AnnotationInternalStorageSpecParam] = parameters
			}
		}
	}
	placeholder := source("<scheme-placeholder>://p/q")
	cases := map[string]struct {
		changes     []change
		uri, fails  string
		config, and string
	}{
		"bucket and type of the entry":        {[]change{placeholder, spec("k", ""), secret("k", `{"type":"s3","bucket":"bkt"}`)}, "s3://bkt/p/q", "", "secret storage-config/k", ""},
		"parameters win":                      {[]change{placeholder, spec("k", `{"bucket":"ob","type":"s3"}`), secret("k", `{"type":"s3","bucket":"bkt"}`)}, "s3://ob/p/q", "", "secret storage-config/k", `{"bucket":"ob","type":"s3"}`},
		"the entry's bucket with a type":      {[]change{placeholder, spec("k", `{"type":"s3"}`), secret("k", `{"type":"s3","bucket":"bkt"}`)}, "s3://bkt/p/q", "", "secret storage-config/k", `{"type":"s3"}`},
		"the default entry of a type":         {[]change{placeholder, spec("", `{"type":"s3"}`), secret("default_s3", `{"type":"s3","bucket":"d"}`)}, "s3://d/p/q", "", "secret storage-config/default_s3", `{"type":"s3"}`},
		"the default entry":                   {[]change{placeholder, spec("", ""), secret("default", `{"type":"hdfs"}`)}, "hdfs://p/q", "", "secret storage-config/default", ""},
		"no entry, but parameters":            {[]change{placeholder, spec("", `{"type":"webhdfs"}`)}, "webhdfs://p/q", "", "", `{"type":"webhdfs"}`},
		"a URI of its own":                    {[]change{source("s3://x/y"), spec("k", ""), secret("k", `{"type":"s3"}`)}, "s3://x/y", "", "secret storage-config/k", ""},
		"an entry that is not there":          {[]change{placeholder, spec("k", ""), secret("other", "{}")}, "", `secret "storage-config" has no key "k"`, "", ""},
		"a secret that is not there":          {[]change{placeholder, spec("k", "")}, "", `secret "storage-config" does not exist`, "", ""},
		"no type anywhere":                    {[]change{placeholder, spec("", "")}, "", "set storage.parameters.type", "", ""},
		"a type that nobody knows":            {[]change{placeholder, spec("k", ""), secret("k", `{"type":"ftp"}`)}, "", `has the type "ftp"`, "", ""},
		"no bucket anywhere":                  {[]change{placeholder, spec("k", ""), secret("k", `{"type":"s3"}`)}, "", "set storage.parameters.bucket", "", ""},
		"an entry that is no JSON":            {[]change{placeholder, spec("k", ""), secret("k", `type: s3`)}, "", "is no JSON object of texts", "", ""},
		"an entry with a value that is a map": {[]change{placeholder, spec("k", ""), secret("k", `{"type":{}}`)}, "", "is no JSON object of texts", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, c.changes...)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			initializer := &pod.Spec.InitContainers[0]
			require.Equal(t, []string{c.uri, "/mnt/models"}, initializer.Args)
			require.Equal(t, c.config, env(initializer)["STORAGE_CONFIG"])
			require.Equal(t, c.and, env(initializer)["STORAGE_OVERRIDE_CONFIG"])
		})
	}
}

func TestStorageContainers(t *testing.T) {
	with := func(cs ...servingv1alpha1.ClusterStorageContainer) change {
		return func(_ *corev1.Pod, a *podspec.Admission) { a.Around.StorageContainers = cs }
	}
	brings := func(name, prefix string) servingv1alpha1.ClusterStorageContainer {
		c := servingv1alpha1.ClusterStorageContainer{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.SupportedURIFormats = []servingv1alpha1.SupportedURIFormat{{Prefix: prefix}}
		c.Spec.Container = corev1.Container{Name: "storage-initializer", Image: "registry.test/" + name + ":1", Env: []corev1.EnvVar{{Name: "HF_HUB_ENABLE_HF_TRANSFER", Value: "0"}}}
		return c
	}
	named := annotate(serving.AnnotationInternalStorageContainer, "b")
	disabled := brings("b", "s3://")
	yes := true
	disabled.Disabled = &yes
	job := brings("b", "s3://")
	job.Spec.WorkloadType = servingv1alpha1.LocalModelDownloadJob
	cases := map[string]struct {
		changes      []change
		image, fails string
	}{
		"the first by name that fits":  {[]change{with(brings("c", "s3://"), brings("b", "s3://"), brings("a", "gs://"))}, "registry.test/b:1", ""},
		"none that fits":               {[]change{with(brings("a", "gs://"))}, "kserve-go/storage-initializer:latest", ""},
		"the one that is named":        {[]change{named, with(brings("a", "s3://"), brings("b", "s3://"))}, "registry.test/b:1", ""},
		"a name that nobody has":       {[]change{named}, "", `"b", which does not exist`},
		"one that is disabled":         {[]change{named, with(disabled)}, "", "is disabled"},
		"one for jobs":                 {[]change{named, with(job)}, "", "an init container is needed"},
		"one for other sources":        {[]change{named, with(brings("b", "gs://"))}, "", `does not support the URI "s3://b/m"`},
		"a disabled one is not chosen": {[]change{with(disabled)}, "kserve-go/storage-initializer:latest", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, append(c.changes, source("s3://b/m"))...)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.image, pod.Spec.InitContainers[0].Image)
			require.Equal(t, []string{"s3://b/m", "/mnt/models"}, pod.Spec.InitContainers[0].Args)
			if c.image != "kserve-go/storage-initializer:latest" {
				require.Equal(t, "0", env(&pod.Spec.InitContainers[0])["HF_HUB_ENABLE_HF_TRANSFER"], "its variables win")
			}
		})
	}
}

func TestCABundle(t *testing.T) {
	bundle := operator(func(st *settings.Settings) { st.Storage.CABundleConfigMap = "cabundle" })
	own := func(_ *corev1.Pod, a *podspec.Admission) {
		s := a.Around.Secrets["s"]
		s.Annotations = map[string]string{serving.AnnotationS3CABundleConfigMap: "my", serving.AnnotationS3CABundle: "/certs/ca.crt"}
		a.Around.Secrets["s"] = s
	}
	cases := map[string]struct {
		changes    []change
		name, path string
	}{
		"none":                             {nil, "", ""},
		"a copy in every other namespace":  {[]change{bundle}, "global-ca-bundle", "/etc/ssl/custom-certs"},
		"itself in the operator's own":     {[]change{bundle, func(_ *corev1.Pod, a *podspec.Admission) { a.Namespace = "kserve" }}, "cabundle", "/etc/ssl/custom-certs"},
		"that of the secret before others": {[]change{bundle, account(map[string][]string{"s": {"AWS_SECRET_ACCESS_KEY", "x"}}), own}, "my", "/certs"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, append(c.changes, source("s3://b/m"))...)
			require.NoError(t, err)
			values := env(&pod.Spec.InitContainers[0])
			require.Equal(t, c.name, values["CA_BUNDLE_CONFIGMAP_NAME"])
			require.Equal(t, c.path, values["CA_BUNDLE_VOLUME_MOUNT_POINT"])
			if c.name != "" {
				require.Contains(t, pod.Spec.InitContainers[0].VolumeMounts, corev1.VolumeMount{Name: "cabundle-cert", MountPath: c.path, ReadOnly: true})
			}
		})
	}
}

func TestUserOfTheInitializerUnderIstio(t *testing.T) {
	redirect := []change{annotate(serving.AnnotationIstioInterceptionMode, "REDIRECT"), annotate(serving.AnnotationIstioStatus, `{"containers":["istio-proxy"]}`)}
	proxy := func(uid *int64) change {
		return container(corev1.Container{Name: "istio-proxy", SecurityContext: &corev1.SecurityContext{RunAsUser: uid}})
	}
	user := int64(77)
	cases := map[string]struct {
		changes []change
		want    *int64
	}{
		"nothing said":             {nil, nil},
		"a number":                 {[]change{annotate(serving.AnnotationStorageInitializerUID, "77")}, &user},
		"the proxy's user":         {append([]change{proxy(&user)}, redirect...), &user},
		"the usual user":           {append([]change{proxy(nil)}, redirect...), new(int64(1337))},
		"no proxy in the pod":      {redirect, nil},
		"another interception":     {[]change{proxy(&user), annotate(serving.AnnotationIstioStatus, `{"containers":["istio-proxy"]}`)}, nil},
		"a status that is no JSON": {[]change{proxy(&user), redirect[0], annotate(serving.AnnotationIstioStatus, `x`)}, nil},
		"an init container of istio": {append([]change{proxy(&user), func(pod *corev1.Pod, _ *podspec.Admission) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "istio-init"}}
		}}, redirect...), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, append(c.changes, source("s3://b/m"))...)
			require.NoError(t, err)
			initializer := pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
			if c.want == nil {
				require.Nil(t, initializer.SecurityContext)
				return
			}
			require.Equal(t, *c.want, *initializer.SecurityContext.RunAsUser)
		})
	}
}

func TestModelImages(t *testing.T) {
	t.Run("a volume of its own at the same place is an error", func(t *testing.T) {
		_, err := inject(t, source("oci+native://i:1"), func(pod *corev1.Pod, _ *podspec.Admission) {
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "own", MountPath: "/mnt/models"}}
		})
		require.ErrorContains(t, err, "has the volume own at /mnt/models already")
	})
	t.Run("an image is fetched with the pod's pull secret", func(t *testing.T) {
		pod, err := inject(t, source("oci+fetch://i:1"), operator(func(st *settings.Settings) { st.Storage.OCIInsecureRegistry = true }), func(pod *corev1.Pod, _ *podspec.Admission) {
			pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		})
		require.NoError(t, err)
		initializer := &pod.Spec.InitContainers[0]
		require.Equal(t, []string{"oci://i:1", "/mnt/models"}, initializer.Args)
		require.Equal(t, map[string]string{"KSERVE_OCI_DOCKER_CONFIG": "/mnt/oci-fetch-auth/config.json", "KSERVE_OCI_INSECURE_REGISTRY": "true"}, env(initializer))
		require.Contains(t, initializer.VolumeMounts, corev1.VolumeMount{Name: "kserve-oci-fetch-docker-config", MountPath: "/mnt/oci-fetch-auth", ReadOnly: true})
	})
	t.Run("with images off, oci is fetched like anything else", func(t *testing.T) {
		pod, err := inject(t, source("oci://i:1"), operator(func(st *settings.Settings) { st.Storage.EnableModelcar = false }))
		require.NoError(t, err)
		require.Equal(t, []string{"oci://i:1", "/mnt/models"}, pod.Spec.InitContainers[0].Args)
		require.Len(t, pod.Spec.Containers, 1)
	})
	t.Run("without a user nothing is said about users", func(t *testing.T) {
		pod, err := inject(t, source("oci://i:1"), operator(func(st *settings.Settings) { st.Storage.UIDModelcar = nil }))
		require.NoError(t, err)
		require.Nil(t, pod.Spec.Containers[0].SecurityContext)
		require.Nil(t, pod.Spec.Containers[1].SecurityContext)
	})
}

func TestAgent(t *testing.T) {
	t.Run("behind Knative's proxy", func(t *testing.T) {
		pod, err := inject(t, annotate(serving.AnnotationInternalBatcher, "true"), container(corev1.Container{Name: "queue-proxy", Env: []corev1.EnvVar{{Name: "USER_PORT", Value: "8080"}, {Name: "X", Value: "1"}}}))
		require.NoError(t, err)
		agent := pod.Spec.Containers[2]
		require.Equal(t, map[string]string{"USER_PORT": "8080", "X": "1"}, env(&agent))
		require.Nil(t, agent.ReadinessProbe)
		require.Equal(t, "9081", env(&pod.Spec.Containers[1])["USER_PORT"])
	})
	t.Run("the operator's batch sizes are passed on when they are not the agent's own", func(t *testing.T) {
		pod, err := inject(t, annotate(serving.AnnotationInternalBatcher, "true"), operator(func(st *settings.Settings) { st.Batcher.MaxBatchSize = "8" }))
		require.NoError(t, err)
		require.Equal(t, []string{"--enable-batcher", "--max-batchsize", "8", "--component-port", "8080"}, pod.Spec.Containers[1].Args)
	})
	t.Run("in front of a transformer", func(t *testing.T) {
		pod, err := inject(t, annotate(serving.AnnotationInternalLogger, "true"), container(corev1.Container{
			Name: "transformer-container", Ports: []corev1.ContainerPort{{ContainerPort: 7000}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ok", Port: intstr.FromInt32(7000)}}},
		}))
		require.NoError(t, err)
		agent := pod.Spec.Containers[2]
		require.Equal(t, []string{"--component-port", "7000"}, agent.Args[len(agent.Args)-2:])
		require.Equal(t, "/ok", agent.ReadinessProbe.HTTPGet.Path)
		require.JSONEq(t, `{"httpGet":{"path":"/ok","port":7000}}`, env(&agent)["SERVING_READINESS_PROBE"])
	})
	t.Run("a store of payloads", func(t *testing.T) {
		path, interval, size, url := "/logs", "5s", 10, "http://m"
		pod, err := inject(t, annotate(serving.AnnotationInternalLogger, "true"), annotate("a", "1"), annotate(serving.AnnotationInternalLoggerAnnotations, "a,absent"),
			operator(func(st *settings.Settings) {
				st.Logger.CABundle, st.Logger.CACertFile, st.Logger.TLSSkipVerify = "ca", "tls.crt", true
			}),
			func(_ *corev1.Pod, a *podspec.Admission) {
				a.PredictorLogger = &servingv1beta1.LoggerSpec{MarshallerURL: &url, BatchSize: &size, BatchInterval: &interval, Storage: &servingv1beta1.LoggerStorageSpec{}}
				a.PredictorLogger.Storage.Path = &path
				a.PredictorLogger.Storage.Parameters = map[string]string{"format": "parquet"}
				a.Around.ServiceAccounts["logger-sa"] = corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "hf"}}}
				a.Around.Secrets["hf"] = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hf"}, Data: map[string][]byte{"HF_TOKEN": nil}}
			})
		require.NoError(t, err)
		agent := pod.Spec.Containers[1]
		require.Equal(t, []string{
			"--log-url", "http://default-broker", "--source-uri", "foo-predictor", "--log-mode", "all", "--inference-service", "foo", "--namespace", "default",
			"--endpoint", "", "--component", "predictor", "--log-store-path", "/logs", "--log-store-format", "parquet", "--log-marshaller-url", "http://m",
			"--log-batch-size", "10", "--log-batch-interval", "5s", "--metadata-annotations", "a=1", "--logger-ca-cert-file", "tls.crt",
			"--logger-tls-skip-verify", "true", "--component-port", "8080",
		}, agent.Args)
		require.Equal(t, "secret hf/HF_TOKEN", env(&agent)["HF_TOKEN"])
		require.Equal(t, []corev1.VolumeMount{{Name: "agent-ca-bundle", MountPath: "/etc/tls/logger", ReadOnly: true}}, agent.VolumeMounts)
	})
}

func TestMetrics(t *testing.T) {
	aggregate, scrape := annotate(serving.AnnotationEnableMetricAggregation, "true"), annotate(serving.AnnotationEnablePrometheusScraping, "true")
	proxy := container(corev1.Container{Name: "queue-proxy"})
	cases := map[string]struct {
		changes    []change
		port, path string
	}{
		"off":                           {nil, "", ""},
		"the server's own":              {[]change{scrape, annotate(serving.AnnotationContainerPrometheusPort, "9100"), annotate(serving.AnnotationContainerPrometheusPath, "/m")}, "9100", "/m"},
		"the server's usual":            {[]change{scrape}, "8080", "/metrics"},
		"Knative's":                     {[]change{scrape, proxy}, "9091", "/metrics"},
		"Knative's with the server's":   {[]change{scrape, aggregate, proxy}, "9088", "/metrics"},
		"by the operator's settings":    {[]change{operator(func(st *settings.Settings) { st.Metrics.Scraping = "true" })}, "8080", "/metrics"},
		"the pod has the last word":     {[]change{annotate(serving.AnnotationEnablePrometheusScraping, "false"), operator(func(st *settings.Settings) { st.Metrics.Scraping = "true" })}, "", ""},
		"aggregation alone exposes nil": {[]change{aggregate, proxy}, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod, err := inject(t, c.changes...)
			require.NoError(t, err)
			require.Equal(t, c.port, pod.Annotations["prometheus.io/port"])
			require.Equal(t, c.path, pod.Annotations["prometheus.io/path"])
			require.Equal(t, c.port != "", pod.Annotations["prometheus.io/scrape"] == "true")
		})
	}
	pod, err := inject(t, aggregate, proxy)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"AGGREGATE_PROMETHEUS_METRICS_PORT": "9088", "KSERVE_CONTAINER_PROMETHEUS_METRICS_PORT": "8080", "KSERVE_CONTAINER_PROMETHEUS_METRICS_PATH": "/metrics",
	}, env(&pod.Spec.Containers[1]))
	require.Equal(t, int32(9088), pod.Spec.Containers[1].Ports[0].ContainerPort)
}

func TestAcceleratorOfGKE(t *testing.T) {
	gpu := func(pod *corev1.Pod, _ *podspec.Admission) {
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	}
	kind := annotate(serving.AnnotationGKEAccelerator, "nvidia-tesla-p100")
	pod, err := inject(t, gpu, kind)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cloud.google.com/gke-accelerator": "nvidia-tesla-p100"}, pod.Spec.NodeSelector)
	pod, err = inject(t, kind)
	require.NoError(t, err)
	require.Empty(t, pod.Spec.NodeSelector)
}
