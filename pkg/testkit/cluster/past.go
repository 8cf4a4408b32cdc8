// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WithoutWebhooks does something while no admission of ours takes place, as in a cluster before our time. Nothing else may use the cluster
// meanwhile.
func (c *Cluster) WithoutWebhooks(ctx context.Context, do func() error) (err error) {
	shipped, err := c.webhookConfigurations("https://127.0.0.1")
	if err != nil {
		return err
	}
	var put []*unstructured.Unstructured
	defer func() {
		for _, o := range put {
			fresh := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": map[string]any{"name": o.GetName()}, "webhooks": o.Object["webhooks"],
			}}
			fresh.SetLabels(o.GetLabels())
			fresh.SetAnnotations(o.GetAnnotations())
			if cerr := c.Client.Create(context.WithoutCancel(ctx), fresh); !apierrors.IsAlreadyExists(cerr) {
				err = errors.Join(err, cerr)
			}
		}
	}()
	for _, o := range shipped {
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return fmt.Errorf("read %s: %w", o.GetName(), err)
		}
		if err := c.Client.Delete(ctx, o); err != nil {
			return fmt.Errorf("delete %s: %w", o.GetName(), err)
		}
		put = append(put, o)
	}
	return do()
}

// Sum is the sum of a metric's values over all its labels; 0 when there is none yet.
func (p *Process) Sum(ctx context.Context, metric string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Metrics+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask %s for its metrics: %w", p.Name, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("ask %s for its metrics: %s", p.Name, resp.Status)
	}
	sum := 0.0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), metric)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue
		}
		if v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64); err == nil {
			sum += v
		}
	}
	return sum, lines.Err()
}
