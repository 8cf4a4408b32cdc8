// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

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

// Bundle copies the operator's certificate authorities to a namespace with services, where the settings name any. The copy has no owner: it
// is shared by the services of the namespace.
func (a *Applier) Bundle(ctx context.Context, st *settings.Settings, namespace string) error {
	name := st.Storage.CABundleConfigMap
	if name == "" || namespace == st.OperatorNamespace {
		return nil
	}
	var source, there corev1.ConfigMap
	switch err := a.Live.Get(ctx, client.ObjectKey{Namespace: st.OperatorNamespace, Name: name}, &source); {
	case apierrors.IsNotFound(err):
		return &plan.Blocked{
			Reason:  servingv1beta1.ReasonReconcileFailed,
			Message: fmt.Sprintf("storageInitializer.caBundleConfigMapName of %s names ConfigMap %s/%s, which does not exist: create it or clear the setting", settings.ConfigMapName, st.OperatorNamespace, name),
		}
	case err != nil:
		return &Error{Verb: "read", Kind: "ConfigMap", Name: name, Err: err}
	}
	text, ok := source.Data[handoff.CABundleFile]
	if !ok {
		return &plan.Blocked{
			Reason:  servingv1beta1.ReasonReconcileFailed,
			Message: fmt.Sprintf("ConfigMap %s/%s has no key %s, which holds the certificate authorities", st.OperatorNamespace, name, handoff.CABundleFile),
		}
	}
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: handoff.GlobalCABundle}, &there)
	if client.IgnoreNotFound(err) != nil {
		return &Error{Verb: "read", Kind: "ConfigMap", Name: handoff.GlobalCABundle, Err: err}
	}
	if err == nil && there.Data[handoff.CABundleFile] == text {
		return nil
	}
	body, err := json.Marshal(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: handoff.GlobalCABundle, Namespace: namespace},
		Data:       map[string]string{handoff.CABundleFile: text},
	})
	if err != nil {
		return &Error{Verb: VerbApply, Kind: "ConfigMap", Name: handoff.GlobalCABundle, Err: err}
	}
	after := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: handoff.GlobalCABundle, Namespace: namespace}}
	err = a.Client.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, body), client.ForceOwnership, client.FieldOwner(FieldManager))
	if a.Count != nil {
		a.Count("ConfigMap", VerbApply)
	}
	if err != nil {
		return &Error{Verb: VerbApply, Kind: "ConfigMap", Name: handoff.GlobalCABundle, Err: err}
	}
	return nil
}
