// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificates is where the image keeps the authorities it trusts.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

var (
	errNotStatic = errors.New("the program needs an interpreter or shared libraries, which the image has not: build it with CGO_ENABLED=0")
	errMachine   = errors.New("no image is made for this machine type")
)

// inspect tells which machine a program is for, and refuses one that cannot run alone.
func inspect(name string) (v1.Platform, error) {
	program, err := elf.Open(name)
	if err != nil {
		return v1.Platform{}, fmt.Errorf("open as a Linux program: %w", err)
	}
	defer program.Close() //nolint:errcheck // it was only read
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return v1.Platform{}, errNotStatic
		}
	}
	machines := map[elf.Machine]string{
		elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_S390: "s390x", elf.EM_PPC64: "ppc64le", elf.EM_RISCV: "riscv64",
	}
	architecture, ok := machines[program.Machine]
	if !ok {
		return v1.Platform{}, fmt.Errorf("%w: %s", errMachine, program.Machine)
	}
	return v1.Platform{OS: "linux", Architecture: architecture}, nil
}

// authorities are the roots of the Mozilla programme as PEM. Those that are trusted only for certificates from before some day are left
// out, because PEM cannot say so.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return out.Bytes()
}
