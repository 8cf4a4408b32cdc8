// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
)

// family are the objects that one service has now, by kind and name.
type family map[objectKey]*unstructured.Unstructured

type objectKey struct {
	schema.GroupKind
	name string
}

// compare finds what would change for one service.
func (w *world) compare(ctx context.Context, s offline.Service) (*Service, error) {
	found := &Service{Namespace: s.Object.Namespace, Name: s.Object.Name, Changes: []Change{}}
	if fault := w.faults[s.Object.ID()]; fault != "" {
		found.Blocked = "the service would be refused: " + fault
		return found, nil
	}
	have, kinds, err := w.family(ctx, s)
	if err != nil {
		return nil, err
	}
	p, err := w.plan(s, have, kinds)
	var objects []plan.Object
	if err == nil && p.Frozen {
		found.Blocked = "the service is ready and asks to be left as it is (annotation serving.kserve.io/disable-auto-update)"
		return found, nil
	}
	if err == nil {
		objects, err = render.Objects(p, w.Settings)
	}
	if err != nil {
		found.Blocked = err.Error()
		return found, nil //nolint:nilerr // this is what the controller would tell, too
	}
	maps.DeleteFunc(have, func(k objectKey, _ *unstructured.Unstructured) bool { return p.Keeps(k.name) })
	for _, want := range objects {
		gvk := want.GetObjectKind().GroupVersionKind()
		key := objectKey{gvk.GroupKind(), want.GetName()}
		there, err := w.whole(ctx, have[key])
		if err != nil {
			return nil, err
		}
		delete(have, key)
		if optional, ok := plan.OptionalKind(gvk.GroupKind()); ok && !kinds[gvk.GroupKind()] {
			found.add(Change{Verb: Fail, Kind: gvk.Kind, Name: want.GetName(), Message: fmt.Sprintf("the cluster does not have %s: %s", optional.CRD, optional.Install)})
			continue
		}
		c, err := w.object(ctx, &p.Owner, want, there)
		if err != nil {
			return nil, err
		}
		if c.Verb == Create && plan.IsRoute(gvk.GroupKind()) && waits(s.Defaulted) {
			c.Verb = Later
		}
		found.add(c)
	}
	for key, there := range have {
		if there, err = w.whole(ctx, there); err != nil {
			return nil, err
		}
		if there != nil && there.GetDeletionTimestamp() == nil {
			text, err := unified(there, nil)
			if err != nil {
				return nil, err
			}
			found.add(Change{Verb: Delete, Kind: key.Kind, Name: key.name, Diff: text})
		}
	}
	found.sort()
	return found, nil
}

