// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cainjector is the annotation by which cert-manager is asked to inject the authority itself.
const cainjectorPrefix = "cert-manager.io/inject-ca-from"

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=inferenceservice.serving.kserve.io,verbs=list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=inferenceservice.serving.kserve.io;trainedmodel.serving.kserve.io;inferencegraph.serving.kserve.io;clusterservingruntime.serving.kserve.io;servingruntime.serving.kserve.io;clusterstoragecontainer.serving.kserve.io,verbs=list;watch;patch

// inject tells every configuration whom to trust and, for a webhook outside the cluster, where it is.
func (k *Keeper) inject(ctx context.Context, m *material) error {
	bundle := encodeCertificates(m.authorities)
	checked := false
	for _, c := range k.configurations() {
		if injectedByOthers(c.config.GetAnnotations()) {
			continue
		}
		if err := k.update(ctx, c, bundle, &checked); err != nil {
			return err
		}
	}
	return nil
}

// change is a configuration as it was read, and a copy to be changed with how its webhooks are called.
type change struct {
	kind         string
	read, config client.Object
	clients      []*admissionregistrationv1.WebhookClientConfig
}

// configurations are those that are there now.
func (k *Keeper) configurations() []change {
	var all []change
	for _, f := range k.mutating {
		read, ok := f.One()
		if !ok {
			continue
		}
		config := read.DeepCopy()
		c := change{kind: "MutatingWebhookConfiguration", read: read, config: config}
		for i := range config.Webhooks {
			c.clients = append(c.clients, &config.Webhooks[i].ClientConfig)
		}
		all = append(all, c)
	}
	for _, f := range k.validating {
		read, ok := f.One()
		if !ok {
			continue
		}
		config := read.DeepCopy()
		c := change{kind: "ValidatingWebhookConfiguration", read: read, config: config}
		for i := range config.Webhooks {
			c.clients = append(c.clients, &config.Webhooks[i].ClientConfig)
		}
		all = append(all, c)
	}
	return all
}

// allNames are what the certificate is for: the Service, what the flags say, and the hosts of addresses in the configurations.
func (k *Keeper) allNames() []string {
	names := slices.Clone(k.names)
	for _, c := range k.configurations() {
		for _, hook := range c.clients {
			if hook.URL == nil {
				continue
			}
			if u, err := url.Parse(*hook.URL); err == nil && u.Hostname() != "" && !slices.Contains(names, u.Hostname()) {
				names = append(names, u.Hostname())
			}
		}
	}
	return names
}

func injectedByOthers(annotations map[string]string) bool {
	for key := range annotations {
		if strings.HasPrefix(key, cainjectorPrefix) {
			return true
		}
	}
	return false
}

// update writes a configuration where something is to be changed. checked says that the bundle was compared with the Secret itself:
// a replica whose copy of the Secret is old must not take a newer authority away.
func (k *Keeper) update(ctx context.Context, ch change, bundle []byte, checked *bool) error {
	config, changed := ch.config, false
	for _, c := range ch.clients {
		changed = k.point(c, bundle) || changed
	}
	if !changed {
		return nil
	}
	if !*checked {
		if err := k.isCurrent(ctx, bundle); err != nil {
			return err
		}
		*checked = true
	}
	err := k.client.Patch(ctx, config, client.MergeFromWithOptions(ch.read, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		k.log.Debug("another writer changed the webhook configuration first", zap.String("name", config.GetName()))
		k.poke()
		return nil
	case err != nil:
		return fmt.Errorf("tell webhook configuration %s whom to trust: %w", config.GetName(), err)
	}
	k.log.Info("told a webhook configuration whom to trust", zap.String("name", config.GetName()))
	return nil
}

func (k *Keeper) isCurrent(ctx context.Context, bundle []byte) error {
	var secret corev1.Secret
	key := types.NamespacedName{Namespace: k.options.Namespace, Name: k.options.Secret}
	if err := k.client.Get(ctx, key, &secret); err != nil {
		return fmt.Errorf("read the Secret %s again: %w", key, err)
	}
	authorities, err := parseCertificates(secret.Data[keyAuthorities])
	if err != nil || !bytes.Equal(encodeCertificates(authorities), bundle) {
		return fmt.Errorf("compare with the Secret %s: %w", key, errRaced)
	}
	return nil
}

// point changes how one webhook is called, if the webhook is this one.
func (k *Keeper) point(c *admissionregistrationv1.WebhookClientConfig, bundle []byte) (changed bool) {
	if !k.ours(c) {
		return false
	}
	if want := k.address(c); k.options.URLBase != "" && (c.URL == nil || *c.URL != want) {
		c.URL, c.Service, changed = &want, nil, true
	}
	if !bytes.Equal(c.CABundle, bundle) {
		c.CABundle, changed = bundle, true
	}
	return changed
}

// ours reports whether a webhook of a configuration is called through our Service, or by an address.
func (k *Keeper) ours(c *admissionregistrationv1.WebhookClientConfig) bool {
	return c.Service == nil || c.Service.Name == k.options.Service && c.Service.Namespace == k.options.Namespace
}

// address is where a webhook outside the cluster serves what c calls.
func (k *Keeper) address(c *admissionregistrationv1.WebhookClientConfig) string {
	path := ""
	switch {
	case c.Service != nil && c.Service.Path != nil:
		path = *c.Service.Path
	case c.URL != nil:
		if u, err := url.Parse(*c.URL); err == nil {
			path = u.Path
		}
	}
	return strings.TrimSuffix(k.options.URLBase, "/") + path
}

// told reports whether every configuration that is there trusts what the Secret holds; why says what is missing for the API server
// to call what is served now.
func (k *Keeper) told(m *material, now time.Time) (told bool, why string) {
	k.mu.Lock()
	current := k.current
	k.mu.Unlock()
	if current == nil {
		current = m.serving
	}
	told = true
	all := k.configurations()
	for _, c := range all {
		for _, hook := range c.clients {
			if !k.ours(hook) || len(hook.CABundle) == 0 && len(m.authorities) == 0 { // an authority that everybody trusts
				continue
			}
			trusted, err := parseCertificates(hook.CABundle)
			if err != nil || !trusts(trusted, m.serving, now) {
				told = false
			}
			if err != nil || !trusts(trusted, current, now) {
				why = fmt.Sprintf("%s %s does not trust the served certificate yet", c.kind, c.config.GetName())
			}
		}
	}
	if len(all) == 0 && len(k.mutating)+len(k.validating) > 0 {
		return false, "none of the webhook configurations is there: " + strings.Join(slices.Concat(k.options.Mutating, k.options.Validating), ", ")
	}
	return told, why
}
