// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a model file whole, for engines whose formats are parsed in memory. A file of more than Options.MaxBytes is a *BadModel.
func ReadFile(file string, o Options) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	defer f.Close()
	var from io.Reader = f
	if o.MaxBytes > 0 {
		// One byte more than is allowed tells a file that is too large.
		from = io.LimitReader(f, o.MaxBytes+1)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	if o.MaxBytes > 0 && int64(len(data)) > o.MaxBytes {
		return nil, &BadModel{Reason: fmt.Sprintf("the file is larger than the %d bytes allowed", o.MaxBytes)}
	}
	return data, nil
}
