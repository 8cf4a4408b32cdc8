// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

const (
	sklearnRuntime = `apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: sk}
spec:
  supportedModelFormats: [{name: sklearn, version: "1", autoSelect: true}]
  containers: [{name: kserve-container, image: "registry.test/sk:1", args: ["--model_name={{.Name}}"]}]`

	quiet = 1200 * time.Millisecond
)

// sklearn is a service of Standard mode; more are further lines of its predictor, annotations further ones of its own.
func sklearn(name, uri string, annotations ...string) string {
	text := "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata:\n  name: " + name +
		"\n  annotations:\n    serving.kserve.io/deploymentMode: Standard\n"
	for _, a := range annotations {
		text += "    " + a + "\n"
	}
	return text + "spec:\n  predictor:\n    model:\n      modelFormat: {name: sklearn}\n      storageUri: " + uri + "\n"
}

// world is one namespace with what tests ask of it.
type world struct {
	*cluster.Cluster
	t  testing.TB
	ns string
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	c := cluster.Shared(tb)
	w := &world{Cluster: c, t: tb, ns: c.Namespace(tb)}
	w.apply(sklearnRuntime)
	return w
}

func (w *world) apply(texts ...string) {
	w.t.Helper()
	w.MustApply(w.t, w.ns, texts...)
}

func (w *world) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.ns, Name: name}
}

// has waits until an object is there and passes the check.
func has[T client.Object](w *world, name string, o T, check func(T) error) T {
	w.t.Helper()
	w.Eventually(w.t, fmt.Sprintf("%T %s", o, name), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, w.key(name), o); err != nil {
			return err
		}
		if check == nil {
			return nil
		}
		return check(o)
	})
	return o
}

func gone[T client.Object](w *world, name string, o T) {
	w.t.Helper()
	w.Eventually(w.t, fmt.Sprintf("the end of %T %s", o, name), func(ctx context.Context) error {
		switch err := w.Client.Get(ctx, w.key(name), o); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is there")
	})
}

func absent[T client.Object](w *world, name string, o T) {
	w.t.Helper()
	err := w.Client.Get(w.t.Context(), w.key(name), o)
	require.True(w.t, apierrors.IsNotFound(err), "%T %s is not to be there: %v", o, name, err)
}

// settle waits until the namespace is quiet.
func (w *world) settle() {
	w.t.Helper()
	require.NoError(w.t, w.Settle(w.t.Context(), w.ns, quiet, 2*time.Minute))
}

// ready writes the statuses of a whole cluster until nothing changes any more, and waits for the service.
func (w *world) ready(name string) *servingv1beta1.InferenceService {
	w.t.Helper()
	w.Eventually(w.t, "readiness of "+name, func(ctx context.Context) error {
		if _, err := w.MakeReady(ctx, w.ns); err != nil {
			return err
		}
		svc := &servingv1beta1.InferenceService{}
		if err := w.Client.Get(ctx, w.key(name), svc); err != nil {
			return err
		}
		return isReady(svc)
	})
	w.settle()
	return has(w, name, &servingv1beta1.InferenceService{}, isReady)
}

func isReady(svc *servingv1beta1.InferenceService) error {
	c := svc.Status.Condition(serving.ConditionReady)
	if c == nil || c.Status != corev1.ConditionTrue || svc.Status.ObservedGeneration != svc.Generation {
		return fmt.Errorf("the status is %+v", svc.Status)
	}
	return nil
}

// says waits until a condition's message holds the texts.
func (w *world) says(name string, kind serving.ConditionType, texts ...string) {
	w.t.Helper()
	has(w, name, &servingv1beta1.InferenceService{}, func(svc *servingv1beta1.InferenceService) error {
		c := svc.Status.Condition(kind)
		if c == nil {
			return fmt.Errorf("no condition %s", kind)
		}
		for _, text := range texts {
			if !strings.Contains(c.Reason+": "+c.Message, text) || c.Status == corev1.ConditionTrue {
				return fmt.Errorf("%s is %s, %s: %s", kind, c.Status, c.Reason, c.Message)
			}
		}
		return nil
	})
}

