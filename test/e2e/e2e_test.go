// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e_test looks at the built binaries from outside: arguments, messages, exit codes, signals, ports.
// It imports nothing of the project, so what it sees is what a user sees.
//
// Called by: make test.
// Next: cmd/*.
package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const stamped = "v1.2.3-e2e"

// bin is the folder of the built binaries.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kserve-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bin = dir
	code := 1
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

const root = "../.."

// build makes every command of the repository, with the version that the linker stamps.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-p", "2", "-ldflags", "-X github.com/kserve-go/kserve-go/pkg/version.Version="+stamped, "-o", dir+"/", "./cmd/...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// result is how a process ended.
type result struct {
	code           int
	stdout, stderr string
}

// call runs a binary to its end, in the repository.
func call(t *testing.T, stdin, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
	cmd.Dir = root
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func TestEveryBinaryTellsTheStampedVersion(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 7 {
		t.Errorf("%d commands, want 7", len(entries))
	}
	for _, e := range entries {
		r := call(t, "", e.Name(), "--version")
		if r.code != 0 || !strings.Contains(r.stdout, stamped) {
			t.Errorf("%s --version: code %d, stdout %q, stderr %q", e.Name(), r.code, r.stdout, r.stderr)
		}
	}
}

func TestEveryBinaryIsStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the images are Linux's: ELF files are looked into there")
	}
	entries, err := os.ReadDir(bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		f, err := elf.Open(filepath.Join(bin, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s needs a dynamic loader", e.Name())
			}
		}
		_ = f.Close()
	}
}

func TestMessagesAndExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	bad := "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: x}\nspec: {predictor: {modell: {}}}\n"
	iris := "deploy/samples/sklearn-iris.yaml"
	cases := map[string]struct {
		stdin string
		args  []string
		code  int
		say   string // in stdout or stderr
	}{
		"an unknown field":          {bad, []string{"run", "-f", "-"}, 3, `stdin:4 (document 1): inferenceservice/x: spec.predictor.modell: unknown field; did you mean "model"?`},
		"malformed YAML":            {"a: [", []string{"validate", "-f", "-"}, 3, "not valid YAML"},
		"an unknown kind":           {strings.Replace(bad, "InferenceService", "InferenceServer", 1), []string{"validate", "-f", "-"}, 3, "unknown kind"},
		"a missing path":            {"", []string{"run", "-f", "nowhere.yaml"}, 3, "nowhere.yaml: read: no such file or directory"},
		"a busy port":               {"", []string{"run", "-f", iris, "--address", "127.0.0.1", "--port", port, "--grpc-port", "0"}, 4, "another process has this port"},
		"a busy gRPC port":          {"", []string{"run", "-f", iris, "--address", "127.0.0.1", "--port", "0", "--grpc-port", port}, 4, "--grpc-port"},
		"an unknown flag":           {"", []string{"run", "--oops"}, 2, "unknown flag"},
		"nobody answers":            {"", []string{"predict", "m", "--url", "http://127.0.0.1:1", "-d", `{"instances":[[1]]}`}, 5, "start a server with"},
		"a model that is not there": {strings.Replace(read(t, iris), "kserve-samples/iris", "kserve-samples/none", 1), []string{"run", "-f", "-", "--port", "0", "--grpc-port", "0"}, 1, "s3://kserve-samples/none"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := call(t, c.stdin, "kserve", c.args...)
			if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.say) {
				t.Errorf("code %d, want %d; want %q in\n%s%s", r.code, c.code, c.say, r.stdout, r.stderr)
			}
			if strings.Contains(r.stdout+r.stderr, "\x1b[") {
				t.Errorf("colour without a terminal: %q", r.stdout+r.stderr)
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// server is a running process of which the test reads the output.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	url  string
	grpc string

	mu  sync.Mutex
	out strings.Builder
}

// serve starts kserve run and waits until it serves.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "kserve"), append([]string{"run", "-o", "json", "--port", "0", "--grpc-port", "0"}, args...)...)
	cmd.Dir = root
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, cmd: cmd, done: make(chan struct{})}
	serving := make(chan struct{})
	go func() {
		defer close(s.done)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var e struct{ Event, URL, GRPC string }
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				continue
			}
			s.mu.Lock()
			s.out.WriteString(lines.Text() + "\n")
			switch e.Event {
			case "listening":
				s.url, s.grpc = e.URL, e.GRPC
			case "serving":
				close(serving)
			}
			s.mu.Unlock()
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-s.done })
	select {
	case <-serving:
	case <-s.done:
		t.Fatalf("kserve ended early:\n%s", s.out.String())
	case <-time.After(60 * time.Second):
		t.Fatal("kserve does not serve")
	}
	return s
}

