// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// runtimeFor is a runtime that selects itself for sklearn, changed by the modifiers.
func runtimeFor(name string, change ...func(*servingv1alpha1.ServingRuntime)) servingv1alpha1.ServingRuntime {
	rt := servingv1alpha1.ServingRuntime{ObjectMeta: metav1.ObjectMeta{Name: name}}
	rt.Spec.SupportedModelFormats = []servingv1alpha1.SupportedModelFormat{{Name: "sklearn", Version: new("1"), AutoSelect: new(true)}}
	rt.Spec.Containers = []corev1.Container{{Name: "kserve-container", Image: "registry.test/" + name + ":1"}}
	for _, c := range change {
		c(&rt)
	}
	return rt
}

func speaks(ps ...serving.ProtocolVersion) func(*servingv1alpha1.ServingRuntime) {
	return func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.ProtocolVersions = ps }
}

func priority(n int32) func(*servingv1alpha1.ServingRuntime) {
	return func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.SupportedModelFormats[0].Priority = &n }
}

func created(seconds int64) func(*servingv1alpha1.ServingRuntime) {
	return func(rt *servingv1alpha1.ServingRuntime) {
		rt.CreationTimestamp = metav1.Time{Time: time.Unix(seconds, 0)}
	}
}

func cluster(rts ...servingv1alpha1.ServingRuntime) []servingv1alpha1.ClusterServingRuntime {
	var all []servingv1alpha1.ClusterServingRuntime
	for _, rt := range rts {
		all = append(all, servingv1alpha1.ClusterServingRuntime{ObjectMeta: rt.ObjectMeta, Spec: rt.Spec})
	}
	return all
}

// sklearn is a service in Standard mode, changed by the modifiers.
func sklearn(change ...func(*servingv1beta1.InferenceService)) *servingv1beta1.InferenceService {
	svc := &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{
		Name: "foo", Namespace: "default", Generation: 1, Annotations: map[string]string{serving.AnnotationDeploymentMode: string(serving.Standard)},
	}}
	svc.Spec.Predictor.Model = &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}
	svc.Spec.Predictor.Model.StorageURI = new("gs://b/m")
	for _, c := range change {
		c(svc)
	}
	return svc
}

func predictor(t *testing.T, snap *plan.Snapshot) *plan.Component {
	t.Helper()
	p, err := resolve.Service(snap, settings.Defaults())
	require.NoError(t, err)
	return p.Component(serving.Predictor)
}

