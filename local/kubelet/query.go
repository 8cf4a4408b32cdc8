// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// logOptions reads the query that the API server makes of a PodLogOptions.
func logOptions(r *http.Request) (*corev1.PodLogOptions, error) {
	q := r.URL.Query()
	o := &corev1.PodLogOptions{Container: r.PathValue("container")}
	for name, to := range map[string]*bool{"follow": &o.Follow, "previous": &o.Previous, "timestamps": &o.Timestamps} {
		if v := q.Get(name); v != "" {
			b, err := strconv.ParseBool(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			*to = b
		}
	}
	for name, to := range map[string]**int64{"tailLines": &o.TailLines, "sinceSeconds": &o.SinceSeconds, "limitBytes": &o.LimitBytes} {
		if v := q.Get(name); v != "" && v != "all" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%s: want a number of at least 0, got %q", name, v)
			}
			*to = &n
		}
	}
	if v := q.Get("sinceTime"); v != "" {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return nil, fmt.Errorf("sinceTime: %w", err)
		}
		o.SinceTime = &metav1.Time{Time: t}
	}
	if v := q.Get("stream"); v != "" {
		o.Stream = &v
	}
	return o, nil
}
