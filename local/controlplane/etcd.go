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
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// databaseWait bounds waiting for the file's lock; nobody has it, for the cluster's name is held.
const databaseWait = 5 * time.Second

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
	c.stops = append(c.stops, e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return "", explainEtcd(err, cfg.Dir, old)
	case <-e.Server.StopNotify():
		return "", errors.New("etcd stopped before it was ready")
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
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("open database: %v", r)
		}
	}()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: databaseWait})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	return db.Close()
}

func etcdLog(path string) (*zap.Logger, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open etcd's log: %w", err)
	}
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(f), zap.ErrorLevel)
	return zap.New(core, zap.WithFatalHook(zapcore.WriteThenPanic)), nil
}

// explainEtcd says what to do about stored objects that cannot be read. They are thrown away only when that is asked for.
func explainEtcd(err error, dir string, old bool) error {
	about := fmt.Errorf("start etcd in %s: %w", dir, err)
	if !old || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		return about
	}
	return fmt.Errorf("the objects that an earlier cluster stored cannot be read: %w (--fresh throws them away)", about)
}
