// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelref reads the URI of a model once, into a value that says which store it means and what it names there.
//
// Called by: apis/serving/v1beta1 (validation), control/resolve, storage.
// Next: storage, which fetches what a Ref names.
package modelref

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Store is the kind of place that a URI means; it decides which code fetches the model.
type Store string

// The stores that this project knows, and Other for every scheme that only a custom storage container may know.
const (
	File       Store = "file"
	PVC        Store = "pvc"
	S3         Store = "s3"
	GS         Store = "gs"
	AzureBlob  Store = "azure blob"
	AzureFile  Store = "azure file"
	HF         Store = "hf"
	ModelScope Store = "modelscope"
	HTTP       Store = "http"
	OCI        Store = "oci"
	HDFS       Store = "hdfs"
	WebHDFS    Store = "webhdfs"
	Git        Store = "git"
	Other      Store = "other"
)

// OCIMode is how a model in an image reaches the pod.
type OCIMode string

// The modes of an OCI model.
const (
	// OCIConfigured leaves the mode to the operator: oci://.
	OCIConfigured OCIMode = ""
	// OCINative mounts the image as a volume: oci+native://.
	OCINative OCIMode = "native"
	// OCIModelcar runs the image as a sidecar: oci+modelcar://.
	OCIModelcar OCIMode = "modelcar"
	// OCIFetch copies the model out of the image: oci+fetch://.
	OCIFetch OCIMode = "fetch"
)

// Ref is a parsed model URI. Two Refs are equal when all their fields are.
type Ref struct {
	// URI is the text as it was written. It may hold a password or a signed query; print String() instead.
	URI string
	// Scheme is the scheme in lower case, empty for a plain path.
	Scheme string
	// Store is the kind of place.
	Store Store
	// Authority is the bucket, claim, host, registry or owner. It is empty for files and for HDFS, whose name node is in a secret.
	Authority string
	// Path is what is named inside the authority, without slashes at its ends; for files it is a path of the file system.
	// For azure stores its first segment is the container or share.
	Path string
	// Query is the query of a web address, without the question mark.
	Query string
	// Revision is the revision of a hub, or the tag or digest of an image.
	Revision string
	// Mode is how an image reaches the pod.
	Mode OCIMode
}

// Schemes returns the schemes that are known, in the order in which messages list them.
func Schemes() []string {
	return append(BuiltInSchemes(), "abfs", "abfss", "modelscope", "git+https")
}

// Parse reads a URI. A text without "://" is a path of the file system. The error of a malformed URI says what its scheme needs.
// A scheme that is not known is no error: its Store is Other.
func Parse(uri string) (Ref, error) {
	if uri == "" {
		return Ref{}, &Error{URI: uri, Rule: "is empty", Fix: "name a source such as s3://bucket/path"}
	}
	if at := strings.IndexFunc(uri, func(r rune) bool { return r < ' ' || r == 0x7f }); at >= 0 {
		return Ref{}, &Error{URI: uri, Rule: fmt.Sprintf("holds a control character at byte %d", at), Fix: "remove it"}
	}
	if strings.TrimSpace(uri) != uri {
		return Ref{}, &Error{URI: uri, Rule: "starts or ends with a space", Fix: "remove it"}
	}
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok || strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, ".") {
		return Ref{URI: uri, Store: File, Path: path.Clean(uri)}, nil
	}
	if !isScheme(scheme) {
		return Ref{}, &Error{URI: uri, Rule: fmt.Sprintf("starts with %q, which is not a scheme", scheme), Fix: "use one of " + strings.Join(Schemes(), ", ")}
	}
	r := Ref{URI: uri, Scheme: strings.ToLower(scheme)}
	if err := read(&r, rest); err != nil {
		return Ref{}, err
	}
	return r, nil
}

// read fills in what follows the scheme.
func read(r *Ref, rest string) error {
	switch r.Scheme {
	case "file":
		return readFile(r, rest)
	case "pvc":
		return readClaim(r, rest)
	case "s3", "gs":
		r.Store = Store(r.Scheme)
		return readBucket(r, rest)
	case "hf", "modelscope":
		r.Store = Store(r.Scheme)
		return readHub(r, rest)
	case "http", "https":
		return readWeb(r)
	case "git+https", "git+http":
		return readGit(r)
	case "abfs", "abfss":
		return readABFS(r, rest)
	case "hdfs", "webhdfs":
		r.Store, r.Path = Store(r.Scheme), strings.Trim(rest, "/")
		if r.Path == "" {
			return fault(r, "names no path", r.Scheme+"://path")
		}
		return nil
	case "oci", "oci+native", "oci+modelcar", "oci+fetch":
		_, mode, _ := strings.Cut(r.Scheme, "+")
		r.Store, r.Mode = OCI, OCIMode(mode)
		return readImage(r, rest)
	}
	r.Store = Other
	r.Authority, r.Path, _ = strings.Cut(rest, "/")
	r.Path = strings.Trim(r.Path, "/")
	return nil
}

func readFile(r *Ref, rest string) error {
	r.Store = File
	if local, ok := strings.CutPrefix(rest, "localhost/"); ok {
		rest = "/" + local
	}
	if rest == "" {
		return fault(r, "names no path", "file:///path")
	}
	r.Path = path.Clean(rest)
	return nil
}

func readClaim(r *Ref, rest string) error {
	r.Store = PVC
	r.Authority, r.Path, _ = strings.Cut(rest, "/")
	r.Path = strings.TrimRight(r.Path, "/") // what is left of a slash at the front would be an absolute path inside the claim
	if !isName(r.Authority) {
		return fault(r, fmt.Sprintf("names the claim %q, which cannot be the name of one", r.Authority), "pvc://claim or pvc://claim/path")
	}
	if r.Path != "" && path.Clean("/" + r.Path)[1:] != r.Path {
		return fault(r, fmt.Sprintf("has the path %q, which is not a plain one", r.Path), "pvc://claim/path without '..', '.' and '//'")
	}
	return nil
}

