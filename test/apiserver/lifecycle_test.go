// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

const (
	class   = "serving.kserve.io/autoscalerClass"
	stop    = "serving.kserve.io/stop"
	freeze  = "serving.kserve.io/disable-auto-update"
	mode    = "serving.kserve.io/deploymentMode"
	oneMore = "containers: [{name: kserve-container, image: 'registry.test/t:1'}]"
	foreign = `apiVersion: apps/v1
kind: Deployment
metadata: {name: theirs, labels: {serving.kserve.io/inferenceservice: m, component: predictor}}
spec:
  selector: {matchLabels: {app: theirs}}
  template: {metadata: {labels: {app: theirs}}, spec: {containers: [{name: c, image: "registry.test/theirs:1"}]}}
---
apiVersion: v1
kind: Service
metadata: {name: theirs, labels: {serving.kserve.io/inferenceservice: m, component: predictor}}
spec: {ports: [{port: 80}], selector: {app: theirs}}`
)

// inventory is what there is in a namespace beside inputs, as "Kind/name", with the UIDs.
func (w *world) inventory() map[string]types.UID {
	w.t.Helper()
	objects, err := w.Read(w.t.Context(), w.ns)
	require.NoError(w.t, err)
	list := map[string]types.UID{}
	for _, o := range objects {
		if o.GroupVersionKind().Group != "serving.kserve.io" {
			list[o.GetKind()+"/"+o.GetName()] = o.GetUID()
		}
	}
	return list
}

// comesTo waits until there is what is named, and nothing else.
func (w *world) comesTo(names string) map[string]types.UID {
	w.t.Helper()
	var is map[string]types.UID
	want := strings.Fields(names)
	slices.Sort(want)
	w.Eventually(w.t, "the objects "+strings.Join(want, " "), func(ctx context.Context) error {
		if _, err := w.MakeReady(ctx, w.ns); err != nil {
			return err
		}
		is = w.inventory()
		if now := slices.Sorted(maps.Keys(is)); !slices.Equal(want, now) {
			return fmt.Errorf("there are %v", now)
		}
		return nil
	})
	return is
}

const (
	ours    = "Deployment/m-predictor Service/m-predictor "
	hpa     = "HorizontalPodAutoscaler/m-predictor "
	keda    = "ScaledObject/m-predictor "
	ingress = "Ingress/m "
	whole   = ours + hpa + ingress
	theirs  = "Deployment/theirs Service/theirs "
)

// turn is a change of a service.
type turn struct {
	// annotations and more are those of the service at first: further lines of its predictor, and of its spec.
	annotations []string
	more        string
	// unready services are never made ready before the change.
	unready bool
	has     string
	change  string // a merge patch
	after   string
	// anew are objects of both lists that are other ones afterwards.
	anew string
	// back undoes the change where there is one, and leads to what was there at first.
	back string
	// check looks at the service afterwards.
	check func(*servingv1beta1.InferenceService) error
}

func condition(kind serving.ConditionType, status corev1.ConditionStatus, reason string) func(*servingv1beta1.InferenceService) error {
	return func(s *servingv1beta1.InferenceService) error {
		if c := s.Status.Condition(kind); c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("%s is %+v", kind, c)
		}
		return nil
	}
}

func noComponent(role serving.ComponentRole, kind serving.ConditionType) func(*servingv1beta1.InferenceService) error {
	return func(s *servingv1beta1.InferenceService) error {
		if _, ok := s.Status.Components[role]; ok || s.Status.Condition(kind) != nil {
			return fmt.Errorf("the status still has the %s: %+v", role, s.Status)
		}
		return isReady(s)
	}
}

