// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// probe is the part of a Kubernetes readiness probe that the agent carries out for the container behind it.
type probe struct {
	HTTPGet *struct {
		Path        string `json:"path"`
		Port        port   `json:"port"`
		Host        string `json:"host"`
		Scheme      string `json:"scheme"`
		HTTPHeaders []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"httpHeaders"`
	} `json:"httpGet"`
	TCPSocket *struct {
		Port port   `json:"port"`
		Host string `json:"host"`
	} `json:"tcpSocket"`
	GRPC *struct {
		Port    port   `json:"port"`
		Service string `json:"service"`
	} `json:"grpc"`
	TimeoutSeconds   int  `json:"timeoutSeconds"`
	PeriodSeconds    *int `json:"periodSeconds"`
	SuccessThreshold int  `json:"successThreshold"`
}

// port is a number, or a number as a string, as Kubernetes' IntOrString encodes it. 0 is the component's port.
type port int

// UnmarshalJSON reads both forms.
func (p *port) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %s: expected a number of 0 to 65535; a named port cannot be resolved here", data)
	}
	*p = port(n)
	return nil
}

// Timing of an aggressive probe (periodSeconds 0): the container is asked often, so that a cold start costs no kubelet period.
const (
	aggressiveEvery   = 50 * time.Millisecond
	aggressiveTimeout = 100 * time.Millisecond
	aggressiveLimit   = 10 * time.Second
)

// prober answers whether the component behind the agent is ready. Calls that come together share one execution.
type prober struct {
	probes    []probe
	component int
	client    *http.Client
	flight    singleflight.Group
}

// newProber reads a probe, or an array of them, from JSON; an empty text is always ready.
func newProber(text string, many bool, component int) (*prober, error) {
	p := &prober{component: component, client: &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		// A redirect answers the question: something serves.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if text == "" {
		return p, nil
	}
	var err error
	if many {
		err = json.Unmarshal([]byte(text), &p.probes)
	} else {
		p.probes = make([]probe, 1)
		err = json.Unmarshal([]byte(text), &p.probes[0])
	}
	if err != nil {
		return nil, fmt.Errorf("readiness probe: %w", err)
	}
	for i, pr := range p.probes {
		if pr.HTTPGet == nil && pr.TCPSocket == nil && pr.GRPC == nil {
			return nil, fmt.Errorf("readiness probe %d: expected one of httpGet, tcpSocket, grpc", i)
		}
	}
	return p, nil
}

// Ready runs every probe; the error says which one failed and why.
func (p *prober) Ready(ctx context.Context) error {
	if len(p.probes) == 0 {
		return nil
	}
	// The shared execution must not end because the first of its callers went away.
	_, err, _ := p.flight.Do("", func() (any, error) {
		group, ctx := errgroup.WithContext(context.WithoutCancel(ctx))
		for i := range p.probes {
			group.Go(func() error { return p.run(ctx, &p.probes[i]) })
		}
		return nil, group.Wait()
	})
	return err
}

func (p *prober) run(ctx context.Context, pr *probe) error {
	if pr.PeriodSeconds == nil || *pr.PeriodSeconds > 0 {
		timeout := time.Duration(max(pr.TimeoutSeconds, 1)) * time.Second
		return p.once(ctx, pr, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, aggressiveLimit)
	defer cancel()
	tick := time.NewTicker(aggressiveEvery)
	defer tick.Stop()
	for successes := 0; ; {
		err := p.once(ctx, pr, aggressiveTimeout)
		if err != nil {
			successes = 0
		} else if successes++; successes >= max(pr.SuccessThreshold, 1) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func (p *prober) once(ctx context.Context, pr *probe, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch {
	case pr.HTTPGet != nil:
		return p.httpGet(ctx, pr)
	case pr.TCPSocket != nil:
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address(pr.TCPSocket.Host, pr.TCPSocket.Port))
		if err != nil {
			return err
		}
		return conn.Close()
	default:
		return p.grpc(ctx, pr)
	}
}

func (p *prober) address(host string, at port) string {
	if host == "" {
		host = "127.0.0.1"
	}
	n := int(at)
	if n == 0 {
		n = p.component
	}
	return net.JoinHostPort(host, strconv.Itoa(n))
}

func (p *prober) httpGet(ctx context.Context, pr *probe) error {
	get := pr.HTTPGet
	scheme := "http"
	if get.Scheme == "HTTPS" {
		scheme = "https"
	}
	url := scheme + "://" + p.address(get.Host, get.Port) + "/" + trimSlash(get.Path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for _, h := range get.HTTPHeaders {
		req.Header.Add(h.Name, h.Value)
	}
	req.Header.Set("User-Agent", "kube-probe/kserve-agent")
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 399 {
		return fmt.Errorf("GET %s answered %s", url, res.Status)
	}
	return nil
}

func trimSlash(path string) string {
	if len(path) > 0 && path[0] == '/' {
		return path[1:]
	}
	return path
}

func (p *prober) grpc(ctx context.Context, pr *probe) error {
	conn, err := grpc.NewClient("passthrough:///"+p.address("", pr.GRPC.Port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	res, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: pr.GRPC.Service})
	if err != nil {
		return err
	}
	if res.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("gRPC health service says %s", res.GetStatus())
	}
	return nil
}
