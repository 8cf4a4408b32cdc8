// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

func asEither(err error, bad **engine.BadModel, unsupported **engine.Unsupported) bool {
	return errors.As(err, bad) || errors.As(err, unsupported)
}
