// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Settings holds the last good value of the operator's ConfigMap. It may be used from several goroutines.
type Settings struct {
	namespace, domain string

	mu    sync.RWMutex
	good  *settings.Settings
	data  map[string]string // what good was made from
	fault error             // what is wrong with the ConfigMap as it is now
}

// NewSettings starts with nothing. The namespace is the operator's, the domain the DNS suffix of the cluster.
func NewSettings(namespace, clusterDomain string) *Settings {
	return &Settings{
		namespace: namespace, domain: clusterDomain,
		fault: fmt.Errorf("ConfigMap %s/%s was not read yet: create it if it does not exist (deploy/config has the shipped one)", namespace, settings.ConfigMapName),
	}
}

// Namespace is the operator's.
func (s *Settings) Namespace() string { return s.namespace }

// Current is the last good value, nil while there was none, and what is wrong with the ConfigMap as it is now.
func (s *Settings) Current() (*settings.Settings, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.good, s.fault
}

// Take reads the ConfigMap; nil says that there is none. It reports whether the value changed; the error is what is wrong with the
// ConfigMap, and the last good value stays.
func (s *Settings) Take(cm *corev1.ConfigMap) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cm == nil {
		s.fault = fmt.Errorf("ConfigMap %s/%s does not exist: create it (deploy/config has the shipped one)", s.namespace, settings.ConfigMapName)
		return false, s.fault
	}
	data := textOf(cm)
	if s.good != nil && maps.Equal(s.data, data) {
		s.fault = nil
		return false, nil
	}
	parsed, err := settings.Parse(data)
	if err != nil {
		s.fault = err
		return false, err
	}
	parsed.OperatorNamespace = s.namespace
	if s.domain != "" {
		parsed.ClusterDomain = s.domain
	}
	s.good, s.data, s.fault = parsed, data, nil
	return true, nil
}

// textOf is everything that a ConfigMap says. A section that was stored as binary data counts: it is read or refused, never silently missing.
func textOf(cm *corev1.ConfigMap) map[string]string {
	data := make(map[string]string, len(cm.Data)+len(cm.BinaryData))
	maps.Copy(data, cm.Data)
	for key, raw := range cm.BinaryData {
		data[key] = string(raw)
	}
	return data
}
