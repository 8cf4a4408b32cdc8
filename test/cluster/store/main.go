// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command store is the other side of the cluster tests: in a pod it serves a folder of buckets over S3, to who signs with the right
// keys, and over plain HTTP; and it asks a URL as a program in the cluster would.
//
//	store serve -dir /data -s3 :9000 -http :8080
//	store ask [-d BODY] [-header 'Name: value'] URL
//
// What lies in the bucket "slow" comes in drops.
//
// Called by: test/cluster, in pods.
// Next: storage/sampleserver.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/pkg/storage/sampleserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("want serve or ask")
	}
	switch args[0] {
	case "serve":
		return serve(ctx, args[1:])
	case "ask":
		return ask(ctx, args[1:], out)
	default:
		return fmt.Errorf("unknown command %q: want serve or ask", args[0])
	}
}

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	dir := flags.String("dir", "/data", "folder whose folders are the buckets")
	s3 := flags.String("s3", ":9000", "address for S3")
	web := flags.String("http", ":8080", "address for plain HTTP")
	if err := flags.Parse(args); err != nil {
		return err
	}
	keys := Keys{ID: os.Getenv("STORE_ACCESS_KEY"), Secret: os.Getenv("STORE_SECRET_KEY")}
	if keys.ID == "" || keys.Secret == "" {
		return errors.New("STORE_ACCESS_KEY and STORE_SECRET_KEY are the keys that S3 clients sign with: set both")
	}
	entries, err := os.ReadDir(*dir)
	if err != nil {
		return fmt.Errorf("read the buckets: %w", err)
	}
	buckets := map[string]fs.FS{}
	for _, e := range entries {
		if e.IsDir() {
			buckets[e.Name()] = os.DirFS(filepath.Join(*dir, e.Name()))
		}
	}
	content := inDrops(sampleserver.New(buckets))
	failed := make(chan error, 2)
	go func() { failed <- listen(ctx, *s3, keys.Only(content)) }()
	go func() { failed <- listen(ctx, *web, content) }()
	return errors.Join(<-failed, <-failed)
}

func listen(ctx context.Context, addr string, h http.Handler) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// inDrops lets the bucket "slow" answer at 100 bytes ten times a second: what is fetched from it is being fetched for long.
func inDrops(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow/") {
			w = &drops{ResponseWriter: w, ctx: r.Context()}
		}
		next.ServeHTTP(w, r)
	})
}

type drops struct {
	http.ResponseWriter
	ctx context.Context //nolint:containedctx // of the one request that it writes to
}

func (d *drops) Write(p []byte) (int, error) {
	const drop, every = 100, 100 * time.Millisecond
	done := 0
	for done < len(p) {
		n, err := d.ResponseWriter.Write(p[done:min(done+drop, len(p))])
		done += n
		if err != nil {
			return done, err
		}
		if err := http.NewResponseController(d.ResponseWriter).Flush(); err != nil {
			return done, err
		}
		select {
		case <-time.After(every):
		case <-d.ctx.Done():
			return done, d.ctx.Err()
		}
	}
	return done, nil
}

// ask prints the body of the answer; a status that is not 200 is an error.
func ask(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ask", flag.ContinueOnError)
	body := flags.String("d", "", "body to post")
	header := flags.String("header", "", "one more header, as 'Name: value'")
	if err := flags.Parse(args); err != nil {
		return err
	}
	method := http.MethodGet
	if *body != "" {
		method = http.MethodPost
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, flags.Arg(0), strings.NewReader(*body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if name, value, ok := strings.Cut(*header, ": "); ok {
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(out, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, flags.Arg(0), resp.Status)
	}
	return nil
}