func TestRuntimeSelection(t *testing.T) {
	v1, v2 := serving.ProtocolV1, serving.ProtocolV2
	type runtimes = []servingv1alpha1.ServingRuntime
	cases := map[string]struct {
		namespace, cluster runtimes
		change             func(*servingv1beta1.ModelSpec)
		want               string // runtime, or a part of the refusal
	}{
		"a namespace runtime beats a cluster runtime of any priority": {
			namespace: runtimes{runtimeFor("ns")}, cluster: runtimes{runtimeFor("cl", priority(100))}, want: "ns",
		},
		"the higher priority wins":             {cluster: runtimes{runtimeFor("a", priority(1)), runtimeFor("b", priority(2))}, want: "b"},
		"none is below every priority":         {cluster: runtimes{runtimeFor("a"), runtimeFor("b", priority(1))}, want: "b"},
		"priority comes before protocol":       {cluster: runtimes{runtimeFor("a", speaks(v1)), runtimeFor("b", priority(1))}, want: "b"},
		"the earlier protocol wins":            {cluster: runtimes{runtimeFor("a"), runtimeFor("b", speaks(v2, v1))}, want: "b"},
		"the newer runtime wins":               {cluster: runtimes{runtimeFor("a", created(1)), runtimeFor("b", created(2))}, want: "b"},
		"of equals the first by name wins":     {cluster: runtimes{runtimeFor("b", created(1)), runtimeFor("a", created(1))}, want: "a"},
		"a runtime for v2 is not taken for v1": {cluster: runtimes{runtimeFor("a", speaks(v2))}, want: "a supports the format and speaks v2: set spec.predictor.model.protocolVersion: v2"},
		"a runtime without protocols takes all": {
			cluster: runtimes{runtimeFor("a")}, change: func(m *servingv1beta1.ModelSpec) { m.ProtocolVersion = &v2 }, want: "a",
		},
		"versions are texts": {cluster: runtimes{runtimeFor("a")}, change: func(m *servingv1beta1.ModelSpec) { m.ModelFormat.Version = new("1.0") }, want: `no runtime supports model format "sklearn" version "1.0"`},
		"format names keep their case": {
			cluster: runtimes{runtimeFor("a")}, change: func(m *servingv1beta1.ModelSpec) { m.ModelFormat.Name = "SKLearn" }, want: "create a ServingRuntime that lists the format",
		},
		"a disabled runtime is not taken": {cluster: runtimes{runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.Disabled = new(true) })}, want: "no runtime supports"},
		"a ModelMesh runtime is not taken": {
			cluster: runtimes{runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.MultiModel = new(true) })}, want: "no runtime supports",
		},
		"a runtime for several nodes is not taken for one": {
			cluster: runtimes{runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.WorkerSpec = &servingv1alpha1.WorkerSpec{} })}, want: "no runtime supports",
		},
		"a format that is misspelt": {
			cluster: runtimes{runtimeFor("a")},
			change:  func(m *servingv1beta1.ModelSpec) { m.ModelFormat.Name = "sklern" }, want: `(did you mean "sklearn"?)`,
		},
		"without runtimes the advice is to install them": {want: "there are no runtimes at all"},
		"a named runtime need not select itself": {
			cluster: runtimes{runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.SupportedModelFormats[0].AutoSelect = nil })},
			change:  func(m *servingv1beta1.ModelSpec) { m.Runtime = new("a") }, want: "a",
		},
		"a named runtime of the namespace hides that of the cluster": {
			namespace: runtimes{runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) { rt.Spec.Disabled = new(true) })}, cluster: runtimes{runtimeFor("a")},
			change: func(m *servingv1beta1.ModelSpec) { m.Runtime = new("a") }, want: "RuntimeDisabled: ServingRuntime a is disabled",
		},
		"an unknown name gets the nearest one": {
			cluster: runtimes{runtimeFor("kserve-sklearnserver")}, change: func(m *servingv1beta1.ModelSpec) { m.Runtime = new("sklearnserver") },
			want: "did you mean kserve-sklearnserver?",
		},
		"a named runtime must speak the protocol": {
			cluster: runtimes{runtimeFor("a", speaks(v1))},
			change:  func(m *servingv1beta1.ModelSpec) { m.Runtime, m.ProtocolVersion = new("a"), &v2 }, want: "NoSupportingRuntime: ClusterServingRuntime a does not speak",
		},
		"a named runtime must know the format": {
			cluster: runtimes{runtimeFor("a")},
			change:  func(m *servingv1beta1.ModelSpec) { m.Runtime, m.ModelFormat.Name = new("a"), "onnx" }, want: `does not support model format "onnx": it supports sklearn 1`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			svc := sklearn()
			if c.change != nil {
				c.change(svc.Spec.Predictor.Model)
			}
			before := svc.DeepCopy()
			p, err := resolve.Service(&plan.Snapshot{Service: svc, Runtimes: c.namespace, ClusterRuntimes: cluster(c.cluster...)}, settings.Defaults())
			require.Equal(t, before, svc, "the snapshot is not written to")
			if err != nil {
				var blocked *plan.Blocked
				require.ErrorAs(t, err, &blocked)
				require.Equal(t, serving.Predictor, blocked.Role)
				require.Contains(t, err.Error(), c.want)
				return
			}
			require.Equal(t, c.want, p.Component(serving.Predictor).Runtime.Name)
		})
	}
}

// TestSelectionDoesNotDependOnTheOrderOfReading shuffles runtimes that differ in everything the order looks at.
func TestSelectionDoesNotDependOnTheOrderOfReading(t *testing.T) {
	var all []servingv1alpha1.ServingRuntime
	for i, name := range strings.Split("abcdefghijklmnopqrstuvwx", "") {
		change := []func(*servingv1alpha1.ServingRuntime){created(int64(i % 3))}
		if i%4 > 0 {
			change = append(change, priority(int32(i%4)))
		}
		if i%2 == 0 {
			change = append(change, speaks(serving.ProtocolV2, serving.ProtocolV1))
		}
		all = append(all, runtimeFor(name, change...))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		p, err := resolve.Service(&plan.Snapshot{Service: sklearn(), ClusterRuntimes: cluster(all...)}, settings.Defaults())
		require.NoError(t, err)
		// Highest priority (3), both protocols' first (v1 or none), newest (2), by name.
		require.Equal(t, bestOf(all), p.Component(serving.Predictor).Runtime.Name)
	}
}

