// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prometheus asks a Prometheus server, built from its own sources, what the analysis of canaries asks by default, about model servers of
// this project that answer requests meanwhile.
//
// Called by: make test-prometheus.
// Next: pkg/control/measure, pkg/data/serve.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/measure"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// binary is the environment variable that names a built prometheus.
const binary = "KSERVE_PROMETHEUS_BINARY"

// model takes its time, and fails for requests whose first number is below zero.
type model struct{ takes time.Duration }

func (m model) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	values, ok := in.Inputs[0].AppendFloat64s(nil)
	if !ok || len(values) == 0 {
		return protocol.Errorf(protocol.Invalid, "expected numbers")
	}
	select {
	case <-time.After(m.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if values[0] < 0 {
		return errors.New("the model is broken")
	}
	tensor.View[float64](out.Add("output-0", tensor.FP64, 1))[0] = values[0]
	return nil
}

// pod is a model server with the labels that Prometheus gives to its series, as its discovery of pods does.
type pod struct {
	namespace, name string
	takes           time.Duration
	// fails is which of how many requests ends in a fault of the server: 10 is every tenth; 0 is none. idle ones get no request at all.
	fails int
	idle  bool
}

// start serves, and sends requests one after the other until the test ends. Some of them are the client's own mistakes.
func (p pod) start(t *testing.T) (address string) {
	t.Helper()
	loaded, err := serve.NewModel(model{p.takes})
	require.NoError(t, err)
	server := serve.New(serve.Options{})
	require.NoError(t, server.Add(t.Context(), serve.Model{Name: "m", Model: loaded}))
	web := httptest.NewServer(server.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	t.Cleanup(func() { cancel(); group.Wait(); web.Close() })
	if !p.idle {
		group.Go(func() {
			for i := 1; ctx.Err() == nil; i++ {
				body := `{"instances":[[1]]}`
				if p.fails > 0 && i%p.fails == 0 {
					body = `{"instances":[[-1]]}`
				}
				ask(ctx, web.URL, body)
				if i%50 == 0 {
					ask(ctx, web.URL, `{"instances":`)
				}
			}
		})
	}
	return strings.TrimPrefix(web.URL, "http://")
}

func ask(ctx context.Context, url, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/models/m:predict", strings.NewReader(body))
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

// scrape runs a Prometheus that looks at the pods every second, and returns its address.
func scrape(t *testing.T, pods ...pod) string {
	t.Helper()
	program := os.Getenv(binary)
	if program == "" {
		t.Skip(binary + " names no prometheus: make test-prometheus builds one")
	}
	var targets []any
	for _, p := range pods {
		targets = append(targets, map[string]any{"targets": []string{p.start(t)}, "labels": map[string]string{"namespace": p.namespace, "pod": p.name}})
	}
	config, err := yaml.Marshal(map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s"},
		"scrape_configs": []any{map[string]any{"job_name": "pods", "static_configs": targets}},
	})
	require.NoError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	process := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	process.Stdout, process.Stderr = log, log
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("prometheus said:\n%s", text)
		}
	})
	return "http://" + address
}

// TestTheDefaultQueriesMeasureWhatServersShow: a canary fails every tenth request and takes 30 ms. What others do, and what clients do wrong, is
// not the canary's.
func TestTheDefaultQueriesMeasureWhatServersShow(t *testing.T) {
	const slow = 30 * time.Millisecond
	shipped, err := settings.Parse(nil)
	require.NoError(t, err)
	shipped.CanaryAnalysis.Address = scrape(
		t,
		pod{namespace: "ns", name: "m-predictor-5d9c7b-aaaaa", takes: time.Millisecond},
		pod{namespace: "ns", name: "m-v2-predictor-6c8f-bbbbb", takes: slow, fails: 10},
		pod{namespace: "ns", name: "m-v3-predictor-6c8f-ccccc", idle: true},
		pod{namespace: "ns", name: "m-v2-predictor-x-predictor-6c8f-ddddd", fails: 1},
		pod{namespace: "other", name: "m-v2-predictor-6c8f-bbbbb", fails: 1},
	)
	looks := make(chan types.NamespacedName, 100)
	m := measure.New(zaptest.NewLogger(t), func(ctx context.Context, name types.NamespacedName) {
		select {
		case looks <- name:
		case <-ctx.Done():
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })

	analysis := &servingv1beta1.CanaryAnalysis{}
	require.NoError(t, yaml.UnmarshalStrict([]byte("{interval: 5s, successRate: {min: 99}, latency: {quantile: 0.95, max: 300ms}}"), analysis))
	wish := func(canary string) measure.Ask {
		return measure.Ask{
			Canary: measure.Canary{Service: types.NamespacedName{Namespace: "ns", Name: canary}, UID: types.UID(canary), Name: canary, Spec: "1"},
			Every:  time.Second, Settings: shipped.CanaryAnalysis,
			Queries: rollout.Queries(analysis, rollout.Place{Namespace: "ns", Service: "m", Workload: names.Predictor("m", canary)}, &shipped.CanaryAnalysis),
		}
	}
	// measured asks until a look is as it should be, or the time is over.
	measured := func(canary string, right func(rate, latency rollout.Reading) error) {
		t.Helper()
		last := errors.New("no look")
		timeout := time.After(2 * time.Minute)
		again := time.NewTicker(200 * time.Millisecond)
		defer again.Stop()
		for {
			if look, _ := m.Look(wish(canary)); look != nil {
				require.Len(t, look.Readings, 2)
				if last = right(look.Readings[0], look.Readings[1]); last == nil {
					return
				}
			}
			select {
			case <-looks:
			case <-again.C:
			case <-timeout:
				require.NoError(t, last, canary)
				return
			}
		}
	}
	between := func(r rollout.Reading, low, high float64) error {
		if r.Missing != "" || r.Value < low || r.Value > high {
			return fmt.Errorf("%+v, want %v to %v", r, low, high)
		}
		return nil
	}
	measured("", func(rate, latency rollout.Reading) error {
		return errors.Join(between(rate, 100, 100), between(latency, 0.0001, 0.025))
	})
	measured("v2", func(rate, latency rollout.Reading) error {
		return errors.Join(between(rate, 87, 93), between(latency, 0.025, 0.25))
	})
	measured("v3", func(rate, latency rollout.Reading) error {
		if rate.Missing != rollout.ReasonNoData || latency.Missing != rollout.ReasonNoData {
			return fmt.Errorf("%+v %+v, want none", rate, latency)
		}
		return nil
	})
}