// writes are what the controller has written in the namespace, "verb kind/name" each.
func (w *world) writes() []string {
	w.t.Helper()
	requests, err := w.Requests(cluster.ControllerAccount)
	require.NoError(w.t, err)
	var list []string
	for _, r := range requests {
		if r.Writes() && r.Namespace == w.ns && r.Resource != "events" {
			list = append(list, r.Verb+" "+r.Kind()+"/"+r.Name)
		}
	}
	return list
}

func (w *world) change(o client.Object, patch string) {
	w.t.Helper()
	require.NoError(w.t, w.Client.Patch(w.t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func (w *world) service(name string) *servingv1beta1.InferenceService {
	return &servingv1beta1.InferenceService{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
}

func TestAServiceBecomesItsObjectsWithNoWriteTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	d := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	has(w, "m-predictor", &corev1.Service{}, nil)
	has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil)
	require.True(t, metav1.IsControlledBy(d, has(w, "m", &servingv1beta1.InferenceService{}, nil)))
	w.settle()
	absent(w, "m", &networkingv1.Ingress{})
	w.says("m", servingv1beta1.IngressReady, "Predictor ingress not created")

	svc := w.ready("m")
	has(w, "m", &networkingv1.Ingress{}, nil)
	require.Equal(t, "http://m-"+w.ns+".example.com", svc.Status.URL)
	require.Equal(t, "http://m-predictor."+w.ns+".svc.cluster.local", svc.Status.Address.URL)
	require.Equal(t, "sk", svc.Status.ServingRuntimeName)
	writes := w.writes()
	slices.Sort(writes)
	require.Equal(t, []string{
		"patch deployments/m-predictor", "patch horizontalpodautoscalers/m-predictor", "patch inferenceservices/status/m",
		"patch inferenceservices/status/m", "patch ingresses/m", "patch services/m-predictor",
	}, writes, "each object once, and two statuses")
}

func TestAChangeReachesTheObjectsThatItConcerns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	before := len(w.writes())
	w.apply(sklearn("m", "s3://models/v2"))
	const source = serving.AnnotationInternalSourceURI
	has(w, "m-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		if d.Spec.Template.Annotations[source] != "s3://models/v2" || d.Annotations[source] != "s3://models/v2" {
			return errors.New("the old model")
		}
		return nil
	})
	w.ready("m")
	require.Equal(t, "s3://models/iris", has(w, "m-predictor", &corev1.Service{}, nil).Annotations[source], "metadata alone is no reason to write a Service")
	for _, write := range w.writes()[before:] {
		require.NotContains(t, write, " services/")
		require.NotContains(t, write, " ingresses/")
	}
}

func TestDriftIsRepairedAndWhatOthersAddStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	d := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	w.change(d, `{"metadata":{"annotations":{"theirs":"x"}},"spec":{"replicas":5,"template":{"spec":{"containers":[{"name":"kserve-container","image":"evil:1"},{"name":"more","image":"x"}]}}}}`)
	has(w, "m-predictor", d, func(d *appsv1.Deployment) error {
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.test/sk:1" {
			return errors.New(image)
		}
		return nil
	})
	require.EqualValues(t, 5, *d.Spec.Replicas, "an autoscaler's replicas are not ours")
	require.Equal(t, "x", d.Annotations["theirs"])

	require.NoError(t, w.Client.Delete(t.Context(), has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil)))
	has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil)
	w.change(has(w, "m-predictor", &corev1.Service{}, nil), `{"metadata":{"labels":{"serving.kserve.io/inferenceservice":null}},"spec":{"selector":{"app":"other"}}}`)
	has(w, "m-predictor", &corev1.Service{}, func(s *corev1.Service) error {
		if s.Spec.Selector["app"] != "isvc.m-predictor" || s.Labels[serving.LabelInferenceService] != "m" {
			return fmt.Errorf("selector %v, labels %v", s.Spec.Selector, s.Labels)
		}
		return nil
	})
	w.settle()
	n := len(w.writes())
	w.change(d, `{"metadata":{"labels":{"theirs":"y"}}}`)
	w.settle()
	require.Len(t, w.writes(), n, "a label that someone else adds costs nothing")
}

func TestWhatIsNoLongerWantedGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris") + "  transformer:\n    containers: [{name: kserve-container, image: 'registry.test/t:1'}]\n")
	w.ready("m")
	has(w, "m-transformer", &appsv1.Deployment{}, nil)
	has(w, "m", &networkingv1.Ingress{}, nil)

	w.change(w.service("m"), `{"spec":{"transformer":null}}`)
	gone(w, "m-transformer", &appsv1.Deployment{})
	gone(w, "m-transformer", &corev1.Service{})
	gone(w, "m-transformer", &autoscalingv2.HorizontalPodAutoscaler{})
	has(w, "m-predictor", &appsv1.Deployment{}, nil)

	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/autoscalerClass":"none"}},"spec":{"predictor":{"minReplicas":3,"maxReplicas":3}}}`)
	gone(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{})
	has(w, "m-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		if *d.Spec.Replicas != 3 {
			return fmt.Errorf("%d replicas", *d.Spec.Replicas)
		}
		return nil
	})
	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/autoscalerClass":"external"}}}`)
	w.change(w.service("m"), `{"metadata":{"labels":{"networking.kserve.io/visibility":"cluster-local"}}}`)
	gone(w, "m", &networkingv1.Ingress{})
	w.ready("m")
}

func TestStopTakesEverythingAwayAndItComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/stop":"true"}}}`)
	gone(w, "m-predictor", &appsv1.Deployment{})
	gone(w, "m-predictor", &corev1.Service{})
	gone(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{})
	gone(w, "m", &networkingv1.Ingress{})
	has(w, "m", &servingv1beta1.InferenceService{}, func(svc *servingv1beta1.InferenceService) error {
		if c := svc.Status.Condition(servingv1beta1.Stopped); c == nil || c.Status != corev1.ConditionTrue {
			return fmt.Errorf("%+v", svc.Status)
		}
		return nil
	})
	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/stop":null}}}`)
	w.ready("m")
}

func TestAFrozenServiceIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris", `serving.kserve.io/disable-auto-update: "true"`))
	w.ready("m")
	n := len(w.writes())
	w.apply(strings.ReplaceAll(sklearnRuntime, "sk:1", "sk:2"))
	w.settle()
	require.Len(t, w.writes(), n)
	require.Equal(t, "registry.test/sk:1", has(w, "m-predictor", &appsv1.Deployment{}, nil).Spec.Template.Spec.Containers[0].Image)
}

func TestAnObjectOfSomeoneElseIsNeverTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: m-predictor, labels: {serving.kserve.io/inferenceservice: m}}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: m-predictor}}`,
		`apiVersion: v1
