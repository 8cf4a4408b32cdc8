// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// get is an error unless url answers 200; each line of the answer goes to see.
func get(ctx context.Context, url string, see func(string)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if see != nil {
			see(lines.Text())
		}
	}
	return lines.Err()
}

// metric is the sum of a metric's values over all its labels.
func metric(tb testing.TB, p *cluster.Process, name string) float64 {
	tb.Helper()
	return metricAt(tb, p.Metrics, name)
}

// metricAt asks a process that serves its metrics at an address.
func metricAt(tb testing.TB, addr, name string) float64 {
	tb.Helper()
	sum := 0.0
	require.NoError(tb, get(context.WithoutCancel(tb.Context()), "http://"+addr+"/metrics", func(line string) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			return
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err == nil {
			sum += v
		}
	}))
	return sum
}
