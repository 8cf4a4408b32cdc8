// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kserve-go/kserve-go/local/place"
)

const (
	// databaseWait bounds waiting for the file's lock; nobody has it, for the cluster's name is held.
	databaseWait = 5 * time.Second
	// readyWait bounds waiting for the only member to elect itself, which takes a second or two once all files are read. One whose log lost
	// the entry that makes it a member waits for others forever.
	readyWait = 40 * time.Second
)

// startEtcd listens on unix sockets only: no port can collide, and nobody else can reach it.
func (c *ControlPlane) startEtcd(ctx context.Context, o Options) (string, error) {
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(o.Dir, "etcd")
	log, err := etcdLog(filepath.Join(o.Dir, "etcd.log"))
	if err != nil {
		return "", err
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	cfg.UnsafeNoFsync = true // a development cluster may lose its last second when the machine loses power
	clients, peers := socketURL(filepath.Join(o.Dir, "etcd.sock")), socketURL(filepath.Join(o.Dir, "etcd-peer.sock"))
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	_, err = os.Stat(filepath.Join(cfg.Dir, "member"))
	old := err == nil
	var e *embed.Etcd
	if err = checkDatabase(filepath.Join(cfg.Dir, "member", "snap", "db")); err == nil {
		e, err = openEtcd(cfg)
	}
	if err != nil {
		return "", explainEtcd(err, cfg.Dir, old)
	}
	select {
	case <-e.Server.ReadyNotify():
		c.stops = append(c.stops, e.Close) // before, it would wait for what never comes; the process ends, and etcd with it
	case err := <-e.Err():
		return "", explainEtcd(err, cfg.Dir, old)
	case <-e.Server.StopNotify():
		return "", errors.New("etcd stopped before it was ready")
	case <-time.After(readyWait):
		return "", explainWait(cfg.Dir, old)
	case <-ctx.Done():
		return "", fmt.Errorf("wait for etcd: %w", ctx.Err())
	}
	return clients.String(), nil
}

// socketURL names a socket where several are named with commas between them: one in its path would end it.
func socketURL(path string) url.URL {
	u := url.URL{Scheme: "unix", Path: path}
	u.RawPath = strings.ReplaceAll(u.EscapedPath(), ",", "%2C")
	return u
}

// openEtcd turns what etcd does about files that it cannot read into an error: it panics, or logs and ends the process.
func openEtcd(cfg *embed.Config) (e *embed.Etcd, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("etcd gave up: %v", r)
		}
	}()
	return embed.StartEtcd(cfg)
}

// checkDatabase opens the file as etcd will: etcd does it on a goroutine of its own, where a panic ends the process.
func checkDatabase(path string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file is mapped: what was cut off is no memory
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("open database: %v", r)
		}
	}()
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: databaseWait})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		if fi.Size() < tx.Size() {
			return fmt.Errorf("open database: %s has %d bytes of %d", path, fi.Size(), tx.Size())
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

func etcdLog(path string) (*zap.Logger, error) {
	f, err := place.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open etcd's log: %w", err)
	}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(f), zap.ErrorLevel)
	return zap.New(core, zap.WithFatalHook(zapcore.WriteThenPanic)), nil
}

// explainWait says why etcd may not have become ready: a machine that is too busy, or files of which the end is missing. Neither shows itself.
func explainWait(dir string, old bool) error {
	err := fmt.Errorf("start etcd in %s: it is not ready after %s: the machine may be too busy, so try again", dir, readyWait)
	if !old {
		return err
	}
	return fmt.Errorf("%w; if it stays so, the objects that an earlier cluster stored cannot be read (--fresh throws them away)", err)
}

// explainEtcd says what to do about stored objects that cannot be read. They are thrown away only when that is asked for.
func explainEtcd(err error, dir string, old bool) error {
	about := fmt.Errorf("start etcd in %s: %w", dir, err)
	if !old || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		return about
	}
	return fmt.Errorf("the objects that an earlier cluster stored cannot be read: %w (--fresh throws them away)", about)
}