kind: Service
metadata: {name: other-predictor}
spec: {ports: [{port: 81}], selector: {app: theirs}}`)
	hpa := has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil)
	svc := has(w, "other-predictor", &corev1.Service{}, nil)
	w.apply(sklearn("m", "s3://models/iris"), sklearn("other", "s3://models/iris"))
	w.says("m", servingv1beta1.PredictorReady, "HorizontalPodAutoscaler m-predictor", "belongs to nobody", "rename")
	w.says("other", servingv1beta1.PredictorReady, "Service other-predictor", "belongs to nobody")
	has(w, "m-predictor", &appsv1.Deployment{}, nil)
	w.settle()
	require.Equal(t, hpa.ResourceVersion, has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil).ResourceVersion)
	require.Equal(t, svc.ResourceVersion, has(w, "other-predictor", &corev1.Service{}, nil).ResourceVersion)

	require.NoError(t, w.Client.Delete(t.Context(), hpa))
	w.change(w.service("m"), `{"spec":{"predictor":{"maxReplicas":4}}}`)
	w.ready("m")
	w.change(w.service("m"), `{"metadata":{"annotations":{"serving.kserve.io/stop":"true"}}}`)
	gone(w, "m-predictor", &appsv1.Deployment{})
}

func TestAServiceWithoutARuntimeGoesOnWhenOneAppears(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(strings.ReplaceAll(sklearn("m", "s3://models/iris"), "name: sklearn", "name: later-format"))
	w.says("m", servingv1beta1.PredictorReady, "NoSupportingRuntime")
	w.apply(strings.ReplaceAll(strings.ReplaceAll(sklearnRuntime, "name: sklearn", "name: later-format"), "name: sk}", "name: later}"))
	w.ready("m")
}

func TestARuntimeThatChangesReachesItsServicesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(strings.ReplaceAll(strings.ReplaceAll(sklearnRuntime, "name: sklearn", "name: other"), "name: sk}", "name: other}"))
	w.apply(sklearn("m", "s3://models/iris"), strings.ReplaceAll(sklearn("other", "s3://models/iris"), "name: sklearn", "name: other"))
	w.ready("m")
	w.ready("other")
	before := has(w, "other-predictor", &appsv1.Deployment{}, nil).ResourceVersion
	w.apply(strings.ReplaceAll(sklearnRuntime, "sk:1", "sk:2"))
	has(w, "m-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.test/sk:2" {
			return errors.New(image)
		}
		return nil
	})
	w.settle()
	require.Equal(t, before, has(w, "other-predictor", &appsv1.Deployment{}, nil).ResourceVersion)
}

func TestADeletedServiceTakesItsTrainedModelsAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	w.apply(`apiVersion: serving.kserve.io/v1alpha1
kind: TrainedModel
metadata: {name: tm, labels: {inferenceservice: m}}
spec: {inferenceService: m, model: {framework: sklearn, memory: 1Gi, storageUri: "s3://models/a"}}`)
	require.NoError(t, w.Client.Delete(t.Context(), w.service("m")))
	gone(w, "m", &servingv1beta1.InferenceService{})
	gone(w, "tm", &servingv1alpha1.TrainedModel{})
}

func TestTheClustersOfTheReferenceAreTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris", `serving.kserve.io/stop: "true"`))
	svc := has(w, "m", &servingv1beta1.InferenceService{}, nil)
	yes := true
	// As the reference's manager makes it: by an update, with a variable that nobody wants any more.
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "m-predictor", Namespace: w.ns, Labels: map[string]string{serving.LabelInferenceService: "m", "app": "isvc.m-predictor"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Name: "m", UID: svc.UID, Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "isvc.m-predictor"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "isvc.m-predictor", "old": "x"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "kserve-container", Image: "old:1", Env: []corev1.EnvVar{{Name: "OLD", Value: "1"}}}}},
			},
		},
	}
	w.change(svc, `{"metadata":{"annotations":{"serving.kserve.io/stop":null}}}`)
	first := has(w, "m-predictor", &appsv1.Deployment{}, nil)
	require.NoError(t, w.Client.Delete(t.Context(), first))
	// Whoever is first, the outcome is one Deployment as it is wanted.
	err := w.Client.Create(t.Context(), d, client.FieldOwner("manager"))
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
	has(w, "m-predictor", &appsv1.Deployment{}, func(d *appsv1.Deployment) error {
		c := d.Spec.Template.Spec.Containers[0]
		if c.Image != "registry.test/sk:1" || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "OLD" }) || d.Spec.Template.Labels["old"] != "" {
			return fmt.Errorf("image %s, variables %v, labels %v", c.Image, c.Env, d.Spec.Template.Labels)
		}
		return nil
	})
}