func turns() map[string]turn {
	annotate := func(key, value string) string {
		return fmt.Sprintf(`{"metadata": {"annotations": {%q: %s}}}`, key, value)
	}
	stopped := condition(serving.ConditionReady, corev1.ConditionFalse, "Stopped")
	all := map[string]turn{
		"a service that is stopped has nothing, and resumes": {has: whole, change: annotate(stop, `"true"`), after: "", back: annotate(stop, "null"), check: stopped},
		"a service that was never ready can be stopped":      {unready: true, has: ours + hpa, change: annotate(stop, `"TRUE"`), after: "", check: stopped},
		"a service with every component is stopped, and resumes": {
			more:   "  transformer: {" + oneMore + "}\n  explainer: {" + oneMore + "}\n",
			has:    whole + "Deployment/m-transformer Service/m-transformer HorizontalPodAutoscaler/m-transformer Deployment/m-explainer Service/m-explainer HorizontalPodAutoscaler/m-explainer ",
			change: annotate(stop, `"true"`), after: "", back: annotate(stop, `"false"`), check: stopped,
		},
		"a service that is scaled by KEDA is stopped, and resumes": {
			annotations: []string{class + ": keda"}, has: ours + keda + ingress, change: annotate(stop, `"true"`), after: "", back: annotate(stop, "null"), check: stopped,
		},
		"a transformer goes": {
			more: "  transformer: {" + oneMore + "}\n", has: whole + "Deployment/m-transformer Service/m-transformer HorizontalPodAutoscaler/m-transformer ",
			change: `{"spec": {"transformer": null}}`, after: whole, check: noComponent(serving.Transformer, servingv1beta1.TransformerReady),
		},
		"an explainer goes": {
			more: "  explainer: {" + oneMore + "}\n", has: whole + "Deployment/m-explainer Service/m-explainer HorizontalPodAutoscaler/m-explainer ",
			change: `{"spec": {"explainer": null}}`, after: whole, check: noComponent(serving.Explainer, servingv1beta1.ExplainerReady),
		},
		"a predictor gets another name": {
			has: whole, change: `{"spec": {"predictor": {"name": "v2", "model": {"storageUri": "s3://models/other"}}}}`,
			after: strings.ReplaceAll(ours+hpa, "m-predictor", "m-v2-predictor") + ingress, check: isReady,
		},
		"a service that is for the cluster only has no route, and gets it back": {
			has: whole, change: `{"metadata": {"labels": {"networking.kserve.io/visibility": "cluster-local"}}}`, after: ours + hpa,
			back: `{"metadata": {"labels": {"networking.kserve.io/visibility": null}}}`, check: isReady,
		},
		"the mode of a service stays what it was": {has: whole, change: "refused" + annotate(mode, `"Knative"`), after: whole, check: isReady},
		"a frozen service keeps a component that it no longer has": {
			annotations: []string{freeze + `: "true"`}, more: "  transformer: {" + oneMore + "}\n",
			has:    whole + "Deployment/m-transformer Service/m-transformer HorizontalPodAutoscaler/m-transformer ",
			change: `{"spec": {"transformer": null}}`, after: whole + "Deployment/m-transformer Service/m-transformer HorizontalPodAutoscaler/m-transformer ",
		},
		"a service that is frozen no more catches up": {
			annotations: []string{freeze + `: "true"`}, more: "  transformer: {" + oneMore + "}\n",
			has:    whole + "Deployment/m-transformer Service/m-transformer HorizontalPodAutoscaler/m-transformer ",
			change: `{"metadata": {"annotations": {"` + freeze + `": null}}, "spec": {"transformer": null}}`, after: whole,
			check: noComponent(serving.Transformer, servingv1beta1.TransformerReady),
		},
	}
	scalers := map[string]string{"hpa": hpa, "keda": keda, "external": "", "none": ""}
	for from, had := range scalers {
		for to, has := range scalers {
			if from != to {
				all["scaled by "+from+" and then by "+to] = turn{
					annotations: []string{class + ": " + from}, has: ours + had + ingress, change: annotate(class, `"`+to+`"`), after: ours + has + ingress,
					back: annotate(class, `"`+from+`"`), check: isReady,
				}
			}
		}
	}
	return all
}

