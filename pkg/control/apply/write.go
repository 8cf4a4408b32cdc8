// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// retryDeleted is the pause before an object is looked for again that is on its way out. Its end is an event too, where it is watched.
const retryDeleted = 2 * time.Second

var formerManagers = sets.New(plan.FormerManagers()...) //nolint:gochecknoglobals // nobody writes to it

// read looks for an object past the cache. It returns nil where there is none, and refuses one that is not the owner's.
func (p *pass) read(ctx context.Context, want plan.Object) (plan.Object, error) {
	there := empty(want)
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(want), there)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err):
		if optional, ok := plan.OptionalKind(keyOf(want).GroupKind); ok {
			return nil, missingKind(optional, p.role(want))
		}
		fallthrough
	case err != nil:
		return nil, p.failed("read", want, err)
	}
	fillKindAs(there, want)
	if ref := metav1.GetControllerOfNoCopy(there); ref == nil || string(ref.UID) != p.w.Owner.UID {
		return nil, p.clash(want, there, ref)
	}
	return there, nil
}

// clash says whose an object is that has the name we want.
func (p *pass) clash(want, there plan.Object, ref *metav1.OwnerReference) error {
	kind, name := want.GetObjectKind().GroupVersionKind().Kind, want.GetName()
	owner := p.w.Owner
	if ref != nil && ref.Kind == owner.Kind && ref.Name == owner.Name {
		return &plan.Waiting{
			Reason: ReasonWaiting, Object: name,
			Message: fmt.Sprintf("%s %s belongs to an earlier %s of this name and is about to be deleted", kind, name, owner.Kind), After: retryDeleted,
		}
	}
	whose := "nobody"
	if ref != nil {
		whose = ref.Kind + " " + ref.Name
	}
	if fields := there.GetManagedFields(); len(fields) > 0 {
		whose += fmt.Sprintf(" (written by %q)", fields[0].Manager)
	}
	return &plan.Blocked{
		Reason: servingv1beta1.ReasonReconcileFailed, Role: p.role(want), Object: name,
		Message: fmt.Sprintf("%s %s is needed, but one of that name exists and belongs to %s; it is left as it is: delete or rename it, or rename this %s", kind, name, whose, owner.Kind),
	}
}

func missingKind(o plan.Optional, role serving.ComponentRole) error {
	reason := servingv1beta1.ReasonReconcileFailed
	if o == plan.KnativeService {
		reason = ReasonNoKnative
	}
	return &plan.Blocked{
		Reason: reason, Role: role,
		Message: fmt.Sprintf("the cluster does not have %s (CustomResourceDefinition %s): %s; the service goes on by itself as soon as it is there", o.Kind, o.CRD, o.Install),
	}
}

// write applies an object; there is what it replaces, nil for a new one. What somebody else made of that name meanwhile is not taken over:
// the write ends in a conflict, and the next pass sees whose it is.
func (p *pass) write(ctx context.Context, want *wish, there plan.Object) (plan.Object, error) {
	body, options := want.body, []client.PatchOption(nil)
	if there != nil {
		gone, err := p.prepare(ctx, want.Object, there)
		if err != nil {
			return nil, err
		}
		if !gone {
			if body, err = pinned(body, there.GetUID()); err != nil {
				return nil, p.failed(VerbApply, want.Object, err)
			}
			options = append(options, client.ForceOwnership)
		}
	}
	after, err := p.patch(ctx, want, body, options...)
	p.count(want.Object, VerbApply)
	if err != nil {
		return nil, p.failed(VerbApply, want.Object, conflictOf(err, want.Object))
	}
	p.memory.learn(p.w.Owner.UID, want, after)
	return after, nil
}

// noVersion is a version that no stored object has: the storage starts counting above it.
const noVersion = "1"

// create makes an object that is not there. It is one request where a look before would be two, and what somebody else made of that name
// is safe: an apply that names a version is refused where the object has another, and makes it where there is none.
func (p *pass) create(ctx context.Context, want *wish) (plan.Object, error) {
	body, err := with(want.body, "resourceVersion", noVersion)
	if err != nil {
		return nil, p.failed(VerbApply, want.Object, err)
	}
	after, err := p.patch(ctx, want, body)
	if err != nil {
		err = p.failed(VerbApply, want.Object, err)
		if !guarded(err) {
			p.count(want.Object, VerbApply)
		}
		return nil, err
	}
	p.count(want.Object, VerbApply)
	p.memory.learn(p.w.Owner.UID, want, after)
	return after, nil
}

