// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
)

const maxOCISources = 10

var resourceIDForm = regexp.MustCompile(`^kbs:///[a-zA-Z0-9_.-]+/[a-zA-Z0-9_.-]+/[a-zA-Z0-9_.-]+$`)

// model checks the source and the container of a model.
func (v *validator) model(m model, manyURIs bool) {
	at, spec := m.path, m.spec
	if spec.Name != "" {
		v.add(field.Invalid(at.Child("name"), spec.Name, "the container of a model has no name of its own; remove it"))
	}
	v.add(serving.ValidateEnv(at.Child("env"), spec.Env)...)
	if p := spec.ProtocolVersion; p != nil && !slices.Contains(serving.ProtocolVersions(), *p) {
		v.refuse(field.NotSupported(at.Child("protocolVersion"), *p, serving.ProtocolVersions()))
	}
	uri := ""
	if spec.StorageURI != nil {
		uri = *spec.StorageURI
		if uri == "" {
			v.warn(at.Child("storageUri"), "is empty and taken as absent; remove it or name a source")
		}
	}
	v.uri(at.Child("storageUri"), uri)
	if uri != "" && manyURIs {
		v.add(field.Forbidden(at.Child("storageUri"), "storageUri and storageUris cannot be used together; list the model in storageUris"))
	}
	if s := spec.Storage; uri != "" && s != nil && s.Path != nil && *s.Path != "" {
		v.add(field.Invalid(at.Child("storage", "path"), *s.Path, "storageUri and storage.path both name the model; remove one"))
	}
	if c := spec.Confidential; c != nil && c.Enabled {
		v.confidential(at, uri, c)
	}
}

func (v *validator) confidential(at *field.Path, uri string, c *ConfidentialSpec) {
	if uri == "" {
		v.add(field.Required(at.Child("storageUri"), "an encrypted model needs a storageUri; name its source"))
	}
	id := at.Child("confidential", "resourceId")
	switch {
	case c.ResourceID == nil:
		v.warn(id, "is not set, so the model cannot be decrypted; set it to kbs:///repository/type/tag")
	case !resourceIDForm.MatchString(*c.ResourceID):
		v.add(field.Invalid(id, *c.ResourceID, "must name a key of the key broker; write kbs:///repository/type/tag"))
	}
	if strings.HasPrefix(uri, "pvc://") || strings.HasPrefix(uri, "oci") {
		v.warn(at.Child("storageUri"), "a model from %s is mounted as it is and not decrypted; use a source that is downloaded", modelref.Redact(uri))
	}
}

// uri checks a source. An empty one is absent, and nobody fetches one that is in a local cache.
func (v *validator) uri(at *field.Path, uri string) {
	if uri == "" || v.service.IsCached(uri) {
		return
	}
	ref, err := modelref.Parse(uri)
	var fault *modelref.Error
	switch {
	case errors.As(err, &fault):
		v.add(field.Invalid(at, modelref.Redact(uri), fault.Rule+"; "+fault.Fix))
	case !strings.HasPrefix(uri, ref.Scheme) && !v.supported(uri): // what brings models compares schemes letter by letter
		v.add(field.Invalid(at, modelref.Redact(uri), fmt.Sprintf("has its scheme in capital letters; write %s://", ref.Scheme)))
	case !ref.IsBuiltIn() && !v.supported(uri):
		v.add(field.Invalid(at, modelref.Redact(uri), fmt.Sprintf(
			"nothing fetches the scheme %q here; use one of %s, or add a ClusterStorageContainer that lists it", ref.Scheme, strings.Join(modelref.BuiltInSchemes(), ", "))))
	case v.rules.NoOCI && ref.Store == modelref.OCI && ref.Mode != modelref.OCIConfigured:
		v.add(field.Invalid(at, modelref.Redact(uri), "models in images are switched off by the operator; switch them on in the ConfigMap's storageInitializer, or write oci://"))
	case ref.IsRelative():
		v.warn(at, "%q is a relative path and means something only beside a working directory; write an absolute path or a URI", uri)
	}
}

// supported reports whether a storage container takes the URI.
func (v *validator) supported(uri string) bool {
	return slices.ContainsFunc(v.rules.StorageFormats, func(format v1alpha1.SupportedURIFormat) bool { return format.Matches(uri) })
}

// ownStorage checks the source that a custom container names in its environment.
func (v *validator) ownStorage(at *field.Path, pod *PodSpec, manyURIs bool) {
	main, index := mainContainer(pod.Containers)
	if main == nil {
		return
	}
	for i, variable := range main.Env {
		if variable.Name != handoff.EnvStorageURI || variable.Value == "" {
			continue
		}
		where := at.Child("containers").Index(index).Child("env").Index(i).Child("value")
		v.uri(where, variable.Value)
		if manyURIs {
			v.add(field.Forbidden(where, "STORAGE_URI and storageUris cannot be used together; list the source in storageUris"))
		}
	}
}