func TestAChangeLeavesExactlyWhatItShould(t *testing.T) {
	t.Parallel()
	for name, c := range turns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.apply(foreign)
			w.apply(sklearn("m", "s3://models/iris", c.annotations...) + "    minReplicas: 2\n    maxReplicas: 4\n" + c.more)
			if c.unready {
				w.settle()
				w.consists(c.has)
			} else {
				w.ready("m")
			}
			before := w.comesTo(c.has + theirs)
			w.changes(c.change)
			w.settle()
			after := w.comesTo(c.after + theirs)
			for name, uid := range after {
				if was, ok := before[name]; ok && !strings.Contains(c.anew, name+" ") {
					require.Equal(t, was, uid, "%s is another one", name)
				}
			}
			if c.check != nil {
				has(w, "m", &servingv1beta1.InferenceService{}, c.check)
			}
			if c.back != "" {
				w.changes(c.back)
				w.ready("m")
				w.comesTo(c.has + theirs)
			}
		})
	}
}

// consists is comesTo without anything being made ready.
func (w *world) consists(names string) {
	w.t.Helper()
	want := strings.Fields(names + theirs)
	slices.Sort(want)
	require.Equal(w.t, want, slices.Sorted(maps.Keys(w.inventory())))
}

// changes patches the service; a patch that begins with "refused" is to be refused.
func (w *world) changes(patch string) {
	w.t.Helper()
	patch, refused := strings.CutPrefix(patch, "refused")
	if !refused {
		w.change(w.service("m"), patch)
		return
	}
	err := w.Client.Patch(w.t.Context(), w.service("m"), client.RawPatch(types.MergePatchType, []byte(patch)))
	require.Error(w.t, err)
	require.Contains(w.t, err.Error(), "deploymentMode")
}

// TestTheOperatorsSettingsLeaveExactlyWhatTheyShould changes what all tests share, and so does not run in parallel.
func TestTheOperatorsSettingsLeaveExactlyWhatTheyShould(t *testing.T) {
	cases := map[string]struct {
		key, field string
		value      any
		after      string
		anew       string
	}{
		"the Gateway API instead of Ingress": {"ingress", "enableGatewayApi", true, ours + hpa + "HTTPRoute/m HTTPRoute/m-predictor ", ""},
		"no routes":                          {"ingress", "disableIngressCreation", true, ours + hpa, ""},
		"another class of Ingress":           {"ingress", "ingressClassName", "other", whole, ""},
		"another domain":                     {"ingress", "ingressDomain", "example.org", whole, ""},
		"Services without an address":        {"service", "serviceClusterIPNone", true, whole, "Service/m-predictor "},
		"Standard mode by default":           {"deploy", "defaultDeploymentMode", "Standard", whole, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(foreign, sklearn("m", "s3://models/iris"))
			w.ready("m")
			before := w.comesTo(whole + theirs)
			generation := has(w, "m-predictor", &appsv1.Deployment{}, nil).Generation
			t.Run("changed", func(t *testing.T) {
				inner := &world{Cluster: w.Cluster, t: t, ns: w.ns}
				inner.withSetting(c.key, c.field, c.value)
				inner.comesTo(c.after + theirs)
				inner.ready("m")
				after := inner.comesTo(c.after + theirs)
				for name, uid := range after {
					if was, ok := before[name]; ok && !strings.Contains(c.anew, name+" ") {
						require.Equal(t, was, uid, "%s is another one", name)
					}
				}
			})
			w.comesTo(whole + theirs)
			w.ready("m")
			require.Equal(t, generation, has(w, "m-predictor", &appsv1.Deployment{}, nil).Generation, "no pod is replaced")
		})
	}
}