// guarded says that an error may be about the version that no object has, and not about the object: a look tells.
func guarded(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

// pinned is a body that is applied to one object only, not to another of its name.
func pinned(body []byte, uid types.UID) ([]byte, error) { return with(body, "uid", string(uid)) }

// with is a body whose metadata say one thing more. In the bodies here nothing comes before the object's own metadata that has such.
func with(body []byte, field, value string) ([]byte, error) {
	const metadata = `"metadata":{`
	i := bytes.Index(body, []byte(metadata))
	if i < 0 {
		return nil, errors.New("an object without metadata cannot be written")
	}
	i += len(metadata)
	longer := make([]byte, 0, len(body)+len(field)+len(value)+len(`"":"",`))
	longer = append(longer, body[:i]...)
	longer = fmt.Appendf(longer, "%q:%q,", field, value)
	return append(longer, body[i:]...), nil
}

// conflictOf calls a conflict what the API server calls a change of the UID.
func conflictOf(err error, o plan.Object) error {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return apierrors.NewConflict(schema.GroupResource{Group: kindOf(o).Group, Resource: kindOf(o).Kind}, o.GetName(), err)
		}
	}
	return err
}

// prepare makes way for a write: fields that another controller wrote become ours, and a Service whose address cannot be changed is
// deleted; gone says so.
func (p *pass) prepare(ctx context.Context, want, there plan.Object) (gone bool, err error) {
	if s, ok := there.(*corev1.Service); ok && headless(want) != headless(s) && s.Spec.Type != corev1.ServiceTypeExternalName {
		uid := s.GetUID()
		err := p.Client.Delete(ctx, s, client.Preconditions{UID: &uid})
		p.count(want, VerbDelete)
		if client.IgnoreNotFound(err) != nil {
			return false, p.failed(VerbDelete, want, err)
		}
		return true, nil
	}
	if len(ownFields(there)) > 0 {
		return false, p.handOver(ctx, want, there)
	}
	full := empty(want)
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(want), full); err != nil {
		return false, p.failed("read", want, err)
	}
	if full.GetUID() != there.GetUID() {
		return false, nil // the write ends in a conflict
	}
	patch, err := adoption(full, want)
	if err != nil || patch == nil {
		return false, nil //nolint:nilerr // fields that cannot be read are no reason not to write ours
	}
	err = p.Client.Patch(ctx, full, client.RawPatch(types.JSONPatchType, patch))
	p.count(want, VerbAdopt)
	if err != nil {
		return false, p.failed(VerbAdopt, want, err)
	}
	return false, p.handOver(ctx, want, full)
}

func headless(o plan.Object) bool {
	s, ok := o.(*corev1.Service)
	return ok && s.Spec.ClusterIP == corev1.ClusterIPNone
}

// patch sends a body of what is wanted and returns what the API server made of it.
func (p *pass) patch(ctx context.Context, want *wish, body []byte, more ...client.PatchOption) (plan.Object, error) {
	after := empty(want.Object)
	after.SetName(want.GetName())
	after.SetNamespace(want.GetNamespace())
	options := append([]client.PatchOption{client.FieldOwner(plan.FieldManager)}, more...)
	if err := p.Client.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, body), options...); err != nil {
		return nil, err
	}
	fillKindAs(after, want.Object)
	return after, nil
}

// ask lets the API server say whether a write would change anything.
func (p *pass) ask(ctx context.Context, want *wish, there plan.Object) (verdict, error) {
	would, err := p.patch(ctx, want, want.body, client.ForceOwnership, client.DryRunAll)
	if p.Count != nil {
		p.Count(kindOf(want.Object).Kind, VerbDryRun)
	}
	if err != nil {
		return differs, err
	}
	before, err := treeOf(there)
	if err != nil {
		return differs, err
	}
	after, err := treeOf(would)
	if err != nil {
		return differs, err
	}
	after = plan.KeepInherited(after, before, ownFields(there), p.w.Owner.InheritedLabels(keyOf(want.Object).GroupKind))
	for _, part := range ruleOf(keyOf(want.Object).GroupKind).parts {
		x, y := before[part], after[part]
		if part == "metadata" {
			x, y = described(x), described(y)
		}
		if !reflect.DeepEqual(x, y) {
			return differs, nil
		}
	}
	return same, nil
}

// described are the parts of metadata that people and controllers write.
func described(v any) any {
	m, _ := v.(map[string]any)
	return map[string]any{"labels": m["labels"], "annotations": m["annotations"], "ownerReferences": m["ownerReferences"]}
}

// empty is a new object of the same Go type and kind.
func empty(o plan.Object) plan.Object {
	fresh := reflect.New(reflect.TypeOf(o).Elem()).Interface().(plan.Object) //nolint:forcetypeassert // it is the type of o
	fresh.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return fresh
}

// fillKindAs restores the kind, which the client leaves empty on typed objects.
func fillKindAs(o, like plan.Object) {
	o.GetObjectKind().SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
}
