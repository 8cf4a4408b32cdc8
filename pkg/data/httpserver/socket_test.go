// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
)

func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
		DisableKeepAlives: true,
	}}
}

func TestASocketIsServedBesideThePort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.sock")
	// What a process leaves behind when it is killed.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	left.SetUnlinkOnClose(false)
	require.NoError(t, left.Close())

	entered, leave := make(chan struct{}, 1), make(chan struct{})
	s := start(t, httpserver.Options{HTTPSocket: httpserver.Endpoint{Addr: path}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
		}
		_, _ = io.WriteString(w, "ok")
	}))
	get := func(client *http.Client, url string) string {
		resp, err := client.Get(url)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	require.Equal(t, "ok", get(http.DefaultClient, s.url))
	require.Equal(t, "ok", get(overSocket(path), "http://model/"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode().Perm())

	answer := make(chan string, 1)
	go func() { answer <- get(overSocket(path), "http://model/slow") }()
	<-entered
	s.stop()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return os.IsNotExist(err) }, 5*time.Second, time.Millisecond)
	close(leave)
	require.Equal(t, "ok", <-answer, "a drain finishes what runs")
	require.NoError(t, <-s.done)
}

func TestASocketAloneIsEnough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.sock")
	s := httpserver.New(httpserver.Options{HTTPSocket: httpserver.Endpoint{Addr: path}}, http.NotFoundHandler(), nil, zaptest.NewLogger(t))
	require.NoError(t, s.Listen(t.Context()))
	require.Nil(t, s.HTTPAddr())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	resp, err := overSocket(path).Get("http://model/")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	stop()
	require.NoError(t, <-done)
}

func TestASocketInUseIsNotTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.sock")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	s := httpserver.New(httpserver.Options{HTTPSocket: httpserver.Endpoint{Addr: path}}, http.NotFoundHandler(), nil, zaptest.NewLogger(t))
	require.ErrorIs(t, s.Run(t.Context()), httpserver.ErrPortTaken)

	file := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	s = httpserver.New(httpserver.Options{HTTPSocket: httpserver.Endpoint{Addr: file}}, http.NotFoundHandler(), nil, zaptest.NewLogger(t))
	require.Error(t, s.Run(t.Context()))
	require.FileExists(t, file, "what is no socket is not removed")
}

// A client of HTTP/2 that keeps its connection alive and takes nothing of one answer is given up, as one of HTTP/1.1 is.
func TestAStreamThatTakesNothingIsGivenUp(t *testing.T) {
	ended := make(chan error, 1)
	s := start(t, httpserver.Options{WriteStall: 100 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pause" {
			time.Sleep(200 * time.Millisecond) // a model that computes for longer than clients may stall
			_, _ = io.WriteString(w, "late")
			return
		}
		_, err := w.Write(make([]byte, 64<<20))
		ended <- err
	}))
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &p}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(s.url + "/")
	require.NoError(t, err)
	defer resp.Body.Close()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the stream is still waited for")
	}
	late, err := client.Get(s.url + "/pause")
	require.NoError(t, err)
	defer late.Body.Close()
	text, err := io.ReadAll(late.Body)
	require.NoError(t, err)
	require.Equal(t, "late", string(text), "a deadline is for writing, not for the time before")
}