// waits says that a service of the cluster has a component that has not answered yet: the controller makes its routes later.
func waits(svc *servingv1beta1.InferenceService) bool {
	if svc.UID == placeholder {
		return false
	}
	for _, kind := range []serving.ConditionType{servingv1beta1.PredictorReady, servingv1beta1.TransformerReady, servingv1beta1.ExplainerReady} {
		c := svc.Status.Condition(kind)
		if c == nil && kind == servingv1beta1.PredictorReady || c != nil && c.Status != corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// plan decides as the controller would, with what only a cluster can tell.
func (w *world) plan(s offline.Service, have family, kinds map[schema.GroupKind]bool) (*plan.Plan, error) {
	snap := w.Snapshot(s)
	snap.NoVirtualServices = !kinds[plan.VirtualService.GroupKind()]
	snap.ReadyCanaries = map[string]bool{}
	for i := range s.Defaulted.Spec.Canary {
		name := s.Defaulted.Spec.Canary[i].Predictor.Name
		workload := names.Predictor(s.Object.Name, name)
		d, service := have[objectKey{schema.GroupKind{Group: "apps", Kind: "Deployment"}, workload}], have[objectKey{schema.GroupKind{Kind: "Service"}, workload}]
		if d != nil && d.GetDeletionTimestamp() == nil && service != nil && service.GetDeletionTimestamp() == nil {
			available, _, _ := unstructured.NestedInt64(d.Object, "status", "availableReplicas") // what is not there is 0
			snap.ReadyCanaries[name] = available > 0
		}
	}
	snap.CanaryShares = rollout.Known(snap.Service)
	return resolve.Service(snap, w.Settings)
}

// family lists the objects whose controller is the service, and which kinds the cluster has.
func (w *world) family(ctx context.Context, s offline.Service) (family, map[schema.GroupKind]bool, error) {
	have, kinds := family{}, map[schema.GroupKind]bool{}
	all := plan.CoreKinds()
	for _, o := range plan.OptionalKinds() {
		all = append(all, o.GroupVersionKind)
	}
	for _, gvk := range all {
		items, known, err := w.list(ctx, gvk, s.Object.Namespace)
		if err != nil {
			return nil, nil, err
		}
		if !known {
			continue
		}
		kinds[gvk.GroupKind()] = true
		for i := range items {
			u := &items[i]
			if ref := metav1.GetControllerOfNoCopy(u); ref != nil && ref.UID == s.Defaulted.UID {
				have[objectKey{gvk.GroupKind(), u.GetName()}] = u
			}
		}
	}
	return have, kinds, nil
}

// list reads the objects of a kind in a namespace once; known says whether the cluster has the kind.
func (w *world) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (items []unstructured.Unstructured, known bool, err error) {
	key := listKey{gvk.GroupKind(), namespace}
	if items, seen := w.lists[key]; seen {
		return items, items != nil, nil
	}
	items = []unstructured.Unstructured{} // never nil
	err = live.Each(ctx, w.resource(gvk, namespace), metav1.ListOptions{Limit: pageOfChildren}, func(u *unstructured.Unstructured) error {
		if ref := metav1.GetControllerOfNoCopy(u); ref != nil && ref.Kind == servingv1beta1.InferenceServiceKind {
			available, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas") // what is not there is 0
			u.Object["status"] = map[string]any{"availableReplicas": available}                  // all that is asked for
			items = append(items, *shortened(u))
		}
		return nil
	})
	switch {
	case apierrors.IsNotFound(err):
		w.lists[key] = nil
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	w.lists[key] = items
	return items, true, nil
}

const (
	// pageOfChildren is how many objects are asked for at a time: each may have a megabyte.
	pageOfChildren = 50
	// keptWhole is how many bytes of text an object may have that is kept from its list until its service's turn; of a longer one the outline is, and
	// it is read again then.
	keptWhole = 64 << 10
	// cut marks an outline.
	cut = "cut"
)

// shortened is an object as it is kept.
func shortened(u *unstructured.Unstructured) *unstructured.Unstructured {
	if textIn(u.Object) <= keptWhole {
		return u
	}
	outline := &unstructured.Unstructured{Object: map[string]any{cut: true, "status": u.Object["status"]}}
	outline.SetGroupVersionKind(u.GroupVersionKind())
	outline.SetNamespace(u.GetNamespace())
	outline.SetName(u.GetName())
	outline.SetOwnerReferences(u.GetOwnerReferences())
	outline.SetDeletionTimestamp(u.GetDeletionTimestamp())
	return outline
}

// textIn counts the bytes of the keys and texts in a value.
func textIn(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case map[string]any:
		for key, inner := range v {
			n += len(key) + textIn(inner)
		}
	case []any:
		for _, inner := range v {
			n += textIn(inner)
		}
	}
	return n
}

// whole is an object of which only the outline was kept; nil where it has gone meanwhile.
func (w *world) whole(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if u == nil || u.Object[cut] == nil {
		return u, nil
	}
	full, err := w.resource(u.GroupVersionKind(), u.GetNamespace()).Get(ctx, u.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return full, nil
}

// forget drops what another namespace holds: services come sorted, so that it is not asked for again.
func (w *world) forget(namespace string) {
	maps.DeleteFunc(w.lists, func(k listKey, _ []unstructured.Unstructured) bool { return k.namespace != namespace })
}

func (w *world) resource(gvk schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(gvk) // right for every kind that services can have
	return w.client.Resource(resource).Namespace(namespace)
}

// object asks the API server what an object would become.
func (w *world) object(ctx context.Context, owner *plan.Owner, want plan.Object, there *unstructured.Unstructured) (Change, error) {
	gvk := want.GetObjectKind().GroupVersionKind()
	c := Change{Verb: Update, Kind: gvk.Kind, Name: want.GetName()}
	if there == nil {
		c.Verb = Create
		stranger, err := w.resource(gvk, want.GetNamespace()).Get(ctx, want.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return c, fmt.Errorf("read %s %s: %w", gvk.Kind, want.GetName(), err)
		default:
			return c.fails("one of that name exists and does not belong to the service: " + whose(stranger)), nil
		}
	}
	if there != nil && plan.MadeOnce(gvk.GroupKind()) {
		return Change{}, nil
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return c, fmt.Errorf("write %s %s down: %w", gvk.Kind, want.GetName(), err)
	}
	body := &unstructured.Unstructured{Object: raw}
	unstructured.RemoveNestedField(body.Object, "status")
	unstructured.RemoveNestedField(body.Object, "metadata", "creationTimestamp")
	after, err := w.resource(gvk, want.GetNamespace()).Apply(ctx, want.GetName(), body,
		metav1.ApplyOptions{FieldManager: plan.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return refused(c, err)
	}
	if there != nil {
		if after, err = withoutFormer(there, after); err != nil {
			return c, fmt.Errorf("compare %s %s: %w", gvk.Kind, want.GetName(), err)
		}
		for _, e := range there.GetManagedFields() {
			if ours(e) && e.FieldsV1 != nil {
				after.Object = plan.KeepInherited(after.Object, there.Object, e.FieldsV1.GetRawBytes(), owner.InheritedLabels(gvk.GroupKind()))
			}
		}
		if !plan.MetadataKept(gvk.GroupKind()) && sameSpec(there, after) {
			return Change{}, nil
		}
	}
	if c.Diff, err = unified(there, after); err != nil {
		return c, err
	}
	if c.Diff == "" {
		return Change{}, nil
	}
	c.restarts = there != nil && gvk.Kind == "Deployment" && !sameTemplate(there, after)
	return c, nil
}

// refused turns an answer that concerns the object alone into a change that fails; of others, the cluster cannot be asked.
func refused(c Change, err error) (Change, error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err)) {
		return c.fails(err.Error()), nil
	}
	return c, fmt.Errorf("ask what %s %s would become: %w", c.Kind, c.Name, err)
}

func (c Change) fails(why string) Change {
	c.Verb, c.Message = Fail, why
	return c
}

func whose(u *unstructured.Unstructured) string {
	if ref := metav1.GetControllerOfNoCopy(u); ref != nil {
		return "it is " + ref.Kind + " " + ref.Name + "'s"
	}
	return "it is nobody's"
}
