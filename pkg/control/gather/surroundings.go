// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Names are the service accounts and secrets of one namespace that a pod's credentials can come from.
type Names struct {
	Namespace       string
	ServiceAccounts []string
	Secrets         []string
}

// MostSecrets is how many secrets are looked at for one set of pods. A service account lists what its owner likes, and each costs a request.
const MostSecrets = 100

// Surroundings reads service accounts, the secrets that they list, and further secrets, each by its name: nothing is listed. What does
// not exist is left out. Storage containers are the caller's to add. Too many secrets are a *plan.Blocked, and none is read.
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
			return nil, &Error{Doing: "read service account " + name, Err: err}
		}
		around.ServiceAccounts[name] = sa
		for _, ref := range sa.Secrets {
			secrets = append(secrets, ref.Name)
		}
	}
	slices.Sort(secrets)
	secrets = slices.DeleteFunc(slices.Compact(secrets), func(name string) bool { return name == "" })
	if len(secrets) > MostSecrets {
		return nil, &plan.Blocked{
			Reason: servingv1beta1.ReasonReconcileFailed,
			Message: fmt.Sprintf("%d secrets of service account %s would have to be read for credentials, at most %d are: use a service account that lists only those of the storage",
				len(secrets), strings.Join(n.ServiceAccounts, ", "), MostSecrets),
		}
	}
	for _, name := range secrets {
		var s corev1.Secret
		switch err := live.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: name}, &s); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, &Error{Doing: "read secret " + name, Err: err}
		default:
			around.Secrets[name] = s
		}
	}
	return around, nil
}
