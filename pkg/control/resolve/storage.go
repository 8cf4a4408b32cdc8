// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

func unsupported(format string, args ...any) error {
	return &plan.Blocked{Reason: servingv1beta1.ReasonReconcileFailed, Message: fmt.Sprintf(format, args...)}
}

// modelStorage decides where the model of a runtime comes from.
func (r *resolver) modelStorage(spec *servingv1beta1.PredictorSpec) (plan.Storage, error) {
	model, container := spec.Model, text(spec.StorageContainerName)
	uri := text(model.StorageURI)
	switch {
	case uri != "" && model.Storage != nil && text(model.Storage.Path) != "":
		return plan.Storage{}, unsupported("spec.predictor.model has both storageUri and storage.path: keep one; storageUri may stay with storage.key alone")
	case uri != "" && len(spec.StorageURIs) > 0:
		return plan.Storage{}, unsupported("spec.predictor has both model.storageUri and storageUris: keep one")
	case len(spec.StorageURIs) > 0:
		return r.manySources(serving.Predictor, spec.StorageURIs, container, model.Storage)
	case model.Storage != nil:
		if uri == "" {
			uri = plan.SchemePlaceholder + "://" + strings.TrimPrefix(text(model.Storage.Path), "/")
			if err := r.snap.CheckStorageContainer(container); err != nil {
				return plan.Storage{}, unsupported("%v", err)
			}
		} else if _, _, err := r.accept(uri, container); err != nil {
			return plan.Storage{}, err
		}
		r.decide(plan.Decision{Subject: plan.SubjectStorage, Role: serving.Predictor, Chosen: modelref.Redact(uri), Why: "spec.predictor.model.storage: scheme, bucket and credentials come from the secret " + r.st.Credentials.StorageSpecSecret + " or from storage.parameters"})
		return plan.Storage{Sources: []plan.Source{{URI: uri, Path: plan.ModelPath}}, Spec: model.Storage, Container: container}, nil
	case uri != "":
		return r.oneSource(serving.Predictor, "spec.predictor.model.storageUri", uri, container)
	}
	r.decide(plan.Decision{Subject: plan.SubjectStorage, Role: serving.Predictor, Chosen: "none", Why: "spec.predictor.model has neither storageUri, storageUris nor storage: the model is in the image, or TrainedModels bring it"})
	return plan.Storage{}, nil
}

// containerStorage decides for a container of the user's own, which names its source in STORAGE_URI.
func (r *resolver) containerStorage(role serving.ComponentRole, c *corev1.Container, many []servingv1beta1.StorageURI, container string) (plan.Storage, error) {
	uri, _ := plan.EnvValue(c.Env, handoff.EnvStorageURI)
	switch {
	case uri != "" && len(many) > 0:
		return plan.Storage{}, unsupported("spec.%s has both storageUris and the variable STORAGE_URI: keep one", role)
	case len(many) > 0:
		var access *servingv1beta1.ModelStorageSpec
		if role != serving.Predictor {
			access = r.predictorStorage()
		}
		return r.manySources(role, many, container, access)
	case uri != "":
		return r.oneSource(role, "variable STORAGE_URI of container "+c.Name, uri, container)
	}
	return plan.Storage{}, nil
}

// predictorStorage says how the predictor's model is got at; storageUris of the other components are got at in the same way.
func (r *resolver) predictorStorage() *servingv1beta1.ModelStorageSpec {
	if m := r.svc.Spec.Predictor.Model; m != nil {
		return m.Storage
	}
	return nil
}

func (r *resolver) oneSource(role serving.ComponentRole, where, uri, container string) (plan.Storage, error) {
	how, name, err := r.accept(uri, container)
	if err != nil {
		return plan.Storage{}, err
	}
	r.decide(plan.Decision{Subject: plan.SubjectStorage, Role: role, Chosen: modelref.Redact(uri), Why: where + "; " + how})
	return plan.Storage{Sources: []plan.Source{{URI: uri, Path: plan.ModelPath}}, Container: name}, nil
}

