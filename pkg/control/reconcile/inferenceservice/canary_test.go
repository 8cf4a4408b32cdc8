// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/measure"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// looks gives the looks that a test wants; the real ones are tested in control/measure.
type looks struct {
	look   *rollout.Look
	asked  []measure.Ask
	forgot []types.UID
}

func (l *looks) Look(ask measure.Ask) (*rollout.Look, time.Duration) {
	l.asked = append(l.asked, ask)
	return l.look, 0 // as while one is on its way
}

func (l *looks) Forget(uid types.UID, but ...string) {
	if len(but) == 0 {
		l.forgot = append(l.forgot, uid)
	}
}

// canaryWorld has a service with a ready canary v2, and a clock that is put forward.
type canaryWorld struct {
	*world
	looks *looks
	now   time.Time
}

func newCanaryWorld(t *testing.T, analysis string, change ...func(*servingv1beta1.InferenceService)) *canaryWorld {
	t.Helper()
	svc := sklearn(func(s *servingv1beta1.InferenceService) {
		c := servingv1beta1.CanarySpec{TrafficPercent: 20}
		c.Predictor.Name = "v2"
		c.Predictor.Model = &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}
		c.Predictor.Model.StorageURI = new("gs://b/m2")
		s.Spec.Canary = []servingv1beta1.CanarySpec{c}
		if analysis != "" {
			s.Annotations[serving.AnnotationCanaryAnalysis] = analysis
		}
		for _, change := range change {
			change(s)
		}
	})
	w := &canaryWorld{world: newWorld(t, svc), looks: &looks{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Measure, w.Now = w.looks, func() time.Time { return w.now }
	cm := shippedConfig(t)
	cm.Data["canaryAnalysis"] = `{"prometheusAddress":"http://prometheus.test:9090"}`
	_, err := w.Settings.Take(cm)
	require.NoError(t, err)
	w.pass(t)
	w.deploymentReady(t)
	w.canaryReady(t)
	w.pass(t)
	return w
}

func (w *canaryWorld) canaryReady(t *testing.T) {
	t.Helper()
	d := &appsv1.Deployment{}
	if w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-v2-predictor"}, d) != nil {
		return
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	require.NoError(t, w.client.Status().Update(t.Context(), d))
}

// look lets a minute pass and gives the measurement.
func (w *canaryWorld) look(t *testing.T, successRate float64) []string {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	w.looks.look = &rollout.Look{Taken: w.now, Readings: []rollout.Reading{{Name: rollout.SuccessRate, Value: successRate}}}
	return w.pass(t)
}

func (w *canaryWorld) canary(t *testing.T) servingv1beta1.CanaryStatus {
	t.Helper()
	list := w.service(t).Status.CanaryStatuses
	require.Len(t, list, 1)
	return list[0]
}

func (w *canaryWorld) stableIsReady(t *testing.T) {
	t.Helper()
	for _, kind := range []serving.ConditionType{serving.ConditionReady, servingv1beta1.PredictorReady} {
		require.Equal(t, corev1.ConditionTrue, w.service(t).Status.Condition(kind).Status, kind)
	}
	require.Nil(t, w.service(t).Status.Condition(servingv1beta1.LatestDeploymentReady), "the stable predictor is as it was asked for")
}

func TestAVerdictIsWrittenOnceAndOutlivesTheProcess(t *testing.T) {
	w := newCanaryWorld(t, "{warmUp: 0s, failureLimit: 2}")
	require.Equal(t, servingv1beta1.CanaryWarmingUp, w.canary(t).Analysis.Verdict)
	require.Equal(t, []string{"status m"}, w.look(t, 100))
	require.Equal(t, servingv1beta1.CanaryPassing, w.canary(t).Analysis.Verdict)
	for _, value := range []float64{99.5, 99.6, 99.7} {
		require.Empty(t, w.look(t, value), "numbers alone are not written")
	}
	ask := w.looks.asked[len(w.looks.asked)-1]
	require.Equal(t, "http://prometheus.test:9090", ask.Settings.Address)
	require.Equal(t, measure.Canary{Service: name, UID: "1", Name: "v2", Spec: ask.Spec}, ask.Canary)
	require.Contains(t, ask.Queries[0].Text, `pod=~"m-v2-predictor-`)

	require.Equal(t, []string{"status m"}, w.look(t, 50))
	w.looks.look.Taken = w.now // the same look again
	require.Empty(t, w.pass(t), "a look is judged once")
	require.Equal(t, []string{"status m"}, w.look(t, 50))
	require.Equal(t, servingv1beta1.CanaryRolledBack, w.canary(t).Analysis.Verdict)
	require.Equal(t, "CanaryRolledBack", w.canary(t).Reason)
	c := w.service(t).Status.Condition(servingv1beta1.CanaryPredictorReady)
	require.Equal(t, corev1.ConditionFalse, c.Status)
	require.Equal(t, "CanaryRolledBack", c.Reason)
	w.stableIsReady(t)
	told := 0
	for len(w.events.Events) > 0 {
		if strings.Contains(<-w.events.Events, "Warning CanaryRolledBack canary predictor v2: rolled back after 2 failed looks") {
			told++
		}
	}
	require.Equal(t, 1, told)
	require.InDelta(t, 1, testutil.ToFloat64(w.Metrics.canaries[observe.EventRolledBack]), 0)

	w.verdicts = remembered{}
	asked := len(w.looks.asked)
	require.Empty(t, w.look(t, 100), "a process that remembers nothing reads it in the status")
	require.Len(t, w.looks.asked, asked, "what is decided is not measured")

	svc := w.service(t)
	svc.Annotations["theirs"] = "x"
	svc.Spec.Predictor.Model.StorageURI = new("gs://b/m3")
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	require.Equal(t, servingv1beta1.CanaryRolledBack, w.canary(t).Analysis.Verdict, "the rest of the service does not matter")
	svc = w.service(t)
	svc.Spec.Canary[0].TrafficPercent = 5
	w.looks.look = nil
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	require.Equal(t, servingv1beta1.CanaryWarmingUp, w.canary(t).Analysis.Verdict)

	svc = w.service(t)
	svc.Spec.Canary = nil
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.looks.forgot = nil
	w.pass(t)
	require.Empty(t, w.service(t).Status.CanaryStatuses)
	require.Nil(t, w.service(t).Status.Condition(servingv1beta1.CanaryPredictorReady))
	require.Equal(t, []types.UID{"1"}, w.looks.forgot)
	require.Empty(t, w.verdicts.by)
}

func TestACanaryOfAServiceThatIsLeftAsItIsIsNotMeasured(t *testing.T) {
	w := newCanaryWorld(t, "{warmUp: 0s}")
	w.look(t, 100)
	asked := len(w.looks.asked)
	require.Positive(t, asked)
	svc := w.service(t)
	svc.Annotations[serving.AnnotationDisableAutoUpdate] = "true"
	require.NoError(t, w.client.Update(t.Context(), svc))
	status := w.service(t).Status.DeepCopy()
	for i := range status.Conditions {
		if status.Conditions[i].Type == serving.ConditionReady {
			status.Conditions[i].Status = corev1.ConditionTrue
		}
	}
	svc = w.service(t)
	svc.Status = *status
	require.NoError(t, w.client.Status().Update(t.Context(), svc))
	before := w.canary(t)
	w.look(t, 0)
	require.Len(t, w.looks.asked, asked)
	require.Equal(t, before.Analysis.Verdict, w.canary(t).Analysis.Verdict)

	svc = w.service(t)
	delete(svc.Annotations, serving.AnnotationDisableAutoUpdate)
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.look(t, 100)
	require.Greater(t, len(w.looks.asked), asked)
}

func TestAPromotionIsToldAndCountedOnce(t *testing.T) {
	w := newCanaryWorld(t, "{warmUp: 0s}")
	require.Equal(t, "v2", w.canary(t).Name)
	svc := w.service(t)
	svc.Spec.Predictor.Name, svc.Spec.Predictor.Model.StorageURI = "v2", svc.Spec.Canary[0].Predictor.Model.StorageURI
	svc.Spec.Canary = nil
	require.NoError(t, w.client.Update(t.Context(), svc))
	drain(w.events)
	for range 3 {
		w.pass(t)
	}
	require.Equal(t, []string{"Normal CanaryPromoted canary predictor v2 is the predictor now"}, drain(w.events))
	require.InDelta(t, 1, testutil.ToFloat64(w.Metrics.canaries[observe.EventPromoted]), 0)
	require.Zero(t, testutil.ToFloat64(w.Metrics.canaries[observe.EventRolledBack]))
	w.stableIsReady(t)
}

func TestAStatusThatCannotBeWrittenTakesNothingBack(t *testing.T) {
	w := newCanaryWorld(t, "{warmUp: 0s, failureLimit: 1}")
	w.fail = func(verb string, _ client.Object) error {
		if verb == "status" {
			return apierrors.NewConflict(servingv1beta1.SchemeGroupVersion.WithResource("inferenceservices").GroupResource(), "m", errors.New("stale"))
		}
		return nil
	}
	w.look(t, 0)
	require.Equal(t, servingv1beta1.CanaryWarmingUp, w.canary(t).Analysis.Verdict)
	w.fail = nil
	require.Equal(t, []string{"status m"}, w.look(t, 100))
	require.Equal(t, servingv1beta1.CanaryRolledBack, w.canary(t).Analysis.Verdict, "what was decided stays decided, whatever the cache has")
}

func TestARollBackOutlivesAStop(t *testing.T) {
	w := newCanaryWorld(t, "{warmUp: 0s, failureLimit: 1}")
	w.look(t, 0)
	svc := w.service(t)
	svc.Annotations[serving.AnnotationStop] = "true"
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	w.verdicts = remembered{}
	require.Equal(t, servingv1beta1.CanaryRolledBack, w.canary(t).Analysis.Verdict)
	require.Empty(t, w.pass(t))
	svc = w.service(t)
	delete(svc.Annotations, serving.AnnotationStop)
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	require.Equal(t, servingv1beta1.CanaryRolledBack, w.canary(t).Analysis.Verdict)
}

func TestACanaryThatCannotBeIsNotInTheWay(t *testing.T) {
	change := func(t *testing.T, w *canaryWorld, what func(*servingv1beta1.InferenceService)) {
		t.Helper()
		svc := w.service(t)
		what(svc)
		require.NoError(t, w.client.Update(t.Context(), svc))
	}
	t.Run("because it cannot be planned: what it has stays", func(t *testing.T) {
		w := newCanaryWorld(t, "")
		change(t, w, func(s *servingv1beta1.InferenceService) {
			s.Spec.Canary[0].Predictor.Model.ModelFormat.Name = "nonsense"
			s.Spec.Predictor.Model.StorageURI = new("gs://b/m3")
		})
		require.Contains(t, w.pass(t), "patch m-predictor", "the change of the stable predictor comes through")
		w.deploymentReady(t)
		w.pass(t)
		w.stableIsReady(t)
		require.Equal(t, "NoSupportingRuntime", w.canary(t).Reason)
		require.True(t, w.canary(t).Ready, "the one from before serves on")
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-v2-predictor"}, &appsv1.Deployment{}))
		require.Empty(t, w.pass(t))
	})
	t.Run("because admission would have refused it", func(t *testing.T) {
		w := newCanaryWorld(t, "", func(s *servingv1beta1.InferenceService) {
			s.Spec.Canary[0].Predictor.MaxReplicas = 5
			s.Spec.Canary = append(s.Spec.Canary, servingv1beta1.CanarySpec{TrafficPercent: -1}) // without a name
			s.Spec.Canary = append(s.Spec.Canary, *s.Spec.Canary[0].DeepCopy())
		})
		w.stableIsReady(t)
		list := w.service(t).Status.CanaryStatuses
		require.Len(t, list, 3)
		require.Contains(t, list[0].Message, "spec.canary[0].predictor.maxReplicas")
		require.Contains(t, list[1].Message, "spec.canary[1]")
		require.Empty(t, w.pass(t))
	})
	t.Run("because its analysis cannot be read: nobody watches it", func(t *testing.T) {
		w := newCanaryWorld(t, "nonsense")
		w.stableIsReady(t)
		require.Contains(t, w.canary(t).Message, serving.AnnotationCanaryAnalysis)
		require.EqualValues(t, 0, *w.canary(t).Weight)
	})
	t.Run("because the API server refuses its objects", func(t *testing.T) {
		w := newCanaryWorld(t, "")
		w.fail = func(verb string, o client.Object) error {
			if verb == "patch" && o.GetName() == "m-v2-predictor" {
				return apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), o.GetName(), nil)
			}
			return nil
		}
		change(t, w, func(s *servingv1beta1.InferenceService) {
			s.Spec.Canary[0].Predictor.Model.StorageURI = new("gs://b/m3")
		})
		_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.NoError(t, err)
		w.stableIsReady(t)
		require.Equal(t, "ReconcileFailed", w.canary(t).Reason)
		require.Contains(t, w.canary(t).Message, "m-v2-predictor")
		require.Equal(t, corev1.ConditionFalse, w.service(t).Status.Condition(servingv1beta1.CanaryPredictorReady).Status)
	})
	t.Run("because what it had before is still on its way out", func(t *testing.T) {
		w := newCanaryWorld(t, "")
		d := &appsv1.Deployment{}
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-v2-predictor"}, d))
		d.Finalizers = []string{"somebody.example.com/waits"}
		require.NoError(t, w.client.Update(t.Context(), d))
		require.NoError(t, w.client.Delete(t.Context(), d))
		res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.NoError(t, err)
		require.NotZero(t, res.RequeueAfter)
		w.stableIsReady(t)
		require.Equal(t, "Waiting", w.canary(t).Reason)
		require.Nil(t, w.service(t).Status.Condition(servingv1beta1.LatestDeploymentReady))
	})
	t.Run("because a name is taken: the Service of somebody else gets no requests", func(t *testing.T) {
		svc := sklearn(func(s *servingv1beta1.InferenceService) {
			c := servingv1beta1.CanarySpec{TrafficPercent: 20}
			c.Predictor.Name = "v2"
			c.Predictor.Model = &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}
			c.Predictor.Model.StorageURI = new("gs://b/m2")
			s.Spec.Canary = []servingv1beta1.CanarySpec{c}
		})
		w := &canaryWorld{world: newWorld(t, svc, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-v2-predictor", UID: "theirs"}})}
		w.pass(t)
		w.deploymentReady(t)
		w.canaryReady(t)
		w.pass(t)
		w.stableIsReady(t)
		require.Contains(t, w.canary(t).Message, "belongs to nobody")
		children, err := w.Gather.Children(t.Context(), "ns", "1")
		require.NoError(t, err)
		st := settings.Defaults()
		snap, err := w.Gather.Service(t.Context(), w.service(t), st, children)
		require.NoError(t, err)
		require.Empty(t, snap.ReadyCanaries)
	})
}