// bestOf says the rule again, in the plainest way.
func bestOf(all []servingv1alpha1.ServingRuntime) string {
	best := ""
	var score [3]int64
	for _, rt := range all {
		s := [3]int64{-1, 0, rt.CreationTimestamp.Unix()}
		if p := rt.Spec.SupportedModelFormats[0].Priority; p != nil {
			s[0] = int64(*p)
		}
		if len(rt.Spec.ProtocolVersions) > 0 {
			s[1] = 1
		}
		better := best == ""
		for i := range s {
			if s[i] != score[i] {
				better = better || s[i] > score[i]
				break
			}
			better = better || i == 2 && rt.Name < best
		}
		if better {
			best, score = rt.Name, s
		}
	}
	return best
}

func TestMergeOfContainers(t *testing.T) {
	two := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi")}
	one := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("2Gi")}
	rt := runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) {
		rt.Spec.Containers[0].Args = []string{"--foo=bar", "--test=dummy"}
		rt.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PORT", Value: "8080"}, {Name: "PORT2", Value: "8081"}, {Name: "FROM", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}
		rt.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: one, Requests: one}
		rt.Spec.Containers = append(rt.Spec.Containers, corev1.Container{Name: "more", Image: "registry.test/more:1"})
		rt.Spec.NodeSelector = map[string]string{"foo": "bar", "aaa": "bbb"}
		rt.Spec.Volumes = []corev1.Volume{{Name: "foo"}, {Name: "aaa"}}
		rt.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "foo"}}
		rt.Spec.SchedulerName = "theirs"
		rt.Spec.HostIPC = true
	})
	svc := sklearn(func(svc *servingv1beta1.InferenceService) {
		p := &svc.Spec.Predictor
		p.Model.Args = []string{"--new-arg=baz"}
		p.Model.Env = []corev1.EnvVar{{Name: "PORT2", Value: "8082"}, {Name: "Some", Value: "Var"}, {Name: "FROM", Value: "own"}}
		p.Model.Resources.Limits = two
		p.NodeSelector = map[string]string{"foo": "baz", "xxx": "yyy"}
		p.Volumes = []corev1.Volume{{Name: "foo", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "baz"}}}, {Name: "xxx"}}
		p.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "foo"}, {Name: "bar"}}
		p.ServiceAccountName, p.SchedulerName = "testAccount", "ours"
		p.Containers = []corev1.Container{{Name: "transformer-container", Image: "registry.test/t:1"}, {Name: "side", Image: "registry.test/side:1"}}
		p.InitContainers = []corev1.Container{{Name: "first", Image: "registry.test/first:1"}}
	})
	pod := predictor(t, &plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{rt}}).Pod

	main := pod.Containers[0]
	require.Equal(t, "kserve-container", main.Name)
	require.Equal(t, "registry.test/a:1", main.Image)
	require.Equal(t, []string{"--foo=bar", "--test=dummy", "--new-arg=baz"}, main.Args)
	require.ElementsMatch(t, []corev1.EnvVar{
		{Name: "PORT", Value: "8080"}, {Name: "PORT2", Value: "8082"}, {Name: "Some", Value: "Var"}, {Name: "FROM", Value: "own"}, {Name: "INFERENCE_SERVICE_NAME", Value: "foo"},
	}, main.Env)
	require.True(t, main.Resources.Limits.Cpu().Equal(two["cpu"]))
	require.True(t, main.Resources.Requests.Memory().Equal(one["memory"]))

	var order []string
	for _, c := range pod.Containers {
		order = append(order, c.Name)
	}
	require.Equal(t, []string{"kserve-container", "transformer-container", "more", "side"}, order)
	require.Equal(t, map[string]string{"foo": "baz", "xxx": "yyy", "aaa": "bbb"}, pod.NodeSelector)
	var volumes []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	require.Equal(t, []string{"foo", "xxx", "aaa"}, volumes)
	require.Equal(t, "baz", pod.Volumes[0].PersistentVolumeClaim.ClaimName)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "foo"}, {Name: "bar"}}, pod.ImagePullSecrets)
	require.Equal(t, "testAccount", pod.ServiceAccountName)
	require.Equal(t, "ours", pod.SchedulerName)
	require.True(t, pod.HostIPC)
	require.Equal(t, "first", pod.InitContainers[0].Name)
}

