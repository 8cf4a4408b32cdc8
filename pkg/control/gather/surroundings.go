// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Names are the service accounts and secrets of one namespace that a pod's credentials can come from.
type Names struct {
	Namespace       string
	ServiceAccounts []string
	Secrets         []string
}

// Surroundings reads service accounts, the secrets that they list, and further secrets, each by its name: nothing is listed. What does
// not exist is left out. Storage containers are the caller's to add.
//
// +kubebuilder:rbac:groups="",resources=serviceaccounts;secrets,verbs=get
func Surroundings(ctx context.Context, live client.Reader, n Names) (*plan.Surroundings, error) {
	around := &plan.Surroundings{ServiceAccounts: map[string]corev1.ServiceAccount{}, Secrets: map[string]corev1.Secret{}}
	secrets := slices.Clone(n.Secrets)
	for _, name := range n.ServiceAccounts {
		var sa corev1.ServiceAccount
		switch err := live.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: name}, &sa); {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read service account %s: %w", name, err)
		}
		around.ServiceAccounts[name] = sa
		for _, ref := range sa.Secrets {
			secrets = append(secrets, ref.Name)
		}
	}
	slices.Sort(secrets)
	for _, name := range slices.Compact(secrets) {
		if name == "" {
			continue
		}
		var s corev1.Secret
		switch err := live.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: name}, &s); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("read secret %s: %w", name, err)
		default:
			around.Secrets[name] = s
		}
	}
	return around, nil
}