func TestACanaryFetchesWithTheAccountOfTheStablePredictor(t *testing.T) {
	svc := sklearn(func(s *servingv1beta1.InferenceService) {
		s.Spec.Predictor.ServiceAccountName = "reader"
		c := servingv1beta1.CanarySpec{TrafficPercent: 20}
		c.Predictor.Name = "v2"
		c.Predictor.Model = &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: "sklearn"}}
		c.Predictor.StorageURIs = []servingv1beta1.StorageURI{{URI: "s3://b/m2"}}
		s.Spec.Canary = []servingv1beta1.CanarySpec{c}
	})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "reader"}, Secrets: []corev1.ObjectReference{{Name: "keys"}}}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "keys"}, Data: map[string][]byte{
		"AWS_ACCESS_KEY_ID": []byte("a"), "AWS_SECRET_ACCESS_KEY": []byte("b"),
	}}
	w := newWorld(t, svc, account, keys)
	w.pass(t)
	d := &appsv1.Deployment{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-v2-predictor"}, d))
	require.Len(t, d.Spec.Template.Spec.InitContainers, 1)
	var from []string
	for _, v := range d.Spec.Template.Spec.InitContainers[0].Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			from = append(from, v.ValueFrom.SecretKeyRef.Name+"/"+v.Name)
		}
	}
	require.Equal(t, []string{"keys/AWS_ACCESS_KEY_ID", "keys/AWS_SECRET_ACCESS_KEY"}, from)
}

func shippedConfig(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	require.NoError(t, yaml.Unmarshal(deploy.Config(), cm))
	return cm
}
