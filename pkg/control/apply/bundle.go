// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// bundleMemory is how long authorities that were in order are not looked at again. Nobody watches them, and services come by often.
const bundleMemory = 30 * time.Second

// bundles remembers where the operator's certificate authorities are in order.
type bundles struct {
	mu     sync.Mutex
	source string // the name in the operator's namespace
	until  map[string]time.Time
}

func (b *bundles) fresh(source, namespace string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.source == source && now.Before(b.until[namespace])
}

func (b *bundles) learn(source, namespace string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.source != source || b.until == nil {
		b.source, b.until = source, map[string]time.Time{}
	}
	maps.DeleteFunc(b.until, func(_ string, until time.Time) bool { return now.After(until) })
	b.until[namespace] = now.Add(bundleMemory)
}

// Bundle copies the operator's certificate authorities to a namespace with services, where the settings name any. The copy has no owner: it
// is shared by the services of the namespace. What somebody else wrote under its name is left as it is.
func (a *Applier) Bundle(ctx context.Context, st *settings.Settings, namespace string) error {
	name := st.Storage.CABundleConfigMap
	if name == "" || namespace == st.OperatorNamespace || a.bundles.fresh(name, namespace, a.now()) {
		return nil
	}
	text, err := a.authorities(ctx, st.OperatorNamespace, name)
	if err != nil {
		return err
	}
	if err := a.copyBundle(ctx, namespace, text); err != nil {
		return err
	}
	a.bundles.learn(name, namespace, a.now())
	return nil
}

// authorities reads the operator's.
func (a *Applier) authorities(ctx context.Context, namespace, name string) (string, error) {
	var source corev1.ConfigMap
	switch err := a.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &source); {
	case apierrors.IsNotFound(err):
		return "", &plan.Blocked{
			Reason:  servingv1beta1.ReasonReconcileFailed,
			Message: fmt.Sprintf("storageInitializer.caBundleConfigMapName of %s names ConfigMap %s/%s, which does not exist: create it or clear the setting", settings.ConfigMapName, namespace, name),
		}
	case err != nil:
		return "", &Error{Verb: "read", Kind: "ConfigMap", Name: name, Err: err}
	}
	text, ok := source.Data[handoff.CABundleFile]
	if !ok {
		return "", &plan.Blocked{
			Reason:  servingv1beta1.ReasonReconcileFailed,
			Message: fmt.Sprintf("ConfigMap %s/%s has no key %s, which holds the certificate authorities", namespace, name, handoff.CABundleFile),
		}
	}
	return text, nil
}

// copyBundle makes a namespace have the authorities.
func (a *Applier) copyBundle(ctx context.Context, namespace, text string) error {
	failed := func(verb string, err error) error {
		return &Error{Verb: verb, Kind: "ConfigMap", Name: handoff.GlobalCABundle, Err: err}
	}
	want := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: handoff.GlobalCABundle, Namespace: namespace},
		Data:       map[string]string{handoff.CABundleFile: text},
	}
	options := []client.PatchOption{client.FieldOwner(plan.FieldManager)}
	var there corev1.ConfigMap
	switch err := a.Live.Get(ctx, client.ObjectKeyFromObject(want), &there); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return failed("read", err)
	case there.Data[handoff.CABundleFile] == text:
		return nil
	default:
		if writer, ours := writerOf(&there); !ours {
			return &plan.Blocked{
				Reason: servingv1beta1.ReasonReconcileFailed,
				Message: fmt.Sprintf("ConfigMap %s is needed for certificate authorities, but one of that name exists and was written by %q; it is left as it is: delete it, or put the operator's authorities into its key %s",
					handoff.GlobalCABundle, writer, handoff.CABundleFile),
			}
		}
		want.UID = there.UID
		options = append(options, client.ForceOwnership)
	}
	body, err := json.Marshal(want)
	if err != nil {
		return failed(VerbApply, err)
	}
	err = a.Client.Patch(ctx, &corev1.ConfigMap{ObjectMeta: want.ObjectMeta}, client.RawPatch(types.ApplyPatchType, body), options...)
	if a.Count != nil {
		a.Count("ConfigMap", VerbApply)
	}
	if err != nil {
		return failed(VerbApply, conflictOf(err, want))
	}
	return nil
}

// writerOf says who wrote an object, and whether that was this controller or one that it follows.
func writerOf(o plan.Object) (writer string, ours bool) {
	for _, f := range o.GetManagedFields() {
		if f.Manager == plan.FieldManager || formerManagers.Has(f.Manager) {
			return f.Manager, true
		}
		if writer == "" {
			writer = f.Manager
		}
	}
	return writer, false
}
