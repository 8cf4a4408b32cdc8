// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

// betterStart is what a start should do where the recorded server's was at fault, or where this one has another rule.
type betterStart struct {
	exit  int    // -1: it serves
	says  string // a part of the log
	ready bool   // what it says when it serves
	// models that it serves.
	models string
}

// betterStarts are by the names of exchanges.
var betterStarts = map[string]betterStart{
	"missing-model-dir": {exit: 1, says: "no such directory"},
	"no-model-dir-flag": {exit: 2, says: "the following arguments are required: --model_dir"},
	"empty-model-dir":   {exit: -1, says: "the model directory is empty", models: `{"models":[]}`},
	"no-model-file":     {exit: -1, says: "no model file in", models: `{"models":[]}`},
	"two-model-files":   {exit: 1, says: "More than one model file is detected, Only one is allowed within model_dir"},
	"corrupt-model":     {exit: 1, says: "model.joblib"},
	"empty-model-file":  {exit: 1, says: "model.joblib"},
	// One bad model of several is reported, and harms no other.
	"repository-with-one-bad-model":       {exit: -1, says: "model is not served", ready: true, models: `{"models":["bad","good"]}`},
	"repository-with-one-empty-directory": {exit: -1, says: "model is not served", ready: true, models: `{"models":["empty","good"]}`},
	"xgboost-corrupt-json":                {exit: 1, says: "model.json"},
	"xgboost-corrupt-bst":                 {exit: 1, says: "model.bst"},
	"xgboost-empty-bst":                   {exit: 1, says: "model.bst"},
	"lightgbm-corrupt-bst":                {exit: 1, says: "model.bst"},
	"predictive-wrong-framework":          {exit: 2, says: "argument --framework: invalid choice"},
	"predictive-framework-mismatch":       {exit: -1, says: "no model file in", models: `{"models":[]}`},
	"bad-port-flag":                       {exit: 2, says: "--workers"},
	"bad-bool-flag":                       {exit: 2, says: "--enable_grpc"},
}

// startDirs makes the directories that the recorded commands name as <dir>/NAME.
func startDirs(models string) (string, error) {
	dir, err := os.MkdirTemp("", "starts-")
	if err != nil {
		return "", fmt.Errorf("make directories to start with: %w", err)
	}
	iris := filepath.Join(models, irisModel)
	name, model, err := onlyFile(iris)
	if err != nil {
		return dir, err
	}
	files := map[string]string{
		"empty/": "", "nomodel/readme.txt": "x", "subdir/MODEL.JOBLIB": model, "subdir/inner/" + name: model,
		"two/a.pkl": model, "two/b.joblib": model, "corrupt/model.joblib": "not a pickle", "emptyfile/model.joblib": "",
		"repo/good/" + name: model, "repo/bad/model.joblib": "not a pickle", "repo2/good/" + name: model, "repo2/empty/": "",
		"textjson/model.json": "hello", "corruptbst/model.bst": "not a model", "emptybst/model.bst": "", irisModel + "/" + name: model,
	}
	for path, text := range files {
		full := filepath.Join(dir, path)
		if strings.HasSuffix(path, "/") {
			err = os.MkdirAll(full, 0o750)
		} else if err = os.MkdirAll(filepath.Dir(full), 0o750); err == nil {
			err = os.WriteFile(full, []byte(text), 0o600)
		}
		if err != nil {
			return dir, fmt.Errorf("make directories to start with: %w", err)
		}
	}
	return dir, nil
}

func onlyFile(dir string) (name, content string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", fmt.Errorf("find a model: %w", err)
	}
	if len(entries) != 1 {
		return "", "", fmt.Errorf("%s: want one model file, found %d", dir, len(entries))
	}
	text, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	return entries[0].Name(), string(text), err
}