func readBucket(r *Ref, rest string) error {
	r.Authority, r.Path, _ = strings.Cut(rest, "/")
	r.Path = strings.Trim(r.Path, "/")
	if r.Authority == "" || strings.ContainsAny(r.Authority, " ?#@:") {
		return fault(r, fmt.Sprintf("names the bucket %q, which cannot be the name of one", r.Authority), r.Scheme+"://bucket/path")
	}
	return nil
}

func readHub(r *Ref, rest string) error {
	name, revision, pinned := strings.Cut(rest, ":")
	r.Revision = revision
	var ok bool
	r.Authority, r.Path, ok = strings.Cut(name, "/")
	form := r.Scheme + "://owner/model or " + r.Scheme + "://owner/model:revision"
	switch {
	case r.Authority == "":
		return fault(r, "names no owner", form)
	case !ok || r.Path == "":
		return fault(r, "names no model", form)
	case strings.Contains(r.Path, "/"):
		return fault(r, "has more parts than an owner and a model", form)
	case pinned && revision == "":
		return fault(r, "ends in ':' without a revision", form)
	case strings.ContainsAny(name, " ?#@"):
		return fault(r, "holds a character that no name on the hub has", form)
	}
	return nil
}

func readImage(r *Ref, rest string) error {
	form := r.Scheme + "://registry/repository:tag"
	name := rest
	if before, digest, ok := strings.Cut(rest, "@"); ok {
		name, r.Revision = before, digest
		if algorithm, hash, ok := strings.Cut(digest, ":"); !ok || algorithm == "" || len(hash) < 32 {
			return fault(r, fmt.Sprintf("has the digest %q, which is not one", digest), r.Scheme+"://registry/repository@sha256:…")
		}
	}
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		if r.Revision == "" {
			r.Revision = name[colon+1:]
			if r.Revision == "" {
				return fault(r, "ends in ':' without a tag", form)
			}
		}
		name = name[:colon]
	}
	r.Path = name
	// As for every image, the first part is a registry only if it looks like a host.
	if host, repository, ok := strings.Cut(name, "/"); ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		r.Authority, r.Path = host, repository
	}
	if r.Path == "" || strings.ContainsAny(r.Path, " ?#@:") || strings.HasPrefix(r.Path, "/") || strings.HasSuffix(r.Path, "/") {
		return fault(r, fmt.Sprintf("names the repository %q, which cannot be the name of one", r.Path), form)
	}
	return nil
}

// BuiltInSchemes returns the schemes of models that reach a pod in every installation, in the order in which messages list them:
// those that are mounted, and those that the storage initializer fetches from without a storage container that says so.
func BuiltInSchemes() []string {
	return []string{"s3", "gs", "hf", "pvc", "oci", "oci+native", "oci+modelcar", "oci+fetch", "https", "http", "file", "hdfs", "webhdfs"}
}

// IsBuiltIn reports whether the model reaches a pod in every installation. Everything else needs a ClusterStorageContainer that
// lists it.
func (r Ref) IsBuiltIn() bool { return r.Scheme == "" || slices.Contains(BuiltInSchemes(), r.Scheme) }

// Image returns the reference of an OCI model without its scheme, as a container's image field takes it.
func (r Ref) Image() string {
	if r.Store != OCI {
		return ""
	}
	_, image, _ := strings.Cut(r.URI, "://")
	return image
}

// IsRelative reports whether a file is named by a path that means something only beside a working directory.
func (r Ref) IsRelative() bool { return r.Store == File && !path.IsAbs(r.Path) }

// String returns the URI without password and query, for logs, errors and status.
func (r Ref) String() string { return Redact(r.URI) }

// Redact removes what may be secret from a text that may be a URI: a web address loses its user, whose name alone may be a token, and
// its query, which may hold a signature; any other URI loses a user with a password.
func Redact(uri string) string {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return uri
	}
	web := strings.TrimPrefix(strings.ToLower(scheme), "git+")
	isWeb := web == "http" || web == "https"
	if isWeb {
		rest, _, _ = strings.Cut(rest, "?")
		rest, _, _ = strings.Cut(rest, "#")
	}
	authority, tail, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 && (isWeb || strings.Contains(authority[:at], ":")) {
		authority = authority[at+1:]
	}
	if slash {
		authority += "/" + tail
	}
	return scheme + "://" + authority
}

// fault builds the error of this Ref; form is how a right URI looks.
func fault(r *Ref, rule, form string) error {
	return &Error{URI: r.URI, Rule: rule, Fix: "write " + form}
}

// Error says what is wrong with a URI and how a right one looks.
type Error struct {
	URI  string
	Rule string
	Fix  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("model URI %q %s; %s", Redact(e.URI), e.Rule, e.Fix)
}

func isScheme(text string) bool {
	for i, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return false
		}
	}
	return text != ""
}

// isName reports whether a text can be the name of a Kubernetes object.
func isName(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for i, r := range text {
		alphanumeric := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		if !alphanumeric && (i == 0 || i == len(text)-1 || r != '-' && r != '.') {
			return false
		}
	}
	return true
}

// parseURL is url.Parse without the URI in its error, which may hold a secret.
func parseURL(uri string) (*url.URL, error) {
	u, err := url.Parse(uri)
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return nil, wrapped.Err
	}
	return u, err
}