func TestMetadataPrecedence(t *testing.T) {
	rt := runtimeFor("a", func(rt *servingv1alpha1.ServingRuntime) {
		rt.Spec.Annotations = map[string]string{"a": "r", "b": "r", "c": "r"}
		rt.Spec.Labels = map[string]string{"a": "r", "b": "r", "c": "r", serving.LabelComponent: "fake"}
	})
	svc := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Labels = map[string]string{"b": "i", "c": "i"}
		svc.Annotations["b"], svc.Annotations["c"] = "i", "i"
		svc.Annotations[serving.AnnotationModelFormat] = "sklearn"
		svc.Spec.Predictor.Labels = map[string]string{"c": "p"}
		svc.Spec.Predictor.Annotations = map[string]string{"c": "p", serving.AnnotationKnativeMinScale: "7"}
	})
	c := predictor(t, &plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{rt}})
	require.Equal(t, map[string]string{"a": "r", "b": "i", "c": "p", serving.LabelComponent: "predictor", serving.LabelInferenceService: "foo"}, c.Labels)
	require.Equal(t, map[string]string{
		"a": "r", "b": "i", "c": "p", serving.AnnotationDeploymentMode: "Standard", serving.AnnotationInternalSourceURI: "gs://b/m",
	}, c.Annotations)
}