// TestAServiceKeepsTheModeThatItWasMadeWith: what the operator says of services without a mode is said of new ones.
func TestAServiceKeepsTheModeThatItWasMadeWith(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.Replace(sklearn("m", "s3://models/iris"), "  annotations:\n    "+mode+": Standard\n", "", 1))
	w.Eventually(t, "a Knative Service", func(context.Context) error {
		if w.kinds()["serving.knative.dev/Service"] != 1 {
			return errors.New("there is none")
		}
		return nil
	})
	w.ready("m")
	before := w.inventory()
	w.withSetting("deploy", "defaultDeploymentMode", "Standard")
	w.apply(sklearn("other", "s3://models/iris")) // tells that the settings are read, when it is ready
	w.change(w.service("m"), `{"metadata": {"labels": {"team": "a"}}, "spec": {"predictor": {"maxReplicas": 3}}}`)
	w.ready("m")
	w.ready("other")
	for name, uid := range before {
		require.Equal(t, uid, w.inventory()[name], name)
	}
	require.Equal(t, serving.Knative, has(w, "m", &servingv1beta1.InferenceService{}, nil).Status.DeploymentMode)
	absent(w, "m-predictor", &appsv1.Deployment{})
}

func TestDeletionLetsGoHoweverItIsAsked(t *testing.T) {
	t.Parallel()
	const model = `apiVersion: serving.kserve.io/v1alpha1
kind: TrainedModel
metadata: {name: NAME, labels: {inferenceservice: PARENT}}
spec: {inferenceService: PARENT, model: {framework: sklearn, memory: 1Gi, storageUri: "s3://models/a"}}`
	cases := map[string]struct {
		policy metav1.DeletionPropagation
		// left is the finalizer of Kubernetes' collector, which does not run here.
		left string
	}{
		"in the background":    {metav1.DeletePropagationBackground, ""},
		"in the foreground":    {metav1.DeletePropagationForeground, metav1.FinalizerDeleteDependents},
		"without what it owns": {metav1.DeletePropagationOrphan, metav1.FinalizerOrphanDependents},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.apply(foreign, sklearn("m", "s3://models/iris"), sklearn("nn", "s3://models/iris", stop+`: "true"`))
			w.ready("m")
			w.apply(strings.NewReplacer("NAME", "a", "PARENT", "m").Replace(model), strings.NewReplacer("NAME", "b", "PARENT", "nn").Replace(model))
			before := w.comesTo(whole + theirs)
			n := len(w.writes())
			require.NoError(t, w.Client.Delete(t.Context(), w.service("m"), client.PropagationPolicy(c.policy)))
			gone(w, "a", &servingv1alpha1.TrainedModel{})
			if c.left == "" {
				gone(w, "m", &servingv1beta1.InferenceService{})
			} else {
				has(w, "m", &servingv1beta1.InferenceService{}, func(s *servingv1beta1.InferenceService) error {
					if !slices.Equal(s.Finalizers, []string{c.left}) {
						return fmt.Errorf("the finalizers are %v", s.Finalizers)
					}
					return nil
				})
			}
			w.settle()
			require.Equal(t, before, w.inventory(), "what a service owns is for Kubernetes to collect")
			for _, write := range w.writes()[n:] {
				require.Contains(t, []string{"delete trainedmodels/a", "patch inferenceservices/m"}, write)
			}
			has(w, "b", &servingv1alpha1.TrainedModel{}, nil)
			if c.left != "" {
				w.change(w.service("m"), `{"metadata": {"finalizers": null}}`)
			}
		})
	}
}

func TestAServiceOfANamespaceThatGoesGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	require.NoError(t, w.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
	// What goes first is not made again, and nobody minds.
	require.NoError(t, w.Client.Delete(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "m-predictor", Namespace: w.ns}}))
	w.says("m", serving.ConditionReady, "m-predictor")
	w.settle()
	absent(w, "m-predictor", &appsv1.Deployment{})
	require.NoError(t, w.Client.Delete(t.Context(), w.service("m")))
	gone(w, "m", &servingv1beta1.InferenceService{})
}
