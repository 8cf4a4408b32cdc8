// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"fmt"
	"strings"
)

// readWeb reads http:// and https://, which also name azure stores and git repositories.
func readWeb(r *Ref) error {
	u, err := parseURL(r.URI)
	if err != nil {
		return fault(r, fmt.Sprintf("is not a web address: %v", err), r.Scheme+"://host/path")
	}
	r.Store, r.Authority, r.Path, r.Query = HTTP, u.Host, strings.Trim(u.Path, "/"), u.RawQuery
	if u.Hostname() == "" {
		return fault(r, "names no host", r.Scheme+"://host/path")
	}
	switch store, ok := azureStore(u.Hostname()); {
	case ok:
		r.Store = store
		if container, _, _ := strings.Cut(r.Path, "/"); container == "" {
			return fault(r, "names no container", "https://account.blob.core.windows.net/container/path")
		}
		return nil
	case r.Scheme == "https" && hasGitSegment(r.Path):
		r.Store = Git
		return nil
	case r.Path == "" && r.Query == "":
		return fault(r, "names no file", r.Scheme+"://host/path")
	}
	return nil
}

// readGit reads git+https://, which says that a web address is a repository whatever its path looks like.
func readGit(r *Ref) error {
	u, err := parseURL(r.URI)
	if err != nil {
		return fault(r, fmt.Sprintf("is not a web address: %v", err), r.Scheme+"://host/owner/repository.git")
	}
	r.Store, r.Authority, r.Path, r.Query = Git, u.Host, strings.Trim(u.Path, "/"), u.RawQuery
	if u.Hostname() == "" || r.Path == "" {
		return fault(r, "names no repository", r.Scheme+"://host/owner/repository.git")
	}
	return nil
}

// azureStore says which azure service a host is.
func azureStore(host string) (Store, bool) {
	account, service, _ := strings.Cut(strings.ToLower(host), ".")
	if account == "" {
		return "", false
	}
	switch service {
	case "blob.core.windows.net":
		return AzureBlob, true
	case "file.core.windows.net":
		return AzureFile, true
	}
	// Accounts of the newer kind have a zone in their names: account.z01.blob.storage.azure.net.
	zone, service, _ := strings.Cut(service, ".")
	if !isZone(zone) {
		return "", false
	}
	switch service {
	case "blob.storage.azure.net":
		return AzureBlob, true
	case "file.storage.azure.net":
		return AzureFile, true
	}
	return "", false
}

func isZone(text string) bool {
	digits, ok := strings.CutPrefix(text, "z")
	return ok && len(digits) >= 1 && len(digits) <= 2 && strings.Trim(digits, "0123456789") == ""
}

// hasGitSegment reports whether a part of a path is a repository: owner/repository.git.
func hasGitSegment(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > len(".git") && strings.HasSuffix(part, ".git") {
			return true
		}
	}
	return false
}

// readABFS reads abfs://container@account.dfs.core.windows.net/path, which names the same as the blob service's web address.
func readABFS(r *Ref, rest string) error {
	form := r.Scheme + "://container@account.dfs.core.windows.net/path"
	r.Store = AzureBlob
	authority, path, _ := strings.Cut(rest, "/")
	container, host, ok := strings.Cut(authority, "@")
	account, service, _ := strings.Cut(host, ".")
	if !ok || container == "" || account == "" || service != "dfs.core.windows.net" && service != "blob.core.windows.net" {
		return fault(r, "does not name container and account", form)
	}
	r.Authority = account + ".blob.core.windows.net"
	r.Path = strings.Trim(container+"/"+path, "/")
	return nil
}