func (r *resolver) manySources(role serving.ComponentRole, many []servingv1beta1.StorageURI, container string, spec *servingv1beta1.ModelStorageSpec) (plan.Storage, error) {
	s := plan.Storage{Inline: true, Spec: spec}
	taken := map[string]string{}
	for i, u := range many {
		how, _, err := r.bring(u.URI, container) // whatever is in the local cache: only the one model of a service is mounted from there
		if err != nil {
			return plan.Storage{}, err
		}
		target := u.MountPath
		if target == "" {
			target = plan.ModelPath
		}
		if !path.IsAbs(target) || path.Clean(target) == "/" || strings.Contains(target, "..") {
			return plan.Storage{}, unsupported("spec.%s.storageUris[%d].mountPath %q must be an absolute path below the root, without ..", role, i, u.MountPath)
		}
		target = path.Clean(target)
		kind := "a download"
		if !isDownload(u.URI, r.st) {
			kind = modelref.Redact(u.URI)
		}
		if other, ok := taken[target]; ok && (other != "a download" || kind != other) {
			return plan.Storage{}, unsupported("spec.%s.storageUris[%d].mountPath %q is taken by another entry: give each its own", role, i, target)
		}
		taken[target] = kind
		s.Sources = append(s.Sources, plan.Source{URI: u.URI, Path: target})
		r.decide(plan.Decision{Subject: plan.SubjectStorage, Role: role, Chosen: modelref.Redact(u.URI) + " at " + target, Why: fmt.Sprintf("spec.%s.storageUris[%d]; %s", role, i, how)})
	}
	var err error
	s.Container, err = r.containerOfAll(role, downloads(s.Sources, r.st), container)
	return s, err
}

// containerOfAll is the ClusterStorageContainer whose one init container brings all downloads; empty for the operator's storage initializer.
func (r *resolver) containerOfAll(role serving.ComponentRole, uris []string, named string) (string, error) {
	if len(uris) == 0 {
		return "", nil
	}
	name := named
	if named == "" {
		found, clash := r.snap.StorageContainerOfAll(uris)
		if clash != "" {
			return "", unsupported("spec.%s.storageUris needs several ClusterStorageContainers, and a pod has one storage initializer: %s", role, clash)
		}
		name = found
	}
	if name != "" && len(uris) > 1 && !r.bringsMany(name) {
		return "", unsupported("spec.%s.storageUris lists several sources, but ClusterStorageContainer %q brings one at a time: set its supportsMultiModelDownload to true, or name another in storageContainerName", role, name)
	}
	return name, nil
}

// isDownload tells what an init container has to fetch from what is mounted or runs beside the server.
func isDownload(uri string, st *settings.Settings) bool {
	scheme, _, _ := strings.Cut(uri, "://")
	isImage := scheme == "oci" || strings.HasPrefix(scheme, "oci+")
	return scheme != "pvc" && (!isImage || st.Storage.OCI() == settings.OCIDisabled)
}

func downloads(sources []plan.Source, st *settings.Settings) []string {
	var uris []string
	for _, s := range sources {
		if isDownload(s.URI, st) {
			uris = append(uris, s.URI)
		}
	}
	return uris
}

func (r *resolver) bringsMany(name string) bool {
	for i := range r.snap.StorageContainers {
		if c := &r.snap.StorageContainers[i]; c.Name == name {
			return deref(c.Spec.SupportsMultiModelDownload)
		}
	}
	return false
}

// accept says how a URI reaches the pod and by which ClusterStorageContainer, or that nothing brings it.
func (r *resolver) accept(uri, named string) (how, container string, err error) {
	if r.svc.IsCached(uri) {
		return "mounted from the local cache " + r.svc.Labels[serving.LabelLocalModel], "", nil
	}
	return r.bring(uri, named)
}

