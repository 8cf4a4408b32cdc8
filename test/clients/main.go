// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command clients checks that the official Python clients get the golden predictions from `kserve run`: the SDK of KServe and
// Triton's client, pinned in requirements.txt, in a virtual environment of their own.
//
// Called by: make test-clients.
// Next: check_kserve.py and check_triton.py beside it.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kserve-go/kserve-go/test/process"
)

func main() {
	process.FollowParent()
	binary := flag.String("kserve", "", "kserve binary; without it, it is built")
	venv := flag.String("venv", ".venv/clients", "virtual environment, made when it is not there, below the repository")
	flag.Parse()
	c, err := run(*binary, *venv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
	}
	fmt.Printf("%d passed, %d failed\n", c.Passed, c.Failed)
	if err != nil || c.Failed > 0 || c.Passed == 0 {
		os.Exit(1)
	}
}

type count struct{ Passed, Failed int }

func run(binary, venv string) (sum count, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := process.Root()
	if err != nil {
		return sum, err
	}
	if !filepath.IsAbs(venv) {
		venv = filepath.Join(root, venv)
	}
	here := filepath.Join(root, "test", "clients")
	python, err := environment(ctx, venv, filepath.Join(here, "requirements.txt"))
	if err != nil {
		return sum, err
	}
	if binary == "" {
		dir, err := os.MkdirTemp("", "kserve-clients-")
		if err != nil {
			return sum, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if binary, err = process.Build(ctx, root, "kserve", dir); err != nil {
			return sum, err
		}
	}
	samples := filepath.Join(root, "deploy", "samples")
	server, err := process.Start(ctx, process.Options{Binary: binary, Root: root, Args: []string{"-f", samples}, Stderr: os.Stderr})
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if server.Failed > 0 {
		return sum, fmt.Errorf("%d samples are not served", server.Failed)
	}
	for _, script := range []string{"check_kserve.py", "check_triton.py"} {
		cmd := exec.CommandContext(ctx, python, filepath.Join(here, script))
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1",
			"KSERVE_URL="+server.URL, "KSERVE_GRPC="+server.GRPC, "GOLDEN_DIR="+filepath.Join(samples, "golden"))
		c, runErr := check(cmd)
		sum.Passed, sum.Failed = sum.Passed+c.Passed, sum.Failed+c.Failed
		if runErr != nil {
			return sum, fmt.Errorf("%s: %w", script, runErr)
		}
	}
	return sum, nil
}

// check runs one script, shows what it prints and reads the counts in its last line.
func check(cmd *exec.Cmd) (c count, err error) {
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	if err := cmd.Start(); err != nil {
		return c, err
	}
	counted := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if json.Unmarshal(lines.Bytes(), &c) == nil {
			counted = true
			continue
		}
		fmt.Println(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		return c, err
	}
	if !counted {
		return c, errors.New("ended without its counts")
	}
	return c, nil
}

// environment makes the virtual environment unless it holds these very requirements, and returns its Python.
func environment(ctx context.Context, dir, requirements string) (string, error) {
	text, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	want, stamp, python := hex.EncodeToString(sum[:]), filepath.Join(dir, "requirements.sha256"), filepath.Join(dir, "bin", "python")
	if got, err := os.ReadFile(stamp); err == nil && string(got) == want {
		return python, nil
	}
	fmt.Println("making the virtual environment", dir, "...")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", dir).CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("python3 is not installed: on Debian and Ubuntu, apt-get install python3 python3-venv python3-pip")
		}
		return "", fmt.Errorf("python3 -m venv: %w: on Debian and Ubuntu, apt-get install python3-venv python3-pip\n%s", err, out)
	}
	// The list is complete and exact, so pip has nothing to resolve.
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", requirements)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip install: %w\n%s", err, out)
	}
	return python, os.WriteFile(stamp, []byte(want), 0o600)
}
