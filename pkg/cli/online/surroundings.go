// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package online

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/control/resolve"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Credentials says of which services the accounts and secrets are read.
type Credentials int

const (
	// OfTemplates are those that end up in pod templates. All others get theirs when a pod is admitted.
	OfTemplates Credentials = iota
	// OfAll are those of every model.
	OfAll
)

// Surroundings reads what the services and graphs that were gathered are planned from.
func (r *Reading) Surroundings(ctx context.Context, which Credentials) error {
	if found, err := r.get(ctx, core("configmaps"), "ConfigMap", r.System, settings.ConfigMapName); err != nil {
		return err
	} else if !found {
		r.Absent = append(r.Absent, Absent{Kind: "ConfigMap", Namespace: r.System, Name: settings.ConfigMapName})
	}
	if err := r.steps(ctx); err != nil {
		return err
	}
	st := r.settings()
	services := 0
	for _, o := range slices.Clone(r.Objects) {
		var err error
		switch v := o.Value.(type) {
		case *servingv1beta1.InferenceService:
			services++
			err = r.runtimes(ctx, o, v, st)
		case *servingv1alpha1.ServingRuntime: // priorities of one scope must differ
			if o.Source != Source {
				err = r.list(ctx, alpha("servingruntimes"), o.Namespace)
			}
		case *servingv1alpha1.ClusterServingRuntime:
			if o.Source != Source {
				err = r.list(ctx, alpha("clusterservingruntimes"), metav1.NamespaceAll)
			}
		}
		if err != nil {
			return err
		}
	}
	if services == 0 {
		return nil
	}
	if err := r.list(ctx, alpha("clusterstoragecontainers"), metav1.NamespaceAll); err != nil {
		return err
	}
	return r.credentials(ctx, st, which)
}