// storageURIs checks sources with paths of their own.
func (v *validator) storageURIs(at *field.Path, uris []StorageURI) {
	claims, images, downloads := map[string]int{}, map[string]int{}, []string{}
	for i, item := range uris {
		if item.URI == "" {
			v.add(field.Required(at.Index(i).Child("uri"), "every entry needs a source; name one or remove the entry"))
		}
		v.uri(at.Index(i).Child("uri"), item.URI)
		mount := item.MountPath
		if mount == "" {
			mount = handoff.ModelDir
		}
		where := at.Index(i).Child("mountPath")
		if fault := mountFault(where, mount); fault != nil {
			v.add(fault)
			continue
		}
		mount = path.Clean(mount)
		switch {
		case strings.HasPrefix(item.URI, "pvc://"):
			v.unique(where, mount, claims, i)
		case strings.HasPrefix(item.URI, "oci"):
			v.unique(where, mount, images, i)
		default:
			downloads = append(downloads, mount)
		}
	}
	if len(images) > maxOCISources {
		v.add(field.TooMany(at, len(images), maxOCISources))
	}
	v.shared(at, downloads, claims)
}

func mountFault(at *field.Path, mount string) *field.Error {
	switch {
	case !strings.HasPrefix(mount, "/"):
		return field.Invalid(at, mount, "must be an absolute path; start it with /")
	case strings.Contains(mount, ".."):
		return field.Invalid(at, mount, "must not contain '..'; write the directory itself")
	case path.Clean(mount) == "/":
		return field.Invalid(at, mount, "the root cannot be a mount path; choose a directory such as /mnt/models")
	}
	return nil
}

// unique refuses a second source at a path where only one can be mounted.
func (v *validator) unique(at *field.Path, mount string, seen map[string]int, index int) {
	if _, ok := seen[mount]; ok {
		v.add(serving.Duplicate(at, mount, "only one claim or image can be mounted at a path; choose another directory"))
		return
	}
	seen[mount] = index
}

// shared checks that several downloads have a directory in common, and that no claim is mounted over it.
func (v *validator) shared(at *field.Path, downloads []string, claims map[string]int) {
	if len(downloads) == 0 {
		return
	}
	common := commonFolder(downloads)
	if common == "/" {
		v.add(field.Invalid(at, strings.Join(downloads, ", "), "the mount paths must have a directory in common; put them under one such as /mnt/models"))
		return
	}
	if index, ok := claims[common]; ok {
		v.add(field.Invalid(at.Index(index).Child("mountPath"), common, "the claim would hide what is downloaded there; choose another directory"))
	}
}

// commonFolder is the deepest folder that holds all of some, of which there is one at least.
func commonFolder(folders []string) string {
	common := folders[0]
	for _, folder := range folders[1:] {
		for common != "/" && folder != common && !strings.HasPrefix(folder, common+"/") {
			common = path.Dir(common)
		}
	}
	return common
}

// art checks the ART explainer.
func (v *validator) art(at *field.Path, a *ARTExplainerSpec, manyURIs bool) {
	if a.Type == "" {
		v.add(field.Required(at.Child("type"), "the explainer needs an attack; set SquareAttack"))
	}
	v.add(serving.ValidateEnv(at.Child("env"), a.Env)...)
	v.uri(at.Child("storageUri"), a.StorageURI)
	if a.StorageURI != "" && manyURIs {
		v.add(field.Forbidden(at.Child("storageUri"), "storageUri and storageUris cannot be used together; list the source in storageUris"))
	}
	if a.Storage == nil {
		return
	}
	if a.StorageURI == "" && !manyURIs {
		v.warn(at.Child("storage"), "has no effect without a source; set storageUri, or remove it")
	}
	stores := []string{"s3", "hdfs", "webhdfs"}
	if scheme, _, ok := strings.Cut(a.StorageURI, "://"); a.StorageURI != "" && (!ok || !slices.Contains(stores, scheme)) {
		v.add(field.Invalid(at.Child("storageUri"), modelref.Redact(a.StorageURI), "beside storage only s3://, hdfs:// and webhdfs:// are possible; use one, or remove storage"))
	}
	if kind, ok := a.Storage.Parameters["type"]; ok && !slices.Contains(stores, kind) {
		v.add(field.NotSupported(at.Child("storage", "parameters").Key("type"), kind, stores))
	}
}