func TestDeploymentMode(t *testing.T) {
	cases := map[string]struct {
		annotation, status string
		standard           bool // the operator's default
		want               string
	}{
		"the stored mode wins":            {annotation: "Standard", status: "Knative", want: "Knative"},
		"the annotation comes next":       {annotation: "Standard", want: "Standard"},
		"old spellings are known":         {annotation: "RawDeployment", want: "Standard"},
		"then the operator's default":     {want: "Knative"},
		"whatever it is":                  {standard: true, want: "Standard"},
		"an unknown annotation is no use": {annotation: "Raw", want: "use Standard, Knative or ModelMesh"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			svc := sklearn(func(svc *servingv1beta1.InferenceService) {
				delete(svc.Annotations, serving.AnnotationDeploymentMode)
				if c.annotation != "" {
					svc.Annotations[serving.AnnotationDeploymentMode] = c.annotation
				}
				svc.Status.DeploymentMode = serving.DeploymentMode(c.status)
			})
			st := settings.Defaults()
			if c.standard {
				st.Deploy.DefaultMode = serving.Standard
			}
			p, err := resolve.Service(&plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a")}}, st)
			if err != nil {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.Equal(t, c.want, string(p.Mode))
		})
	}
}

func TestWhatCannotBeServedIsBlockedWithAFix(t *testing.T) {
	cases := map[string]struct {
		change   func(*servingv1beta1.InferenceService)
		settings func(*settings.Settings)
		says     string
	}{
		"nothing to serve":  {change: func(svc *servingv1beta1.InferenceService) { svc.Spec.Predictor.Model = nil }, says: "set spec.predictor.model"},
		"an unknown scheme": {change: func(svc *servingv1beta1.InferenceService) { svc.Spec.Predictor.Model.StorageURI = new("foo://x") }, says: `storageUri "foo://x" is not supported: use one of s3, gs`},
		"two places for one model": {change: func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Predictor.Model.Storage = &servingv1beta1.ModelStorageSpec{StorageSpec: servingv1beta1.StorageSpec{Path: new("p")}}
		}, says: "keep one"},
		"an image that is off": {change: func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Predictor.Model.StorageURI = new("oci+native://i")
		}, settings: func(st *settings.Settings) { st.Storage.EnableModelcar = false }, says: "set storageInitializer.enableModelcar"},
		"an unknown autoscaler":       {change: func(svc *servingv1beta1.InferenceService) { svc.Annotations[serving.AnnotationAutoscalerClass] = "vpa" }, says: "use hpa, keda, external, none"},
		"no pods with an HPA":         {change: func(svc *servingv1beta1.InferenceService) { svc.Spec.Predictor.MinReplicas = new(int32(0)) }, says: "a HorizontalPodAutoscaler keeps at least one pod"},
		"a name that is too long":     {change: func(svc *servingv1beta1.InferenceService) { svc.Name = strings.Repeat("a", 54) }, says: "shorten metadata.name by 6"},
		"a host that is too long":     {change: func(svc *servingv1beta1.InferenceService) { svc.Namespace = strings.Repeat("n", 60) }, says: "shorten metadata.name by"},
		"a host that is none":         {settings: func(st *settings.Settings) { st.Ingress.DomainTemplate = "{{ .Labels.absent }}.example.com" }, says: "ingress.domainTemplate"},
		"a storage container unknown": {change: func(svc *servingv1beta1.InferenceService) { svc.Spec.Predictor.StorageContainerName = new("mine") }, says: `names ClusterStorageContainer "mine", which does not exist`},
		"workers without a runtime for them": {change: func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Predictor.WorkerSpec = &servingv1beta1.WorkerSpec{}
			svc.Spec.Predictor.Model.Runtime = new("a")
		}, says: "InvalidWorkerSpecNotSet"},
		"workers of a pod of one's own": {change: func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Predictor.Model = nil
			svc.Spec.Predictor.Containers = []corev1.Container{{Image: "i"}}
			svc.Spec.Predictor.WorkerSpec = &servingv1beta1.WorkerSpec{}
		}, says: "InvalidWorkerSpecNotSet"},
		"workers of a model whose container has another name": {change: func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Predictor.WorkerSpec = &servingv1beta1.WorkerSpec{}
			svc.Spec.Predictor.Model.Runtime, svc.Spec.Predictor.Model.Name = new("nodes"), "mine"
		}, says: "spec.predictor.model.name must be kserve-container or absent"},
		"a transformer without containers": {change: func(svc *servingv1beta1.InferenceService) { svc.Spec.Transformer = &servingv1beta1.TransformerSpec{} }, says: "set spec.transformer.containers"},
		"an explainer without anything":    {change: func(svc *servingv1beta1.InferenceService) { svc.Spec.Explainer = &servingv1beta1.ExplainerSpec{} }, says: "spec.explainer.art"},
		"a mount outside everything": {change: func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Predictor.Model.StorageURI = nil
			svc.Spec.Predictor.StorageURIs = []servingv1beta1.StorageURI{{URI: "gs://b", MountPath: "/a/../.."}}
		}, says: "must be an absolute path below the root"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			svc := sklearn()
			if c.change != nil {
				c.change(svc)
			}
			st := settings.Defaults()
			if c.settings != nil {
				c.settings(st)
			}
			_, err := resolve.Service(&plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a"), runtimeFor("nodes", func(rt *servingv1alpha1.ServingRuntime) {
				rt.Spec.WorkerSpec = &servingv1alpha1.WorkerSpec{ServingRuntimePodSpec: servingv1alpha1.ServingRuntimePodSpec{Containers: []corev1.Container{{Name: "worker-container"}}}}
			})}}, st)
			var blocked *plan.Blocked
			require.ErrorAs(t, err, &blocked)
			require.Contains(t, err.Error(), c.says)
			require.NotEmpty(t, blocked.Decisions)
		})
	}
}

