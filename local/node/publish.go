// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const publishRetry = 500 * time.Millisecond

// publisher writes a pod's status: the newest one, when it differs from the last written. The state machine never waits for it.
type publisher struct {
	client          kubernetes.Interface
	uid             types.UID
	namespace, name string

	mu      sync.Mutex
	next    *corev1.PodStatus
	wake    chan struct{}
	writing sync.Mutex
	last    *corev1.PodStatus
}

func newPublisher(c kubernetes.Interface, p *corev1.Pod) *publisher {
	return &publisher{client: c, uid: p.UID, namespace: p.Namespace, name: p.Name, wake: make(chan struct{}, 1)}
}

func (p *publisher) set(s corev1.PodStatus) {
	p.mu.Lock()
	p.next = &s
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // a write is due already, and will take the newest
	}
}

func (p *publisher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		if p.flush(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(publishRetry):
			select {
			case p.wake <- struct{}{}:
			default: // due already
			}
		}
	}
}

// flush writes the newest status, and reports whether there is nothing left to write.
func (p *publisher) flush(ctx context.Context) bool {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	next := p.next
	p.mu.Unlock()
	if next == nil || (p.last != nil && equality.Semantic.DeepEqual(p.last, next)) {
		return true
	}
	if err := p.write(ctx, next); err != nil {
		if ctx.Err() == nil {
			klog.ErrorS(err, "write pod status", "pod", klog.KRef(p.namespace, p.name))
		}
		return false
	}
	p.last = next
	return true
}

func (p *publisher) write(ctx context.Context, s *corev1.PodStatus) error {
	b, err := statusPatch(p.uid, s)
	if err != nil {
		return err
	}
	_, err = p.client.CoreV1().Pods(p.namespace).Patch(ctx, p.name, types.StrategicMergePatchType, b, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the pod is gone
	}
	if err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}

// statusPatch is a strategic merge patch: conditions of others stay, addresses are replaced. The UID makes it a conflict to write to a
// younger pod of the same name.
func statusPatch(uid types.UID, s *corev1.PodStatus) ([]byte, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	for _, list := range []string{"podIPs", "hostIPs"} {
		// Merged by address they would keep that of before a restart.
		if all, ok := fields[list].([]any); ok {
			fields[list] = append([]any{map[string]any{"$patch": "replace"}}, all...)
		}
	}
	b, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": fields})
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return b, nil
}