// end sends a signal and returns the exit code.
func (s *server) end(signal os.Signal) int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		s.t.Fatalf("no end after %v", signal)
	}
	return s.cmd.ProcessState.ExitCode()
}

func post(url, body string) (string, error) {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), err
}

const irisRow = `{"instances":[[6.8,2.8,4.8,1.4]]}`

func TestSamplesAreServedAndPredictAsksThem(t *testing.T) {
	s := serve(t, "-f", "deploy/samples/", "--cache-dir", t.TempDir())
	for _, args := range [][]string{
		{"sklearn-iris", "--url", s.url, "-d", irisRow},
		{"sklearn-iris", "--url", s.url, "-p", "v2", "-d", irisRow},
		{"sklearn-iris", "--grpc-address", s.grpc, "-p", "grpc", "-d", irisRow},
	} {
		r := call(t, "", "kserve", append([]string{"predict", "-o", "json"}, args...)...)
		var answer struct {
			LatencyMs float64
			Answer    struct {
				Predictions []int
				Outputs     []struct{ Datatype string }
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != 0 || answer.LatencyMs <= 0 {
			t.Fatalf("predict %v: %v, code %d\n%s%s", args, err, r.code, r.stdout, r.stderr)
		}
		if a := answer.Answer; (len(a.Predictions) != 1 || a.Predictions[0] != 1) && (len(a.Outputs) != 1 || a.Outputs[0].Datatype != "INT64") {
			t.Errorf("predict %v: %s", args, r.stdout)
		}
	}
	for _, graph := range []string{"iris-by-choice", "iris-from-inches"} {
		if _, err := post(s.url+"/serving/default/"+graph, irisRow); err != nil {
			t.Errorf("%s: %v", graph, err)
		}
	}
	r := call(t, "", "kserve", "predict", "nobody", "--url", s.url, "-d", irisRow)
	if r.code != 1 || !strings.Contains(r.stdout, "does not exist") {
		t.Errorf("an unknown model: code %d, %s", r.code, r.stdout)
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
}

// Requests that were accepted are answered, though the signal comes in the middle of them.
func TestSignalsLoseNoAcceptedRequest(t *testing.T) {
	s := serve(t, "-f", "deploy/samples/sklearn-iris.yaml", "--cache-dir", t.TempDir())
	var clients sync.WaitGroup
	stop := make(chan struct{})
	failures := make(chan error, 64)
	answered := make(chan struct{}, 1)
	for range 4 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			for {
				select {
				case <-stop:
					return
				default:
				}
				response, err := client.Post(s.url+"/v1/models/sklearn-iris:predict", "application/json", strings.NewReader(irisRow))
				if err != nil {
					var refused *net.OpError
					if errors.As(err, &refused) && refused.Op == "dial" {
						return // the port is closed: this request was not accepted
					}
					failures <- err
					return
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"predictions":[1]`)) {
					failures <- fmt.Errorf("%s %s %w", response.Status, body, err)
					return
				}
				select {
				case answered <- struct{}{}:
				default:
				}
			}
		})
	}
	<-answered
	code := s.end(os.Interrupt)
	close(stop)
	clients.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestKillLeavesNothing(t *testing.T) {
	cache := t.TempDir()
	s := serve(t, "-f", "deploy/samples/", "--cache-dir", cache)
	if _, err := post(s.url+"/v1/models/sklearn-iris:predict", irisRow); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.url, "http://")
	s.end(os.Kill)
	if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		conn.Close()
		t.Error("something still listens on " + address)
	}
	// The cache is whole: the next run serves from it. It starts with the default for SIGHUP, as from a terminal, even
	// where the tests run under nohup: a signal that is caught here is not ignored there.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	again := serve(t, "-f", "deploy/samples/", "--cache-dir", cache)
	if _, err := post(again.url+"/v1/models/sklearn-iris:predict", irisRow); err != nil {
		t.Error(err)
	}
	if code := again.end(syscall.SIGHUP); code != 0 {
		t.Errorf("a closed terminal: exit code %d", code)
	}
}

func TestModelServerAlone(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	cmd := exec.Command(filepath.Join(bin, "model-server"), "--model_name=iris", "--model_dir=deploy/samples/models/iris", "--http_port="+port, "--enable_grpc=false")
	cmd.Dir = root
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	url := "http://127.0.0.1:" + port
	deadline := time.Now().Add(30 * time.Second)
	for {
		body, err := post(url+"/v1/models/iris:predict", irisRow)
		if err == nil {
			if body != `{"predictions":[1]}` {
				t.Errorf("answer %s", body)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // the process tells nobody that it is up
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(40 * time.Second):
		t.Fatal("no end after SIGTERM")
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d\n%s", code, log.String())
	}
}
