// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
)

// certificate serves the newest readable certificate of two files, which others replace while the server runs.
type certificate struct {
	certFile, keyFile string
	log               *zap.Logger

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	changed time.Time // the files' newest time of change
}

// recheck is how old the look at the files may be.
const recheck = 2 * time.Second

func newCertificate(certFile, keyFile string, log *zap.Logger) (*certificate, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("a certificate needs two files: the certificate and its key")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.changed, _ = c.modified()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the certificate: %w", err)
	}
	c.current, c.looked = &pair, time.Now()
	return c, nil
}

func (c *certificate) modified() (time.Time, error) {
	var newest time.Time
	for _, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return newest, err
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, nil
}

// get is tls.Config.GetCertificate. Files that cannot be read, or do not belong together yet, leave the old certificate in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < recheck {
		return c.current, nil
	}
	c.looked = time.Now()
	changed, err := c.modified()
	if err == nil && changed.Equal(c.changed) {
		return c.current, nil
	}
	pair, loadErr := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err = errors.Join(err, loadErr); err != nil {
		c.log.Warn("the new certificate cannot be used; the old one stays", zap.Error(err))
		return c.current, nil
	}
	c.current, c.changed = &pair, changed
	c.log.Info("certificate reloaded", zap.String("file", c.certFile))
	return c.current, nil
}