func TestDecisionsAndRefusalsHideWhatIsSecretInAURI(t *testing.T) {
	signed := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Spec.Predictor.Model.StorageURI = new("https://me:hidden@host.test/m.joblib?sig=hidden")
	})
	p, err := resolve.Service(&plan.Snapshot{Service: signed, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a")}}, settings.Defaults())
	require.NoError(t, err)
	i := slices.IndexFunc(p.Decisions, func(d plan.Decision) bool { return d.Subject == plan.SubjectStorage })
	require.Equal(t, "https://host.test/m.joblib", p.Decisions[i].Chosen)
	require.Contains(t, p.Component(serving.Predictor).Storage.Sources[0].URI, "sig=hidden", "the pod needs it")
	unknown := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Spec.Predictor.Model.StorageURI = new("foo://me:hidden@host/m")
	})
	_, err = resolve.Service(&plan.Snapshot{Service: unknown, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a")}}, settings.Defaults())
	require.ErrorContains(t, err, "is not supported")
	require.NotContains(t, err.Error(), "hidden")
}

func TestModelMeshTransformerWaitsForThePredictor(t *testing.T) {
	svc := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Annotations[serving.AnnotationDeploymentMode] = string(serving.ModelMesh)
		svc.Spec.Transformer = &servingv1beta1.TransformerSpec{}
		svc.Spec.Transformer.Containers = []corev1.Container{{Name: "kserve-container", Image: "registry.test/t:1"}}
	})
	_, err := resolve.Service(&plan.Snapshot{Service: svc}, settings.Defaults())
	var waiting *plan.Waiting
	require.ErrorAs(t, err, &waiting)
	require.Equal(t, 3*time.Second, waiting.After)
	svc.Status.Components = map[serving.ComponentRole]servingv1beta1.ComponentStatus{serving.Predictor: {URL: "grpc://modelmesh.default:8033"}}
	p, err := resolve.Service(&plan.Snapshot{Service: svc}, settings.Defaults())
	require.NoError(t, err)
	require.Equal(t, []string{"--protocol", "grpc-v2", "--model_name", "foo", "--predictor_host", "modelmesh.default:8033", "--http_port", "8080"}, p.Components[0].Pod.Containers[0].Args)
}

func TestCanaries(t *testing.T) {
	svc := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Spec.Predictor.MinReplicas = new(int32(10))
		svc.Spec.Predictor.Logger = &servingv1beta1.LoggerSpec{Mode: servingv1beta1.LogAll}
		svc.Spec.Predictor.Model.Args = []string{"--own=1"}
		for i, name := range []string{"v2", "v3"} {
			c := servingv1beta1.CanarySpec{TrafficPercent: []int32{20, 30}[i]}
			c.Predictor.Name = name
			c.Predictor.Model = &servingv1beta1.ModelSpec{}
			c.Predictor.Model.StorageURI = new("gs://b/" + name)
			svc.Spec.Canary = append(svc.Spec.Canary, c)
		}
	})
	snap := &plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a")}, ReadyCanaries: map[string]bool{}}
	for _, step := range []struct {
		ready  string
		stable int32
	}{{"", 10}, {"v2", 8}, {"v3", 5}} {
		if step.ready != "" {
			snap.ReadyCanaries[step.ready] = true
		}
		p, err := resolve.Service(snap, settings.Defaults())
		require.NoError(t, err)
		require.Len(t, p.Components, 3)
		require.Equal(t, step.stable, *p.Component(serving.Predictor).Scale.Min)
		v2, v3 := p.Components[0], p.Components[1]
		require.Equal(t, "foo-v2-predictor", v2.Name)
		require.Equal(t, int32(2), *v2.Scale.Min)
		require.Equal(t, int32(3), *v3.Scale.Min)
		require.Equal(t, "gs://b/v3", v3.Storage.Sources[0].URI)
		require.Equal(t, []string{"--own=1"}, v3.Pod.Containers[0].Args)
		require.True(t, v2.Sidecar, "the logger of the stable predictor holds for canaries")
	}
}

func TestKnativeTraffic(t *testing.T) {
	svc := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Annotations[serving.AnnotationDeploymentMode] = string(serving.Knative)
		svc.Annotations[serving.AnnotationEnableTagRouting] = "true"
		svc.Annotations[serving.AnnotationKnativeInitialScale] = "0"
		svc.Spec.Predictor.CanaryTrafficPercent = new(int64(20))
	})
	snap := &plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a")}}
	c := predictor(t, snap)
	require.Equal(t, []serving.TrafficTarget{{Tag: "latest", LatestRevision: new(true), Percent: new(int64(100))}}, c.Traffic, "a first revision takes all")
	require.NotContains(t, c.Annotations, serving.AnnotationKnativeInitialScale)
	svc.Status.Components = map[serving.ComponentRole]servingv1beta1.ComponentStatus{serving.Predictor: {LatestRolledoutRevision: "rev-1"}}
	snap.KnativeZeroInitialScale = true
	c = predictor(t, snap)
	require.Equal(t, []serving.TrafficTarget{
		{Tag: "latest", LatestRevision: new(true), Percent: new(int64(20))},
		{Tag: "prev", RevisionName: "rev-1", LatestRevision: new(false), Percent: new(int64(80))},
	}, c.Traffic)
	require.Equal(t, "0", c.Annotations[serving.AnnotationKnativeInitialScale])
}

