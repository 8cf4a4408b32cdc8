// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestProbesOfEveryKind(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/good" || r.Header.Get("Asks") != "probe" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(web.Close)
	webPort := portOf(t, web.Listener)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	states := health.NewServer()
	states.SetServingStatus("up", healthv1.HealthCheckResponse_SERVING)
	states.SetServingStatus("down", healthv1.HealthCheckResponse_NOT_SERVING)
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, states)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closedPort := portOf(t, closed)
	closed.Close()

	get := func(path string, port intstr.IntOrString) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: port, Scheme: corev1.URISchemeHTTP, HTTPHeaders: []corev1.HTTPHeader{{Name: "Asks", Value: "probe"}}}}
	}
	call := func(port int, service string) corev1.ProbeHandler {
		return corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: int32(port), Service: &service}}
	}
	connect := func(port intstr.IntOrString) corev1.ProbeHandler {
		return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	}
	to := &target{address: "127.0.0.1", spec: &corev1.Container{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(webPort)}}}}
	for sentence, c := range map[string]struct {
		probe corev1.ProbeHandler
		says  string // empty for good
	}{
		"HTTP, good":                     {get("/good", intstr.FromInt(webPort)), ""},
		"HTTP, by the name of a port":    {get("/good", intstr.FromString("http")), ""},
		"HTTP, an answer that says no":   {get("/bad", intstr.FromInt(webPort)), "503"},
		"HTTP, nobody answers":           {get("/good", intstr.FromInt(closedPort)), "refused"},
		"TCP, good":                      {connect(intstr.FromInt(webPort)), ""},
		"TCP, nobody answers":            {connect(intstr.FromInt(closedPort)), "refused"},
		"TCP, no such port":              {connect(intstr.FromString("grpc")), `the container has no port "grpc"`},
		"gRPC, good":                     {call(portOf(t, l), "up"), ""},
		"gRPC, it says no":               {call(portOf(t, l), "down"), "NOT_SERVING"},
		"gRPC, it does not know":         {call(portOf(t, l), "other"), "unknown service"},
		"gRPC, nobody answers":           {call(closedPort, "up"), "timeout"},
		"one that this node cannot make": {corev1.ProbeHandler{}, "unknown kind of probe"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			err := to.probe(t.Context(), &corev1.Probe{ProbeHandler: c.probe, TimeoutSeconds: 5})
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}

func portOf(t *testing.T, l net.Listener) int {
	t.Helper()
	_, text, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return port
}

// A probe of no kind fails at once, and so shows when a probe is made.
func TestProbesKeepAKubeletsTimes(t *testing.T) {
	for sentence, c := range map[string]struct {
		eager bool
		probe corev1.Probe
		after time.Duration
	}{
		"the first after its delay":                      {false, corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10, FailureThreshold: 1}, 5 * time.Second},
		"each after a period":                            {false, corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10, FailureThreshold: 3}, 25 * time.Second},
		"without a word, each second":                    {false, corev1.Probe{FailureThreshold: 4}, 3 * time.Second},
		"one that looks more often fails no sooner":      {true, corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10, FailureThreshold: 3}, 25 * time.Second},
		"and one that begins at once fails after a time": {true, corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3}, 20 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				failed := make(chan time.Duration, 1)
				go (&target{eager: c.eager}).loop(ctx, &c.probe, true, func(ok bool, _ string) {
					require.False(t, ok)
					failed <- time.Since(began)
				})
				require.Equal(t, c.after, <-failed)
			})
		})
	}
}