// steps reads the services that graphs of files name.
func (r *Reading) steps(ctx context.Context) error {
	for _, o := range slices.Clone(r.Objects) {
		g, ok := o.Value.(*servingv1alpha1.InferenceGraph)
		if !ok {
			continue
		}
		for _, node := range g.Spec.Nodes {
			for i := range node.Steps {
				if name := node.Steps[i].ServiceName; name != "" {
					if _, err := r.get(ctx, beta("inferenceservices"), servingv1beta1.InferenceServiceKind, o.Namespace, name); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// runtimes reads the one that a service names; all where one has to be found.
func (r *Reading) runtimes(ctx context.Context, o *manifest.Object, svc *servingv1beta1.InferenceService, st *settings.Settings) error {
	svc = svc.DeepCopy()
	svc.SetDefaults(st.ServiceDefaults())
	predictors := []*servingv1beta1.PredictorSpec{&svc.Spec.Predictor}
	for i := range svc.Spec.Canary {
		predictors = append(predictors, &svc.Spec.Canary[i].Predictor)
	}
	stable := svc.Spec.Predictor.Model
	for _, p := range predictors {
		if p.Model == nil {
			continue
		}
		names := cmp.Or(text(p.Model.Runtime), "")
		if p != predictors[0] && names == "" && stable != nil && (p.Model.ModelFormat.Name == "" || p.Model.ModelFormat.Name == stable.ModelFormat.Name) {
			continue // it has the stable predictor's
		}
		if names != "" {
			found, err := r.get(ctx, alpha("servingruntimes"), "ServingRuntime", o.Namespace, names)
			if err == nil && !found || r.cannotTell("servingruntimes") {
				found, err = r.get(ctx, alpha("clusterservingruntimes"), "ClusterServingRuntime", "", names)
			}
			if err != nil {
				return err
			}
			if found {
				continue
			} // else the others are needed to say which may have been meant
		}
		if err := r.list(ctx, alpha("servingruntimes"), o.Namespace); err != nil {
			return err
		}
		if err := r.list(ctx, alpha("clusterservingruntimes"), metav1.NamespaceAll); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reading) cannotTell(resource string) bool {
	_, unread := r.CannotRead(resource)
	return unread
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// credentials reads service accounts and their secrets. All that a namespace's services share is read once.
func (r *Reading) credentials(ctx context.Context, st *settings.Settings, which Credentials) error {
	for _, o := range slices.Clone(r.Objects) {
		svc, ok := o.Value.(*servingv1beta1.InferenceService)
		if !ok {
			continue
		}
		names := resolve.CredentialsOf(svc, st)
		by := map[string]string{}
		if which == OfAll && o.Source != Source {
			names = allOf(svc, st, by)
		}
		if len(names.ServiceAccounts) == 0 {
			continue
		}
		secrets := names.Secrets
		for _, name := range names.ServiceAccounts {
			found, err := r.get(ctx, core("serviceaccounts"), "ServiceAccount", o.Namespace, name)
			if err != nil {
				return err
			}
			if !found && name != "default" {
				r.absent(Absent{"ServiceAccount", o.Namespace, name, "the service", o})
			}
			for _, one := range r.Objects {
				if sa, ok := one.Value.(*corev1.ServiceAccount); ok && one.Namespace == o.Namespace && one.Name == name {
					for _, ref := range sa.Secrets {
						secrets = append(secrets, ref.Name)
						by[ref.Name] = "service account " + name
					}
				}
			}
		}
		for _, name := range secrets {
			if name == "" {
				continue
			}
			found, err := r.get(ctx, core("secrets"), "Secret", o.Namespace, name)
			if err != nil {
				return err
			}
			if who := by[name]; !found && who != "" {
				r.absent(Absent{"Secret", o.Namespace, name, who, o})
			}
		}
	}
	return nil
}

func (r *Reading) absent(a Absent) {
	if !slices.Contains(r.Absent, a) {
		r.Absent = append(r.Absent, a)
	}
}

// allOf are the accounts and secrets of every model of a service, wherever they are used; by says who names a secret that has to be there.
func allOf(svc *servingv1beta1.InferenceService, st *settings.Settings, by map[string]string) resolve.Credentials {
	var c resolve.Credentials
	annotation := st.Credentials.StorageSecretAnnotation
	add := func(account string, spec bool, annotations ...map[string]string) {
		c.ServiceAccounts = append(c.ServiceAccounts, cmp.Or(account, "default"))
		for _, from := range append(annotations, svc.Annotations) {
			if name := from[annotation]; name != "" {
				c.Secrets = append(c.Secrets, name)
				by[name] = "annotation " + annotation
			}
		}
		if spec {
			c.Secrets = append(c.Secrets, st.Credentials.StorageSpecSecret)
			by[st.Credentials.StorageSpecSecret] = "spec.predictor.model.storage"
		}
	}
	stable := &svc.Spec.Predictor
	add(stable.ServiceAccountName, hasStorageSpec(stable), stable.Annotations)
	for i := range svc.Spec.Canary {
		p := &svc.Spec.Canary[i].Predictor
		add(cmp.Or(p.ServiceAccountName, stable.ServiceAccountName), hasStorageSpec(p), p.Annotations, stable.Annotations)
	}
	if t := svc.Spec.Transformer; t != nil && len(t.StorageURIs) > 0 {
		add(t.ServiceAccountName, false, t.Annotations)
	}
	if e := svc.Spec.Explainer; e != nil && len(e.StorageURIs) > 0 {
		add(e.ServiceAccountName, false, e.Annotations)
	}
	for _, list := range []*[]string{&c.ServiceAccounts, &c.Secrets} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return c
}

func hasStorageSpec(p *servingv1beta1.PredictorSpec) bool {
	return p.Model != nil && p.Model.Storage != nil
}

// settings are the operator's as far as they were read; what is wrong with them is told when everything has been.
func (r *Reading) settings() *settings.Settings {
	st := settings.Defaults()
	for _, o := range r.Objects {
		if cm, ok := o.Value.(*corev1.ConfigMap); ok && o.Name == settings.ConfigMapName {
			if parsed, err := settings.Parse(cm.Data); err == nil {
				st = parsed
			}
		}
	}
	return st
}
