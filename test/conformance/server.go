// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// setup is how a recorded server was started.
type setup struct {
	// model is the one model it had, under the name given; empty means a repository of the models with the prefix.
	model, name string
	prefix      []string
	env         []string
	// control are the groups that are sequences of repository control, in the order in which they go on one server.
	control []string
	// iris is one more model of a repository: irisModel, under the name iris.
	iris bool
}

var setups = map[string]setup{
	"kserve-sklearn": {model: irisModel, name: "iris", control: []string{"grpc-repository", "v2-repository"}},
	"kserve-sklearn-repository": {
		prefix: []string{"diabetes-", "iris-", "mixed-", "text-"}, control: []string{"v2-repository", "grpc-repository"},
	},
	"kserve-sklearn-proba":    {prefix: []string{"diabetes-", "iris-", "mixed-", "text-"}, env: []string{"PREDICT_PROBA=true"}},
	"kserve-sklearn-ce-merge": {model: irisModel, name: "iris", env: []string{"CE_MERGE=true", "CE_TYPE=my.type", "CE_SOURCE=my.source"}},
	"kserve-xgboost":          {prefix: []string{"xgb-"}},
	"kserve-lightgbm":         {prefix: []string{"lgb-"}},
	"kserve-predictive":       {model: "lgb-iris", name: "p"},
	"mlserver": {
		iris: true, prefix: []string{"diabetes-multi", "iris-rf-", "iris-svc", "mixed-", "text-", "xgb-diabetes-named", "xgb-iris-softprob"},
		control: []string{"v2-repository", "grpc-repository"},
	},
	"mlserver-parallel": {iris: true},
}

// program is the server to start; empty when one runs already.
func (r *Runner) program(ctx context.Context) (path string, cleanup func(), err error) {
	none := func() {}
	switch {
	case r.options.URL != "":
		return "", none, nil
	case r.options.Server != "":
		return r.options.Server, none, nil
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return "", none, fmt.Errorf("make a directory to build in: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "model-server")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/model-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		cleanup()
		return "", none, fmt.Errorf("build the model server: %w\n%s", err, out)
	}
	return path, cleanup, nil
}

// server is a started program.
type server struct {
	target target
	cmd    *exec.Cmd
	exited chan struct{}
	models string
	log    *bytes.Buffer
}

// start starts program with the models of a folder and waits until it is ready.
func start(ctx context.Context, program, dir, folder string, more []string) (*server, error) {
	s, ok := setups[folder]
	if !ok {
		return nil, errors.New("no way to start a server for this folder is known; use -url")
	}
	httpPort, grpcPort, err := freePorts(ctx)
	if err != nil {
		return nil, err
	}
	srv := &server{exited: make(chan struct{}), log: &bytes.Buffer{}}
	args := append([]string{"--http_port=" + httpPort, "--grpc_port=" + grpcPort}, more...)
	if s.model != "" {
		args = append(args, "--model_name="+s.name, "--model_dir="+filepath.Join(dir, "models", s.model))
	} else {
		if srv.models, err = copyModels(filepath.Join(dir, "models"), s); err != nil {
			return nil, err
		}
		args = append(args, "--model_dir="+srv.models)
	}
	srv.target = target{url: "http://127.0.0.1:" + httpPort, grpc: "127.0.0.1:" + grpcPort}
	srv.cmd = exec.Command(program, args...)
	srv.cmd.Env = append(os.Environ(), s.env...)
	srv.cmd.Stdout, srv.cmd.Stderr = srv.log, srv.log
	if err := srv.cmd.Start(); err != nil {
		srv.cleanup()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		_ = srv.cmd.Wait()
		close(srv.exited)
	}()
	if err := srv.waitReady(ctx); err != nil {
		srv.stop()
		return nil, fmt.Errorf("%w\n%s %s\n%s", err, program, strings.Join(args, " "), srv.log)
	}
	if srv.models != "" {
		if err := addModels(filepath.Join(dir, "models"), srv.models); err != nil {
			srv.stop()
			return nil, err
		}
	}
	return srv, nil
}

func (s *server) waitReady(ctx context.Context) error {
	const startLimit, pause = 30 * time.Second, 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.target.url+"/v2/health/ready", http.NoBody)
		if err != nil {
			return fmt.Errorf("ask for readiness: %w", err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server ended: %s", s.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready after %s", startLimit)
		case <-time.After(pause):
		}
	}
}

// stop asks the server to end, and makes it.
func (s *server) stop() {
	const drain = 10 * time.Second
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(drain):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.cleanup()
}

func (s *server) cleanup() {
	if s.models != "" {
		_ = os.RemoveAll(s.models)
	}
}

func freePorts(ctx context.Context) (http, grpc string, err error) {
	var ports [2]string
	for i := range ports {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = l.Close() }()
		if _, ports[i], err = net.SplitHostPort(l.Addr().String()); err != nil {
			return "", "", err
		}
	}
	return ports[0], ports[1], nil
}

// irisModel is served alone; no recorded repository had it under its own name.
const irisModel = "iris-logreg"

// addModels makes the directories that the sequences of repository control find while the server runs.
func addModels(from, to string) error {
	if err := os.CopyFS(filepath.Join(to, "added"), os.DirFS(filepath.Join(from, irisModel))); err != nil {
		return fmt.Errorf("add a model: %w", err)
	}
	if err := os.CopyFS(filepath.Join(to, "twofiles"), os.DirFS(filepath.Join(from, irisModel))); err != nil {
		return fmt.Errorf("add a model: %w", err)
	}
	for name, content := range map[string]string{"twofiles/second.joblib": "x", "corrupt/model.joblib": "not a pickle", "empty/.keep": ""} {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("add a model: %w", err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("add a model: %w", err)
		}
	}
	return os.Remove(filepath.Join(to, "empty", ".keep"))
}

// copyModels makes a repository of the models whose names start with one of the prefixes.
func copyModels(from string, s setup) (string, error) {
	to, err := os.MkdirTemp("", "models-")
	if err != nil {
		return "", fmt.Errorf("make a repository: %w", err)
	}
	if s.iris {
		if err := os.CopyFS(filepath.Join(to, "iris"), os.DirFS(filepath.Join(from, irisModel))); err != nil {
			return "", fmt.Errorf("copy model: %w", err)
		}
	}
	for _, prefix := range s.prefix {
		dirs, err := filepath.Glob(filepath.Join(from, prefix+"*"))
		if err != nil {
			return "", fmt.Errorf("list models: %w", err)
		}
		for _, dir := range dirs {
			if filepath.Base(dir) == irisModel {
				continue
			}
			if err := os.CopyFS(filepath.Join(to, filepath.Base(dir)), os.DirFS(dir)); err != nil {
				return "", fmt.Errorf("copy model: %w", err)
			}
		}
	}
	return to, nil
}