// BenchmarkService decides on a service among the runtimes that are shipped.
func BenchmarkService(b *testing.B) {
	var runtimes []servingv1alpha1.ClusterServingRuntime
	for _, raw := range deploy.Runtimes() {
		var rt servingv1alpha1.ClusterServingRuntime
		require.NoError(b, yaml.Unmarshal(raw, &rt))
		runtimes = append(runtimes, rt)
	}
	for label, change := range map[string]func(*servingv1beta1.InferenceService){
		"predictor": func(*servingv1beta1.InferenceService) {},
		"predictor and transformer": func(svc *servingv1beta1.InferenceService) {
			svc.Spec.Transformer = &servingv1beta1.TransformerSpec{PodSpec: servingv1beta1.PodSpec{
				Containers: []corev1.Container{{Name: "kserve-container", Image: "registry.test/t:1"}},
			}}
		},
	} {
		snap := &plan.Snapshot{Service: sklearn(change), ClusterRuntimes: runtimes}
		st := settings.Defaults()
		snap.Service.SetDefaults(st.ServiceDefaults())
		b.Run(label, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := resolve.Service(snap, st); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestDecisionsOnACanaryNameTheFieldsThatSaySo(t *testing.T) {
	entry := func(text string) servingv1beta1.CanarySpec {
		c := servingv1beta1.CanarySpec{TrafficPercent: 10}
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), &c.Predictor))
		return c
	}
	svc := sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Spec.Canary = []servingv1beta1.CanarySpec{
			entry("{name: v2, model: {storageUri: gs://b/2}}"),
			entry("{name: v3, model: {runtime: b, protocolVersion: v2}}"),
			entry("{name: v4, model: {runtime: nowhere}}"),
		}
	})
	snap := &plan.Snapshot{Service: svc, Runtimes: []servingv1alpha1.ServingRuntime{runtimeFor("a", priority(2), speaks("v1")), runtimeFor("b", priority(1), speaks("v1", "v2"))}}
	p, err := resolve.Service(snap, settings.Defaults())
	require.NoError(t, err)
	why := func(workload, subject string) string {
		for _, d := range p.Decisions {
			if d.Workload == workload && d.Subject == subject {
				return d.Why
			}
		}
		return ""
	}
	require.Equal(t, "the stable predictor has it, and the model format is the same", why("foo-v2-predictor", plan.SubjectRuntime))
	require.Contains(t, why("foo-v2-predictor", plan.SubjectStorage), "spec.canary[0].predictor.model.storageUri")
	require.Equal(t, "spec.canary[1].predictor.model.runtime names it", why("foo-v3-predictor", plan.SubjectRuntime))
	require.Equal(t, "spec.canary[1].predictor.model.protocolVersion", why("foo-v3-predictor", plan.SubjectProtocol))
	require.Contains(t, why("foo-v3-predictor", plan.SubjectStorage), "spec.predictor.model.storageUri", "the stable predictor's")
	require.NotContains(t, why("foo-predictor", plan.SubjectStorage), "canary")
	require.Len(t, p.Unplanned, 1)
	require.Contains(t, p.Unplanned[0].Why.Message, `spec.canary[2].predictor.model.runtime names "nowhere"`)

	svc.Spec.Predictor.Model.Runtime = new("a")
	p, err = resolve.Service(snap, settings.Defaults())
	require.NoError(t, err)
	require.Equal(t, "spec.predictor.model.runtime names it", why("foo-v2-predictor", plan.SubjectRuntime), "the stable predictor does name it")
}