// playStarts runs the program with the flags of each recorded start.
func (r *Runner) playStarts(ctx context.Context, program string, exchanges []exchange.Exchange, sum *Summary) error {
	dir, err := startDirs(filepath.Join(r.options.Dir, "models"))
	if dir != "" {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if err != nil {
		return err
	}
	for i := range exchanges {
		e := &exchanges[i]
		err := playStart(ctx, program, dir, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		verdict := exchange.Equal
		if _, ok := betterStarts[e.Name]; ok {
			verdict = exchange.Improved
		}
		r.count(e, verdict, err, sum)
	}
	return nil
}

// startArgs are the recorded command's flags, with the framework that its module stood for.
func startArgs(command, dir string) []string {
	words := strings.Fields(strings.ReplaceAll(command, "<dir>", dir))
	var args []string
	for i, w := range words {
		if strings.HasPrefix(w, "--") {
			args = append(args, w)
		}
		if i > 0 && words[i-1] == "-m" {
			switch w {
			case "sklearnserver":
				args = append(args, "--framework=sklearn")
			case "xgbserver":
				args = append(args, "--framework=xgboost")
			case "lgbserver":
				args = append(args, "--framework=lightgbm")
			}
		}
	}
	return args
}

func playStart(ctx context.Context, program, dir string, e *exchange.Exchange) error {
	if e.Start == nil {
		return errors.New("the recording has no command")
	}
	httpPort, grpcPort, err := freePorts(ctx)
	if err != nil {
		return err
	}
	var log bytes.Buffer
	cmd := exec.Command(program, append(startArgs(e.Start.Command, dir), "--http_port="+httpPort, "--grpc_port="+grpcPort)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	p := &started{cmd: cmd, exited: make(chan struct{}), url: "http://127.0.0.1:" + httpPort}
	go func() {
		_ = cmd.Wait()
		close(p.exited)
	}()
	defer p.kill()
	want, better := betterStarts[e.Name]
	switch {
	case better && want.exit < 0:
		err = p.servesBetter(ctx, want)
	case better:
		err = p.exits(ctx, want.exit)
	case e.Start.ExitCode != nil:
		err = p.exits(ctx, *e.Start.ExitCode)
	default:
		err = p.serves(ctx, e.Start)
	}
	if err == nil && want.says != "" && !strings.Contains(log.String(), want.says) {
		err = fmt.Errorf("want a log with %q", want.says)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, clipLog(log.String()))
	}
	return nil
}

func clipLog(text string) string {
	const most = 1200
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// started is a program that was started.
type started struct {
	cmd    *exec.Cmd
	exited chan struct{}
	url    string
}

const startLimit = 30 * time.Second

func (p *started) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// exits waits for the end.
func (p *started) exits(ctx context.Context, code int) error {
	select {
	case <-p.exited:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startLimit):
		return fmt.Errorf("want exit code %d, got none within %s", code, startLimit)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("exit code: want %d, got %d", code, got)
	}
	return nil
}

// get asks until there is an answer of the status, or of any status when it is 0.
func (p *started) get(ctx context.Context, path string, status int) (int, string, error) {
	const pause = 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, http.NoBody)
		if err != nil {
			return 0, "", err
		}
		got, body := 0, ""
		if resp, err := http.DefaultClient.Do(req); err == nil {
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && (status == 0 || resp.StatusCode == status) {
				return resp.StatusCode, string(text), nil
			}
			got, body = resp.StatusCode, string(text)
		}
		select {
		case <-p.exited:
			return 0, "", fmt.Errorf("the program ended: %s", p.cmd.ProcessState)
		case <-ctx.Done():
			return 0, "", fmt.Errorf("GET %s: want status %d, got %d %s", path, status, got, body)
		case <-time.After(pause):
		}
	}
}

// serves asks what the recorded server was asked, and ends the program.
func (p *started) serves(ctx context.Context, s *exchange.Start) error {
	for path, want := range s.Served {
		_, body, err := p.get(ctx, path, want.Status)
		if err != nil {
			return err
		}
		if body != want.Body {
			return fmt.Errorf("GET %s: want %s, got %s", path, want.Body, body)
		}
	}
	return p.ends(ctx)
}

func (p *started) ends(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("send the signal to end: %w", err)
	}
	return p.exits(ctx, 0)
}

func (p *started) servesBetter(ctx context.Context, want betterStart) error {
	status := http.StatusServiceUnavailable
	if want.ready {
		status = http.StatusOK
	}
	if _, _, err := p.get(ctx, "/v2/health/ready", status); err != nil {
		return err
	}
	_, body, err := p.get(ctx, "/v1/models", http.StatusOK)
	if err != nil {
		return err
	}
	var got, models struct{ Models []string }
	if json.Unmarshal([]byte(body), &got) != nil || json.Unmarshal([]byte(want.models), &models) != nil ||
		strings.Join(got.Models, ",") != strings.Join(models.Models, ",") {
		return fmt.Errorf("models: want %s, got %s", want.models, body)
	}
	return p.ends(ctx)
}
