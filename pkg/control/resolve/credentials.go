// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"slices"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Credentials are the names of the service accounts that the pod templates of a service take credentials from, and of secrets beside those that
// the accounts list. There are none where there is no account: only spec.storageUris are fetched by an init container of the template
// itself, everything else gets its credentials when a pod is admitted.
type Credentials struct{ ServiceAccounts, Secrets []string }

// CredentialsOf reads them in a service. A canary has from the stable predictor what it does not say itself (overlay).
func CredentialsOf(svc *servingv1beta1.InferenceService, st *settings.Settings) Credentials {
	var c Credentials
	add := func(account string, annotations ...map[string]string) {
		c.ServiceAccounts = append(c.ServiceAccounts, cmp.Or(account, "default"))
		for _, from := range append(annotations, svc.Annotations) {
			c.Secrets = append(c.Secrets, from[st.Credentials.StorageSecretAnnotation])
		}
		c.Secrets = append(c.Secrets, st.Credentials.StorageSpecSecret)
	}
	stable := &svc.Spec.Predictor
	if len(stable.StorageURIs) > 0 {
		add(stable.ServiceAccountName, stable.Annotations)
	}
	for i := range svc.Spec.Canary {
		if p := &svc.Spec.Canary[i].Predictor; len(p.StorageURIs) > 0 || len(stable.StorageURIs) > 0 {
			add(cmp.Or(p.ServiceAccountName, stable.ServiceAccountName), p.Annotations, stable.Annotations)
		}
	}
	if t := svc.Spec.Transformer; t != nil && len(t.StorageURIs) > 0 {
		add(t.ServiceAccountName, t.Annotations)
	}
	if e := svc.Spec.Explainer; e != nil && len(e.StorageURIs) > 0 {
		add(e.ServiceAccountName, e.Annotations)
	}
	c.ServiceAccounts, c.Secrets = distinct(c.ServiceAccounts), distinct(c.Secrets)
	return c
}

// distinct are the names in a list, sorted.
func distinct(list []string) []string {
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(name string) bool { return name == "" })
}
