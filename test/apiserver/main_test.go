// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver tests controller and webhook as processes on a real API server, under their own service accounts and the shipped
// roles. All its tests share one cluster; each has a namespace of its own. They run in `make test-api`.
//
// Called by: make test-api.
// Next: pkg/testkit/cluster.
package apiserver

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{}, everyGrantIsUsedOrExplained))
}

// explained lists the verbs that the roles grant and no test here makes use of, with the reason to grant them. A reason that begins with
// "sometimes" is of a verb that is used only when the cache is late, which no test can bring about for certain.
const explained = "testdata/unused-grants.txt"

// everyGrantIsUsedOrExplained holds the roles to what the processes do: a verb too many is as wrong as one too few. It needs all tests.
func everyGrantIsUsedOrExplained(ctx context.Context, c *cluster.Cluster) error {
	for _, name := range []string{"test.run", "test.skip"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return nil
		}
	}
	unused, err := c.Unused(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(explained)
	if err != nil {
		return err
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(text)) {
		grant, reason, _ := strings.Cut(line, "#")
		if grant = strings.TrimSpace(grant); grant != "" {
			reasons[grant] = strings.TrimSpace(reason)
		}
	}
	var faults []string
	for _, grant := range unused {
		if reasons[grant] == "" {
			faults = append(faults, grant+": granted, but no test made use of it and "+explained+" gives no reason")
			continue
		}
		fmt.Printf("granted and not used here: %s (%s)\n", grant, reasons[grant])
	}
	for grant := range reasons {
		if !slices.Contains(unused, grant) && !strings.HasPrefix(reasons[grant], "sometimes") {
			faults = append(faults, grant+": is used or not granted any more; take it out of "+explained)
		}
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return fmt.Errorf("roles:\n  %s", strings.Join(faults, "\n  "))
	}
	return nil
}
