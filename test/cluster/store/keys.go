// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const algorithm = "AWS4-HMAC-SHA256"

// Keys are the ones that a client must sign with, by version 4 of Amazon's signature.
type Keys struct{ ID, Secret string }

// Only lets signed requests through.
func (k Keys) Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code, err := k.check(r); err != nil {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%v</Message></Error>`, code, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// check returns S3's word for what is wrong.
func (k Keys) check(r *http.Request) (string, error) {
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), algorithm+" ")
	if !ok {
		return "AccessDenied", errors.New("the request is not signed")
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	id, scope, _ := strings.Cut(fields["Credential"], "/")
	if id != k.ID {
		return "InvalidAccessKeyId", fmt.Errorf("the access key %q does not exist", id)
	}
	if want := k.signature(r, scope, fields["SignedHeaders"]); !hmac.Equal([]byte(want), []byte(fields["Signature"])) {
		return "SignatureDoesNotMatch", errors.New("the request was signed with another secret key")
	}
	return "", nil
}

func (k Keys) signature(r *http.Request, scope, signed string) string {
	var canonical strings.Builder
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), query)
	names := strings.Split(signed, ";")
	slices.Sort(names)
	for _, name := range names {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", signed, r.Header.Get("X-Amz-Content-Sha256"))
	digest := sha256.Sum256([]byte(canonical.String()))
	text := strings.Join([]string{algorithm, r.Header.Get("X-Amz-Date"), scope, hex.EncodeToString(digest[:])}, "\n")
	key := []byte("AWS4" + k.Secret)
	for part := range strings.SplitSeq(scope, "/") { // date, region, service, aws4_request
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
