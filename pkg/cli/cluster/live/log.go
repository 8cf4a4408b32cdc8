// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// maxLog bounds what one call reads of a log.
const maxLog = 64 << 10

// LastLines are the last lines that a container of a pod has logged.
func LastLines(ctx context.Context, config *rest.Config, p Pod, c Suspect, count int) ([]string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	base, _, err := rest.DefaultServerURL(config.Host, "/api", schema.GroupVersion{Version: "v1"}, rest.IsConfigTransportTLS(*config))
	if err != nil {
		return nil, fmt.Errorf("read the server's address: %w", err)
	}
	where := base.JoinPath("api", "v1", "namespaces", p.Namespace, "pods", p.Name, "log")
	where.RawQuery = url.Values{
		"container": {c.Container}, "previous": {strconv.FormatBool(c.Previous)}, "tailLines": {strconv.Itoa(count)}, "limitBytes": {strconv.Itoa(maxLog)},
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for a log: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", p.Name, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxLog))
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", p.Name, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the log of %s: %s", p.Name, resp.Status)
	}
	text := strings.TrimRight(string(raw), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}
