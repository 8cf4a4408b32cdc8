// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command print shows the stamped version to the test of the link flags.
package main

import (
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/version"
)

func main() { fmt.Println(version.String()) }