// bring is accept for what is in no local cache.
func (r *resolver) bring(uri, named string) (how, container string, err error) {
	if scheme, _, ok := strings.Cut(uri, "://"); ok && (scheme == "oci" || strings.HasPrefix(scheme, "oci+")) {
		return r.acceptOCI(uri, scheme)
	}
	if strings.HasPrefix(uri, "pvc://") {
		return "the claim is mounted", "", nil
	}
	found, err := r.snap.StorageContainer(named, uri)
	switch {
	case err != nil:
		return "", "", unsupported("%v", err)
	case found != nil:
		return "brought by ClusterStorageContainer " + found.Name, found.Name, nil
	}
	ref, err := modelref.Parse(uri)
	switch {
	case err != nil:
		return "", "", unsupported("%v", err)
	case !strings.HasPrefix(uri, ref.Scheme):
		return "", "", unsupported("storageUri %q has its scheme in capital letters: write %s://", modelref.Redact(uri), ref.Scheme)
	case ref.IsBuiltIn():
		return "brought by the storage initializer", "", nil
	}
	return "", "", unsupported("storageUri %q is not supported: use one of %s, or create a ClusterStorageContainer that lists %s://",
		modelref.Redact(uri), strings.Join(modelref.BuiltInSchemes(), ", "), ref.Scheme)
}

func (r *resolver) acceptOCI(uri, scheme string) (how, container string, err error) {
	mode := r.st.Storage.OCI()
	if mode == settings.OCIDisabled {
		if scheme == "oci" {
			return "brought by the storage initializer, because OCI model images are switched off", "", nil
		}
		return "", "", unsupported("storageUri %q needs OCI model images, which are switched off: set storageInitializer.enableModelcar or ociModelMode in %s, or write oci://", modelref.Redact(uri), settings.ConfigMapName)
	}
	if scheme != "oci" {
		mode = settings.OCIMode(strings.TrimPrefix(scheme, "oci+"))
	}
	switch mode {
	case settings.OCINative:
		return "the image is mounted as a volume", "", nil
	case settings.OCIFetch:
		return "the image is fetched by the storage initializer", "", nil
	case settings.OCIModelcar, settings.OCIDisabled:
	}
	return "the image runs beside the server (modelcar)", "", nil
}

// credentials says what the download of a component's models is authorised by. It decides nothing: pod admission looks at the same places.
func (r *resolver) credentials(c *plan.Component) {
	if uris := downloads(c.Storage.Sources, r.st); len(uris) == 0 || r.svc.IsCached(uris[0]) {
		return
	}
	d := plan.Decision{Subject: plan.SubjectCredentials, Role: c.Role, Chosen: "none"}
	account := c.Pod.ServiceAccountName
	if account == "" {
		account = "default"
	}
	sa, exists := r.snap.ServiceAccounts[account]
	named := c.Annotations[r.st.Credentials.StorageSecretAnnotation]
	switch {
	case c.Storage.Spec != nil && (!c.Storage.Inline || c.Storage.Spec.StorageKey != nil && c.Storage.Spec.Parameters != nil):
		secret := r.st.Credentials.StorageSpecSecret
		if named != "" {
			secret = named
		}
		d.Chosen, d.Why = "secret "+secret, "the model's storage.key names an entry of it, or default does"
		if key := text(c.Storage.Spec.StorageKey); key != "" {
			d.Chosen += ", entry " + key
		}
	case !exists:
		d.Why = "service account " + account + " does not exist here, so only public sources can be read"
	case named != "":
		d.Chosen, d.Why = "secret "+named, "annotation "+r.st.Credentials.StorageSecretAnnotation
	case len(sa.Secrets) > 0:
		list := make([]string, 0, len(sa.Secrets))
		for _, s := range sa.Secrets {
			list = append(list, s.Name)
		}
		d.Chosen, d.Why = "secrets "+strings.Join(list, ", "), "service account "+account+" lists them"
	case sa.Annotations[serving.AnnotationEKSRoleARN] != "":
		d.Chosen, d.Why = "role "+sa.Annotations[serving.AnnotationEKSRoleARN], "annotation "+serving.AnnotationEKSRoleARN+" of service account "+account
	case plan.HasS3Settings(sa.Annotations):
		d.Chosen, d.Why = "no keys, S3 settings only", "annotations "+serving.AnnotationS3Endpoint+" and the like of service account "+account
	default:
		d.Why = "service account " + account + " lists no secrets, so only public sources can be read"
	}
	r.decide(d)
}
